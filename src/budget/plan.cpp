// SPDX-License-Identifier: Apache-2.0
#include "budget/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace juno::budget {
namespace {

struct FormatTime {
  std::uint32_t gguf_type;
  std::uint64_t picoseconds;
};

// 1 / (tokens a second * 0.97e9 weights); the types are ggml_type's values in ggml.h.
constexpr FormatTime kFormatTimes[] = {
    {10, 26},   // Q2_K
    {17, 71},   // IQ2_XS
    {18, 101},  // IQ3_XXS
    {21, 116},  // IQ3_S
    {22, 74},   // IQ2_S
    {23, 45},   // IQ4_XS
};
constexpr std::uint64_t kMiddlingTime = 60;

/// Native time for each packed byte. Floating point, since products of these numbers may exceed any integer.
double worth(const Candidate& candidate) noexcept {
  if (candidate.packed_bytes == 0) return std::numeric_limits<double>::infinity();
  return static_cast<double>(candidate.weights) * static_cast<double>(native_picoseconds(candidate.gguf_type)) /
         static_cast<double>(candidate.packed_bytes);
}

double mebibytes(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

}  // namespace

std::uint64_t native_picoseconds(std::uint32_t gguf_type) noexcept {
  const auto* found = std::find_if(std::begin(kFormatTimes), std::end(kFormatTimes),
                                   [&](const FormatTime& time) { return time.gguf_type == gguf_type; });
  return found == std::end(kFormatTimes) ? kMiddlingTime : found->picoseconds;
}

std::vector<bool> choose(std::span<const Candidate> candidates, std::uint64_t bytes) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    const Candidate& a = candidates[left];
    const Candidate& b = candidates[right];
    if (worth(a) != worth(b)) return worth(a) > worth(b);
    if (a.packed_bytes != b.packed_bytes) return a.packed_bytes > b.packed_bytes;
    return a.name != b.name ? a.name < b.name : left < right;
  });
  std::vector<bool> chosen(candidates.size(), false);
  for (const std::size_t i : order) {
    if (candidates[i].packed_bytes > bytes) continue;  // a smaller one may fit
    bytes -= candidates[i].packed_bytes;
    chosen[i] = true;
  }
  return chosen;
}

std::string over_budget(const Candidate& candidate, std::uint64_t bytes) {
  return fmt::format("its {:.1f} MiB packed have no place in a memory budget of {:.1f} MiB",
                     mebibytes(candidate.packed_bytes), mebibytes(bytes));
}

}  // namespace juno::budget
