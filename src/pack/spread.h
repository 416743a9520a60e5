// SPDX-License-Identifier: Apache-2.0
//
// Small bit movements on eight values at a time, for packers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace juno::pack {

static_assert(std::endian::native == std::endian::little, "words are made of the bytes of blocks, the first lowest");

/// Eight nibbles, one in the low half of each byte, moved together; the first byte's becomes the lowest.
constexpr std::uint32_t gather_nibbles(std::uint64_t bytes) noexcept {
  bytes = (bytes | bytes >> 4) & 0x00ff00ff00ff00ffu;
  bytes = (bytes | bytes >> 8) & 0x0000ffff0000ffffu;
  return static_cast<std::uint32_t>(bytes | bytes >> 16);
}

/// The same for eight 2-bit numbers in the low quarter of each byte.
constexpr std::uint16_t gather_crumbs(std::uint64_t bytes) noexcept {
  bytes = (bytes | bytes >> 6) & 0x000f000f000f000fu;
  bytes = (bytes | bytes >> 12) & 0x000000ff000000ffu;
  return static_cast<std::uint16_t>(bytes | bytes >> 24);
}

/// kSignsAsCodes[signs]: bit 3 of nibble j is bit j of `signs`.
inline constexpr std::array<std::uint32_t, 256> kSignsAsCodes = [] {
  std::array<std::uint32_t, 256> spread{};
  for (std::uint32_t signs = 0; signs < 256; ++signs) {
    for (unsigned j = 0; j < 8; ++j) spread[signs] |= (signs >> j & 1) << (4 * j + 3);
  }
  return spread;
}();

/// The inverse of kSignsAsCodes, whatever the other bits are.
constexpr std::uint8_t signs_of_codes(std::uint32_t codes) noexcept {
  unsigned signs = 0;
  for (unsigned j = 0; j < 8; ++j) signs |= (codes >> (4 * j + 3) & 1) << j;
  return static_cast<std::uint8_t>(signs);
}

/// `count` numbers of `bits` bits each in nibbles instead.
constexpr std::uint32_t as_nibbles(std::uint32_t packed, unsigned bits, unsigned count) noexcept {
  std::uint32_t nibbles = 0;
  for (unsigned j = 0; j < count; ++j) nibbles |= (packed >> bits * j & ((1u << bits) - 1)) << 4 * j;
  return nibbles;
}

/// The inverse of as_nibbles; bit 3 of a nibble is ignored.
constexpr std::uint16_t from_nibbles(std::uint32_t nibbles, unsigned bits, unsigned count) noexcept {
  std::uint32_t packed = 0;
  for (unsigned j = 0; j < count; ++j) packed |= (nibbles >> 4 * j & ((1u << bits) - 1)) << bits * j;
  return static_cast<std::uint16_t>(packed);
}

/// Weights 8i .. 8i+7 of a super-block, whose codes are kept four to an element.
template <std::size_t kSize>
void set_codes(std::array<std::uint16_t, kSize>& codes, std::size_t i, std::uint32_t eight) noexcept {
  codes[2 * i] = static_cast<std::uint16_t>(eight);
  codes[2 * i + 1] = static_cast<std::uint16_t>(eight >> 16);
}

template <std::size_t kSize>
std::uint32_t get_codes(const std::array<std::uint16_t, kSize>& codes, std::size_t i) noexcept {
  return codes[2 * i] | std::uint32_t{codes[2 * i + 1]} << 16;
}

}  // namespace juno::pack
