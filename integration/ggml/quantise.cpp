// SPDX-License-Identifier: Apache-2.0
#include "quantise.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "dispatch/registry.h"
#include "ggml-cpu.h"

namespace juno::integration {
namespace {

using layout::ActivationBlock;

/// Values whose rounding shows how a routine computes: many that lie half-way between two integers, where one rounding
/// more or less makes a difference.
std::vector<float> telling_values() {
  constexpr std::size_t kBlocks = 64;
  std::vector<float> values(kBlocks * layout::kSuperBlockWeights);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    const auto odd = static_cast<float>(static_cast<int>(state >> 8) % 254);
    const std::size_t block_number = i / layout::kSuperBlockWeights;
    const auto block = static_cast<float>(1 + block_number);
    values[i] = (odd / 254.0f + (state % 3 == 0 ? 0x1p-24f : 0.0f)) * block * (state % 2 == 0 ? 1.0f : -1.0f);
  }
  return values;
}

bool equals_ggml(kernel::Quantise quantise) {
  const std::vector<float> values = telling_values();
  const std::size_t count = values.size() / layout::kSuperBlockWeights;
  std::vector<ActivationBlock> ours(count);
  std::vector<ActivationBlock> theirs(count);
  quantise(values.data(), ours.data(), count);
  ggml_quantise(values.data(), theirs.data(), count);
  return std::memcmp(ours.data(), theirs.data(), count * sizeof(ActivationBlock)) == 0;
}

}  // namespace

void ggml_quantise(const float* values, ActivationBlock* blocks, std::size_t count) noexcept {
  ggml_get_type_traits_cpu(GGML_TYPE_Q8_K)
      ->from_float(values, blocks, static_cast<std::int64_t>(count * layout::kSuperBlockWeights));
}

kernel::Quantise quantiser_for(const kernel::KernelInfo& kernel) {
  // For every row of the registry; never destroyed, like it.
  static const std::vector<kernel::Quantise>& chosen = *new std::vector<kernel::Quantise>([] {
    std::vector<kernel::Quantise> all;
    for (const kernel::KernelInfo& each : dispatch::registry()) {
      const kernel::Quantise own = dispatch::quantise_for(each);
      const bool usable = own != nullptr && dispatch::fit(each, cpu::facts()) == Reason::compiled && equals_ggml(own);
      all.push_back(usable ? own : ggml_quantise);
    }
    return all;
  }());
  const auto registry = dispatch::registry();
  const auto found = std::find_if(registry.begin(), registry.end(), [&](const kernel::KernelInfo& each) {
    return each.layout_fingerprint == kernel.layout_fingerprint && each.isa == kernel.isa;
  });
  return found == registry.end() ? ggml_quantise : chosen[static_cast<std::size_t>(found - registry.begin())];
}

}  // namespace juno::integration
