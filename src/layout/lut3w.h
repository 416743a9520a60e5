// SPDX-License-Identifier: Apache-2.0
//
// lut3w: three bits per weight, an index of 2 bits into a table of magnitudes and a sign; a 4-bit scale s for 16
// weights, which stands for 2s + 1; a half float per row and 256 weights. The numbers of lut4s16 whose codes have bit 2
// clear and whose table is odd, table[8 + i] = -table[i], in 3.3125 bits a weight; for CPUs that negate the bytes of a
// vector by a mask. 64 rows to a tile.
//
// One super-block of a tile (64 rows x 256 columns) is 8 pairs of sub-blocks (16 columns each) and the half floats,
// 6784 bytes in reading order:
//
//   byte 0              256              512           640           768             832          6656      6784
//        | indices sub 0 | indices sub 1 | signs sub 0 | signs sub 1 | scales 0, 1   | ... pair 7 .. | d 64 halfs |
//
// Indices are a word for each row: byte j holds columns j, 4 + j, 8 + j and 12 + j of the sub-block, the first in the
// lowest bits. Signs are a quad-word for 16 rows (0 .. 15 first) and each of those four columns: bit 4 * row + j, set
// if the weight is negative, so that two rows share a byte. Scales are a byte for each row, the even sub-block's in the
// low nibble.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "layout/layout.h"
#include "layout/values.h"
#include "layout/words.h"

namespace juno::layout {

struct Lut3W {
  static constexpr std::string_view kName = "lut3w";
  static constexpr unsigned kVersion = 1;
  static constexpr std::size_t kTileRows = 64;
  static constexpr std::size_t kSubBlockWeights = 16;
  static constexpr std::size_t kSubBlocks = kSuperBlockWeights / kSubBlockWeights;
  static constexpr std::size_t kPairs = kSubBlocks / 2;
  static constexpr std::size_t kWordBytes = 4;
  static constexpr std::size_t kWordsOfColumns = kSubBlockWeights / 4;  ///< how many columns share a byte
  static constexpr std::size_t kMaskRows = 16;                          ///< rows of a quad-word of signs

  static constexpr std::size_t kIndexBytes = kTileRows * kWordBytes;  ///< of a sub-block
  static constexpr std::size_t kMaskBytes = 8;
  static constexpr std::size_t kSignBytes = kTileRows / kMaskRows * kWordsOfColumns * kMaskBytes;  ///< of a sub-block
  static constexpr std::size_t kSignsOffset = 2 * kIndexBytes;                                     ///< in a pair
  static constexpr std::size_t kScalesOffset = kSignsOffset + 2 * kSignBytes;
  static constexpr std::size_t kPairBytes = kScalesOffset + kTileRows;
  static constexpr std::size_t kDOffset = kPairs * kPairBytes;
  static constexpr std::size_t kSuperBlockBytes = kDOffset + 2 * kTileRows;

  static constexpr std::array<Field, 4> kFields = {{
      {"indices", "sub row column%4 column/4; low bits first", 2, 2 * kSubBlockWeights* kTileRows, 0, kPairs,
       kPairBytes},
      {"signs", "sub row/16 column/4 row%16 column%4; low bits first, set if negative", 1,
       2 * kSubBlockWeights* kTileRows, kSignsOffset, kPairs, kPairBytes},
      {"scales", "row; s of 2s+1, even sub-block in the low nibble", 4, 2 * kTileRows, kScalesOffset, kPairs,
       kPairBytes},
      {"d", "row; binary16", 16, kTileRows, kDOffset, 1, 0},
  }};

  /// Bytes from the start of a super-block to the word with the indices of `row` in sub-block `sub`.
  static constexpr std::size_t word_offset(std::size_t row, std::size_t sub) noexcept {
    return sub / 2 * kPairBytes + sub % 2 * kIndexBytes + row * kWordBytes;
  }
  /// The quad-word with the signs of `row` and 15 others, for columns 4 * `word` .. 4 * `word` + 3 of the sub-block.
  static constexpr std::size_t mask_offset(std::size_t row, std::size_t sub, std::size_t word) noexcept {
    return sub / 2 * kPairBytes + kSignsOffset + sub % 2 * kSignBytes +
           (row / kMaskRows * kWordsOfColumns + word) * kMaskBytes;
  }
  /// The byte with the scales of `row` in the sub-blocks 2 * `pair` and 2 * `pair` + 1.
  static constexpr std::size_t scales_offset(std::size_t row, std::size_t pair) noexcept {
    return pair * kPairBytes + kScalesOffset + row;
  }
  static constexpr std::size_t d_offset(std::size_t row) noexcept { return kDOffset + 2 * row; }

  using Values = Lut4Values<kSubBlocks>;

  /// Writes one row's share of the super-block at `super_block`, whose bytes need not be set before.
  static void write(std::byte* super_block, std::size_t row, const Values& values) noexcept {
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      std::uint32_t indices = 0;
      for (std::size_t word = 0; word < kWordsOfColumns; ++word) {
        const std::uint32_t codes = values.codes[sub * kWordsOfColumns + word];
        indices |= (nibbles_to_bytes(codes) & 0x03030303u) << 2 * word;
        // Bit 3 of each nibble, moved together.
        const std::uint32_t signs = (codes & 0x8888u) * 0x249u >> 12 & 0xf;
        std::byte* at = super_block + sign_byte(row, sub, word);
        const auto others = load<std::uint8_t>(at) & ~(0xfu << sign_shift(row));
        store(at, static_cast<std::uint8_t>(others | signs << sign_shift(row)));
      }
      store(super_block + word_offset(row, sub), indices);
    }
    for (std::size_t pair = 0; pair < kPairs; ++pair) {
      const int even = values.scales[2 * pair] / 2;
      const int odd = values.scales[2 * pair + 1] / 2;
      store(super_block + scales_offset(row, pair), static_cast<std::uint8_t>(even | odd << 4));
    }
    store(super_block + d_offset(row), values.d);
  }

  /// The inverse of write().
  static Values read(const std::byte* super_block, std::size_t row) noexcept {
    Values values;
    for (std::size_t sub = 0; sub < kSubBlocks; ++sub) {
      const auto indices = load<std::uint32_t>(super_block + word_offset(row, sub));
      for (std::size_t word = 0; word < kWordsOfColumns; ++word) {
        const unsigned signs = load<std::uint8_t>(super_block + sign_byte(row, sub, word)) >> sign_shift(row);
        unsigned codes = bytes_to_nibbles(indices >> 2 * word & 0x03030303u);
        for (unsigned j = 0; j < 4; ++j) codes |= (signs >> j & 1) << (4 * j + 3);
        values.codes[sub * kWordsOfColumns + word] = static_cast<std::uint16_t>(codes);
      }
      const auto scales = load<std::uint8_t>(super_block + scales_offset(row, sub / 2));
      values.scales[sub] = static_cast<std::int8_t>(2 * (scales >> 4 * (sub % 2) & 0xf) + 1);
    }
    values.d = load<std::uint16_t>(super_block + d_offset(row));
    return values;
  }

 private:
  static constexpr std::size_t sign_byte(std::size_t row, std::size_t sub, std::size_t word) noexcept {
    return mask_offset(row, sub, word) + row % kMaskRows / 2;
  }
  static constexpr unsigned sign_shift(std::size_t row) noexcept { return row % 2 == 0 ? 0 : 4; }
};

static_assert(fields_cover_super_block<Lut3W>());
static_assert(Lut3W::kSuperBlockBytes % kLineBytes == 0, "every super-block of a line-aligned matrix is line-aligned");

}  // namespace juno::layout
