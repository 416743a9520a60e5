// SPDX-License-Identifier: Apache-2.0
//
// IQ3_S: 256 weights in 110 bytes, 3.4375 bits each.
//
//   byte 0        2                66      74              106       110
//        | d half | 64 low indices | qh    | 32 sign bytes | scales   |
//
//   each 4 weights have a grid index of 9 bits, 8 in a byte of their own, the ninth of index i at bit i % 8 of
//   qh[i / 8]; nibble s of scales belongs to weights 32s .. 32s+31.
//
// Source: block_iq3_s and dequantize_row_iq3_s of ggml 0.23.0.
#pragma once

#include <string_view>

#include "format/grid_format.h"

namespace juno::format {

struct Iq3S {
  static constexpr std::string_view kName = "IQ3_S";
  static constexpr std::uint32_t kGgufType = 21;
  static constexpr std::size_t kBlockWeights = kGridBlockWeights;
  static constexpr std::size_t kSubBlockWeights = 32;
  static constexpr std::size_t kGroup = 4;
  static constexpr float kUnit = 2.0f;
  static constexpr std::array<std::int8_t, 8> kMagnitudes = {1, 3, 5, 7, 9, 11, 13, 15};
  static constexpr const auto& kGrid = kIq3SGrid;

  struct Block {
    std::uint16_t d;
    std::uint8_t indices[64];
    std::uint8_t qh[8];
    std::uint8_t signs[32];
    std::uint8_t scales[4];
  };
  static_assert(sizeof(Block) == 110);

  using Parts = GridParts<kGroup, kSubBlockWeights>;

  static Parts parts(const Block& block) noexcept {
    Parts parts;
    for (std::size_t i = 0; i < 64; ++i) {
      parts.grid[i] = static_cast<std::uint16_t>(block.indices[i] | (block.qh[i / 8] >> i % 8 & 1) << 8);
    }
    for (std::size_t i = 0; i < 32; ++i) parts.signs[i] = block.signs[i];
    parts.scales = nibbles_of(block.scales);
    parts.d = block.d;
    return parts;
  }

  static Block block(const Parts& parts) noexcept {
    Block block{};
    block.d = parts.d;
    for (std::size_t i = 0; i < 64; ++i) {
      block.indices[i] = static_cast<std::uint8_t>(parts.grid[i]);
      block.qh[i / 8] = static_cast<std::uint8_t>(block.qh[i / 8] | parts.grid[i] >> 8 << i % 8);
    }
    for (std::size_t i = 0; i < 32; ++i) block.signs[i] = parts.signs[i];
    set_nibbles(block.scales, parts.scales);
    return block;
  }

  static void decode(const Block& block, std::span<float, kBlockWeights> out) noexcept {
    decode_grid_block<Iq3S>(block, out);
  }
};

}  // namespace juno::format
