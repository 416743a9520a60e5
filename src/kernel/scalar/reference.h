// SPDX-License-Identifier: Apache-2.0
//
// The specification: one row, one column and one super-block at a time. What every other kernel has to equal, bit for
// bit. A layout brings only the integer sums of one super-block.
#pragma once

#include <cmath>

#include "base/half.h"
#include "kernel/kernel.h"

namespace juno::kernel::scalar {

/// `super_block(values, activations, constants, acc)` returns the new `acc` of a row, given its values in a
/// super-block.
template <class Layout, class SuperBlock>
void multiply(const TileJob& job, SuperBlock super_block) noexcept {
  for (std::size_t row = 0; row < job.rows; ++row) {
    const std::byte* stream = job.tiles + row / Layout::kTileRows * job.super_blocks * Layout::kSuperBlockBytes;
    for (std::size_t c = 0; c < job.column_count; ++c) {
      const Column& column = job.columns[c];
      float acc = 0.0f;
      for (std::size_t s = 0; s < job.super_blocks; ++s) {
        const auto values = Layout::read(stream + s * Layout::kSuperBlockBytes, row % Layout::kTileRows);
        acc = super_block(values, column.activations[s], *job.constants, acc);
      }
      column.out[job.first_row + row] = job.constants->row_factor * acc;
    }
  }
}

}  // namespace juno::kernel::scalar
