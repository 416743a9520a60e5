// SPDX-License-Identifier: Apache-2.0
//
// IQ3_XXS: 256 weights in 98 bytes, 3.0625 bits each.
//
//   byte 0        2                      66                                   98
//        | d half | 64 grid indices      | 8 words of 32 bits, 32 weights each |
//
//   each 4 weights have a grid index of 8 bits; word s has the signs (format/grids.h) of 4 x 8 weights in 4 x 7 bits
//   and the scale of its 32 weights in the high 4. The words start at an odd multiple of 2, hence the pairs.
//
// Source: block_iq3_xxs and dequantize_row_iq3_xxs of ggml 0.23.0.
#pragma once

#include <string_view>

#include "format/grid_format.h"

namespace juno::format {

struct Iq3Xxs {
  static constexpr std::string_view kName = "IQ3_XXS";
  static constexpr std::uint32_t kGgufType = 18;
  static constexpr std::size_t kBlockWeights = kGridBlockWeights;
  static constexpr std::size_t kSubBlockWeights = 32;
  static constexpr std::size_t kGroup = 4;
  static constexpr float kUnit = 0.5f;
  static constexpr std::array<std::int8_t, 8> kMagnitudes = {4, 12, 20, 28, 36, 44, 52, 62};
  static constexpr const auto& kGrid = kIq3XxsGrid;

  struct Block {
    std::uint16_t d;
    std::uint8_t indices[64];
    std::uint16_t signs_and_scales[8][2];  ///< low half first
  };
  static_assert(sizeof(Block) == 98);

  using Parts = GridParts<kGroup, kSubBlockWeights>;

  static Parts parts(const Block& block) noexcept {
    Parts parts;
    for (std::size_t i = 0; i < 64; ++i) parts.grid[i] = block.indices[i];
    for (std::size_t s = 0; s < 8; ++s) {
      const auto& halves = block.signs_and_scales[s];
      const std::uint32_t word = halves[0] | std::uint32_t{halves[1]} << 16;
      for (std::size_t i = 0; i < 4; ++i) parts.signs[4 * s + i] = even_signs(word >> 7 * i & 127);
      parts.scales[s] = static_cast<std::uint8_t>(word >> 28);
    }
    parts.d = block.d;
    return parts;
  }

  static Block block(const Parts& parts) noexcept {
    Block block;
    block.d = parts.d;
    for (std::size_t i = 0; i < 64; ++i) block.indices[i] = static_cast<std::uint8_t>(parts.grid[i]);
    for (std::size_t s = 0; s < 8; ++s) {
      std::uint32_t word = std::uint32_t{parts.scales[s]} << 28;
      for (std::size_t i = 0; i < 4; ++i) word |= (parts.signs[4 * s + i] & 127u) << 7 * i;
      block.signs_and_scales[s][0] = static_cast<std::uint16_t>(word);
      block.signs_and_scales[s][1] = static_cast<std::uint16_t>(word >> 16);
    }
    return block;
  }

  static void decode(const Block& block, std::span<float, kBlockWeights> out) noexcept {
    decode_grid_block<Iq3Xxs>(block, out);
  }
};

}  // namespace juno::format
