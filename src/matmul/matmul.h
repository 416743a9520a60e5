// SPDX-License-Identifier: Apache-2.0
//
// Products of a packed matrix with columns of activations, shared among threads; the only caller of kernels.
#pragma once

#include <cstddef>

#include "juno/receipt.h"
#include "kernel/kernel.h"
#include "pack/recipe.h"

namespace juno::matmul {

/// A packed matrix somewhere in memory that outlives the product; `data` is aligned to kLineBytes.
struct PackedMatrix {
  const pack::Recipe* recipe;
  const std::byte* data;
  std::size_t rows;
  std::size_t width;
};

/// out[column][row] = sum over the width of weights * activations.
/// Column c has its blocks at activations + c * activation_stride (bytes), its results at out + c * out_stride
/// (floats).
struct Product {
  PackedMatrix weights;
  const kernel::KernelInfo* kernel;
  const std::byte* activations;
  std::size_t activation_stride;
  std::size_t columns;
  float* out;
  std::size_t out_stride;
};

/// Computes thread `thread`'s share (of `threads`, which all call this with the same product), and counts it. Any
/// number of threads is right, also more than there are tiles. Results do not depend on the number of threads.
void multiply_share(const Product& product, std::size_t thread, std::size_t threads,
                    receipt::Counters& counters) noexcept;

}  // namespace juno::matmul
