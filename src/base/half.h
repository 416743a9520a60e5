// SPDX-License-Identifier: Apache-2.0
//
// IEEE 754 binary16 <-> binary32, in integers, so that every machine gives the same bits. Every half is exactly a
// float; the way back exists only for values that came from a half.
#pragma once

#include <bit>
#include <cstdint>

namespace juno {

/// Neither an infinity nor a NaN.
constexpr bool is_finite_half(std::uint16_t half) noexcept { return (half & 0x7c00u) != 0x7c00u; }

/// The float with the value of `half`; NaN payloads keep their bits, shifted.
constexpr float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = std::uint32_t{half} << 16 & 0x8000'0000u;
  const std::uint32_t exponent = half >> 10 & 0x1fu;
  const std::uint32_t fraction = half & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f80'0000u | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  // Subnormal: fraction * 2^-24, exact in float.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
}

}  // namespace juno
