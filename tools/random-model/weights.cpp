// SPDX-License-Identifier: Apache-2.0
#include "weights.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace juno::random_model {

enum class ScaleKind : uint8_t {
  none,      // not quantised: the random bits are the number
  half,      // one half-float
  minimum,   // a half-float scale and a half-float minimum
  e8m0,      // one byte, a power of two with exponent bias 128 once ggml has halved it
  ue4m3,     // four bytes, each an unsigned 4.3-bit float that ggml halves
  scattered  // a half-float in the top four bits of four 16-bit words
};

struct WeightFormat {
  uint32_t type;
  uint32_t block_bytes;
  ScaleKind kind;
  uint8_t scale_offset;
  uint8_t minimum_offset;
  double minimum_per_scale;  // centres the weights on 0
  double unit_deviation;     // root mean square of the weights that random codes give at scale 1
};

namespace {

using enum ScaleKind;

static_assert(std::endian::native == std::endian::little, "GGUF files are little-endian and written from memory");

// Offsets are those of the block structures in ggml 0.23.0 (ggml/src/ggml-common.h); every value of the remaining bits
// is a valid code: all codebook indices are as wide as their codebooks are long. Unit deviations were measured by
// dequantising random blocks with ggml.
constexpr WeightFormat kFormats[] = {
    {0, 4, none, 0, 0, 0, 1},              // F32
    {1, 2, none, 0, 0, 0, 1},              // F16
    {2, 18, half, 0, 0, 0, 4.65},          // Q4_0
    {3, 20, minimum, 0, 2, -7.5, 4.61},    // Q4_1
    {6, 22, half, 0, 0, 0, 9.25},          // Q5_0
    {7, 24, minimum, 0, 2, -15.5, 9.23},   // Q5_1
    {8, 34, half, 0, 0, 0, 73.9},          // Q8_0
    {10, 84, minimum, 80, 82, 1.5, 13.9},  // Q2_K
    {11, 110, half, 108, 0, 0, 43.5},      // Q3_K
    {12, 144, minimum, 0, 2, 7.5, 258},    // Q4_K
    {13, 176, minimum, 0, 2, 15.5, 527},   // Q5_K
    {14, 210, half, 208, 0, 0, 1370},      // Q6_K
    {16, 66, half, 0, 0, 0, 53.4},         // IQ2_XXS
    {17, 74, half, 0, 0, 0, 56},           // IQ2_XS
    {18, 98, half, 0, 0, 0, 143},          // IQ3_XXS
    {19, 50, half, 0, 0, 0, 7.2},          // IQ1_S
    {20, 18, half, 0, 0, 0, 67.5},         // IQ4_NL
    {21, 110, half, 0, 0, 0, 141},         // IQ3_S
    {22, 82, half, 0, 0, 0, 56.4},         // IQ2_S
    {23, 136, half, 0, 0, 0, 1250},        // IQ4_XS
    {29, 56, scattered, 48, 0, 0, 7.2},    // IQ1_M
    {30, 2, none, 0, 0, 0, 1},             // BF16
    {34, 54, half, 52, 0, 0, 0.82},        // TQ1_0
    {35, 66, half, 64, 0, 0, 1.22},        // TQ2_0
    {39, 17, e8m0, 0, 0, 0, 4.64},         // MXFP4
    {40, 36, ue4m3, 0, 0, 0, 5.8},         // NVFP4
    {41, 18, half, 0, 0, 0, 1},            // Q1_0
    {42, 18, half, 0, 0, 0, 1.22},         // Q2_0
};

uint64_t splitmix(uint64_t& state) noexcept {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

// The nearest half-float to a positive number, never 0, infinity or NaN. Only exact operations and one rounding, so
// that every machine agrees.
uint16_t half_bits(double magnitude) noexcept {
  constexpr int kMinExponent = -14;
  constexpr int kFractionBits = 10;
  constexpr long kLargest = 0x7bff;
  const int exponent = std::max(std::ilogb(magnitude), kMinExponent);
  // The fraction still holds the leading 1, which adds one to the exponent field of a normal number.
  const long fraction = std::lround(std::ldexp(magnitude, kFractionBits - exponent));
  const long bits = (static_cast<long>(exponent - kMinExponent) << kFractionBits) + fraction;
  return static_cast<uint16_t>(std::clamp(bits, 1L, kLargest));
}

// Likewise for the unsigned float with 4 exponent and 3 fraction bits; its largest code is NaN.
uint16_t ue4m3_bits(double magnitude) noexcept {
  constexpr int kMinExponent = -6;
  const int exponent = std::max(std::ilogb(magnitude), kMinExponent);
  const long fraction = std::lround(std::ldexp(magnitude, 3 - exponent));
  return static_cast<uint16_t>(std::clamp((static_cast<long>(exponent - kMinExponent) << 3) + fraction, 1L, 0x7eL));
}

uint64_t in_every_lane(uint64_t bits, unsigned lane_bits) noexcept {
  uint64_t word = 0;
  for (unsigned shift = 0; shift < 64; shift += lane_bits) word |= bits << shift;
  return word;
}

}  // namespace

Random::Random(uint64_t seed) noexcept {
  for (uint64_t& word : state_) word = splitmix(seed);
}

uint64_t Random::next() noexcept {
  const uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

const WeightFormat* find_weight_format(uint32_t type) noexcept {
  const auto* found = std::ranges::find(kFormats, type, &WeightFormat::type);
  return found != std::end(kFormats) ? found : nullptr;
}

WeightStream::WeightStream(const WeightFormat& format, double deviation, uint64_t seed) noexcept
    : format_(format), codes_(seed), choice_source_(~seed) {
  if (format.kind == none) {
    set_element_bits(deviation);
  } else {
    set_scales(deviation);
  }
}

// Unquantised numbers take sign, fraction and the low two exponent bits from the generator and the rest of the exponent
// from `base_`: four neighbouring powers of two, all finite, at the cost of one AND and one addition for several
// numbers.
void WeightStream::set_element_bits(double deviation) noexcept {
  // The root mean square of (1 + fraction) * 2^k for k = 0..3 is 7.05. The division by the square root of 2 makes
  // rounding down to a power of two below pick the nearest one.
  constexpr double kSpread = 7.05 / 1.41;
  const unsigned lane_bits = format_.block_bytes * 8;
  const bool is_half = format_.type == 1;
  const int exponent_bits = is_half ? 5 : 8;
  const int fraction_bits = static_cast<int>(lane_bits) - 1 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = std::clamp(std::ilogb(deviation / kSpread) + bias, 1, 2 * bias - 3);
  const uint64_t sign = uint64_t{1} << (lane_bits - 1);
  mask_ = in_every_lane(sign | ((uint64_t{1} << (fraction_bits + 2)) - 1), lane_bits);
  base_ = in_every_lane(static_cast<uint64_t>(exponent) << fraction_bits, lane_bits);
}

// Sixteen scales between 0.7 and 1.4 times the wanted one, half of them negative where the format has a sign.
void WeightStream::set_scales(double deviation) noexcept {
  const double middle = deviation / format_.unit_deviation;
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    const double magnitude = middle * static_cast<double>(8 + i % 8) / 11.5;
    const uint16_t sign = i < 8 ? 0 : 0x8000;
    Scale& scale = scales_[i];
    if (format_.kind == e8m0) {
      constexpr int kBias = 128;
      const int exponent = std::ilogb(middle * 1.41) - static_cast<int>(i % 2);
      scale.scale = static_cast<uint16_t>(std::clamp(exponent + kBias, 1, 254));
    } else if (format_.kind == ue4m3) {
      scale.scale = ue4m3_bits(magnitude * 2);
    } else {
      scale.scale = half_bits(magnitude) | sign;
      if (format_.kind == minimum) {
        const uint16_t flip = format_.minimum_per_scale < 0 ? 0x8000 : 0;
        scale.minimum = half_bits(magnitude * std::abs(format_.minimum_per_scale)) | (sign ^ flip);
      }
    }
  }
}

void WeightStream::put_scale(std::byte* block, const Scale& scale) const noexcept {
  std::byte* const at = block + format_.scale_offset;
  switch (format_.kind) {
    case none: break;
    case half: std::memcpy(at, &scale.scale, sizeof scale.scale); break;
    case minimum:
      std::memcpy(at, &scale.scale, sizeof scale.scale);
      std::memcpy(block + format_.minimum_offset, &scale.minimum, sizeof scale.minimum);
      break;
    case e8m0: *at = static_cast<std::byte>(scale.scale); break;
    case ue4m3: std::memset(at, scale.scale, 4); break;
    case scattered:
      for (unsigned word = 0; word < 4; ++word) {
        std::byte& high = at[2 * word + 1];
        high = (high & std::byte{0x0f}) | static_cast<std::byte>(((scale.scale >> (4 * word)) & 15) << 4);
      }
      break;
  }
}

void WeightStream::fill(std::span<std::byte> blocks) noexcept {
  std::size_t at = 0;
  for (; at + 8 <= blocks.size(); at += 8) {
    const uint64_t word = (codes_.next() & mask_) + base_;
    std::memcpy(blocks.data() + at, &word, 8);
  }
  if (at < blocks.size()) {
    const uint64_t word = (codes_.next() & mask_) + base_;
    std::memcpy(blocks.data() + at, &word, blocks.size() - at);
  }
  if (format_.kind == none) return;
  for (std::size_t start = 0; start < blocks.size(); start += format_.block_bytes) {
    if (choices_left_ == 0) {
      choice_ = choice_source_.next();
      choices_left_ = 16;
    }
    put_scale(blocks.data() + start, scales_[choice_ & 15]);
    choice_ >>= 4;
    --choices_left_;
  }
}

void fill_norm(std::span<float> values, uint64_t seed) noexcept {
  Random random(seed);
  for (float& value : values) value = static_cast<float>(960 + (random.next() & 127)) / 1024.0F;
}

}  // namespace juno::random_model
