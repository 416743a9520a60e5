// SPDX-License-Identifier: Apache-2.0
//
// Sizes that people write.
#pragma once

#include <cstdint>
#include <string_view>

#include "juno/status.h"

namespace juno::budget {

/// Bytes from a number with or without a unit, such as "500M" or "4 GiB"; k, m, g... are powers of 1024. An error names
/// `source` ("--memory-limit", say).
Result<std::uint64_t> parse_limit(std::string_view text, std::string_view source);

}  // namespace juno::budget
