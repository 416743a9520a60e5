// SPDX-License-Identifier: Apache-2.0
#include "budget/limit.h"

#include <CLI/CLI.hpp>
#include <charconv>

namespace juno::budget {

Result<std::uint64_t> parse_limit(std::string_view text, std::string_view source) {
  constexpr std::size_t kLongest = 40;
  const auto failure = [&](std::string why) {
    return Error{ErrorCode::invalid_argument, "read a size",
                 std::string(source) + "=" + std::string(text.substr(0, kLongest)), std::move(why)};
  };
  const bool usual = text.find_first_not_of("0123456789 abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                     std::string_view::npos;
  // Also: no sign, no fraction, no zero bytes, and no digits of other bases ("0x10" would pass for a number).
  if (text.empty() || text.size() > kLongest || !usual || text.front() < '0' || text.front() > '9') {
    return failure("not a size such as 500M or 4G");
  }
  std::string number(text);
  try {
    if (!CLI::AsSizeValue(false)(number).empty()) return failure("not a size such as 500M or 4G");
  } catch (const CLI::Error&) {
    return failure("not a size such as 500M or 4G");
  }
  std::uint64_t bytes = 0;
  const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), bytes);
  if (code != std::errc{} || end != number.data() + number.size()) return failure("not a size such as 500M or 4G");
  return bytes;
}

}  // namespace juno::budget
