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
#include <array>

#include "kernel/kernel.h"
#include "layout/activations.h"

#define JUNO_UNROLL _Pragma("clang loop unroll(full)")

namespace juno::kernel::simd {
namespace {

/// Columns of one pass over a tile.
inline constexpr std::size_t kBatchColumns = 4;

/// How far ahead memory is asked for. The loops below look ahead a few hundred instructions by themselves, which are
/// fewer bytes the denser a layout is; this keeps all of them at what the memory gives. Measured: docs/performance.md.
inline constexpr std::size_t kPrefetchBytes = 8192;

/// What lies kPrefetchBytes behind a unit of sub-blocks. May lie behind the end of the matrix: the instruction never
/// faults.
template <class V, class D>
[[gnu::always_inline]] inline void prefetch_unit(const std::byte* super_block, std::size_t unit) {
  using Layout = typename D::Layout;
  constexpr std::size_t kUnitBytes = Layout::kDOffset / (Layout::kSubBlocks / D::kUnit);
  const std::byte* ahead = super_block + unit / D::kUnit * kUnitBytes + kPrefetchBytes;
  JUNO_UNROLL
  for (std::size_t i = 0; i < kUnitBytes; i += kLineBytes) V::prefetch(ahead + i);
}

/// The sum of a super-block as floats, times the factor that layouts without minima have.
template <class V, class D>
[[gnu::always_inline]] inline typename V::Float scaled(typename V::Int isum, float sum_factor) {
  if constexpr (D::kMinima) return V::to_float(isum);
  return V::multiply(V::floats(sum_factor), V::to_float(isum));
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
      for (std::size_t c = 0; c < kColumns; ++c)
        V::template corrections<Layout::kSubBlockWeights>(y[c]->sums, corrected[c]);
    }
    // Where not all sums fit into registers, the rows take turns; what the first pass read is in the cache then.
    JUNO_UNROLL
    for (std::size_t first = 0; first < kRowVectors; first += kRowBlock) {
      add_rows(decoder, super_block, y, corrected, sum_factor, first);
    }
  }

 private:
  static constexpr std::size_t kRowBlock = V::row_block(kColumns);

  [[gnu::always_inline]] void add_rows(const D& decoder, const std::byte* super_block,
                                       const layout::ActivationBlock* const* y,
                                       const std::int32_t (*corrected)[Layout::kSubBlocks], float sum_factor,
                                       std::size_t first) {
    Int isum[kColumns][kRowBlock];
    Int msum[kColumns][kRowBlock];
    JUNO_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) {
      JUNO_UNROLL
      for (std::size_t r = 0; r < kRowBlock; ++r) isum[c][r] = msum[c][r] = V::zero();
    }
    _Pragma("clang loop unroll(disable)")  //
        for (std::size_t unit = 0; unit < Layout::kSubBlocks; unit += D::kUnit) {
      if (first == 0) prefetch_unit<V, D>(super_block, unit);
      JUNO_UNROLL
      for (std::size_t i = 0; i < D::kUnit; ++i) {
        add_sub_block(decoder, super_block, y, corrected, unit + i, first, isum);
      }
      if constexpr (D::kMinima) {
        JUNO_UNROLL
        for (std::size_t r = 0; r < kRowBlock; ++r) {
          const Int minima = decoder.minima(super_block, unit / 2, (first + r) * V::kLanes);
          JUNO_UNROLL
          for (std::size_t c = 0; c < kColumns; ++c) {
            msum[c][r] = V::dot_16(msum[c][r], minima, V::broadcast(y[c]->sums + unit));
          }
        }
      }
    }
    JUNO_UNROLL
    for (std::size_t r = 0; r < kRowBlock; ++r) {
      const std::size_t row = (first + r) * V::kLanes;
      const Float d = V::widen_halfs(super_block + Layout::d_offset(row));
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        const Float y_d = V::floats(y[c]->d);
        Float& sum = acc[c][first + r];
        if constexpr (D::kMinima) {
          const Float d_min = V::widen_halfs(super_block + Layout::dmin_offset(row));
          sum = V::negated_fma(V::multiply(d_min, y_d), V::to_float(msum[c][r]), sum);
        }
        sum = V::fma(V::multiply(d, y_d), scaled<V, D>(isum[c][r], sum_factor), sum);
      }
    }
  }

  [[gnu::always_inline]] static void add_sub_block(const D& decoder, const std::byte* super_block,
                                                   const layout::ActivationBlock* const* y,
                                                   const std::int32_t (*corrected)[Layout::kSubBlocks], std::size_t sub,
                                                   std::size_t first, Int (*isum)[kRowBlock]) {
    Int p[kColumns][kRowBlock];
    JUNO_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) {
      const Int start = D::kBiased ? V::ints(corrected[c][sub]) : V::zero();
      JUNO_UNROLL
      for (std::size_t r = 0; r < kRowBlock; ++r) p[c][r] = start;
    }
    JUNO_UNROLL
    for (std::size_t step = 0; step < D::kSteps; ++step) {
      JUNO_UNROLL
      for (std::size_t r = 0; r < kRowBlock; r += D::kRows) {
        const auto weights = decoder.weights(super_block, sub, step, (first + r) * V::kLanes);
        JUNO_UNROLL
        for (std::size_t k = 0; k < D::kVectors; ++k) {
          const std::size_t column = sub * Layout::kSubBlockWeights + 4 * (step * D::kVectors + k);
          JUNO_UNROLL
          for (std::size_t c = 0; c < kColumns; ++c) {
            const typename V::Word word = V::word(y[c]->q + column);
            JUNO_UNROLL
            for (std::size_t i = 0; i < D::kRows; ++i) {
              Int& sum = p[c][r + i];
              const Int operand = weights[i * D::kVectors + k];
              sum = D::kMinima ? V::dot_small(sum, operand, word) : V::dot(sum, operand, word);
            }
          }
        }
      }
    }
    JUNO_UNROLL
    for (std::size_t r = 0; r < kRowBlock; ++r) {
      const Int scales = decoder.scales(super_block, sub, (first + r) * V::kLanes);
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        Int& sum = isum[c][r];
        // Sums of codes with minima fit into 16 bits (3 * 128 * 16), as their scales do.
        sum = D::kMinima ? V::multiply_add_16(sum, p[c][r], scales) : V::multiply_add(sum, p[c][r], scales);
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
}  // namespace juno::kernel::simd
