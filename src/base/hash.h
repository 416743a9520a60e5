// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace juno {

/// FNV-1a, 64 bits (http://www.isthe.com/chongo/tech/comp/fnv/): small enough to run at compile time.
class Fnv1a {
 public:
  constexpr Fnv1a& add(std::uint64_t value) noexcept {
    for (int byte = 0; byte < 8; ++byte) step(static_cast<std::uint8_t>(value >> 8 * byte));
    return *this;
  }
  constexpr Fnv1a& add(std::string_view text) noexcept {
    for (const char c : text) step(static_cast<std::uint8_t>(c));
    return add(text.size());
  }
  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return hash_; }

 private:
  constexpr void step(std::uint8_t byte) noexcept { hash_ = (hash_ ^ byte) * 0x100'0000'01b3u; }

  std::uint64_t hash_ = 0xcbf2'9ce4'8422'2325u;
};

}  // namespace juno
