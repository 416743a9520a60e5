// SPDX-License-Identifier: Apache-2.0
#include "juno/status.h"

#include "base/printable.h"

namespace juno {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::unreadable: return "unreadable";
    case ErrorCode::truncated: return "truncated";
    case ErrorCode::malformed: return "malformed";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::write_failed: return "write_failed";
    case ErrorCode::interrupted: return "interrupted";
  }
  return "unknown";
}

std::string Error::message() const { return printable(what + ": " + where + ": " + why); }

}  // namespace juno
