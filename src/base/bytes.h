// SPDX-License-Identifier: Apache-2.0
//
// Reading and writing plain values at byte addresses, and memory that kernels may stream from.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace juno {

/// Cache line, and the unit of every address that a packed layout promises to be aligned to.
inline constexpr std::size_t kLineBytes = 64;

template <class T>
[[nodiscard]] T load(const std::byte* from) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(to, &value, sizeof value);
}

constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

}  // namespace juno
