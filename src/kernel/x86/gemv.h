// SPDX-License-Identifier: Apache-2.0
//
// One to a few columns: every vector of codes is loaded and decoded once and multiplied with all columns of a batch,
// in the order in which it lies in memory. The sums of a sub-block stay in registers,
//
//   p[column][vector of rows]  +=  weights (kLanes rows x 4 columns) . activations (4, the same in every lane)
//
// are scaled in int32, and added up over the super-block; then comes the float step.
#pragma once

#include <algorithm>

#include "kernel/kernel.h"
#include "kernel/x86/decoders.h"

#define JUNO_UNROLL _Pragma("clang loop unroll(full)")

namespace juno::kernel::x86 {
namespace {

/// Columns of one pass over a tile.
inline constexpr std::size_t kBatchColumns = 4;

/// What the sums of one column and super-block have too much because weights are biased: -bias * sum of activations,
/// for each sub-block. A sum starts with it.
template <class V, class Layout>
[[gnu::always_inline]] inline void corrections(const layout::ActivationBlock& y, std::int32_t* out) {
  constexpr std::size_t kSums = Layout::kSubBlockWeights / 16;
  for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) {
    std::int32_t sum = 0;
    for (std::size_t i = 0; i < kSums; ++i) sum += y.sums[sub * kSums + i];
    out[sub] = -V::kBias * sum;
  }
}

template <class V, class D, std::size_t kColumns>
struct Batch {
  using Layout = typename D::Layout;
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr std::size_t kRowVectors = Layout::kTileRows / V::kLanes;

  std::array<std::array<Float, kRowVectors>, kColumns> acc;

  [[gnu::always_inline]] void add_super_block(const D& decoder, const std::byte* super_block,
                                              const layout::ActivationBlock* const* y, float sum_factor) {
    alignas(64) std::int32_t corrected[kColumns][Layout::kSubBlocks];
    if constexpr (D::kBiased) {
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) corrections<V, Layout>(*y[c], corrected[c]);
    }
    Int isum[kColumns][kRowVectors];
    Int msum[kColumns][kRowVectors];
    JUNO_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) {
      JUNO_UNROLL
      for (std::size_t r = 0; r < kRowVectors; ++r) isum[c][r] = msum[c][r] = V::zero();
    }
    _Pragma("clang loop unroll(disable)")  //
        for (std::size_t unit = 0; unit < Layout::kSubBlocks; unit += D::kUnit) {
      JUNO_UNROLL
      for (std::size_t i = 0; i < D::kUnit; ++i) {
        const std::size_t sub = unit + i;
        JUNO_UNROLL
        for (std::size_t first = 0; first < kRowVectors; first += V::kRowBlock) {
          add_sub_block(decoder, super_block, y, corrected, sub, first, isum);
        }
      }
      if constexpr (D::kMinima) {
        JUNO_UNROLL
        for (std::size_t r = 0; r < kRowVectors; ++r) {
          const Int minima = decoder.minima(super_block, unit / 2, r * V::kLanes);
          JUNO_UNROLL
          for (std::size_t c = 0; c < kColumns; ++c) {
            msum[c][r] = V::dot_16(msum[c][r], minima, V::broadcast(y[c]->sums + unit));
          }
        }
      }
    }
    JUNO_UNROLL
    for (std::size_t r = 0; r < kRowVectors; ++r) {
      const Float d = V::widen_halfs(super_block + Layout::d_offset(r * V::kLanes));
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        const Float y_d = V::floats(y[c]->d);
        if constexpr (D::kMinima) {
          const Float d_min = V::widen_halfs(super_block + Layout::dmin_offset(r * V::kLanes));
          acc[c][r] = V::negated_fma(V::multiply(d_min, y_d), V::to_float(msum[c][r]), acc[c][r]);
        }
        Float sum = V::to_float(isum[c][r]);
        if constexpr (!D::kMinima) sum = V::multiply(V::floats(sum_factor), sum);
        acc[c][r] = V::fma(V::multiply(d, y_d), sum, acc[c][r]);
      }
    }
  }

 private:
  [[gnu::always_inline]] static void add_sub_block(const D& decoder, const std::byte* super_block,
                                                   const layout::ActivationBlock* const* y,
                                                   const std::int32_t (*corrected)[Layout::kSubBlocks], std::size_t sub,
                                                   std::size_t first, Int (*isum)[kRowVectors]) {
    Int p[kColumns][V::kRowBlock];
    JUNO_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) {
      Int start = V::zero();
      if constexpr (D::kBiased) start = V::ints(corrected[c][sub]);
      JUNO_UNROLL
      for (std::size_t r = 0; r < V::kRowBlock; ++r) p[c][r] = start;
    }
    JUNO_UNROLL
    for (std::size_t step = 0; step < D::kSteps; ++step) {
      JUNO_UNROLL
      for (std::size_t r = 0; r < V::kRowBlock; ++r) {
        const auto weights = decoder.weights(super_block, sub, step, (first + r) * V::kLanes);
        JUNO_UNROLL
        for (std::size_t k = 0; k < D::kVectors; ++k) {
          const std::size_t column = sub * Layout::kSubBlockWeights + 4 * (step * D::kVectors + k);
          JUNO_UNROLL
          for (std::size_t c = 0; c < kColumns; ++c) {
            const typename V::Word word = V::word(y[c]->q + column);
            p[c][r] = D::kMinima ? V::dot_small(p[c][r], weights[k], word) : V::dot(p[c][r], weights[k], word);
          }
        }
      }
    }
    JUNO_UNROLL
    for (std::size_t r = 0; r < V::kRowBlock; ++r) {
      const Int scales = decoder.scales(super_block, sub, (first + r) * V::kLanes);
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        Int& sum = isum[c][first + r];
        // Sums of codes with minima fit into 16 bits (3 * 128 * 16), as their scales do: one instruction for both.
        sum = D::kMinima ? V::dot_16(sum, p[c][r], scales) : V::add(sum, V::multiply(p[c][r], scales));
      }
    }
  }
};

template <class V, class D, std::size_t kColumns>
void gemv_tile(const TileJob& job, const D& decoder, const std::byte* tile, std::size_t first_row,
               const Column* columns) {
  using Layout = typename D::Layout;
  Batch<V, D, kColumns> batch;
  JUNO_UNROLL
  for (auto& column : batch.acc) {
    JUNO_UNROLL
    for (auto& acc : column) acc = V::floats(0.0f);
  }
  for (std::size_t s = 0; s < job.super_blocks; ++s) {
    const layout::ActivationBlock* y[kColumns];
    JUNO_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) y[c] = columns[c].activations + s;
    batch.add_super_block(decoder, tile + s * Layout::kSuperBlockBytes, y, job.constants->sum_factor);
  }
  const typename V::Float row_factor = V::floats(job.constants->row_factor);
  const std::size_t rows = std::min(Layout::kTileRows, job.rows - first_row);
  for (std::size_t c = 0; c < kColumns; ++c) {
    float* out = columns[c].out + job.first_row + first_row;
    for (std::size_t r = 0; r * V::kLanes < rows; ++r) {
      V::store_floats(out + r * V::kLanes, V::multiply(row_factor, batch.acc[c][r]), rows - r * V::kLanes);
    }
  }
}

/// Any number of columns, in batches of kBatchColumns.
template <class V, class D>
void gemv(const TileJob& job) noexcept {
  using Layout = typename D::Layout;
  const D decoder(*job.constants);
  const std::byte* tile = job.tiles;
  for (std::size_t row = 0; row < job.rows; row += Layout::kTileRows) {
    for (std::size_t c = 0; c < job.column_count; c += kBatchColumns) {
      const Column* columns = job.columns + c;
      switch (std::min(kBatchColumns, job.column_count - c)) {
        case 1: gemv_tile<V, D, 1>(job, decoder, tile, row, columns); break;
        case 2: gemv_tile<V, D, 2>(job, decoder, tile, row, columns); break;
        case 3: gemv_tile<V, D, 3>(job, decoder, tile, row, columns); break;
        default: gemv_tile<V, D, 4>(job, decoder, tile, row, columns); break;
      }
    }
    tile += job.super_blocks * Layout::kSuperBlockBytes;
  }
}

}  // namespace
}  // namespace juno::kernel::x86
