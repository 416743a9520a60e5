// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "dispatch/registry.h"
#include "dispatch/sample.h"
#include "layout/layout_list.h"

namespace juno::dispatch {

bool self_test(const kernel::KernelInfo& kernel) {
  const layout::Info* layout = layout::find_layout(kernel.layout_fingerprint);
  const kernel::KernelInfo* reference = reference_kernel(kernel.layout_fingerprint);
  if (layout == nullptr || reference == nullptr || kernel.run == nullptr) return false;
  if (kernel.streaming_vector_bytes != 0 && !cpu::prepare_streaming(kernel.streaming_vector_bytes)) return false;
  // A tile and a bit, more than one super-block, one column more than the kernel is meant for.
  const Sample sample(*layout, layout->tile_rows + 3, 2, kernel.from_columns + 1);
  std::vector<float> expected;
  std::vector<float> actual;
  sample.run(*reference, expected);
  sample.run(kernel, actual);
  return std::equal(expected.begin(), expected.end(), actual.begin(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

}  // namespace juno::dispatch
