// SPDX-License-Identifier: Apache-2.0
//
// Our reading of each format against ggml's.
#include <gtest/gtest.h>

#include "ggml-cpu.h"
#include "ggml.h"
#include "support/data.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

TEST_P(EveryRecipe, DecodesLikeGgml) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  ASSERT_EQ(ggml_type_size(type), recipe().block_bytes);
  ASSERT_EQ(ggml_blck_size(type), static_cast<std::int64_t>(layout::kSuperBlockWeights));
  Random random(3);
  const std::size_t blocks = 1000;
  const auto bytes = random_blocks(recipe(), 1, blocks * layout::kSuperBlockWeights, random);
  std::vector<float> ours(blocks * layout::kSuperBlockWeights);
  std::vector<float> theirs(ours.size());
  recipe().decode(bytes.data(), blocks, ours.data());
  ggml_get_type_traits(type)->to_float(bytes.data(), theirs.data(), static_cast<std::int64_t>(theirs.size()));
  EXPECT_TRUE(same_bits(ours.data(), theirs.data(), ours.size()));
}

/// Weights that ggml quantised itself, not only random bits.
TEST_P(EveryRecipe, DecodesWhatGgmlQuantised) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  Random random(4);
  const std::int64_t width = 1024;
  const std::int64_t rows = 4;
  std::vector<float> weights(static_cast<std::size_t>(width * rows));
  for (float& weight : weights) weight = random.normal();
  const std::vector<float> importance(static_cast<std::size_t>(width), 1.0f);
  std::vector<std::byte> blocks(static_cast<std::size_t>(rows) * recipe().row_bytes(static_cast<std::size_t>(width)));
  ASSERT_EQ(ggml_quantize_chunk(type, weights.data(), blocks.data(), 0, rows, width, importance.data()), blocks.size());
  std::vector<float> ours(weights.size());
  std::vector<float> theirs(weights.size());
  recipe().decode(blocks.data(), weights.size() / layout::kSuperBlockWeights, ours.data());
  ggml_get_type_traits(type)->to_float(blocks.data(), theirs.data(), width * rows);
  EXPECT_TRUE(same_bits(ours.data(), theirs.data(), ours.size()));
}

TEST(Half, EveryValueLikeGgml) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float ours = half_to_float(half);
    const float theirs = ggml_fp16_to_fp32(half);
    if (std::isnan(theirs)) {
      EXPECT_TRUE(std::isnan(ours)) << bits;
    } else {
      EXPECT_TRUE(same_bits(&ours, &theirs, 1)) << bits;
    }
  }
}

}  // namespace
}  // namespace juno::test
