// SPDX-License-Identifier: Apache-2.0
//
// Matrix products inside ggml: Juno's buffer against ggml's own code.
#include <gtest/gtest.h>

#include <cmath>

#include "dispatch/registry.h"
#include "ggml/graph.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

using integration::Content;

Build product(std::vector<std::int64_t> columns_shape) {
  return [columns_shape](ggml_context* context, ggml_tensor* weight) {
    ggml_tensor* columns =
        ggml_new_tensor(context, GGML_TYPE_F32, static_cast<int>(columns_shape.size()), columns_shape.data());
    return ggml_mul_mat(context, weight, columns);
  };
}

std::vector<float> as_floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// On Arm stock ggml gives the very same bits. On x86 it does so in its panel code: 8 columns or more, a multiple of 8
/// rows, AVX2, but not for Q2_K, which has a path of its own. Elsewhere it sums in another order; scaled to the size of
/// the results, 1e-5 is two orders above what float sums of 2816 terms lose and four below a wrong weight.
bool stock_is_exact(const pack::Recipe& recipe, std::int64_t rows, std::int64_t columns) {
#if defined(__aarch64__)
  (void)recipe;
  (void)rows;
  (void)columns;
  return true;
#else
  return recipe.gguf_type != GGML_TYPE_Q2_K && ggml_cpu_has_avx2() != 0 && columns >= 8 && rows % 8 == 0;
#endif
}

void expect_like_stock(const std::vector<std::byte>& juno, const std::vector<std::byte>& stock, bool exact) {
  ASSERT_EQ(juno.size(), stock.size());
  if (exact) {
    EXPECT_EQ(std::memcmp(juno.data(), stock.data(), juno.size()), 0);
    return;
  }
  const auto a = as_floats(juno);
  const auto b = as_floats(stock);
  double largest = 0;
  for (const float value : b) largest = std::max(largest, std::abs(static_cast<double>(value)));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(a[i]), static_cast<double>(b[i]), 1e-5 * largest) << i;
  }
}

std::vector<std::byte> small_weights(const pack::Recipe& recipe, std::int64_t rows, std::int64_t width) {
  Random random(31);
  return random_blocks(recipe, static_cast<std::size_t>(rows), static_cast<std::size_t>(width), random, Scales::small);
}

TEST_P(EveryRecipe, ProductsEqualStock) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  for (const std::int64_t rows : {1, 64, 200}) {
    for (const std::int64_t width : {256, 1024}) {
      const auto blocks = small_weights(recipe(), rows, width);
      const Weight juno(integration::buffer_type(), type, {width, rows}, blocks);
      const Weight stock(ggml_backend_cpu_buffer_type(), type, {width, rows}, blocks);
      ASSERT_EQ(juno.state().content(), Content::packed);
      std::uint64_t calls = 0;
      for (const std::int64_t columns : {1, 2, 8, 33}) {
        for (const int threads : {1, 3}) {
          SCOPED_TRACE(testing::Message() << rows << " x " << width << ", " << columns << " columns, " << threads);
          const auto ours = compute(juno, threads, product({width, columns}), normal_inputs());
          const auto theirs = compute(stock, threads, product({width, columns}), normal_inputs());
          expect_like_stock(ours, theirs, stock_is_exact(recipe(), rows, columns));
          ++calls;
        }
      }
      const auto receipt = receipt_of(juno);
      ASSERT_EQ(receipt.kernels.size(), 1u);
      EXPECT_EQ(receipt.kernels[0].total_calls(), calls);
      EXPECT_EQ(receipt.kernels[0].calls[0], calls / 4);  // one column, of four numbers of columns
      EXPECT_EQ(receipt.unpacked_calls, 0u);
    }
  }
}

/// Threads wait for each other by spinning: with more of them than processors this is slow, so it is done once.
TEST_P(EveryRecipe, MoreThreadsThanTiles) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const auto blocks = small_weights(recipe(), 200, 256);
  const Weight juno(integration::buffer_type(), type, {256, 200}, blocks);
  const Weight stock(ggml_backend_cpu_buffer_type(), type, {256, 200}, blocks);
  expect_like_stock(compute(juno, 16, product({256, 2}), normal_inputs()),
                    compute(stock, 16, product({256, 2}), normal_inputs()), stock_is_exact(recipe(), 200, 2));
}

TEST_P(EveryRecipe, BatchedAndStridedActivations) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const std::int64_t width = 512;
  const std::int64_t rows = 65;
  const auto blocks = small_weights(recipe(), rows, width);
  const Weight juno(integration::buffer_type(), type, {width, rows}, blocks);
  const Weight stock(ggml_backend_cpu_buffer_type(), type, {width, rows}, blocks);
  const std::vector<Build> builds = {
      product({width, 3, 2}),
      product({width, 2, 2, 3}),
      // every other column of a wider tensor
      [=](ggml_context* context, ggml_tensor* weight) {
        ggml_tensor* all = ggml_new_tensor_2d(context, GGML_TYPE_F32, width, 8);
        return ggml_mul_mat(context, weight, ggml_view_2d(context, all, width, 4, 2 * all->nb[1], all->nb[1]));
      },
      // heads and tokens swapped, as attention does it
      [=](ggml_context* context, ggml_tensor* weight) {
        ggml_tensor* all = ggml_new_tensor_3d(context, GGML_TYPE_F32, width, 3, 5);
        return ggml_mul_mat(context, weight, ggml_permute(context, all, 0, 2, 1, 3));
      },
  };
  for (std::size_t i = 0; i < builds.size(); ++i) {
    SCOPED_TRACE(i);
    expect_like_stock(compute(juno, 3, builds[i], normal_inputs()), compute(stock, 3, builds[i], normal_inputs()),
                      stock_is_exact(recipe(), rows, 1));
  }
  EXPECT_EQ(receipt_of(juno).unpacked_calls, 0u);
}

/// Columns of zeros: ggml leaves the block sums unset.
TEST_P(EveryRecipe, ZeroActivations) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const auto blocks = small_weights(recipe(), 70, 256);
  const Weight juno(integration::buffer_type(), type, {256, 70}, blocks);
  const auto zeros = [](ggml_tensor* input) {
    const std::vector<std::byte> bytes(ggml_nbytes(input));
    ggml_backend_tensor_set(input, bytes.data(), 0, bytes.size());
  };
  for (const float value : as_floats(compute(juno, 2, product({256, 2}), zeros))) EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace juno::test
