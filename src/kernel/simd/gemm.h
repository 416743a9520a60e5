// SPDX-License-Identifier: Apache-2.0
//
// Many columns: a super-block of a tile is decoded once into bytes that dot products take as they are,
//
//   weights[group of 4 columns][row][4]        64 x 64 x 4 bytes, in the first-level cache
//
// and then multiplied with a chunk of columns, kGemmRows vectors of rows and kGemmColumns columns at a time, whose sums
// stay in registers. Float sums of the chunk wait in memory for the next super-block.
#pragma once

#include "kernel/simd/gemv.h"

namespace juno::kernel::simd {
namespace {

/// Columns of one chunk: their activations of a super-block and their sums have to stay in the first-level cache beside
/// the decoded weights. A multiple of every kGemmColumns.
inline constexpr std::size_t kChunkColumns = 96;

template <class V, class D>
class Gemm {
 public:
  using Layout = typename D::Layout;
  using Int = typename V::Int;
  using Float = typename V::Float;
  static constexpr std::size_t kRowVectors = Layout::kTileRows / V::kLanes;
  static constexpr std::size_t kGroups = layout::kSuperBlockWeights / 4;
  /// Where scales are folded into the weights the sum of a whole super-block needs no scaling.
  static constexpr std::size_t kSums = D::kFolds ? 1 : Layout::kSubBlocks;
  static constexpr std::size_t kSumGroups = kGroups / kSums;
  static_assert(kRowVectors % V::kGemmRows == 0 && kChunkColumns % V::kGemmColumns == 0);

  Gemm(const TileJob& job, const D& decoder) : job_(job), decoder_(decoder) {}

  /// All super-blocks of one tile with up to kChunkColumns columns.
  void multiply(const std::byte* tile, std::size_t first_row, const Column* columns, std::size_t count) {
    for (std::size_t c = 0; c < count; ++c) {
      for (std::size_t r = 0; r < kRowVectors; ++r) V::store_floats(acc_[c] + r * V::kLanes, V::floats(0.0f));
    }
    for (std::size_t s = 0; s < job_.super_blocks; ++s) {
      decode(tile + s * Layout::kSuperBlockBytes);
      for (std::size_t c = 0; c < count; ++c) {
        const layout::ActivationBlock* y = columns[c].activations + s;
        if constexpr (D::kBiased) V::template corrections<Layout::kSubBlockWeights>(y->sums, corrected_[c]);
        // Columns lie too far apart for the processor to see what comes next: the next super-block or, after the last,
        // where the results go.
        if (s + 1 < job_.super_blocks) {
          prefetch_lines<V, sizeof *y>(y + 1);
        } else {
          prefetch_lines<V, sizeof acc_[c]>(columns[c].out + job_.first_row + first_row);
        }
      }
      for (std::size_t r = 0; r < kRowVectors; r += V::kGemmRows) {
        std::size_t c = 0;
        for (; c + V::kGemmColumns <= count; c += V::kGemmColumns) add_block<V::kGemmColumns>(columns, c, s, r);
        add_rest<V::kGemmColumns - 1>(columns, c, s, r, count - c);
      }
    }
    const Float row_factor = V::floats(job_.constants->row_factor);
    const std::size_t rows = std::min(Layout::kTileRows, job_.rows - first_row);
    for (std::size_t c = 0; c < count; ++c) {
      float* out = columns[c].out + job_.first_row + first_row;
      for (std::size_t r = 0; r * V::kLanes < rows; ++r) {
        const Float sum = V::load_floats(acc_[c] + r * V::kLanes);
        V::store_floats(out + r * V::kLanes, V::multiply(row_factor, sum), rows - r * V::kLanes);
      }
    }
  }

 private:
  template <class Vectors, std::size_t kSize>
  static void prefetch_lines(const void* first) {
    JUNO_UNROLL
    for (std::size_t i = 0; i < kSize; i += kLineBytes) Vectors::prefetch(static_cast<const std::byte*>(first) + i);
  }

  void decode(const std::byte* super_block) {
    for (std::size_t unit = 0; unit < Layout::kSubBlocks; unit += D::kUnit) {
      prefetch_unit<V, D>(super_block, unit);  // about the next super-block, while this one is multiplied
      JUNO_UNROLL
      for (std::size_t i = 0; i < D::kUnit; ++i) {
        const std::size_t sub = unit + i;
        JUNO_UNROLL
        for (std::size_t step = 0; step < D::kSteps; ++step) {
          JUNO_UNROLL
          for (std::size_t r = 0; r < kRowVectors; r += D::kRows) {
            std::array<Int, D::kRows * D::kVectors> vectors;
            if constexpr (D::kFolds) {
              vectors = decoder_.folded(super_block, sub, step, r * V::kLanes);
            } else {
              vectors = decoder_.weights(super_block, sub, step, r * V::kLanes);
            }
            JUNO_UNROLL
            for (std::size_t k = 0; k < D::kVectors; ++k) {
              const std::size_t group = (sub * D::kSteps + step) * D::kVectors + k;
              JUNO_UNROLL
              for (std::size_t row = 0; row < D::kRows; ++row) {
                V::store(weights_[group] + (r + row) * V::kBytes, vectors[row * D::kVectors + k]);
              }
            }
          }
        }
        if constexpr (!D::kFolds) {
          JUNO_UNROLL
          for (std::size_t r = 0; r < kRowVectors; ++r) {
            V::store(scales_[sub] + r * V::kLanes, decoder_.scales(super_block, sub, r * V::kLanes));
          }
        }
      }
      if constexpr (D::kMinima) {
        JUNO_UNROLL
        for (std::size_t r = 0; r < kRowVectors; ++r) {
          V::store(scales_[unit / 2] + r * V::kLanes, decoder_.minima(super_block, unit / 2, r * V::kLanes));
          V::store_floats(d_min_ + r * V::kLanes, V::widen_halfs(super_block + Layout::dmin_offset(r * V::kLanes)));
        }
      }
    }
    for (std::size_t r = 0; r < kRowVectors; ++r) {
      V::store_floats(d_ + r * V::kLanes, V::widen_halfs(super_block + Layout::d_offset(r * V::kLanes)));
    }
  }

  /// kColumns columns from `first` on, V::kGemmRows vectors of rows from `row` on, one super-block.
  template <std::size_t kColumns>
  [[gnu::noinline]] void add_block(const Column* columns, std::size_t first, std::size_t s, std::size_t row) {
    const layout::ActivationBlock* y[kColumns];
    JUNO_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) y[c] = columns[first + c].activations + s;
    Int isum[V::kGemmRows][kColumns];
    JUNO_UNROLL
    for (std::size_t r = 0; r < V::kGemmRows; ++r) {
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) isum[r][c] = V::zero();
    }
    _Pragma("clang loop unroll(disable)")  //
        for (std::size_t sum = 0; sum < kSums; ++sum) {
      Int p[V::kGemmRows][kColumns];
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        const Int start = D::kBiased ? V::ints(corrected_[first + c][sum]) : V::zero();
        JUNO_UNROLL
        for (std::size_t r = 0; r < V::kGemmRows; ++r) p[r][c] = start;
      }
      const std::uint8_t* weights = weights_[sum * kSumGroups] + row * V::kBytes;
      // Eight groups are all of a sub-block of 32; more of them would not fit into the cache of decoded instructions.
      _Pragma("clang loop unroll_count(8)")  //
          for (std::size_t group = 0; group < kSumGroups; ++group) {
        Int w[V::kGemmRows];
        JUNO_UNROLL
        for (std::size_t r = 0; r < V::kGemmRows; ++r) w[r] = V::load(weights + group * kGroupBytes + r * V::kBytes);
        JUNO_UNROLL
        for (std::size_t c = 0; c < kColumns; ++c) {
          const typename V::Word word = V::word(y[c]->q + 4 * (sum * kSumGroups + group));
          JUNO_UNROLL
          for (std::size_t r = 0; r < V::kGemmRows; ++r) {
            p[r][c] = D::kFolds ? V::dot_small(p[r][c], w[r], word) : V::dot(p[r][c], w[r], word);
          }
        }
      }
      JUNO_UNROLL
      for (std::size_t r = 0; r < V::kGemmRows; ++r) {
        const Int scales = V::load(scales_[sum] + (row + r) * V::kLanes);
        JUNO_UNROLL
        for (std::size_t c = 0; c < kColumns; ++c) {
          isum[r][c] = D::kFolds ? p[r][c] : V::multiply_add(isum[r][c], p[r][c], scales);
        }
      }
    }
    JUNO_UNROLL
    for (std::size_t r = 0; r < V::kGemmRows; ++r) {
      const Float d = V::load_floats(d_ + (row + r) * V::kLanes);
      JUNO_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        float* at = acc_[first + c] + (row + r) * V::kLanes;
        const Float y_d = V::floats(y[c]->d);
        const Float acc = without_minima(V::load_floats(at), *y[c], (row + r) * V::kLanes);
        const Float sum = scaled<V, D>(isum[r][c], job_.constants->sum_factor);
        V::store_floats(at, V::fma(V::multiply(d, y_d), sum, acc));
      }
    }
  }

  /// `acc` less what the minima of a vector of rows come to.
  [[gnu::always_inline]] Float without_minima(Float acc, const layout::ActivationBlock& y, std::size_t row) const {
    if constexpr (D::kMinima) {
      Int msum = V::zero();
      JUNO_UNROLL
      for (std::size_t pair = 0; pair < Layout::kSubBlocks / 2; ++pair) {
        msum = V::dot_16(msum, V::load(scales_[pair] + row), V::broadcast(y.sums + 2 * pair));
      }
      const Float d_min = V::multiply(V::load_floats(d_min_ + row), V::floats(y.d));
      return V::negated_fma(d_min, V::to_float(msum), acc);
    } else {
      return acc;
    }
  }

  /// The columns that are left over, `count` of them: fewer than V::kGemmColumns.
  template <std::size_t kColumns>
  [[gnu::always_inline]] void add_rest(const Column* columns, std::size_t first, std::size_t s, std::size_t row,
                                       std::size_t count) {
    if constexpr (kColumns != 0) {
      if (count == kColumns) {
        add_block<kColumns>(columns, first, s, row);
      } else {
        add_rest<kColumns - 1>(columns, first, s, row, count);
      }
    }
  }

  static constexpr std::size_t kGroupBytes = Layout::kTileRows * 4;

  const TileJob& job_;
  const D& decoder_;
  alignas(64) std::uint8_t weights_[kGroups][kGroupBytes];
  alignas(64) std::int32_t scales_[Layout::kSubBlocks][Layout::kTileRows];  // or minima, where scales are folded in
  alignas(64) float d_[Layout::kTileRows];
  alignas(64) float d_min_[Layout::kTileRows];
  alignas(64) std::int32_t corrected_[kChunkColumns][Layout::kSubBlocks];
  alignas(64) float acc_[kChunkColumns][Layout::kTileRows];
};

/// Any number of columns, in chunks of about equal size.
template <class V, class D>
void gemm(const TileJob& job) noexcept {
  using Layout = typename D::Layout;
  const D decoder(*job.constants);
  Gemm<V, D> kernel(job, decoder);
  const std::size_t chunks = (job.column_count + kChunkColumns - 1) / kChunkColumns;
  const std::size_t even = chunks == 0 ? 0 : (job.column_count + chunks - 1) / chunks;
  const std::size_t each = std::min(kChunkColumns, (even + V::kGemmColumns - 1) / V::kGemmColumns * V::kGemmColumns);
  const std::byte* tile = job.tiles;
  for (std::size_t row = 0; row < job.rows; row += Layout::kTileRows) {
    for (std::size_t c = 0; c < job.column_count; c += each) {
      kernel.multiply(tile, row, job.columns + c, std::min(each, job.column_count - c));
    }
    tile += job.super_blocks * Layout::kSuperBlockBytes;
  }
}

}  // namespace
}  // namespace juno::kernel::simd
