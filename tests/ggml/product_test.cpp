// SPDX-License-Identifier: Apache-2.0
//
// Matrix products inside ggml: Juno's buffer against ggml's own code.
#include <gtest/gtest.h>

#include <array>
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

TEST_P(EveryFormat, ProductsEqualStock) {
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
      std::array<std::uint64_t, 3> counted{};  // one kernel for any number of columns, or one for few and one for many
      for (const receipt::KernelCount& count : receipt.kernels) {
        for (std::size_t i = 0; i < counted.size(); ++i) counted[i] += count.calls[i];
      }
      EXPECT_EQ(counted, (std::array{calls / 4, calls / 2, calls / 4}));  // 1, 2 and 8, 33 columns
      EXPECT_EQ(receipt.unpacked_calls, 0u);
    }
  }
}

/// Threads wait for each other by spinning: with more of them than processors this is slow, so it is done once.
TEST_P(EveryFormat, MoreThreadsThanTiles) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const auto blocks = small_weights(recipe(), 200, 256);
  const Weight juno(integration::buffer_type(), type, {256, 200}, blocks);
  const Weight stock(ggml_backend_cpu_buffer_type(), type, {256, 200}, blocks);
  expect_like_stock(compute(juno, 16, product({256, 2}), normal_inputs()),
                    compute(stock, 16, product({256, 2}), normal_inputs()), stock_is_exact(recipe(), 200, 2));
}

TEST_P(EveryFormat, BatchedAndStridedActivations) {
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
TEST_P(EveryFormat, ZeroActivations) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const auto blocks = small_weights(recipe(), 70, 256);
  const Weight juno(integration::buffer_type(), type, {256, 70}, blocks);
  const auto zeros = [](ggml_tensor* input) {
    const std::vector<std::byte> bytes(ggml_nbytes(input));
    ggml_backend_tensor_set(input, bytes.data(), 0, bytes.size());
  };
  for (const float value : as_floats(compute(juno, 2, product({256, 2}), zeros))) EXPECT_EQ(value, 0.0f);
}

// --- mixtures of experts ---

struct Mixture {
  std::int64_t experts;
  std::int64_t rows;
  std::int64_t slots;   ///< experts used by each token
  std::int64_t shared;  ///< columns of activations per token: 1, or one for each slot
  std::vector<std::int32_t> ids;

  [[nodiscard]] std::int64_t tokens() const { return static_cast<std::int64_t>(ids.size()) / slots; }
};

std::vector<std::int32_t> random_ids(std::int64_t experts, std::size_t count) {
  Random random(static_cast<std::uint64_t>(experts) + count);
  std::vector<std::int32_t> ids(count);
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(experts)));
  return ids;
}

std::vector<Mixture> mixtures() {
  return {
      {1, 1, 1, 1, {0}},
      {8, 65, 2, 1, {3, 3}},              // the same expert twice for one token
      {8, 64, 2, 2, {7, 0, 7, 7, 0, 7}},  // six experts without a column
      {5, 130, 3, 3, random_ids(5, 3 * 9)},
      {4, 70, 2, 1, random_ids(4, 2 * 40)},
      {33, 3, 4, 1, random_ids(33, 4 * 12)},
  };
}

TEST_P(EveryFormat, MixturesOfExpertsEqualStock) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const std::int64_t width = 512;
  for (const Mixture& mixture : mixtures()) {
    const auto blocks = small_weights(recipe(), mixture.experts * mixture.rows, width);
    const std::vector<std::int64_t> shape = {width, mixture.rows, mixture.experts};
    const Weight juno(integration::buffer_type(), type, shape, blocks);
    const Weight stock(ggml_backend_cpu_buffer_type(), type, shape, blocks);
    ASSERT_EQ(juno.state().content(), Content::packed);
    // The ids are a view into a wider tensor, as the router's top-k makes them.
    const Build build = [&](ggml_context* context, ggml_tensor* weight) {
      ggml_tensor* columns = ggml_new_tensor_3d(context, GGML_TYPE_F32, width, mixture.shared, mixture.tokens());
      ggml_tensor* all = ggml_new_tensor_2d(context, GGML_TYPE_I32, mixture.experts + 4, mixture.tokens());
      return ggml_mul_mat_id(context, weight, columns,
                             ggml_view_2d(context, all, mixture.slots, mixture.tokens(), all->nb[1], 0));
    };
    const Fill fill = [&](ggml_tensor* input) {
      if (input->type != GGML_TYPE_I32) return normal_inputs()(input);
      std::vector<std::int32_t> all(static_cast<std::size_t>(ggml_nelements(input)), -1);
      for (std::int64_t token = 0; token < mixture.tokens(); ++token) {
        std::copy_n(mixture.ids.begin() + token * mixture.slots, mixture.slots, all.begin() + token * input->ne[0]);
      }
      ggml_backend_tensor_set(input, all.data(), 0, ggml_nbytes(input));
    };
    for (const int threads : {1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << mixture.experts << " experts of " << mixture.rows << " rows, " << threads);
      expect_like_stock(compute(juno, threads, build, fill), compute(stock, threads, build, fill),
                        stock_is_exact(recipe(), 1, 1));
    }
    const auto receipt = receipt_of(juno);
    ASSERT_EQ(receipt.kernels.size(), 1u);
    EXPECT_EQ(receipt.kernels[0].total_calls(), 3u);
    EXPECT_EQ(receipt.unpacked_calls, 0u);
  }
}

/// A stack of matrices in an ordinary product: each is used for as many matrices of activations as there are for one.
TEST_P(EveryFormat, StacksOfMatricesEqualStock) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const auto blocks = small_weights(recipe(), 3 * 70, 256);
  const Weight juno(integration::buffer_type(), type, {256, 70, 3}, blocks);
  const Weight stock(ggml_backend_cpu_buffer_type(), type, {256, 70, 3}, blocks);
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{256, 2, 3}, {256, 5, 6}, {256, 1, 9, 2}}) {
    for (const int threads : {1, 4}) {
      expect_like_stock(compute(juno, threads, product(shape), normal_inputs()),
                        compute(stock, threads, product(shape), normal_inputs()), stock_is_exact(recipe(), 1, 1));
    }
  }
  EXPECT_EQ(receipt_of(juno).unpacked_calls, 0u);
}

}  // namespace
}  // namespace juno::test
