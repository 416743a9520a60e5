// SPDX-License-Identifier: Apache-2.0
#include "matmul/matmul.h"

#include <algorithm>

#include "dispatch/registry.h"

namespace juno::matmul {

void multiply_share(const Product& product, std::size_t thread, std::size_t threads,
                    receipt::Counters& counters) noexcept {
  const PackedTensor& weights = product.weights;
  const layout::Info& layout = weights.recipe->layout;
  const std::size_t tiles = layout.tiles(weights.shape.rows);

  // A tile costs about as much as it has columns. All tiles of all groups in a row, each as long as it costs, are cut
  // into equal parts; a tile belongs to the thread in whose part it begins.
  std::size_t total = 0;
  std::size_t most_columns = 0;
  for (const Group& group : product.groups) {
    total += tiles * group.columns.size();
    most_columns = std::max(most_columns, group.columns.size());
  }
  if (total == 0) return;
  const std::size_t part_begin = total * thread / threads;
  const std::size_t part_end = total * (thread + 1) / threads;
  if (part_begin == part_end) return;

  // A thread that the system refuses streaming vectors still gives the right bits, only slowly; receipts show it.
  const kernel::KernelInfo* kernel = product.kernel;
  if (kernel->streaming_vector_bytes != 0 && !cpu::prepare_streaming(kernel->streaming_vector_bytes)) {
    kernel = dispatch::reference_kernel(layout.fingerprint);
  }
  std::size_t done = 0;
  std::size_t group_begin = 0;
  for (const Group& group : product.groups) {
    const std::size_t columns = group.columns.size();
    if (columns == 0) continue;
    const auto first_tile_from = [&](std::size_t position) {
      return position <= group_begin ? 0 : std::min(tiles, (position - group_begin + columns - 1) / columns);
    };
    const std::size_t begin = first_tile_from(part_begin);
    const std::size_t end = first_tile_from(part_end);
    group_begin += tiles * columns;
    if (begin == end) continue;
    const std::size_t first_row = begin * layout.tile_rows;
    kernel->run(
        {.tiles = weights.data + group.matrix * weights.matrix_bytes() + begin * layout.tile_bytes(weights.shape.width),
         .first_row = first_row,
         .rows = std::min(weights.shape.rows, end * layout.tile_rows) - first_row,
         .super_blocks = weights.shape.width / layout::kSuperBlockWeights,
         .constants = &weights.recipe->constants,
         .columns = group.columns.data(),
         .column_count = columns});
    done += end - begin;
  }
  if (done == 0) return;
  const auto index = static_cast<std::size_t>(kernel - dispatch::registry().data());
  // Exactly one thread has a part that begins at 0 and is not empty.
  counters.count(index, receipt::column_class(most_columns), done, part_begin == 0);
}

}  // namespace juno::matmul
