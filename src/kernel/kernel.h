// SPDX-License-Identifier: Apache-2.0
//
// What a kernel is: one function that multiplies consecutive tiles of a packed matrix with columns of activations.
//
// The contract of every kernel, per row and column, in this order and with these float operations:
//   acc = 0; for each super-block, ascending:
//     lut4:  acc = fma(d_weight * d_activation, sum_factor * float(isum), acc)
//     lin2:  acc = fma(-(dmin_weight * d_activation), float(msum), acc)
//            acc = fma(d_weight * d_activation, float(isum), acc)
//   out = row_factor * acc
// where isum is the exact integer sum of sub-scale * code value * activation over the super-block, and msum that of
// minimum * activation. So all kernels of a layout give the same bits, and those of ggml's Arm path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "juno/cpu.h"
#include "layout/activations.h"
#include "layout/layout.h"

namespace juno::kernel {

/// One column of activations, and where its results go: row r of the matrix to out[r]. Columns may lie anywhere.
struct Column {
  const layout::ActivationBlock* activations;
  float* out;
};

/// One call's work. `tiles` points at the first of consecutive tiles (line-aligned), which begin with row `first_row`
/// of their matrix; the call computes `rows` rows, so only the last tile may be partial. Nothing else of `out` is
/// written.
struct TileJob {
  const std::byte* tiles;
  std::size_t first_row;
  std::size_t rows;
  std::size_t super_blocks;
  const layout::Constants* constants;
  const Column* columns;
  std::size_t column_count;
};

/// Rounds 256 * `count` floats to `count` activation blocks, with the bytes of ggml's quantize_row_q8_K_ref. (How often
/// a compiler fused operations in there is ggml's own business: whoever uses this, compares.)
using Quantise = void (*)(const float* values, layout::ActivationBlock* blocks, std::size_t count) noexcept;

/// One row of the registry. Its public name is "<operation>.<layout>.<isa>", built in dispatch/.
struct KernelInfo {
  std::string_view operation;
  std::string_view layout;
  std::string_view isa;
  std::uint64_t layout_fingerprint;
  cpu::FeatureSet required;
  unsigned streaming_vector_bytes;           ///< exact length that the thread must have; 0: not a streaming kernel
  bool reference;                            ///< a specification, chosen only when asked for by name
  std::size_t from_columns;                  ///< the fewest columns that it is meant for; right for any number
  void (*run)(const TileJob& job) noexcept;  ///< null if this build is for machines that cannot have `required`
};

/// A row that cannot be mistyped: name and fingerprint come from the layout itself.
template <class Layout>
constexpr KernelInfo kernel_info(std::string_view operation, std::string_view isa, cpu::FeatureSet required,
                                 unsigned streaming_vector_bytes, bool reference,
                                 void (*run)(const TileJob&) noexcept) noexcept {
  return {operation, Layout::kName, isa, layout::fingerprint<Layout>(), required, streaming_vector_bytes, reference, 1,
          run};
}

}  // namespace juno::kernel
