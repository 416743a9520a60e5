// SPDX-License-Identifier: Apache-2.0
#include "matmul/matmul.h"

#include <algorithm>

#include "dispatch/registry.h"

namespace juno::matmul {

void multiply_share(const Product& product, std::size_t thread, std::size_t threads,
                    receipt::Counters& counters) noexcept {
  const PackedMatrix& weights = product.weights;
  const layout::Info& layout = weights.recipe->layout;
  const std::size_t tiles = layout.tiles(weights.rows);
  const std::size_t begin = tiles * thread / threads;
  const std::size_t end = tiles * (thread + 1) / threads;
  if (begin == end || product.columns == 0) return;

  // A thread that the system refuses streaming vectors still gives the right bits, only slowly; receipts show it.
  const kernel::KernelInfo* kernel = product.kernel;
  if (kernel->streaming_vector_bytes != 0 && !cpu::prepare_streaming(kernel->streaming_vector_bytes)) {
    kernel = dispatch::reference_kernel(layout.fingerprint);
  }
  const std::size_t first_row = begin * layout.tile_rows;
  kernel->run({.tiles = weights.data + begin * layout.tile_bytes(weights.width),
               .rows = std::min(weights.rows, end * layout.tile_rows) - first_row,
               .super_blocks = weights.width / layout::kSuperBlockWeights,
               .constants = &weights.recipe->constants,
               .activations = product.activations,
               .activation_stride = product.activation_stride,
               .columns = product.columns,
               .out = product.out + first_row,
               .out_stride = product.out_stride});
  const auto index = static_cast<std::size_t>(kernel - dispatch::registry().data());
  counters.count(index, receipt::column_class(product.columns), end - begin, begin == 0);
}

}  // namespace juno::matmul
