// SPDX-License-Identifier: Apache-2.0
//
// The generic half of every recipe: walks tiles, rows and super-blocks. A specific recipe supplies
//   Format, Layout, constants(), to_values(const Format::Block&), to_block(const Layout::Values&).
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "pack/recipe.h"

namespace juno::pack {

/// Super-blocks of one row that are packed before the next row's turn: enough to read whole lines of the source, few
/// enough that what is written (64 rows of them) stays in the cache until its lines are full.
inline constexpr std::size_t kSuperBlocksAtATime = 4;

template <class R>
std::size_t pack_tile(const std::byte* blocks, std::size_t rows, std::size_t width, std::size_t tile,
                      std::byte* packed) {
  using Layout = typename R::Layout;
  using Block = typename R::Format::Block;
  const std::size_t super_blocks = width / layout::kSuperBlockWeights;
  const std::size_t first_row = tile * Layout::kTileRows;
  const std::size_t tile_rows = std::min(Layout::kTileRows, rows - first_row);
  std::byte* stream = packed + tile * super_blocks * Layout::kSuperBlockBytes;
  if (tile_rows < Layout::kTileRows) std::memset(stream, 0, super_blocks * Layout::kSuperBlockBytes);
  std::size_t bad_row = kNoRow;
  for (std::size_t begin = 0; begin < super_blocks; begin += kSuperBlocksAtATime) {
    const std::size_t end = std::min(begin + kSuperBlocksAtATime, super_blocks);
    for (std::size_t row = 0; row < tile_rows; ++row) {
      const std::byte* source = blocks + (first_row + row) * super_blocks * sizeof(Block);
      for (std::size_t s = begin; s < end; ++s) {
        const auto values = R::to_values(load<Block>(source + s * sizeof(Block)));
        if (!values.finite()) bad_row = std::min(bad_row, first_row + row);
        Layout::write(stream + s * Layout::kSuperBlockBytes, row, values);
      }
    }
  }
  return bad_row;
}

template <class R>
void unpack_row(const std::byte* packed, std::size_t width, std::size_t row, std::byte* blocks) {
  using Layout = typename R::Layout;
  using Block = typename R::Format::Block;
  const std::size_t super_blocks = width / layout::kSuperBlockWeights;
  const std::byte* stream = packed + row / Layout::kTileRows * super_blocks * Layout::kSuperBlockBytes;
  for (std::size_t s = 0; s < super_blocks; ++s) {
    const auto values = Layout::read(stream + s * Layout::kSuperBlockBytes, row % Layout::kTileRows);
    store<Block>(blocks + s * sizeof(Block), R::to_block(values));
  }
}

template <class R>
void decode_blocks(const std::byte* blocks, std::size_t count, float* out) {
  using Format = typename R::Format;
  for (std::size_t i = 0; i < count; ++i) {
    const auto block = load<typename Format::Block>(blocks + i * sizeof(typename Format::Block));
    Format::decode(block,
                   std::span<float, Format::kBlockWeights>(out + i * Format::kBlockWeights, Format::kBlockWeights));
  }
}

template <class R>
constexpr Recipe make_recipe() noexcept {
  static_assert(R::Format::kBlockWeights == layout::kSuperBlockWeights);
  return {R::Format::kName,
          R::Format::kGgufType,
          sizeof(typename R::Format::Block),
          layout::info<typename R::Layout>(),
          R::constants(),
          pack_tile<R>,
          unpack_row<R>,
          decode_blocks<R>};
}

}  // namespace juno::pack
