// SPDX-License-Identifier: Apache-2.0
//
// Q2_K -> lin2 and lin2w: all numbers keep their values; scales and minima part.
#pragma once

#include <cstring>

#include "format/q2_k.h"
#include "layout/layout.h"
#include "pack/spread.h"

namespace juno::pack {

template <class L>
struct Q2KToLin2 {
  using Format = format::Q2K;
  using Layout = L;

  static constexpr layout::Constants constants() noexcept { return {{}, 1.0f, 1.0f}; }

  static typename Layout::Values to_values(const Format::Block& block) noexcept {
    typename Layout::Values values;
    for (std::size_t at = 0; at < sizeof block.qs; at += 8) {
      std::uint64_t bytes;
      std::memcpy(&bytes, block.qs + at, sizeof bytes);
      for (std::size_t k = 0; k < 4; ++k) {
        const std::uint16_t codes = gather_crumbs(bytes >> 2 * k & 0x0303030303030303u);
        const std::size_t weight = at / 32 * 128 + 32 * k + at % 32;
        values.codes[weight / 4] = static_cast<std::uint8_t>(codes);
        values.codes[weight / 4 + 1] = static_cast<std::uint8_t>(codes >> 8);
      }
    }
    for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) values.scales[sub] = block.scales[sub] & 0xf;
    for (std::size_t pair = 0; pair < values.minima.size(); ++pair) {
      values.minima[pair] =
          static_cast<std::uint8_t>(block.scales[2 * pair] >> 4 | (block.scales[2 * pair + 1] & 0xf0));
    }
    values.d = block.d;
    values.dmin = block.dmin;
    return values;
  }

  static Format::Block to_block(const typename Layout::Values& values) noexcept {
    Format::Block block{};
    for (std::size_t i = 0; i < layout::kSuperBlockWeights; ++i) {
      std::uint8_t& byte = block.qs[i / 128 * 32 + i % 32];
      byte = static_cast<std::uint8_t>(byte | values.code(i) << 2 * (i % 128 / 32));
    }
    for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) {
      block.scales[sub] = static_cast<std::uint8_t>(values.scales[sub] | values.minimum(sub) << 4);
    }
    block.d = values.d;
    block.dmin = values.dmin;
    return block;
  }
};

}  // namespace juno::pack
