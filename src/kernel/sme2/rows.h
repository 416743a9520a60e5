// SPDX-License-Identifier: Apache-2.0
//
// What streaming kernels with a tile of 64 rows have in common. Four vectors of one value per row, rows 0-15, 16-31,
// 32-47 and 48-63 of a tile, always travel together as _0 .. _3: vectors without a size cannot be members of a struct.
// Included by streaming code only.
#pragma once

#include <arm_sme.h>

#include <cstddef>

#include "kernel/sme2/streaming.h"

#define JUNO_INLINE [[gnu::always_inline]] inline

namespace juno::kernel::sme2 {

inline constexpr std::size_t kLanes = 16;  // int32 lanes of a 64-byte vector
inline constexpr std::size_t kVectorBytes = 64;
inline constexpr std::size_t kSegmentBytes = 16;  // of a vector; SDOT's lane picks four bytes of each

/// The half floats at `halfs` as 16 floats, times `factor`.
JUNO_INLINE svfloat32_t scaled_halfs(svbool_t all, const std::uint16_t* halfs, float factor) JUNO_SME2_STREAMING {
  return svmul_n_f32_x(all, svcvt_f32_f16_x(all, svreinterpret_f16_u32(svld1uh_u32(all, halfs))), factor);
}

/// fma(d_weight * d_activation, sum_factor * float(total), acc) for 16 rows, whose d_weight are at `halfs`.
template <bool kScaled>
JUNO_INLINE svfloat32_t float_step(svbool_t all, svfloat32_t acc, svint32_t total, const std::uint16_t* halfs,
                                   float d_activation, float sum_factor) JUNO_SME2_STREAMING {
  const svfloat32_t d = scaled_halfs(all, halfs, d_activation);
  const svfloat32_t sum = svcvt_f32_s32_x(all, total);
  if constexpr (kScaled) return svmla_f32_x(all, acc, d, svmul_n_f32_x(all, sum, sum_factor));
  return svmla_f32_x(all, acc, d, sum);
}

/// Writes 16 results, or as many of them as lie below row `rows`; the first belongs to row `first` of the tile.
JUNO_INLINE void write_rows(svfloat32_t acc, float row_factor, std::uint64_t first, std::uint64_t rows,
                            float* out) JUNO_SME2_STREAMING {
  const svbool_t mine = svwhilelt_b32_u64(first, rows);
  svst1_f32(mine, out + first, svmul_n_f32_x(mine, acc, row_factor));
}

/// The blocks of a batch of columns that belong to one super-block.
template <unsigned kColumns>
struct Blocks {
  const layout::ActivationBlock* block[kColumns];
};

/// What a batch of columns keeps in memory, since registers do not hold it: sums of a tile's 64 rows.
template <unsigned kColumns>
struct Sums {
  alignas(kVectorBytes) std::int32_t totals[kColumns][4 * kLanes];
  alignas(kVectorBytes) float acc[kColumns][4 * kLanes];
};

/// One tile with one column.
template <class Layout, class Kernel>
JUNO_INLINE void multiply_column(const TileJob& job, const std::uint8_t* tile, std::size_t first,
                                 const Column& column) JUNO_SME2_STREAMING {
  svfloat32_t acc_0 = svdup_n_f32(0.0f);
  svfloat32_t acc_1 = acc_0;
  svfloat32_t acc_2 = acc_0;
  svfloat32_t acc_3 = acc_0;
  for (std::size_t s = 0; s < job.super_blocks; ++s) {
    Kernel::add_super_block(tile + s * Layout::kSuperBlockBytes, column.activations[s], job.constants->sum_factor,
                            acc_0, acc_1, acc_2, acc_3);
  }
  const std::size_t rows = job.rows - first;
  const float row_factor = job.constants->row_factor;
  float* out = column.out + job.first_row + first;
  write_rows(acc_0, row_factor, 0, rows, out);
  write_rows(acc_1, row_factor, kLanes, rows, out);
  write_rows(acc_2, row_factor, 2 * kLanes, rows, out);
  write_rows(acc_3, row_factor, 3 * kLanes, rows, out);
}

/// One tile with a batch of columns, which share what is looked up for the weights.
template <class Layout, class Kernel, unsigned kColumns>
JUNO_INLINE void multiply_batch(const TileJob& job, const std::uint8_t* tile, std::size_t first,
                                const Column* columns) JUNO_SME2_STREAMING {
  const svbool_t all = svptrue_b32();
  Sums<kColumns> sums;
  for (unsigned c = 0; c < kColumns; ++c) {
    for (unsigned row = 0; row < 4 * kLanes; row += kLanes) svst1_f32(all, sums.acc[c] + row, svdup_n_f32(0.0f));
  }
  for (std::size_t s = 0; s < job.super_blocks; ++s) {
    Blocks<kColumns> y;
    for (unsigned c = 0; c < kColumns; ++c) y.block[c] = columns[c].activations + s;
    Kernel::template add_super_block_to<kColumns>(tile + s * Layout::kSuperBlockBytes, y, job.constants->sum_factor,
                                                  sums);
  }
  for (unsigned c = 0; c < kColumns; ++c) {
    float* out = columns[c].out + job.first_row + first;
    for (unsigned row = 0; row < 4 * kLanes; row += kLanes) {
      write_rows(svld1_f32(all, sums.acc[c] + row), job.constants->row_factor, row, job.rows - first, out);
    }
  }
}

/// Walks tiles, columns and super-blocks. Kernel::add_super_block(super_block, y, sum_factor, acc_0 .. acc_3) adds one
/// super-block of 64 rows for one column, Kernel::add_super_block_to(super_block, y, sum_factor, sums) for a batch.
template <class Layout, class Kernel>
JUNO_INLINE void multiply(const TileJob& job) JUNO_SME2_STREAMING {
  const auto* tile = reinterpret_cast<const std::uint8_t*>(job.tiles);
  for (std::size_t first = 0; first < job.rows; first += Layout::kTileRows) {
    const Column* column = job.columns;
    const Column* end = column + job.column_count;
    for (; end - column >= 4; column += 4) multiply_batch<Layout, Kernel, 4>(job, tile, first, column);
    for (; end - column >= 2; column += 2) multiply_batch<Layout, Kernel, 2>(job, tile, first, column);
    for (; column != end; ++column) multiply_column<Layout, Kernel>(job, tile, first, *column);
    tile += job.super_blocks * Layout::kSuperBlockBytes;
  }
}

}  // namespace juno::kernel::sme2
