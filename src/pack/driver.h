// SPDX-License-Identifier: Apache-2.0
//
// The generic half of every recipe: walks tiles, rows and super-blocks. A specific recipe supplies
//   Format, Layout, constants(), to_values(const Format::Block&), to_block(const Layout::Values&).
#pragma once

#include <cstring>
#include <span>

#include "base/bytes.h"
#include "pack/recipe.h"

namespace juno::pack {

template <class R>
void pack_tile(const std::byte* blocks, std::size_t rows, std::size_t width, std::size_t tile, std::byte* packed) {
  using Layout = typename R::Layout;
  using Block = typename R::Format::Block;
  const std::size_t super_blocks = width / layout::kSuperBlockWeights;
  const std::size_t first_row = tile * Layout::kTileRows;
  std::byte* stream = packed + tile * super_blocks * Layout::kSuperBlockBytes;
  if (first_row + Layout::kTileRows > rows) std::memset(stream, 0, super_blocks * Layout::kSuperBlockBytes);
  for (std::size_t row = 0; row < Layout::kTileRows && first_row + row < rows; ++row) {
    const std::byte* source = blocks + (first_row + row) * super_blocks * sizeof(Block);
    for (std::size_t s = 0; s < super_blocks; ++s) {
      const auto block = load<Block>(source + s * sizeof(Block));
      Layout::write(stream + s * Layout::kSuperBlockBytes, row, R::to_values(block));
    }
  }
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
