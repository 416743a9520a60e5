// SPDX-License-Identifier: Apache-2.0
//
// Packing of whole tensors, shared among threads, and reading them back.
#pragma once

#include <cstddef>
#include <optional>

#include "pack/recipe.h"

namespace juno::pack {

/// The shape of a tensor: `matrices` matrices of rows x width weights, one after the other. 1 but for experts.
struct Shape {
  std::size_t rows;
  std::size_t width;
  std::size_t matrices = 1;
};

/// The first row with a block scale that is infinite or NaN.
struct BadRow {
  std::size_t matrix;
  std::size_t row;
};

/// Packs a tensor: `blocks` are the format's own bytes, `packed` has room for matrices * matrix_bytes(rows, width)
/// bytes, aligned to kLineBytes, and does not overlap `blocks`. Up to `threads` threads share the tiles; fewer if the
/// tensor is small or the system refuses threads. If a row is bad the content of `packed` is unspecified.
std::optional<BadRow> pack_tensor(const Recipe& recipe, const Shape& shape, const std::byte* blocks, std::byte* packed,
                                  unsigned threads) noexcept;

/// Writes row `row` (counted through all matrices) in the format's own bytes to `blocks`.
void unpack_tensor_row(const Recipe& recipe, const Shape& shape, const std::byte* packed, std::size_t row,
                       std::byte* blocks) noexcept;

/// Processors that this process may use, at least 1.
unsigned usable_processors() noexcept;

}  // namespace juno::pack
