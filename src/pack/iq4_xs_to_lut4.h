// SPDX-License-Identifier: Apache-2.0
//
// IQ4_XS -> lut4 and lut4w: codes keep their value, the scale loses its offset of 32, d stays.
#pragma once

#include <cstring>

#include "format/iq4_xs.h"
#include "layout/layout.h"
#include "pack/spread.h"

namespace juno::pack {

template <class L>
struct Iq4XsToLut4 {
  using Format = format::Iq4Xs;
  using Layout = L;
  static_assert(Layout::kSubBlockWeights == 32);

  static constexpr layout::Constants constants() noexcept { return {Format::kValues, 1.0f, 1.0f}; }

  static typename Layout::Values to_values(const Format::Block& block) noexcept {
    constexpr std::uint64_t kLowNibbles = 0x0f0f0f0f0f0f0f0fu;
    typename Layout::Values values;
    for (std::size_t sub = 0; sub < Format::kSubBlocks; ++sub) {
      values.scales[sub] = static_cast<std::int8_t>(Format::stored_scale(block, sub) - Format::kScaleZero);
      for (std::size_t half = 0; half < 2; ++half) {  // bytes 8 .. 15 hold weights 8 .. 15 and 24 .. 31
        std::uint64_t bytes;
        std::memcpy(&bytes, block.qs + 16 * sub + 8 * half, sizeof bytes);
        set_codes(values.codes, 4 * sub + half, gather_nibbles(bytes & kLowNibbles));
        set_codes(values.codes, 4 * sub + half + 2, gather_nibbles(bytes >> 4 & kLowNibbles));
      }
    }
    values.d = block.d;
    return values;
  }

  static Format::Block to_block(const typename Layout::Values& values) noexcept {
    Format::Block block{};
    block.d = values.d;
    for (std::size_t sub = 0; sub < Format::kSubBlocks; ++sub) {
      const unsigned stored = static_cast<unsigned>(values.scales[sub] + Format::kScaleZero);
      block.scales_l[sub / 2] = static_cast<std::uint8_t>(block.scales_l[sub / 2] | (stored & 0xf) << 4 * (sub % 2));
      block.scales_h = static_cast<std::uint16_t>(block.scales_h | stored >> 4 << 2 * sub);
      for (std::size_t j = 0; j < 16; ++j) {
        block.qs[16 * sub + j] =
            static_cast<std::uint8_t>(values.code(32 * sub + j) | values.code(32 * sub + j + 16) << 4);
      }
    }
    return block;
  }
};

}  // namespace juno::pack
