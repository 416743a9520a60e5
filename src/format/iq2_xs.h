// SPDX-License-Identifier: Apache-2.0
//
// IQ2_XS: 256 weights in 74 bytes, 2.3125 bits each.
//
//   byte 0        2                                        66           74
//        | d half | qs: 32 words of 16 bits, 8 weights each | scales      |
//
//   a word has the grid index of 8 magnitudes in its low 9 bits and their signs (format/grids.h) in the high 7;
//   nibble s of scales belongs to weights 16s .. 16s+15.
//
// Source: block_iq2_xs and dequantize_row_iq2_xs of ggml 0.23.0.
#pragma once

#include <string_view>

#include "format/grid_format.h"

namespace juno::format {

struct Iq2Xs {
  static constexpr std::string_view kName = "IQ2_XS";
  static constexpr std::uint32_t kGgufType = 17;
  static constexpr std::size_t kBlockWeights = kGridBlockWeights;
  static constexpr std::size_t kSubBlockWeights = 16;
  static constexpr std::size_t kGroup = 8;
  static constexpr float kUnit = 0.25f;
  static constexpr std::array<std::int8_t, 3> kMagnitudes = {8, 25, 43};
  static constexpr const auto& kGrid = kIq2XsGrid;

  struct Block {
    std::uint16_t d;
    std::uint16_t qs[32];
    std::uint8_t scales[8];
  };
  static_assert(sizeof(Block) == 74);

  using Parts = GridParts<kGroup, kSubBlockWeights>;

  static Parts parts(const Block& block) noexcept {
    Parts parts;
    for (std::size_t i = 0; i < 32; ++i) {
      parts.grid[i] = block.qs[i] & 511;
      parts.signs[i] = even_signs(block.qs[i] >> 9);
    }
    parts.scales = nibbles_of(block.scales);
    parts.d = block.d;
    return parts;
  }

  static Block block(const Parts& parts) noexcept {
    Block block;
    block.d = parts.d;
    for (std::size_t i = 0; i < 32; ++i) {
      block.qs[i] = static_cast<std::uint16_t>(parts.grid[i] | (parts.signs[i] & 127) << 9);
    }
    set_nibbles(block.scales, parts.scales);
    return block;
  }

  static void decode(const Block& block, std::span<float, kBlockWeights> out) noexcept {
    decode_grid_block<Iq2Xs>(block, out);
  }
};

}  // namespace juno::format
