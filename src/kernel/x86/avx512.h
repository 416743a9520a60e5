// SPDX-License-Identifier: Apache-2.0
//
// The vectors of AVX-512 with VNNI, as the kernels of this folder want them. Included by avx512.cpp only: what is made
// of it has internal linkage, so that none of its instructions can end up in code that runs on every machine.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernel/x86/corrections.h"

#define JUNO_INLINE [[gnu::always_inline]] static inline

namespace juno::kernel::x86 {
namespace {

struct Avx512 {
  using Int = __m512i;   // 16 int32, or 64 bytes
  using Float = __m512;  // 16 floats
  using Word = __m512i;  // four activations, in every lane
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kBytes = 64;
  /// VPDPBUSD wants unsigned bytes on one side: weights have this added, and their sums are corrected.
  static constexpr int kBias = 128;
  /// Vectors of rows whose sums fit into registers with those of so many columns.
  static constexpr std::size_t row_block(std::size_t columns) { return columns <= 3 ? 4 : 2; }
  static constexpr std::size_t kGemmRows = 2;  ///< the same in prefill, and how many columns with them
  static constexpr std::size_t kGemmColumns = 6;

  JUNO_INLINE void prefetch(const void* line) { _mm_prefetch(static_cast<const char*>(line), _MM_HINT_T0); }
  JUNO_INLINE Int load(const void* from) { return _mm512_loadu_si512(from); }
  JUNO_INLINE void store(void* to, Int v) { _mm512_storeu_si512(to, v); }
  JUNO_INLINE Int zero() { return _mm512_setzero_si512(); }
  JUNO_INLINE Int bytes(char value) { return _mm512_set1_epi8(value); }
  JUNO_INLINE Int ints(std::int32_t value) { return _mm512_set1_epi32(value); }
  JUNO_INLINE Int broadcast(const void* word) {
    std::int32_t value;
    __builtin_memcpy(&value, word, sizeof value);
    return ints(value);
  }
  JUNO_INLINE Int both(Int a, Int b) { return _mm512_and_si512(a, b); }
  template <int kBits>
  JUNO_INLINE Int shift_right(Int v) {  // of 16-bit lanes; what crosses a byte is masked off by the caller
    return _mm512_srli_epi16(v, kBits);
  }
  /// Each byte of `index`, 0 .. 15, replaced by that entry of `table`.
  JUNO_INLINE Int look_up(Int table, Int index) { return _mm512_shuffle_epi8(table, index); }
  /// A table of 16 bytes for look_up.
  JUNO_INLINE Int table(const std::int8_t* entries) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(entries)));
  }
  JUNO_INLINE Int add(Int a, Int b) { return _mm512_add_epi32(a, b); }
  JUNO_INLINE Int multiply(Int a, Int b) { return _mm512_mullo_epi32(a, b); }
  JUNO_INLINE Int multiply_16(Int a, Int b) { return _mm512_mullo_epi16(a, b); }
  template <int kBits>
  JUNO_INLINE Int shift_right_32(Int v) {
    return _mm512_srli_epi32(v, kBits);
  }
  template <int kBits>
  JUNO_INLINE Int shift_left_32(Int v) {
    return _mm512_slli_epi32(v, kBits);
  }
  JUNO_INLINE Int either(Int a, Int b) { return _mm512_or_si512(a, b); }

  JUNO_INLINE Word word(const void* activations) { return broadcast(activations); }
  /// Lane by lane: sum + four weights (biased) * four activations.
  JUNO_INLINE Int dot(Int sum, Int weights, Word y) { return _mm512_dpbusd_epi32(sum, weights, y); }
  /// The same for weights of 0 .. 63, which are not biased.
  JUNO_INLINE Int dot_small(Int sum, Int weights, Word y) { return _mm512_dpbusd_epi32(sum, weights, y); }
  template <std::size_t kSubBlockWeights>
  JUNO_INLINE void corrections(const std::int16_t (&sums)[16], std::int32_t* out) {
    correct<kBias, kSubBlockWeights>(sums, out);
  }
  JUNO_INLINE Int multiply_add(Int sum, Int a, Int b) { return add(sum, multiply(a, b)); }
  /// The same for numbers that fit into 16 bits, the second of them not negative: one instruction instead of two.
  JUNO_INLINE Int multiply_add_16(Int sum, Int a, Int b) { return dot_16(sum, a, b); }
  /// Lane by lane: sum + two 16-bit numbers * two others.
  JUNO_INLINE Int dot_16(Int sum, Int a, Int b) { return _mm512_dpwssd_epi32(sum, a, b); }

  JUNO_INLINE Int widen_signed(const std::byte* bytes) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  JUNO_INLINE Int widen_unsigned(const std::byte* bytes) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  }
  JUNO_INLINE Float widen_halfs(const std::byte* halfs) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(halfs)));
  }

  JUNO_INLINE Float floats(float value) { return _mm512_set1_ps(value); }
  JUNO_INLINE Float to_float(Int v) { return _mm512_cvtepi32_ps(v); }
  JUNO_INLINE Float multiply(Float a, Float b) { return _mm512_mul_ps(a, b); }
  JUNO_INLINE Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }
  JUNO_INLINE Float negated_fma(Float a, Float b, Float c) { return _mm512_fnmadd_ps(a, b, c); }
  JUNO_INLINE Float load_floats(const float* from) { return _mm512_loadu_ps(from); }
  JUNO_INLINE void store_floats(float* to, Float v) { _mm512_storeu_ps(to, v); }
  /// The first `count` lanes; all if there are fewer lanes.
  JUNO_INLINE void store_floats(float* to, Float v, std::size_t count) {
    const auto mask = static_cast<__mmask16>(count >= kLanes ? 0xffff : (1u << count) - 1);
    _mm512_mask_storeu_ps(to, mask, v);
  }

  // --- what rounding activations asks for ---

  JUNO_INLINE Float add(Float a, Float b) { return _mm512_add_ps(a, b); }
  JUNO_INLINE Int bits(Float v) { return _mm512_castps_si512(v); }
  JUNO_INLINE Int smaller(Int a, Int b) { return _mm512_min_epi32(a, b); }
  JUNO_INLINE Float magnitude(Float v) { return _mm512_abs_ps(v); }
  /// Lane by lane; `b` where `a` is NaN.
  JUNO_INLINE Float larger(Float a, Float b) { return _mm512_max_ps(a, b); }
  JUNO_INLINE float largest_lane(Float v) { return _mm512_reduce_max_ps(v); }
  /// A bit for each lane that is `magnitude` or its negative.
  JUNO_INLINE unsigned lanes_of_magnitude(Float v, float magnitude) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(v), floats(magnitude), _CMP_EQ_OQ);
  }
  JUNO_INLINE void store_low_bytes(std::int8_t* to, Int v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(v));
  }

  // --- what only lut3w asks for ---

  /// Bytes whose bit in the 64-bit mask at `mask` is set, negated.
  JUNO_INLINE Int negate(Int v, const std::byte* mask) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, mask, sizeof bits);
    return _mm512_mask_sub_epi8(v, _cvtu64_mask64(bits), zero(), v);
  }
  /// 2s + 1 in each lane for the low four bits s of `v`'s lanes.
  JUNO_INLINE Int odd_numbers(Int v) {
    const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutexvar_epi32(v, odd);
  }
};

}  // namespace
}  // namespace juno::kernel::x86
