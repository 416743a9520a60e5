// SPDX-License-Identifier: Apache-2.0
//
// lut4: a 4-bit code per weight into a table of 16 signed bytes, an 8-bit scale per row and 32 weights, a half float
// per row and 256 weights. 64 rows to a tile, 4.3125 bits a weight.
//
// One super-block of a tile (64 rows x 256 columns), 8832 bytes in reading order:
//
//   byte 0             1024        1088                          7616       8640      8704       8832
//        | codes sub 0 | scales sub 0 | codes sub 1 | ... | codes sub 7 | scales sub 7 | d 64 halfs |
//
// The codes of a sub-block (32 columns) are 8 groups of 4 columns. A group is 256 nibbles, low nibble first, in the
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

namespace juno::layout {

struct Lut4 {
  static constexpr std::string_view kName = "lut4";
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kSubBlockWeights = 32;
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / kSubBlockWeights;
  static constexpr std::size_t kGroupColumns = 4;
  static constexpr std::size_t kGroups = kSubBlockWeights / kGroupColumns;

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

  /// What the layout stores of one row's super-block, apart from where.
  struct Values {
    std::array<std::uint8_t, kSuperBlockWeights> codes;  ///< 0 .. 15
    std::array<std::int8_t, kSubBlocks> scales;
    std::uint16_t d;  ///< bits of a half float
  };

  /// Writes one row's share of the super-block at `super_block`, whose bytes need not be set before.
  static void write(std::byte* super_block, std::size_t row, const Values& values) noexcept {
    for (std::size_t column = 0; column < kSuperBlockWeights; column += 2) {
      super_block[code_offset(row, column)] =
          static_cast<std::byte>(values.codes[column] | values.codes[column + 1] << 4);
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) store(super_block + scale_offset(row, sub), values.scales[sub]);
    store(super_block + d_offset(row), values.d);
  }

  /// The inverse of write().
  static Values read(const std::byte* super_block, std::size_t row) noexcept {
    Values values;
    for (std::size_t column = 0; column < kSuperBlockWeights; column += 2) {
      const auto both = static_cast<std::uint8_t>(super_block[code_offset(row, column)]);
      values.codes[column] = both & 0xf;
      values.codes[column + 1] = static_cast<std::uint8_t>(both >> 4);
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      values.scales[sub] = load<std::int8_t>(super_block + scale_offset(row, sub));
    }
    values.d = load<std::uint16_t>(super_block + d_offset(row));
    return values;
  }
};

static_assert(fields_cover_super_block<Lut4>());
static_assert(Lut4::kSuperBlockBytes % kLineBytes == 0, "every super-block of a line-aligned matrix is line-aligned");

}  // namespace juno::layout
