// SPDX-License-Identifier: Apache-2.0
//
// Formats with code books -> lut4 and its like: code = index of the magnitude, plus 8 if the weight is negative. The
// code book disappears: what it says is spelled out in the codes. The scale becomes 2 * scale + 1, so that it is an
// integer.
#pragma once

#include <array>

#include "format/grid_format.h"
#include "layout/layout.h"
#include "pack/spread.h"

namespace juno::pack {

template <class F, class L>
struct GridToLut4 {
  using Format = F;
  using Layout = L;
  static_assert(Layout::kSubBlockWeights == F::kSubBlockWeights);

  /// d * (scale + 0.5) * kUnit * magnitude = (kUnit / 2) * d * (2 * scale + 1) * magnitude. ggml's Arm code multiplies
  /// with kUnit / 2 after the last super-block, but for IQ3_XXS, where it has 0.5 inside and 0.5 outside.
  /// Source: ggml_vec_dot_iq{2_xs,2_s,3_xxs,3_s}_q8_K in ggml-cpu/arch/arm/quants.c of ggml 0.23.0.
  static constexpr layout::Constants constants() noexcept {
    layout::Constants constants{};
    for (std::size_t i = 0; i < F::kMagnitudes.size(); ++i) {
      constants.table[i] = F::kMagnitudes[i];
      constants.table[i + 8] = static_cast<std::int8_t>(-F::kMagnitudes[i]);
    }
    constants.sum_factor = F::kUnit == 0.5f ? 0.5f : 1.0f;
    constants.row_factor = F::kUnit / 2 / constants.sum_factor;
    return constants;
  }

  static typename Layout::Values to_values(const typename F::Block& block) noexcept {
    const auto parts = F::parts(block);
    typename Layout::Values values;
    for (std::size_t i = 0; i < parts.signs.size(); ++i) {
      std::uint32_t magnitudes;
      if constexpr (F::kGroup == 8) {
        magnitudes = kMagnitudes[parts.grid[i]];
      } else {
        magnitudes = kMagnitudes[parts.grid[2 * i]] | std::uint32_t{kMagnitudes[parts.grid[2 * i + 1]]} << 16;
      }
      set_codes(values.codes, i, magnitudes | kSignsAsCodes[parts.signs[i]]);
    }
    for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) {
      values.scales[sub] = static_cast<std::int8_t>(2 * parts.scales[sub] + 1);
    }
    values.d = parts.d;
    return values;
  }

  static typename F::Block to_block(const typename Layout::Values& values) noexcept {
    typename F::Parts parts;
    for (std::size_t i = 0; i < parts.signs.size(); ++i) {
      const std::uint32_t codes = get_codes(values.codes, i);
      parts.signs[i] = signs_of_codes(codes);
      if constexpr (F::kGroup == 8) {
        parts.grid[i] = index_of(codes);
      } else {
        parts.grid[2 * i] = index_of(codes & 0xffff);
        parts.grid[2 * i + 1] = index_of(codes >> 16);
      }
    }
    for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) {
      parts.scales[sub] = static_cast<std::uint8_t>(values.scales[sub] / 2);
    }
    parts.d = values.d;
    return F::block(parts);
  }

 private:
  static constexpr unsigned kBits = format::grid_bits(F::kGroup);
  using Codes = std::conditional_t<F::kGroup == 8, std::uint32_t, std::uint16_t>;

  /// The code book with a nibble for each magnitude index.
  static constexpr auto kMagnitudes = [] {
    std::array<Codes, F::kGrid.size()> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<Codes>(as_nibbles(F::kGrid[i], kBits, F::kGroup));
    }
    return table;
  }();

  static std::uint16_t index_of(std::uint32_t codes) noexcept {
    return static_cast<std::uint16_t>(format::grid_index(F::kGrid, from_nibbles(codes, kBits, F::kGroup)));
  }
};

}  // namespace juno::pack
