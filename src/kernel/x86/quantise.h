// SPDX-License-Identifier: Apache-2.0
//
// Rounds floats to activation blocks: the bytes of ggml's quantize_row_q8_K_ref (ggml 0.23.0), a vector at a time. The
// largest magnitude of 256 values, the first of them if several are as large, becomes -127; rounding is to nearest,
// ties to even, by adding and taking off 1.5 * 2^23.
#pragma once

#include <cstring>

#include "kernel/kernel.h"
#include "layout/activations.h"

namespace juno::kernel::x86 {
namespace {

/// Of 256 values the first whose magnitude is the largest; 0 if all are 0 or NaN.
template <class V>
[[gnu::always_inline]] inline float first_largest(const float* x) {
  typename V::Float largest = V::floats(0.0f);
  for (std::size_t i = 0; i < layout::kSuperBlockWeights; i += V::kLanes) {
    largest = V::larger(V::magnitude(V::load_floats(x + i)), largest);
  }
  const float magnitude = V::largest_lane(largest);
  if (magnitude == 0) return 0;
  std::size_t at = 0;
  while (V::lanes_of_magnitude(V::load_floats(x + at), magnitude) == 0) at += V::kLanes;
  const unsigned lanes = V::lanes_of_magnitude(V::load_floats(x + at), magnitude);
  return x[at + static_cast<std::size_t>(__builtin_ctz(lanes))];
}

template <class V>
void quantise(const float* x, layout::ActivationBlock* blocks, std::size_t count) noexcept {
  constexpr float kRound = 12582912.0f;
  for (std::size_t b = 0; b < count; ++b, x += layout::kSuperBlockWeights) {
    layout::ActivationBlock& block = blocks[b];
    const float largest = first_largest<V>(x);
    if (largest == 0) {
      block.d = 0;
      std::memset(block.q, 0, sizeof block.q);
      continue;  // ggml leaves the sums as they were
    }
    const float scale = -127.0f / largest;
    block.d = 1.0f / scale;
    const typename V::Float scales = V::floats(scale);
    for (std::size_t i = 0; i < layout::kSuperBlockWeights; i += V::kLanes) {
      const auto shifted = V::add(V::multiply(scales, V::load_floats(x + i)), V::floats(kRound));
      const auto rounded = V::add(V::both(V::bits(shifted), V::ints(0x007fffff)), V::ints(-0x00400000));
      V::store_low_bytes(block.q + i, V::smaller(rounded, V::ints(127)));
    }
    // VPSADBW adds eight unsigned bytes; 128 was added to each.
    const __m128i offset = _mm_set1_epi8(static_cast<char>(0x80));
    for (std::size_t i = 0; i < std::size(block.sums); ++i) {
      const __m128i q = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.q + 16 * i));
      const __m128i halves = _mm_sad_epu8(_mm_xor_si128(q, offset), _mm_setzero_si128());
      const int sum = _mm_cvtsi128_si32(halves) + _mm_extract_epi16(halves, 4);
      block.sums[i] = static_cast<std::int16_t>(sum - 16 * 128);
    }
  }
}

}  // namespace
}  // namespace juno::kernel::x86
