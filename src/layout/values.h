// SPDX-License-Identifier: Apache-2.0
//
// What layouts store of one row's super-block, apart from where: recipes make these, and layouts of the same kind
// differ in nothing but the order of their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/half.h"
#include "layout/layout.h"

namespace juno::layout {

/// A code into a table of 16 values per weight, a scale per sub-block.
template <std::size_t kSubBlocks>
struct Lut4Values {
  /// 4-bit codes of the columns 4g .. 4g+3 in element g, the first column in the lowest bits.
  std::array<std::uint16_t, kSuperBlockWeights / 4> codes;
  std::array<std::int8_t, kSubBlocks> scales;
  std::uint16_t d;  ///< bits of a half float

  [[nodiscard]] constexpr unsigned code(std::size_t column) const noexcept {
    return codes[column / 4] >> 4 * (column % 4) & 0xf;
  }
  [[nodiscard]] constexpr bool finite() const noexcept { return is_finite_half(d); }
};

/// A 2-bit code per weight that is its value, a scale and a minimum per 16 weights.
struct Lin2Values {
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / 16;

  /// 2-bit codes of the columns 4g .. 4g+3 in element g, the first column in the lowest bits.
  std::array<std::uint8_t, kSuperBlockWeights / 4> codes;
  std::array<std::uint8_t, kSubBlocks> scales;      ///< 0 .. 15
  std::array<std::uint8_t, kSubBlocks / 2> minima;  ///< two of 0 .. 15, the even sub-block's in the low nibble
  std::uint16_t d;                                  ///< bits of half floats
  std::uint16_t dmin;

  [[nodiscard]] constexpr unsigned code(std::size_t column) const noexcept {
    return codes[column / 4] >> 2 * (column % 4) & 3;
  }
  [[nodiscard]] constexpr unsigned minimum(std::size_t sub) const noexcept {
    return minima[sub / 2] >> 4 * (sub % 2) & 0xf;
  }
  [[nodiscard]] constexpr bool finite() const noexcept { return is_finite_half(d) && is_finite_half(dmin); }
};

}  // namespace juno::layout
