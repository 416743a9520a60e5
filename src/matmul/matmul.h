// SPDX-License-Identifier: Apache-2.0
//
// Products of packed matrices with columns of activations, shared among threads; the only caller of kernels.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

#include "juno/receipt.h"
#include "kernel/kernel.h"
#include "pack/pack.h"

namespace juno::matmul {

/// A packed tensor somewhere in memory that outlives the product; `data` is aligned to kLineBytes.
struct PackedTensor {
  const pack::Recipe* recipe;
  const std::byte* data;
  pack::Shape shape;

  /// Bytes of one of its matrices.
  [[nodiscard]] std::size_t matrix_bytes() const noexcept {
    return recipe->layout.matrix_bytes(shape.rows, shape.width);
  }
};

/// Columns that are multiplied with the same matrix: an expert and its tokens, say. Every column has shape.width / 256
/// activation blocks and room for shape.rows results.
struct Group {
  std::size_t matrix;
  std::span<const kernel::Column> columns;
};

/// For each group and column: out[row] = sum over the width of weights * activations.
struct Product {
  PackedTensor weights;
  const kernel::KernelInfo* kernel;  ///< chosen for few columns; larger groups get its sibling for many
  std::span<const Group> groups;
  /// The next part of the work that nobody has claimed: 0 before the first thread calls multiply_share().
  std::atomic<std::size_t>* next_part = nullptr;
};

/// Computes a share of the product, of which all of `threads` threads that call this with the same product claim parts
/// until none is left. Counted as one operation, classed by the largest group. Any number of threads is right, also
/// more than there are tiles. Results do not depend on the number of threads, nor on who computes what.
void multiply_share(const Product& product, std::size_t threads, receipt::Counters& counters) noexcept;

}  // namespace juno::matmul
