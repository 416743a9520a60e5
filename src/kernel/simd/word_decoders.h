// SPDX-License-Identifier: Apache-2.0
//
// How the vectors of a layout become operands of dot products: one decoder for each layout in word order.
//
//   kVectors             operands for a vector of rows that one vector of codes gives, four columns each
//   kRows                vectors of rows that it gives them for
//   kSteps               vectors of codes per sub-block and vector of rows
//   kUnit                sub-blocks that are decoded in a row: 2 where the layout keeps things of two together
//   weights(..)          the operands of one vector of codes; biased if kBiased
//   scales(..)           the scales of a sub-block, one row to a lane
//   kMinima, minima(..)  the minima of two sub-blocks as 16-bit pairs, one row to a lane
//   kFolds, folded(..)   weights times scales still fit into a byte, so that prefill need not scale sums
//
// A vector of rows is V::kLanes rows; `row` is its first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/layout.h"
#include "layout/lin2w.h"
#include "layout/lut3w.h"
#include "layout/lut4w.h"

namespace juno::kernel::simd {
namespace {

/// The table of code values as bytes for look_up; with VNNI, biased.
template <class V>
[[gnu::always_inline]] inline std::array<std::int8_t, 16> biased_table(const layout::Constants& constants) {
  std::array<std::int8_t, 16> table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<std::int8_t>(static_cast<std::uint8_t>(constants.table[i] + V::kBias));
  }
  return table;
}

template <class V, std::size_t kSubBlockWidth>
class Lut4Decoder {
 public:
  using Layout = layout::Lut4WOf<kSubBlockWidth>;
  using Int = typename V::Int;
  static constexpr std::size_t kVectors = 2;
  static constexpr std::size_t kRows = 1;
  static constexpr std::size_t kSteps = Layout::kGroups;
  static constexpr std::size_t kUnit = 1;
  static constexpr bool kBiased = V::kBias != 0;
  static constexpr bool kMinima = false;
  static constexpr bool kFolds = false;

  explicit Lut4Decoder(const layout::Constants& constants)
      : table_(V::table(biased_table<V>(constants).data())), low_(V::bytes(0x0f)) {}

  [[gnu::always_inline]] std::array<Int, kVectors> weights(const std::byte* super_block, std::size_t sub,
                                                           std::size_t step, std::size_t row) const {
    const std::size_t column = sub * kSubBlockWidth + step * Layout::kGroupColumns;
    const Int codes = V::load(super_block + Layout::word_offset(row, column));
    return {V::look_up(table_, V::both(codes, low_)),
            V::look_up(table_, V::both(V::template shift_right<4>(codes), low_))};
  }
  [[gnu::always_inline]] Int scales(const std::byte* super_block, std::size_t sub, std::size_t row) const {
    return V::widen_signed(super_block + Layout::scale_offset(row, sub));
  }

 private:
  Int table_;
  Int low_;
};

template <class V>
class Lut3Decoder {
 public:
  using Layout = layout::Lut3W;
  using Int = typename V::Int;
  static constexpr std::size_t kVectors = 4;
  static constexpr std::size_t kRows = 1;
  static constexpr std::size_t kSteps = 1;
  static constexpr std::size_t kUnit = 2;
  static constexpr bool kBiased = V::kBias != 0;
  static constexpr bool kMinima = false;
  static constexpr bool kFolds = false;
  static_assert(V::kLanes == Layout::kMaskRows);
  static_assert(V::kBias == 0 || V::kBias == 128, "128 - m is the negative of 128 + m in eight bits");

  explicit Lut3Decoder(const layout::Constants& constants) : low_(V::bytes(0x0f)) {
    // Four bits at a time hold two indices: one table for the lower of them, one for the upper.
    std::array<std::int8_t, 16> first{};
    std::array<std::int8_t, 16> second{};
    for (std::size_t i = 0; i < first.size(); ++i) {
      first[i] = biased_table<V>(constants)[i % 4];
      second[i] = biased_table<V>(constants)[i / 4];
    }
    first_ = V::table(first.data());
    second_ = V::table(second.data());
  }

  [[gnu::always_inline]] std::array<Int, kVectors> weights(const std::byte* super_block, std::size_t sub, std::size_t,
                                                           std::size_t row) const {
    const Int indices = V::load(super_block + Layout::word_offset(row, sub));
    const Int low = V::both(indices, low_);
    const Int high = V::both(V::template shift_right<4>(indices), low_);
    const std::byte* signs = super_block + Layout::mask_offset(row, sub, 0);
    return {V::negate(V::look_up(first_, low), signs), V::negate(V::look_up(second_, low), signs + Layout::kMaskBytes),
            V::negate(V::look_up(first_, high), signs + 2 * Layout::kMaskBytes),
            V::negate(V::look_up(second_, high), signs + 3 * Layout::kMaskBytes)};
  }
  [[gnu::always_inline]] Int scales(const std::byte* super_block, std::size_t sub, std::size_t row) const {
    const Int both = V::widen_unsigned(super_block + Layout::scales_offset(row, sub / 2));
    return V::odd_numbers(sub % 2 == 0 ? both : V::template shift_right_32<4>(both));
  }

 private:
  Int first_;
  Int second_;
  Int low_;
};

template <class V>
class Lin2Decoder {
 public:
  using Layout = layout::Lin2W;
  using Int = typename V::Int;
  static constexpr std::size_t kVectors = 4;
  static constexpr std::size_t kRows = 1;
  static constexpr std::size_t kSteps = 1;
  static constexpr std::size_t kUnit = 2;
  static constexpr bool kBiased = false;
  static constexpr bool kMinima = true;
  static constexpr bool kFolds = true;

  explicit Lin2Decoder(const layout::Constants&) : crumb_(V::bytes(3)), nibble_(V::ints(0xf)) {}

  [[gnu::always_inline]] std::array<Int, kVectors> weights(const std::byte* super_block, std::size_t sub, std::size_t,
                                                           std::size_t row) const {
    const Int codes = V::load(super_block + Layout::word_offset(row, sub));
    return {V::both(codes, crumb_), V::both(V::template shift_right<2>(codes), crumb_),
            V::both(V::template shift_right<4>(codes), crumb_), V::both(V::template shift_right<6>(codes), crumb_)};
  }
  [[gnu::always_inline]] Int scales(const std::byte* super_block, std::size_t sub, std::size_t row) const {
    return V::both(V::widen_unsigned(super_block + Layout::scale_offset(row, sub)), nibble_);
  }
  /// Sub-block 2 * `pair` in the low half of each lane, 2 * `pair` + 1 in the high half.
  [[gnu::always_inline]] Int minima(const std::byte* super_block, std::size_t pair, std::size_t row) const {
    const Int even = V::widen_unsigned(super_block + Layout::scale_offset(row, 2 * pair));
    const Int odd = V::widen_unsigned(super_block + Layout::scale_offset(row, 2 * pair + 1));
    return V::either(V::template shift_right_32<4>(even),
                     V::template shift_left_32<16>(V::template shift_right_32<4>(odd)));
  }
  /// Codes (at most 3) times scales (at most 15): a byte each, two to a 16-bit lane, with no carry between them.
  [[gnu::always_inline]] std::array<Int, kVectors> folded(const std::byte* super_block, std::size_t sub,
                                                          std::size_t step, std::size_t row) const {
    const Int scale = scales(super_block, sub, row);
    const Int twice = V::either(scale, V::template shift_left_32<16>(scale));
    std::array<Int, kVectors> products = weights(super_block, sub, step, row);
    for (Int& product : products) product = V::multiply_16(product, twice);
    return products;
  }

 private:
  Int crumb_;
  Int nibble_;
};

}  // namespace
}  // namespace juno::kernel::simd
