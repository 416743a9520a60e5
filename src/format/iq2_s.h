// SPDX-License-Identifier: Apache-2.0
//
// IQ2_S: 256 weights in 82 bytes, 2.5625 bits each.
//
//   byte 0        2                34             66      74         82
//        | d half | 32 low indices | 32 sign bytes | qh    | scales    |
//
//   each 8 weights have a grid index of 10 bits, 8 in a byte of their own and 2 in qh: index i has bits 2(i % 4) and
//   the next of qh[i / 4]; nibble s of scales belongs to weights 16s .. 16s+15.
//
// Source: block_iq2_s and dequantize_row_iq2_s of ggml 0.23.0.
#pragma once

#include <string_view>

#include "format/grid_format.h"

namespace juno::format {

struct Iq2S {
  static constexpr std::string_view kName = "IQ2_S";
  static constexpr std::uint32_t kGgufType = 22;
  static constexpr std::size_t kBlockWeights = kGridBlockWeights;
  static constexpr std::size_t kSubBlockWeights = 16;
  static constexpr std::size_t kGroup = 8;
  static constexpr float kUnit = 0.25f;
  static constexpr std::array<std::int8_t, 3> kMagnitudes = {8, 25, 43};
  static constexpr const auto& kGrid = kIq2SGrid;

  struct Block {
    std::uint16_t d;
    std::uint8_t indices[32];
    std::uint8_t signs[32];
    std::uint8_t qh[8];
    std::uint8_t scales[8];
  };
  static_assert(sizeof(Block) == 82);

  using Parts = GridParts<kGroup, kSubBlockWeights>;

  static Parts parts(const Block& block) noexcept {
    Parts parts;
    for (std::size_t i = 0; i < 32; ++i) {
      const unsigned high = block.qh[i / 4] >> 2 * (i % 4) & 3;
      parts.grid[i] = static_cast<std::uint16_t>(block.indices[i] | high << 8);
      parts.signs[i] = block.signs[i];
    }
    parts.scales = nibbles_of(block.scales);
    parts.d = block.d;
    return parts;
  }

  static Block block(const Parts& parts) noexcept {
    Block block{};
    block.d = parts.d;
    for (std::size_t i = 0; i < 32; ++i) {
      block.indices[i] = static_cast<std::uint8_t>(parts.grid[i]);
      block.qh[i / 4] = static_cast<std::uint8_t>(block.qh[i / 4] | parts.grid[i] >> 8 << 2 * (i % 4));
      block.signs[i] = parts.signs[i];
    }
    set_nibbles(block.scales, parts.scales);
    return block;
  }

  static void decode(const Block& block, std::span<float, kBlockWeights> out) noexcept {
    decode_grid_block<Iq2S>(block, out);
  }
};

}  // namespace juno::format
