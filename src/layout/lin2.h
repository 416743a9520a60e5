// SPDX-License-Identifier: Apache-2.0
//
// lin2: a 2-bit code per weight that is its own value, a 4-bit scale and a 4-bit minimum per row and 16 weights, two
// half floats per row and 256 weights. 64 rows to a tile, 2.875 bits a weight.
//
// One super-block of a tile (64 rows x 256 columns) is 8 pairs of sub-blocks (16 columns each) and the half floats,
// 5888 bytes in reading order:
//
//   byte 0              256             320             576            640            704            5632   5760 5888
//        | codes sub 0  | scales sub 0  | codes sub 1   | scales sub 1 | minima 0, 1  | ... pair 7 .. | d     | dmin |
//
// The codes of a sub-block are 4 groups of 4 columns. A group is 64 bytes, one for each row, with the first column in
// the lowest bits: LUTI2 with four result registers turns it into 4 x 64 weights, which is the four-vector operand of
// SDOT into 64 rows of int32 sums. Scales have a byte each, so that LD1B widens them for nothing; that costs 0.25 bits
// a weight. The minima of two sub-blocks share a byte per row, the first in the low nibble: LUTI4 turns 64 bytes into
// 64 pairs of 16-bit numbers, the operand of SDOT with a pair of activation sums.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/layout.h"
#include "layout/values.h"

namespace juno::layout {

struct Lin2 {
  static constexpr std::string_view kName = "lin2";
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kSubBlockWeights = 16;
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / kSubBlockWeights;
  static constexpr std::size_t kPairs = kSubBlocks / 2;
  static constexpr std::size_t kGroupColumns = 4;
  static constexpr std::size_t kGroups = kSubBlockWeights / kGroupColumns;  ///< per sub-block

  static constexpr std::size_t kGroupBytes = kTileRows * kGroupColumns / 4;
  static constexpr std::size_t kSubBlockCodeBytes = kGroups * kGroupBytes;
  static constexpr std::size_t kSubBlockBytes = kSubBlockCodeBytes + kTileRows;
  static constexpr std::size_t kMinimaOffset = 2 * kSubBlockBytes;  ///< in a pair
  static constexpr std::size_t kPairBytes = kMinimaOffset + kTileRows;
  static constexpr std::size_t kDOffset = kPairs * kPairBytes;
  static constexpr std::size_t kDMinOffset = kDOffset + 2 * kTileRows;
  static constexpr std::size_t kSuperBlockBytes = kDMinOffset + 2 * kTileRows;

  static constexpr std::array<Field, 7> kFields = {{
      {"codes of even sub-blocks", "group row column; low bits first", 2, kSubBlockWeights* kTileRows, 0, kPairs,
       kPairBytes},
      {"scales of even sub-blocks", "row", 8, kTileRows, kSubBlockCodeBytes, kPairs, kPairBytes},
      {"codes of odd sub-blocks", "group row column; low bits first", 2, kSubBlockWeights* kTileRows, kSubBlockBytes,
       kPairs, kPairBytes},
      {"scales of odd sub-blocks", "row", 8, kTileRows, kSubBlockBytes + kSubBlockCodeBytes, kPairs, kPairBytes},
      {"minima", "row; even sub-block in the low nibble", 4, 2 * kTileRows, kMinimaOffset, kPairs, kPairBytes},
      {"d", "row; binary16", 16, kTileRows, kDOffset, 1, 0},
      {"dmin", "row; binary16", 16, kTileRows, kDMinOffset, 1, 0},
  }};

  /// Bytes from the start of a super-block to the byte with the codes of columns 4g .. 4g+3, `column` being one of
  /// them; column 4g + i has bits 2i and 2i+1.
  static constexpr std::size_t code_offset(std::size_t row, std::size_t column) noexcept {
    return sub_block_offset(column / kSubBlockWeights) + column % kSubBlockWeights / kGroupColumns * kGroupBytes + row;
  }
  static constexpr std::size_t scale_offset(std::size_t row, std::size_t sub) noexcept {
    return sub_block_offset(sub) + kSubBlockCodeBytes + row;
  }
  /// The byte with the minima of the sub-blocks 2 * `pair` and 2 * `pair` + 1.
  static constexpr std::size_t minima_offset(std::size_t row, std::size_t pair) noexcept {
    return pair * kPairBytes + kMinimaOffset + row;
  }
  static constexpr std::size_t d_offset(std::size_t row) noexcept { return kDOffset + 2 * row; }
  static constexpr std::size_t dmin_offset(std::size_t row) noexcept { return kDMinOffset + 2 * row; }

  using Values = Lin2Values;

  /// Writes one row's share of the super-block at `super_block`, whose bytes need not be set before.
  static void write(std::byte* super_block, std::size_t row, const Values& values) noexcept {
    for (std::size_t group = 0; group < values.codes.size(); ++group) {
      store(super_block + code_offset(row, group * kGroupColumns), values.codes[group]);
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) store(super_block + scale_offset(row, sub), values.scales[sub]);
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      store(super_block + minima_offset(row, pair), values.minima[pair]);
    }
    store(super_block + d_offset(row), values.d);
    store(super_block + dmin_offset(row), values.dmin);
  }

  /// The inverse of write().
  static Values read(const std::byte* super_block, std::size_t row) noexcept {
    Values values;
    for (std::size_t group = 0; group < values.codes.size(); ++group) {
      values.codes[group] = load<std::uint8_t>(super_block + code_offset(row, group * kGroupColumns));
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      values.scales[sub] = load<std::uint8_t>(super_block + scale_offset(row, sub));
    }
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      values.minima[pair] = load<std::uint8_t>(super_block + minima_offset(row, pair));
    }
    values.d = load<std::uint16_t>(super_block + d_offset(row));
    values.dmin = load<std::uint16_t>(super_block + dmin_offset(row));
    return values;
  }

 private:
  static constexpr std::size_t sub_block_offset(std::size_t sub) noexcept {
    return sub / 2 * kPairBytes + sub % 2 * kSubBlockBytes;
  }
};

static_assert(fields_cover_super_block<Lin2>());
static_assert(Lin2::kSuperBlockBytes % kLineBytes == 0, "every super-block of a line-aligned matrix is line-aligned");

}  // namespace juno::layout
