// SPDX-License-Identifier: Apache-2.0
//
// lut4, one row and column at a time: what every other lut4 kernel has to equal, bit for bit.
#include "kernel/scalar/gemv_lut4.h"

#include <cmath>

#include "base/half.h"
#include "layout/lut4.h"

namespace juno::kernel::scalar {
namespace {

using layout::Lut4;

/// sum over sub-blocks of scale * (sum of code values * activations); at most 8 * 127 * 32 * 128 * 127, fits int32.
std::int32_t integer_sum(const Lut4::Values& weights, const layout::Constants& constants,
                         const std::int8_t* q) noexcept {
  std::int32_t total = 0;
  for (std::size_t sub = 0; sub < Lut4::kSubBlocks; ++sub) {
    std::int32_t sum = 0;
    for (std::size_t i = sub * Lut4::kSubBlockWeights; i < (sub + 1) * Lut4::kSubBlockWeights; ++i) {
      sum += constants.table[weights.codes[i]] * q[i];
    }
    total += weights.scales[sub] * sum;
  }
  return total;
}

}  // namespace

void gemv_lut4(const TileJob& job) noexcept {
  const layout::Constants& constants = *job.constants;
  for (std::size_t row = 0; row < job.rows; ++row) {
    const std::byte* stream = job.tiles + row / Lut4::kTileRows * job.super_blocks * Lut4::kSuperBlockBytes;
    for (std::size_t column = 0; column < job.columns; ++column) {
      const std::byte* activations = job.activations + column * job.activation_stride;
      float acc = 0.0f;
      for (std::size_t s = 0; s < job.super_blocks; ++s) {
        const auto weights = Lut4::read(stream + s * Lut4::kSuperBlockBytes, row % Lut4::kTileRows);
        const auto block = load<layout::ActivationBlock>(activations + s * sizeof(layout::ActivationBlock));
        const auto sum = static_cast<float>(integer_sum(weights, constants, block.q));
        acc = std::fma(half_to_float(weights.d) * block.d, constants.sum_factor * sum, acc);
      }
      job.out[column * job.out_stride + row] = constants.row_factor * acc;
    }
  }
}

}  // namespace juno::kernel::scalar
