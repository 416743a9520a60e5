// SPDX-License-Identifier: Apache-2.0
//
// What the sums of one column and super-block have too much because weights are biased: bias * sum of activations, for
// each sub-block. Sums start with its negative.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace juno::kernel::x86 {
namespace {

/// `sums` are those of 16 activations each.
template <int kBias, std::size_t kSubBlockWeights>
[[gnu::always_inline]] inline void correct(const std::int16_t (&sums)[16], std::int32_t* out) {
  static_assert(kSubBlockWeights == 16 || kSubBlockWeights == 32);
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(sums));
  auto* to = reinterpret_cast<__m256i*>(out);
  if constexpr (kSubBlockWeights == 32) {
    _mm256_storeu_si256(to, _mm256_madd_epi16(all, _mm256_set1_epi16(-kBias)));
  } else {
    const __m256i factor = _mm256_set1_epi32(-kBias);
    const __m256i low = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(all));
    const __m256i high = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(all, 1));
    _mm256_storeu_si256(to, _mm256_mullo_epi32(low, factor));
    _mm256_storeu_si256(to + 1, _mm256_mullo_epi32(high, factor));
  }
}

}  // namespace
}  // namespace juno::kernel::x86
