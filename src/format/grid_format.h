// SPDX-License-Identifier: Apache-2.0
//
// What the formats with code books share. However a block stores them, it comes down to the same few numbers:
//
//   grid[g]    which group of magnitudes weights kGroup*g .. kGroup*g + kGroup-1 have (format/grids.h)
//   signs[i]   bit j: weight 8i + j is negative
//   scales[s]  4 bits for each kSubBlockWeights weights
//   d          half float
//
//   weight = d * (scale + 0.5) * kUnit * +-magnitude
//
// All of these products are exact in float: 11 + 5 + 6 bits. A format supplies kSubBlockWeights, kGroup, kUnit,
// kMagnitudes, kGrid, Block, parts(const Block&) and block(const Parts&), which lose nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/half.h"
#include "format/grids.h"

namespace juno::format {

inline constexpr std::size_t kGridBlockWeights = 256;

/// Bits of a magnitude index in a grid entry of 8 or of 4 weights.
constexpr unsigned grid_bits(std::size_t group_weights) noexcept { return group_weights == 8 ? 2 : 3; }

template <std::size_t kGroupWeights, std::size_t kScaleWeights>
struct GridParts {
  std::array<std::uint16_t, kGridBlockWeights / kGroupWeights> grid;
  std::array<std::uint8_t, kGridBlockWeights / 8> signs;
  std::array<std::uint8_t, kGridBlockWeights / kScaleWeights> scales;
  std::uint16_t d;
};

/// 4-bit numbers, the first in the low nibble of the first byte.
template <std::size_t kBytes>
std::array<std::uint8_t, 2 * kBytes> nibbles_of(const std::uint8_t (&bytes)[kBytes]) noexcept {
  std::array<std::uint8_t, 2 * kBytes> nibbles;
  for (std::size_t i = 0; i < nibbles.size(); ++i) nibbles[i] = bytes[i / 2] >> 4 * (i % 2) & 0xf;
  return nibbles;
}

/// The inverse of nibbles_of().
template <std::size_t kBytes>
void set_nibbles(std::uint8_t (&bytes)[kBytes], const std::array<std::uint8_t, 2 * kBytes>& nibbles) noexcept {
  for (std::size_t i = 0; i < kBytes; ++i) {
    bytes[i] = static_cast<std::uint8_t>(nibbles[2 * i] | nibbles[2 * i + 1] << 4);
  }
}

/// The weights of one block as floats; the bits of ggml's dequantize_row_*.
template <class F>
void decode_grid_block(const typename F::Block& block, std::span<float, kGridBlockWeights> out) noexcept {
  constexpr unsigned kBits = grid_bits(F::kGroup);
  const auto parts = F::parts(block);
  const float d = half_to_float(parts.d);
  for (std::size_t i = 0; i < kGridBlockWeights; ++i) {
    const unsigned entry = F::kGrid[parts.grid[i / F::kGroup]];
    const auto magnitude = F::kMagnitudes[entry >> kBits * (i % F::kGroup) & ((1u << kBits) - 1)];
    const float scale = d * (0.5f + static_cast<float>(parts.scales[i / F::kSubBlockWeights])) * F::kUnit;
    const bool negative = (parts.signs[i / 8] >> i % 8 & 1) != 0;
    out[i] = scale * static_cast<float>(negative ? -magnitude : magnitude);
  }
}

}  // namespace juno::format
