// SPDX-License-Identifier: Apache-2.0
//
// Known data for a kernel of any layout, without a format: for its self-test, and for benchmarks.
#pragma once

#include <cstddef>
#include <vector>

#include "base/aligned.h"
#include "kernel/kernel.h"

namespace juno::dispatch {

/// A product with weights of arbitrary bits (but for half floats, whose exponents are near that of 1) and activations
/// to match. Throws std::bad_alloc.
class Sample {
 public:
  Sample(const layout::Info& layout, std::size_t rows, std::size_t super_blocks, std::size_t columns);

  /// Computes the product into out[column * rows + row].
  void run(const kernel::KernelInfo& kernel, std::vector<float>& out) const;

  [[nodiscard]] std::size_t bytes() const noexcept { return tiles_.size(); }
  [[nodiscard]] std::size_t weights() const noexcept { return rows_ * super_blocks_ * layout::kSuperBlockWeights; }

 private:
  std::size_t rows_;
  std::size_t super_blocks_;
  std::size_t columns_;
  layout::Constants constants_{{}, 0.5f, 0.25f};
  AlignedBytes tiles_;
  std::vector<layout::ActivationBlock> activations_;
};

}  // namespace juno::dispatch
