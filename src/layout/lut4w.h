// SPDX-License-Identifier: Apache-2.0
//
// lut4w: the numbers of lut4 in the order of dot products of 32-bit words (VPDPBUSD and its like), where each lane
// takes four columns of one row. 64 rows to a tile. lut4w has sub-blocks of 32 weights (4.3125 bits a weight), lut4s16w
// of 16 (4.5625).
//
// One super-block of a tile (64 rows x 256 columns), here of lut4w, 8832 bytes in reading order:
//
//   byte 0             1024        1088                          7616       8640      8704       8832
//        | codes sub 0 | scales sub 0 | codes sub 1 | ... | codes sub 7 | scales sub 7 | d 64 halfs |
//
// lut4s16w has 16 sub-blocks of 512 + 64 bytes instead, 9344 bytes in all. The codes of a sub-block are groups of 8
// columns, 4 or 2 of them. A group is 256 bytes, a word for each row: byte j holds column j in its low nibble and
// column 4 + j in its high nibble. A mask and a shift make two operands of a dot product, with nothing to permute:
//
//   row 0                      row 1
//   | c4 c0 | c5 c1 | c6 c2 | c7 c3 | c4 c0 | ..              (high nibble, low nibble)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/layout.h"
#include "layout/values.h"
#include "layout/words.h"

namespace juno::layout {

template <std::size_t kSubBlockWidth>
struct Lut4WOf {
  static_assert(kSubBlockWidth == 16 || kSubBlockWidth == 32);
  static constexpr std::string_view kName = kSubBlockWidth == 32 ? "lut4w" : "lut4s16w";
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kSubBlockWeights = kSubBlockWidth;
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / kSubBlockWeights;
  static constexpr std::size_t kWordBytes = 4;
  static constexpr std::size_t kGroupColumns = 2 * kWordBytes;
  static constexpr std::size_t kGroups = kSubBlockWeights / kGroupColumns;  ///< per sub-block

  static constexpr std::size_t kGroupBytes = kTileRows * kWordBytes;
  static constexpr std::size_t kSubBlockCodeBytes = kGroups * kGroupBytes;
  static constexpr std::size_t kSubBlockBytes = kSubBlockCodeBytes + kTileRows;
  static constexpr std::size_t kDOffset = kSubBlocks * kSubBlockBytes;
  static constexpr std::size_t kSuperBlockBytes = kDOffset + 2 * kTileRows;

  static constexpr std::array<Field, 3> kFields = {{
      {"codes", "group row column%4 column/4; low nibble first", 4, kSubBlockWeights* kTileRows, 0, kSubBlocks,
       kSubBlockBytes},
      {"scales", "row; signed", 8, kTileRows, kSubBlockCodeBytes, kSubBlocks, kSubBlockBytes},
      {"d", "row; binary16", 16, kTileRows, kDOffset, 1, 0},
  }};

  /// Bytes from the start of a super-block to the word with the codes of `row` for the group that `column` is in.
  static constexpr std::size_t word_offset(std::size_t row, std::size_t column) noexcept {
    const std::size_t group = column % kSubBlockWeights / kGroupColumns;
    return column / kSubBlockWeights * kSubBlockBytes + group * kGroupBytes + row * kWordBytes;
  }
  static constexpr std::size_t scale_offset(std::size_t row, std::size_t sub) noexcept {
    return sub * kSubBlockBytes + kSubBlockCodeBytes + row;
  }
  static constexpr std::size_t d_offset(std::size_t row) noexcept { return kDOffset + 2 * row; }

  using Values = Lut4Values<kSubBlocks>;

  /// Writes one row's share of the super-block at `super_block`, whose bytes need not be set before.
  static void write(std::byte* super_block, std::size_t row, const Values& values) noexcept {
    for (std::size_t column = 0; column < kSuperBlockWeights; column += kGroupColumns) {
      const std::uint32_t low = nibbles_to_bytes(values.codes[column / 4]);
      const std::uint32_t high = nibbles_to_bytes(values.codes[column / 4 + 1]);
      store(super_block + word_offset(row, column), low | high << 4);
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) store(super_block + scale_offset(row, sub), values.scales[sub]);
    store(super_block + d_offset(row), values.d);
  }

  /// The inverse of write().
  static Values read(const std::byte* super_block, std::size_t row) noexcept {
    Values values;
    for (std::size_t column = 0; column < kSuperBlockWeights; column += kGroupColumns) {
      const auto word = load<std::uint32_t>(super_block + word_offset(row, column));
      values.codes[column / 4] = bytes_to_nibbles(word & kLowNibbles);
      values.codes[column / 4 + 1] = bytes_to_nibbles(word >> 4 & kLowNibbles);
    }
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      values.scales[sub] = load<std::int8_t>(super_block + scale_offset(row, sub));
    }
    values.d = load<std::uint16_t>(super_block + d_offset(row));
    return values;
  }
};

using Lut4W = Lut4WOf<32>;
using Lut4S16W = Lut4WOf<16>;

static_assert(fields_cover_super_block<Lut4W>() && fields_cover_super_block<Lut4S16W>());
static_assert(Lut4W::kSuperBlockBytes % kLineBytes == 0 && Lut4S16W::kSuperBlockBytes % kLineBytes == 0,
              "every super-block of a line-aligned matrix is line-aligned");

}  // namespace juno::layout
