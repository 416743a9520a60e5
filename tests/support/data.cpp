// SPDX-License-Identifier: Apache-2.0
#include "support/data.h"

#include <array>

namespace juno::test {
// Places where setting the two bytes to an infinity makes decode() not finite.
std::vector<std::size_t> half_offsets(const pack::Recipe& recipe) {
  std::vector<std::size_t> offsets;
  std::array<float, layout::kSuperBlockWeights> values;
  for (std::size_t at = 0; at + 2 <= recipe.block_bytes; at += 2) {
    std::vector<std::byte> block(recipe.block_bytes, std::byte{0x11});
    block[at] = std::byte{0x00};
    block[at + 1] = std::byte{0x7c};
    recipe.decode(block.data(), 1, values.data());
    if (std::any_of(values.begin(), values.end(), [](float v) { return !std::isfinite(v); })) offsets.push_back(at);
  }
  return offsets;
}

// With all half floats but one set to zero, decode() gives one part of each weight. Decoding is exact in float.
std::vector<Weight64> exact_weights(const pack::Recipe& recipe, const std::byte* blocks, std::size_t count) {
  std::vector<Weight64> weights(count * layout::kSuperBlockWeights, Weight64{0, 0});
  const std::vector<std::size_t> halfs = half_offsets(recipe);
  for (const std::size_t part : halfs) {
    std::vector<std::byte> only(blocks, blocks + count * recipe.block_bytes);
    for (std::size_t block = 0; block < count; ++block) {
      for (const std::size_t offset : halfs) {
        if (offset != part) store(only.data() + block * recipe.block_bytes + offset, std::uint16_t{0});
      }
    }
    std::vector<float> values(weights.size());
    recipe.decode(only.data(), count, values.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      weights[i].value += static_cast<double>(values[i]);
      weights[i].magnitude += std::abs(static_cast<double>(values[i]));
    }
  }
  return weights;
}

std::vector<std::byte> random_blocks(const pack::Recipe& recipe, std::size_t rows, std::size_t width, Random& random,
                                     Scales scales) {
  std::vector<std::byte> blocks(rows * recipe.row_bytes(width));
  random.fill(blocks.data(), blocks.size());
  const std::vector<std::size_t> halfs = half_offsets(recipe);
  for (std::size_t block = 0; block < blocks.size(); block += recipe.block_bytes) {
    for (const std::size_t offset : halfs) {
      store(blocks.data() + block + offset, scales == Scales::any ? random.half() : random.small_half());
    }
  }
  return blocks;
}

std::vector<layout::ActivationBlock> random_activations(std::size_t blocks, Random& random) {
  std::vector<layout::ActivationBlock> activations(blocks);
  for (std::size_t b = 0; b < blocks; ++b) {
    layout::ActivationBlock& block = activations[b];
    random.fill(&block, sizeof block);
    if (b % 16 == 15) {
      block.d = 0;
      std::fill(std::begin(block.q), std::end(block.q), std::int8_t{0});
      continue;
    }
    block.d = 0.01f * random.normal();
    for (std::int8_t& q : block.q) q = std::max<std::int8_t>(q, -127);
    for (std::size_t i = 0; i < std::size(block.sums); ++i) {
      int sum = 0;
      for (std::size_t j = 0; j < 16; ++j) sum += block.q[16 * i + j];
      block.sums[i] = static_cast<std::int16_t>(sum);
    }
  }
  return activations;
}

}  // namespace juno::test
