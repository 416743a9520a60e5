// SPDX-License-Identifier: Apache-2.0
//
// Q2_K: 256 weights in 84 bytes, 2.625 bits each.
//
//   byte 0            16                             80       82          84
//        | 16 scales  | qs: 2 halves of 32 bytes     | d half | dmin half |
//
//   byte j of half h has weights 128h + 32k + j at bits 2k, k = 0 .. 3; scale byte s belongs to weights 16s .. 16s+15,
//   scale in the low, minimum in the high nibble.
//
//   weight = d * scale * code - dmin * minimum
//
// Source: block_q2_K and dequantize_row_q2_K of ggml 0.23.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/half.h"

namespace juno::format {

struct Q2K {
  static constexpr std::string_view kName = "Q2_K";
  static constexpr std::uint32_t kGgufType = 10;
  static constexpr std::size_t kBlockWeights = 256;
  static constexpr std::size_t kSubBlockWeights = 16;
  static constexpr std::size_t kSubBlocks = 16;

  struct Block {
    std::uint8_t scales[16];
    std::uint8_t qs[64];
    std::uint16_t d;
    std::uint16_t dmin;
  };
  static_assert(sizeof(Block) == 84);

  /// The 2-bit code of weight `index` (0 .. 255).
  static constexpr unsigned code(const Block& block, std::size_t index) noexcept {
    return block.qs[index / 128 * 32 + index % 32] >> 2 * (index % 128 / 32) & 3;
  }

  /// The weights of one block as floats. All products are exact, so fused or not gives the bits of ggml's
  /// dequantize_row_q2_K.
  static void decode(const Block& block, std::span<float, kBlockWeights> out) noexcept {
    const float d = half_to_float(block.d);
    const float dmin = half_to_float(block.dmin);
    for (std::size_t i = 0; i < kBlockWeights; ++i) {
      const unsigned both = block.scales[i / kSubBlockWeights];
      const float scale = d * static_cast<float>(both & 0xf);
      const float minimum = dmin * static_cast<float>(both >> 4);
      out[i] = scale * static_cast<float>(code(block, i)) - minimum;
    }
  }
};

}  // namespace juno::format
