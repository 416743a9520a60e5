// SPDX-License-Identifier: Apache-2.0
#include "comparison.h"

#include <cmath>

namespace juno::cli {

double generation_rate(const Generation& generation) noexcept {
  if (generation.tokens.size() < 2 || generation.generation_seconds <= 0) return 0;
  return static_cast<double>(generation.tokens.size() - 1) / generation.generation_seconds;
}

std::optional<std::uint64_t> pays_off_after(double compile_seconds, double native_rate, double our_rate) noexcept {
  if (native_rate <= 0 || our_rate <= native_rate) return std::nullopt;
  const double tokens = std::ceil(compile_seconds / (1 / native_rate - 1 / our_rate));
  // Rates that are equal but for noise give a number that means nothing, and may not fit.
  constexpr double kNever = 1e9;
  if (!(tokens < kNever)) return std::nullopt;
  return static_cast<std::uint64_t>(tokens);
}

}  // namespace juno::cli
