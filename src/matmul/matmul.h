// SPDX-License-Identifier: Apache-2.0
//
// Products of packed matrices with columns of activations, shared among threads; the only caller of kernels.
#pragma once

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
  const kernel::KernelInfo* kernel;
  std::span<const Group> groups;
};

/// Computes thread `thread`'s share (of `threads`, which all call this with the same product), and counts it as one
/// operation, classed by the largest group. Any number of threads is right, also more than there are tiles. Results do
/// not depend on the number of threads.
void multiply_share(const Product& product, std::size_t thread, std::size_t threads,
                    receipt::Counters& counters) noexcept;

}  // namespace juno::matmul
