// SPDX-License-Identifier: Apache-2.0
//
// lin2w: the numbers of lin2 in the order of dot products of 32-bit words, where each lane takes four columns of one
// row. 64 rows to a tile, 2.625 bits a weight.
//
// One super-block of a tile (64 rows x 256 columns) is 16 sub-blocks (16 columns each) and the half floats, 5376 bytes
// in reading order:
//
//   byte 0             256                       320                                      5120   5248   5376
//        | codes sub 0 | scales and minima sub 0 | codes sub 1 | ... | scales and minima 15 | d   | dmin |
//
// Codes are a word for each row: byte j holds columns j, 4 + j, 8 + j and 12 + j of the sub-block, the first in the
// lowest bits. A row's scale and minimum share a byte, the scale in the low nibble.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "layout/layout.h"
#include "layout/values.h"
#include "layout/words.h"

namespace juno::layout {

struct Lin2W {
  static constexpr std::string_view kName = "lin2w";
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kSubBlockWeights = 16;
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / kSubBlockWeights;
  static constexpr std::size_t kWordBytes = 4;

  static constexpr std::size_t kSubBlockCodeBytes = kTileRows * kWordBytes;
  static constexpr std::size_t kSubBlockBytes = kSubBlockCodeBytes + kTileRows;
  static constexpr std::size_t kDOffset = kSubBlocks * kSubBlockBytes;
  static constexpr std::size_t kDMinOffset = kDOffset + 2 * kTileRows;
  static constexpr std::size_t kSuperBlockBytes = kDMinOffset + 2 * kTileRows;

  static constexpr std::array<Field, 4> kFields = {{
      {"codes", "row column%4 column/4; low bits first", 2, kSubBlockWeights* kTileRows, 0, kSubBlocks, kSubBlockBytes},
      {"scales and minima", "row; scale in the low nibble", 4, 2 * kTileRows, kSubBlockCodeBytes, kSubBlocks,
       kSubBlockBytes},
      {"d", "row; binary16", 16, kTileRows, kDOffset, 1, 0},
      {"dmin", "row; binary16", 16, kTileRows, kDMinOffset, 1, 0},
  }};

  /// Bytes from the start of a super-block to the word with the codes of `row` in sub-block `sub`.
  static constexpr std::size_t word_offset(std::size_t row, std::size_t sub) noexcept {
    return sub * kSubBlockBytes + row * kWordBytes;
  }
  /// The byte with the scale and the minimum of `row` in sub-block `sub`.
  static constexpr std::size_t scale_offset(std::size_t row, std::size_t sub) noexcept {
    return sub * kSubBlockBytes + kSubBlockCodeBytes + row;
  }
  static constexpr std::size_t d_offset(std::size_t row) noexcept { return kDOffset + 2 * row; }
  static constexpr std::size_t dmin_offset(std::size_t row) noexcept { return kDMinOffset + 2 * row; }

  using Values = Lin2Values;

  /// Writes one row's share of the super-block at `super_block`, whose bytes need not be set before.
  static void write(std::byte* super_block, std::size_t row, const Values& values) noexcept {
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      std::uint32_t codes;
      std::memcpy(&codes, values.codes.data() + sub * kWordBytes, sizeof codes);
      store(super_block + word_offset(row, sub), transpose_crumbs(codes));
      store(super_block + scale_offset(row, sub),
            static_cast<std::uint8_t>(values.scales[sub] | values.minimum(sub) << 4));
    }
    store(super_block + d_offset(row), values.d);
    store(super_block + dmin_offset(row), values.dmin);
  }

  /// The inverse of write().
  static Values read(const std::byte* super_block, std::size_t row) noexcept {
    Values values{};
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      const std::uint32_t codes = transpose_crumbs(load<std::uint32_t>(super_block + word_offset(row, sub)));
      std::memcpy(values.codes.data() + sub * kWordBytes, &codes, sizeof codes);
      const auto both = load<std::uint8_t>(super_block + scale_offset(row, sub));
      values.scales[sub] = both & 0xf;
      values.minima[sub / 2] = static_cast<std::uint8_t>(values.minima[sub / 2] | both >> 4 << 4 * (sub % 2));
    }
    values.d = load<std::uint16_t>(super_block + d_offset(row));
    values.dmin = load<std::uint16_t>(super_block + dmin_offset(row));
    return values;
  }
};

static_assert(fields_cover_super_block<Lin2W>());
static_assert(Lin2W::kSuperBlockBytes % kLineBytes == 0, "every super-block of a line-aligned matrix is line-aligned");

}  // namespace juno::layout
