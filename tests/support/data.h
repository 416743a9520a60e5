// SPDX-License-Identifier: Apache-2.0
//
// Deterministic test data.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "layout/activations.h"
#include "pack/recipe.h"

namespace juno::test {

/// A list of sizes to loop over.
using Sizes = std::initializer_list<std::size_t>;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  float normal() { return distribution_(engine_); }
  /// A finite half float of either sign, zeros and subnormals included.
  std::uint16_t half() {
    const auto bits = static_cast<std::uint16_t>(engine_());
    return (bits & 0x7c00) == 0x7c00 ? static_cast<std::uint16_t>(bits & 0x83ff) : bits;
  }
  void fill(void* data, std::size_t bytes) {
    auto* at = static_cast<std::uint8_t*>(data);
    for (std::size_t i = 0; i < bytes; ++i) at[i] = static_cast<std::uint8_t>(engine_());
  }
  /// A half float of either sign between 2^-11 and 2^-9.
  std::uint16_t small_half() { return static_cast<std::uint16_t>(0x1000u + (engine_() & 0x87ffu)); }

 private:
  std::mt19937_64 engine_;
  std::normal_distribution<float> distribution_;
};

/// What the half floats of random blocks may be.
enum class Scales {
  any,    ///< any finite half: products of float32 stay finite, decoded weights reach 10^8
  small,  ///< around 2^-10, either sign: sums behave like those of a real model
};

/// Random blocks of a recipe's format, `rows` x `width` weights: any bits, but finite scales. Where a format keeps its
/// half floats is known from its block: those bytes that decode() turns into NaN or infinity for all-ones are found by
/// trying.
std::vector<std::byte> random_blocks(const pack::Recipe& recipe, std::size_t rows, std::size_t width, Random& random,
                                     Scales scales = Scales::any);

/// A decoded weight in double, and the sum of the absolute values of the parts it is a difference of.
struct Weight64 {
  double value;
  double magnitude;
};
std::vector<Weight64> exact_weights(const pack::Recipe& recipe, const std::byte* blocks, std::size_t count);

/// Byte offsets of the half floats in a block of the recipe's format.
std::vector<std::size_t> half_offsets(const pack::Recipe& recipe);

/// Random activations with consistent sums; every 16th block is all zero with d = 0 and garbage in `sums`, as ggml
/// leaves it.
std::vector<layout::ActivationBlock> random_activations(std::size_t blocks, Random& random);

/// Equal in every bit, NaN included.
inline bool same_bits(const float* a, const float* b, std::size_t count) {
  return std::memcmp(a, b, count * sizeof(float)) == 0;
}

}  // namespace juno::test
