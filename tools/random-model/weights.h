// SPDX-License-Identifier: Apache-2.0
//
// Random weights in the block formats of ggml: any code bits, and scales chosen so that the weights have a wanted
// spread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace juno::random_model {

/// xoshiro256++ (Blackman and Vigna, https://prng.di.unimi.it), seeded through splitmix64: the same seed gives the same
/// numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) noexcept;
  uint64_t next() noexcept;

 private:
  std::array<uint64_t, 4> state_{};
};

/// How one tensor type stores its scale; one row of the table in weights.cpp.
struct WeightFormat;

/// The format of a GGUF tensor type, or nullptr if this tool cannot make random weights of it. Valid for ever.
const WeightFormat* find_weight_format(uint32_t type) noexcept;

/// Writes a stream of random blocks of one type. The bytes depend only on the constructor's arguments, not on how the
/// stream is cut into calls, as long as every cut is a multiple of 8 bytes and of whole blocks.
class WeightStream {
 public:
  /// `deviation` is the wanted standard deviation of the weights (the result is within a factor of 2 of it where the
  /// format's scale can express that). `format` must outlive the stream.
  WeightStream(const WeightFormat& format, double deviation, uint64_t seed) noexcept;

  /// Fills `blocks`, a whole number of blocks.
  void fill(std::span<std::byte> blocks) noexcept;

 private:
  // The bytes of one scale and, where the format has one, of its minimum.
  struct Scale {
    uint16_t scale;
    uint16_t minimum;
  };

  void set_element_bits(double deviation) noexcept;
  void set_scales(double deviation) noexcept;
  void put_scale(std::byte* block, const Scale& scale) const noexcept;

  const WeightFormat& format_;
  Random codes_;
  Random choice_source_;
  uint64_t choice_ = 0;  // four bits for each of the next blocks
  unsigned choices_left_ = 0;
  uint64_t mask_ = ~uint64_t{0};
  uint64_t base_ = 0;
  std::array<Scale, 16> scales_{};
};

/// Fills `values` with norm weights: random multiples of 1/1024 from 0.9375 to just under 1.0625.
void fill_norm(std::span<float> values, uint64_t seed) noexcept;

}  // namespace juno::random_model
