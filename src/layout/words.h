// SPDX-License-Identifier: Apache-2.0
//
// Small bit movements between numbers that lie side by side and numbers that have a byte of a word each.
#pragma once

#include <cstdint>

namespace juno::layout {

inline constexpr std::uint32_t kLowNibbles = 0x0f0f0f0fu;

/// Four nibbles in the low half of a word, each moved to a byte of its own.
constexpr std::uint32_t nibbles_to_bytes(std::uint32_t nibbles) noexcept {
  nibbles = (nibbles | nibbles << 8) & 0x00ff00ffu;
  return (nibbles | nibbles << 4) & kLowNibbles;
}

/// The inverse of nibbles_to_bytes(); the high half of each byte must be zero.
constexpr std::uint16_t bytes_to_nibbles(std::uint32_t bytes) noexcept {
  bytes = (bytes | bytes >> 4) & 0x00ff00ffu;
  return static_cast<std::uint16_t>(bytes | bytes >> 8);
}

/// 16 numbers of 2 bits as a matrix of 4 x 4, a row to a byte, transposed. Its own inverse. (Hacker's Delight, 7-3.)
constexpr std::uint32_t transpose_crumbs(std::uint32_t crumbs) noexcept {
  std::uint32_t swap = (crumbs ^ crumbs >> 6) & 0x00cc00ccu;
  crumbs ^= swap ^ swap << 6;
  swap = (crumbs ^ crumbs >> 12) & 0x0000f0f0u;
  return crumbs ^ swap ^ swap << 12;
}
static_assert(transpose_crumbs(0x000000e4u) == 0x03020100u);

}  // namespace juno::layout
