// SPDX-License-Identifier: Apache-2.0
//
// macOS: sysctl by name. The length of streaming vectors is fixed.
#include <sys/sysctl.h>

#include <cstring>
#include <string>

#include "cpu/interpret.h"
#include "cpu/probe.h"

namespace juno::cpu {
namespace {

std::optional<std::int64_t> sysctl_value(std::string_view name) {
  std::int64_t value = 0;  // 32-bit answers leave the upper half zero
  std::size_t size = sizeof value;
  if (sysctlbyname(std::string(name).c_str(), &value, &size, nullptr, 0) != 0) return std::nullopt;
  if (size == sizeof(std::int32_t)) {
    std::int32_t narrow = 0;
    std::memcpy(&narrow, &value, sizeof narrow);
    return narrow;
  }
  return value;
}

}  // namespace

Facts probe() { return interpret_darwin_arm(sysctl_value); }

bool prepare_streaming(unsigned bytes) noexcept { return facts().streaming_vector_bytes == bytes; }

}  // namespace juno::cpu
