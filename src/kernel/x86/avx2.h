// SPDX-License-Identifier: Apache-2.0
//
// The vectors of AVX2, with and without VNNI, as the kernels of this folder want them. Included by avx2.cpp and
// avxvnni.cpp only: what is made of it has internal linkage, so that none of its instructions can end up in code that
// runs on every machine.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernel/x86/corrections.h"

#define JUNO_INLINE [[gnu::always_inline]] static inline

namespace juno::kernel::x86 {
namespace {

/// What both have in common.
struct Vectors256 {
  using Int = __m256i;   // 8 int32, or 32 bytes
  using Float = __m256;  // 8 floats
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kBytes = 32;
  /// Vectors of rows whose sums fit into registers with those of so many columns.
  static constexpr std::size_t row_block(std::size_t columns) { return columns == 1 ? 4 : 2; }
  static constexpr std::size_t kGemmRows = 2;  ///< the same in prefill, and how many columns with them
  static constexpr std::size_t kGemmColumns = 6;

  JUNO_INLINE void prefetch(const void* line) { _mm_prefetch(static_cast<const char*>(line), _MM_HINT_T0); }
  JUNO_INLINE Int load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  JUNO_INLINE void store(void* to, Int v) { _mm256_storeu_si256(static_cast<__m256i*>(to), v); }
  JUNO_INLINE Int zero() { return _mm256_setzero_si256(); }
  JUNO_INLINE Int bytes(char value) { return _mm256_set1_epi8(value); }
  JUNO_INLINE Int ints(std::int32_t value) { return _mm256_set1_epi32(value); }
  JUNO_INLINE Int broadcast(const void* word) {
    std::int32_t value;
    __builtin_memcpy(&value, word, sizeof value);
    return ints(value);
  }
  JUNO_INLINE Int both(Int a, Int b) { return _mm256_and_si256(a, b); }
  template <int kBits>
  JUNO_INLINE Int shift_right(Int v) {  // of 16-bit lanes; what crosses a byte is masked off by the caller
    return _mm256_srli_epi16(v, kBits);
  }
  /// Each byte of `index`, 0 .. 15, replaced by that entry of `table`.
  JUNO_INLINE Int look_up(Int table, Int index) { return _mm256_shuffle_epi8(table, index); }
  /// A table of 16 bytes for look_up.
  JUNO_INLINE Int table(const std::int8_t* entries) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(entries)));
  }
  JUNO_INLINE Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }
  JUNO_INLINE Int multiply(Int a, Int b) { return _mm256_mullo_epi32(a, b); }
  JUNO_INLINE Int multiply_16(Int a, Int b) { return _mm256_mullo_epi16(a, b); }
  template <int kBits>
  JUNO_INLINE Int shift_right_32(Int v) {
    return _mm256_srli_epi32(v, kBits);
  }
  template <int kBits>
  JUNO_INLINE Int shift_left_32(Int v) {
    return _mm256_slli_epi32(v, kBits);
  }
  JUNO_INLINE Int either(Int a, Int b) { return _mm256_or_si256(a, b); }

  JUNO_INLINE Int widen_signed(const std::byte* bytes) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
  }
  JUNO_INLINE Int widen_unsigned(const std::byte* bytes) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
  }
  JUNO_INLINE Float widen_halfs(const std::byte* halfs) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(halfs)));
  }

  JUNO_INLINE Float floats(float value) { return _mm256_set1_ps(value); }
  JUNO_INLINE Float to_float(Int v) { return _mm256_cvtepi32_ps(v); }
  JUNO_INLINE Float multiply(Float a, Float b) { return _mm256_mul_ps(a, b); }
  JUNO_INLINE Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  JUNO_INLINE Float negated_fma(Float a, Float b, Float c) { return _mm256_fnmadd_ps(a, b, c); }
  JUNO_INLINE Float load_floats(const float* from) { return _mm256_loadu_ps(from); }
  JUNO_INLINE void store_floats(float* to, Float v) { _mm256_storeu_ps(to, v); }
  /// The first `count` lanes; all if there are fewer lanes.
  JUNO_INLINE void store_floats(float* to, Float v, std::size_t count) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const int wanted = count >= kLanes ? static_cast<int>(kLanes) : static_cast<int>(count);
    _mm256_maskstore_ps(to, _mm256_cmpgt_epi32(_mm256_set1_epi32(wanted), lane), v);
  }

  // --- what rounding activations asks for ---

  JUNO_INLINE Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  JUNO_INLINE Int bits(Float v) { return _mm256_castps_si256(v); }
  JUNO_INLINE Int smaller(Int a, Int b) { return _mm256_min_epi32(a, b); }
  JUNO_INLINE Float magnitude(Float v) { return _mm256_andnot_ps(floats(-0.0f), v); }
  /// Lane by lane; `b` where `a` is NaN.
  JUNO_INLINE Float larger(Float a, Float b) { return _mm256_max_ps(a, b); }
  JUNO_INLINE float largest_lane(Float v) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_shuffle_ps(four, four, 1)));
  }
  /// A bit for each lane that is `magnitude` or its negative.
  JUNO_INLINE unsigned lanes_of_magnitude(Float v, float magnitude_wanted) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(magnitude(v), floats(magnitude_wanted), _CMP_EQ_OQ)));
  }
  JUNO_INLINE void store_low_bytes(std::int8_t* to, Int v) {
    const Int low = _mm256_and_si256(v, ints(0xff));  // so that nothing saturates
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
  }
};

/// Without VNNI: VPMADDUBSW adds pairs in 16 bits, so that no bias fits. One side is made unsigned by moving the
/// activations' signs to the weights; |activation| <= 128 and |weight| <= 127 keep pairs within 16 bits.
struct Avx2 : Vectors256 {
  struct Word {
    Int y;
    Int magnitudes;
  };
  static constexpr int kBias = 0;

  JUNO_INLINE Word word(const void* activations) {
    const Int y = broadcast(activations);
    return {y, _mm256_abs_epi8(y)};
  }
  /// Lane by lane: sum + four weights * four activations.
  JUNO_INLINE Int dot(Int sum, Int weights, const Word& y) {
    return add_pairs(sum, _mm256_maddubs_epi16(y.magnitudes, _mm256_sign_epi8(weights, y.y)));
  }
  /// The same for weights of 0 .. 63.
  JUNO_INLINE Int dot_small(Int sum, Int weights, const Word& y) {
    return add_pairs(sum, _mm256_maddubs_epi16(weights, y.y));
  }
  /// Lane by lane: sum + two 16-bit numbers * two others.
  JUNO_INLINE Int dot_16(Int sum, Int a, Int b) { return add(sum, _mm256_madd_epi16(a, b)); }
  JUNO_INLINE Int multiply_add(Int sum, Int a, Int b) { return add(sum, multiply(a, b)); }
  /// The same for numbers that fit into 16 bits, the second of them not negative.
  JUNO_INLINE Int multiply_add_16(Int sum, Int a, Int b) { return dot_16(sum, a, b); }

 private:
  JUNO_INLINE Int add_pairs(Int sum, Int pairs) { return add(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))); }
};

#if defined(__AVXVNNI__)
struct AvxVnni : Vectors256 {
  using Word = Int;
  /// VPDPBUSD wants unsigned bytes on one side: weights have this added, and their sums are corrected.
  static constexpr int kBias = 128;

  JUNO_INLINE Word word(const void* activations) { return broadcast(activations); }
  JUNO_INLINE Int dot(Int sum, Int weights, Word y) { return _mm256_dpbusd_avx_epi32(sum, weights, y); }
  JUNO_INLINE Int dot_small(Int sum, Int weights, Word y) { return _mm256_dpbusd_avx_epi32(sum, weights, y); }
  template <std::size_t kSubBlockWeights>
  JUNO_INLINE void corrections(const std::int16_t (&sums)[16], std::int32_t* out) {
    correct<kBias, kSubBlockWeights>(sums, out);
  }
  /// Lane by lane: sum + two 16-bit numbers * two others.
  JUNO_INLINE Int dot_16(Int sum, Int a, Int b) { return _mm256_dpwssd_avx_epi32(sum, a, b); }
  JUNO_INLINE Int multiply_add(Int sum, Int a, Int b) { return add(sum, multiply(a, b)); }
  /// The same for numbers that fit into 16 bits, the second of them not negative: one instruction instead of two.
  JUNO_INLINE Int multiply_add_16(Int sum, Int a, Int b) { return dot_16(sum, a, b); }
};
#endif

}  // namespace
}  // namespace juno::kernel::x86
