// SPDX-License-Identifier: Apache-2.0
//
// What every packed layout is made of, as values: the narrow waist between formats and instruction sets.
//
// A packed matrix is a sequence of tiles, each covering kTileRows rows over the whole width; a tile is a sequence of
// super-blocks of 256 weights per row, in the order in which a kernel reads them: one stream of bytes from the first to
// the last. Rows that fill up the last tile are all zero bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/hash.h"

namespace juno::layout {

inline constexpr std::size_t kSuperBlockWeights = 256;

/// One kind of value inside a super-block: where the first lies, how wide each is and how many there are. The first
/// repeat starts at `offset`, the next ones `stride` bytes later.
struct Field {
  std::string_view name;
  std::string_view order;  ///< index order from the outermost to the innermost, for people and the fingerprint
  unsigned bits;           ///< per value
  std::size_t count;       ///< values per repeat
  std::size_t offset;      ///< bytes from the start of the super-block to the first repeat
  std::size_t repeats;
  std::size_t stride;  ///< bytes between repeats

  [[nodiscard]] constexpr std::size_t repeat_bytes() const noexcept { return bits * count / 8; }
};

/// Per-format constants that a layout leaves to the recipe, so that one kernel serves several formats (kernel/kernel.h
/// says where they enter). The factors are powers of two, hence exact.
struct Constants {
  std::array<std::int8_t, 16> table;  ///< value of each code; unused where codes are values
  float sum_factor;
  float row_factor;
};

/// A layout as a value, for code that works with any of them.
struct Info {
  std::string_view name;
  std::uint64_t fingerprint;  ///< equal if and only if the bytes mean the same
  std::size_t tile_rows;
  std::size_t super_block_bytes;  ///< bytes of one super-block of all rows of a tile
  std::span<const Field> fields;

  [[nodiscard]] constexpr std::size_t tiles(std::size_t rows) const noexcept {
    return (rows + tile_rows - 1) / tile_rows;
  }
  [[nodiscard]] constexpr std::size_t tile_bytes(std::size_t width) const noexcept {
    return width / kSuperBlockWeights * super_block_bytes;
  }
  /// Bytes of a packed rows x width matrix; `width` must be a multiple of kSuperBlockWeights.
  [[nodiscard]] constexpr std::size_t matrix_bytes(std::size_t rows, std::size_t width) const noexcept {
    return tiles(rows) * tile_bytes(width);
  }
};

/// Hash over everything that gives the bytes their meaning.
template <class Layout>
constexpr std::uint64_t fingerprint() noexcept {
  Fnv1a hash;
  hash.add(Layout::kName).add(Layout::kVersion).add(Layout::kTileRows).add(Layout::kSuperBlockBytes);
  for (const Field& field : Layout::kFields) {
    hash.add(field.name).add(field.order).add(field.bits).add(field.count);
    hash.add(field.offset).add(field.repeats).add(field.stride);
  }
  return hash.value();
}

/// True if the fields cover each byte of a super-block exactly once.
template <class Layout>
constexpr bool fields_cover_super_block() noexcept {
  std::array<std::uint8_t, Layout::kSuperBlockBytes> owners{};
  for (const Field& field : Layout::kFields) {
    for (std::size_t repeat = 0; repeat < field.repeats; ++repeat) {
      for (std::size_t byte = 0; byte < field.repeat_bytes(); ++byte) {
        ++owners[field.offset + repeat * field.stride + byte];
      }
    }
  }
  for (const std::uint8_t count : owners) {
    if (count != 1) return false;
  }
  return true;
}

template <class Layout>
constexpr Info info() noexcept {
  return {Layout::kName, fingerprint<Layout>(), Layout::kTileRows, Layout::kSuperBlockBytes, Layout::kFields};
}

}  // namespace juno::layout
