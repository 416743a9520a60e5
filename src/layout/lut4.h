// SPDX-License-Identifier: Apache-2.0
//
// lut4: a 4-bit code per weight into a table of 16 signed bytes, an 8-bit scale per row and sub-block, a half float per
// row and 256 weights. 64 rows to a tile. Two widths of sub-blocks: lut4 has 32 weights (4.3125 bits a weight), lut4s16
// has 16 (4.5625).
//
// One super-block of a tile (64 rows x 256 columns), here of lut4, 8832 bytes in reading order:
//
//   byte 0             1024        1088                          7616       8640      8704       8832
//        | codes sub 0 | scales sub 0 | codes sub 1 | ... | codes sub 7 | scales sub 7 | d 64 halfs |
//
// lut4s16 has 16 sub-blocks of 512 + 64 bytes instead, 9344 bytes in all. The codes of a sub-block are groups of 4
// columns, 8 or 4 of them. A group is 256 nibbles, low nibble first, in the
// order row, column: nibble 4*row + column. So two 64-byte vectors hold one group, LUTI4 with two result registers
// turns each into 2 x 64 weights, and the four results together are the four-vector operand of SDOT into 64 rows of
// int32 sums:
//
//   vector 0                                   vector 1
//   | r0c0 r0c1 | r0c2 r0c3 | r1c0 r1c1 | ..   | r32c0 r32c1 | ..            (two codes to a byte)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/layout.h"
#include "layout/values.h"

namespace juno::layout {

template <std::size_t kSubBlockWidth>
struct Lut4Of {
  static_assert(kSubBlockWidth == 16 || kSubBlockWidth == 32);
  static constexpr std::string_view kName = kSubBlockWidth == 32 ? "lut4" : "lut4s16";
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kSubBlockWeights = kSubBlockWidth;
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / kSubBlockWeights;
  static constexpr std::size_t kGroupColumns = 4;
  static constexpr std::size_t kGroups = kSubBlockWeights / kGroupColumns;  ///< per sub-block

  static constexpr std::size_t kGroupBytes = kTileRows * kGroupColumns / 2;
  static constexpr std::size_t kSubBlockCodeBytes = kGroups * kGroupBytes;
  static constexpr std::size_t kSubBlockBytes = kSubBlockCodeBytes + kTileRows;
  static constexpr std::size_t kDOffset = kSubBlocks * kSubBlockBytes;
  static constexpr std::size_t kSuperBlockBytes = kDOffset + 2 * kTileRows;

  static constexpr std::array<Field, 3> kFields = {{
      {"codes", "group row column; low nibble first", 4, kSubBlockWeights* kTileRows, 0, kSubBlocks, kSubBlockBytes},
      {"scales", "row; signed", 8, kTileRows, kSubBlockCodeBytes, kSubBlocks, kSubBlockBytes},
      {"d", "row; binary16", 16, kTileRows, kDOffset, 1, 0},
  }};

  /// Bytes from the start of a super-block to the byte with the code of (`row`, `column`); even columns are low
  /// nibbles.
  static constexpr std::size_t code_offset(std::size_t row, std::size_t column) noexcept {
    const std::size_t in_sub = column % kSubBlockWeights;
    const std::size_t nibble = row * kGroupColumns + in_sub % kGroupColumns;
    return column / kSubBlockWeights * kSubBlockBytes + in_sub / kGroupColumns * kGroupBytes + nibble / 2;
  }
  static constexpr std::size_t scale_offset(std::size_t row, std::size_t sub) noexcept {
    return sub * kSubBlockBytes + kSubBlockCodeBytes + row;
  }
  static constexpr std::size_t d_offset(std::size_t row) noexcept { return kDOffset + 2 * row; }

  using Values = Lut4Values<kSubBlocks>;

  /// Writes one row's share of the super-block at `super_block`, whose bytes need not be set before.
  static void write(std::byte* super_block, std::size_t row, const Values& values) noexcept {
    for (std::size_t group = 0; group < values.codes.size(); ++group) {
      store(super_block + code_offset(row, group * kGroupColumns), values.codes[group]);
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) store(super_block + scale_offset(row, sub), values.scales[sub]);
    store(super_block + d_offset(row), values.d);
  }

  /// The inverse of write().
  static Values read(const std::byte* super_block, std::size_t row) noexcept {
    Values values;
    for (std::size_t group = 0; group < values.codes.size(); ++group) {
      values.codes[group] = load<std::uint16_t>(super_block + code_offset(row, group * kGroupColumns));
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      values.scales[sub] = load<std::int8_t>(super_block + scale_offset(row, sub));
    }
    values.d = load<std::uint16_t>(super_block + d_offset(row));
    return values;
  }
};

using Lut4 = Lut4Of<32>;
using Lut4S16 = Lut4Of<16>;

static_assert(fields_cover_super_block<Lut4>() && fields_cover_super_block<Lut4S16>());
static_assert(Lut4::kSuperBlockBytes % kLineBytes == 0 && Lut4S16::kSuperBlockBytes % kLineBytes == 0,
              "every super-block of a line-aligned matrix is line-aligned");

}  // namespace juno::layout
