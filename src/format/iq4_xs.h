// SPDX-License-Identifier: Apache-2.0
//
// IQ4_XS: 256 weights in 136 bytes, 4.25 bits each.
//
//   byte 0        2          4           8                                      136
//        | d half | scales_h | scales_l  | qs: 8 sub-blocks of 16 bytes            |
//
//   sub-block i holds weights 32i .. 32i+31; byte j of its qs has weight j in the low, weight j+16 in the high nibble.
//   its 6-bit scale has 4 low bits in nibble i of scales_l and 2 high bits at bit 2i of scales_h; 32 stands for zero.
//
//   weight = d * (scale - 32) * kValues[nibble]
//
// Source: block_iq4_xs and dequantize_row_iq4_xs of ggml 0.23.0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/half.h"

namespace juno::format {

struct Iq4Xs {
  static constexpr std::string_view kName = "IQ4_XS";
  static constexpr std::uint32_t kGgufType = 23;
  static constexpr std::size_t kBlockWeights = 256;
  static constexpr std::size_t kSubBlocks = 8;
  static constexpr std::size_t kSubBlockWeights = 32;
  static constexpr int kScaleZero = 32;

  /// The non-linear 4-bit code book that IQ4_XS shares with IQ4_NL.
  static constexpr std::array<std::int8_t, 16> kValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                          1,    13,   25,  38,  53,  69,  89,  113};

  struct Block {
    std::uint16_t d;
    std::uint16_t scales_h;
    std::uint8_t scales_l[4];
    std::uint8_t qs[128];
  };
  static_assert(sizeof(Block) == 136);

  /// The 6-bit scale of sub-block `sub`, as stored (0 .. 63).
  static constexpr int stored_scale(const Block& block, std::size_t sub) noexcept {
    const int low = block.scales_l[sub / 2] >> 4 * (sub % 2) & 0xf;
    const int high = block.scales_h >> 2 * sub & 3;
    return low | high << 4;
  }

  /// The 4-bit code of weight `index` (0 .. 255).
  static constexpr std::uint8_t code(const Block& block, std::size_t index) noexcept {
    const std::size_t in_sub = index % kSubBlockWeights;
    const std::uint8_t byte = block.qs[index / kSubBlockWeights * 16 + in_sub % 16];
    return in_sub < 16 ? byte & 0xf : byte >> 4;
  }

  /// The weights of one block as floats, with the float operations of ggml's dequantize_row_iq4_xs in their order.
  static void decode(const Block& block, std::span<float, kBlockWeights> out) noexcept {
    const float d = half_to_float(block.d);
    for (std::size_t i = 0; i < kBlockWeights; ++i) {
      const float scale = d * static_cast<float>(stored_scale(block, i / kSubBlockWeights) - kScaleZero);
      out[i] = scale * static_cast<float>(kValues[code(block, i)]);
    }
  }
};

}  // namespace juno::format
