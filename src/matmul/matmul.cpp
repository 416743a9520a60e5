// SPDX-License-Identifier: Apache-2.0
#include "matmul/matmul.h"

#include <algorithm>

#include "dispatch/registry.h"

namespace juno::matmul {
namespace {

/// Parts for each thread, so that one that is held up leaves its work to the others. Entering streaming mode has a
/// price, so streaming kernels are called once a thread.
constexpr std::size_t kPartsPerThread = 8;

std::size_t part_count(const kernel::KernelInfo& kernel, std::size_t threads) noexcept {
  return threads == 1 || kernel.streaming_vector_bytes != 0 ? threads : threads * kPartsPerThread;
}

/// A tile costs about as much as it has columns. All tiles of all groups in a row, each as long as it costs, are cut
/// into equal parts; a tile belongs to the part in which it begins.
class Work {
 public:
  Work(const Product& product, std::size_t parts) : product_(product), parts_(parts) {
    const PackedTensor& weights = product.weights;
    tiles_ = weights.recipe->layout.tiles(weights.shape.rows);
    for (const Group& group : product.groups) {
      total_ += tiles_ * group.columns.size();
      most_columns_ = std::max(most_columns_, group.columns.size());
    }
  }

  void run(std::size_t part, receipt::Counters& counters) const noexcept {
    const std::size_t part_begin = total_ * part / parts_;
    const std::size_t part_end = total_ * (part + 1) / parts_;
    if (part_begin == part_end) return;
    // Exactly one part begins at 0 and is not empty.
    bool first = part_begin == 0;
    std::size_t group_begin = 0;
    for (const Group& group : product_.groups) {
      const std::size_t columns = group.columns.size();
      if (columns == 0) continue;
      const auto first_tile_from = [&](std::size_t position) {
        return position <= group_begin ? 0 : std::min(tiles_, (position - group_begin + columns - 1) / columns);
      };
      const std::size_t begin = first_tile_from(part_begin);
      const std::size_t end = first_tile_from(part_end);
      group_begin += tiles_ * columns;
      if (begin == end) continue;
      run_tiles(group, begin, end, first, counters);
      first = false;
    }
  }

 private:
  void run_tiles(const Group& group, std::size_t begin, std::size_t end, bool first,
                 receipt::Counters& counters) const noexcept {
    const PackedTensor& weights = product_.weights;
    const layout::Info& layout = weights.recipe->layout;
    // A thread that the system refuses streaming vectors still gives the right bits, only slowly; receipts show it.
    const kernel::KernelInfo* kernel = &dispatch::kernel_for(*product_.kernel, group.columns.size());
    if (kernel->streaming_vector_bytes != 0 && !cpu::prepare_streaming(kernel->streaming_vector_bytes)) {
      kernel = dispatch::reference_kernel(layout.fingerprint);
    }
    const std::size_t first_row = begin * layout.tile_rows;
    kernel->run(
        {.tiles = weights.data + group.matrix * weights.matrix_bytes() + begin * layout.tile_bytes(weights.shape.width),
         .first_row = first_row,
         .rows = std::min(weights.shape.rows, end * layout.tile_rows) - first_row,
         .super_blocks = weights.shape.width / layout::kSuperBlockWeights,
         .constants = &weights.recipe->constants,
         .columns = group.columns.data(),
         .column_count = group.columns.size()});
    const auto index = static_cast<std::size_t>(kernel - dispatch::registry().data());
    counters.count(index, receipt::column_class(most_columns_), end - begin, first);
  }

  const Product& product_;
  std::size_t parts_;
  std::size_t tiles_ = 0;
  std::size_t total_ = 0;
  std::size_t most_columns_ = 0;
};

}  // namespace

void multiply_share(const Product& product, std::size_t threads, receipt::Counters& counters) noexcept {
  const std::size_t parts = part_count(*product.kernel, threads);
  const Work work(product, parts);
  for (std::size_t part = product.next_part->fetch_add(1, std::memory_order_relaxed); part < parts;
       part = product.next_part->fetch_add(1, std::memory_order_relaxed)) {
    work.run(part, counters);
  }
}

}  // namespace juno::matmul
