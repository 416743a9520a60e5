// SPDX-License-Identifier: Apache-2.0
//
// The memory budget inside ggml: what does not fit stays plain in Juno's buffer, and is right all the same.
#include <gtest/gtest.h>

#include "budget/account.h"
#include "ggml-backend-impl.h"
#include "ggml/graph.h"
#include "juno/engine.h"
#include "support/recipes.h"
#include "traits.h"

namespace juno::test {
namespace {

using integration::Content;

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kRows = 100;

/// Several weights in one buffer, as a model has them.
class Weights {
 public:
  Weights(ggml_backend_buffer_type_t buffer_type, const pack::Recipe& recipe, std::size_t count)
      : context_(new_context()) {
    for (std::size_t i = 0; i < count; ++i) {
      tensors_.push_back(ggml_new_tensor_2d(context_.get(), static_cast<ggml_type>(recipe.gguf_type), kWidth, kRows));
      ggml_set_name(tensors_.back(), ("blk." + std::to_string(i) + ".attn_q.weight").c_str());
    }
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), buffer_type));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
  }
  void write(std::size_t i, const std::vector<std::byte>& blocks) const {
    ggml_backend_tensor_set(tensors_[i], blocks.data(), 0, blocks.size());
  }
  void clear() const { ggml_backend_buffer_clear(buffer_.get(), 0); }
  void free() { buffer_.reset(); }
  [[nodiscard]] std::size_t packed() const {
    std::size_t count = 0;
    for (const ggml_tensor* tensor : tensors_) {
      count += integration::state_of(tensor)->content() == Content::packed ? 1 : 0;
    }
    return count;
  }
  [[nodiscard]] ggml_tensor* tensor(std::size_t i) const { return tensors_[i]; }

 private:
  GgmlPtr<ggml_context> context_;
  GgmlPtr<ggml_backend_buffer> buffer_;
  std::vector<ggml_tensor*> tensors_;
};

class Budget : public EveryFormat {
 protected:
  void TearDown() override {
    integration::set_memory_limit(std::nullopt);
    EXPECT_EQ(budget::account().taken(), 0u) << "all buffers are gone";
  }
  [[nodiscard]] std::vector<std::byte> blocks(std::uint64_t seed) const {
    Random random(seed);
    return random_blocks(recipe(), kRows, kWidth, random, Scales::small);
  }
  [[nodiscard]] std::uint64_t packed_bytes() const { return recipe().layout.matrix_bytes(kRows, kWidth); }
  [[nodiscard]] Weights written(std::size_t count) const {
    Weights weights(integration::buffer_type(), recipe(), count);
    for (std::size_t i = 0; i < count; ++i) weights.write(i, blocks(i));
    return weights;
  }
};

TEST_P(Budget, WhatFitsExactlyIsPacked) {
  integration::set_memory_limit(3 * packed_bytes());
  EXPECT_EQ(written(3).packed(), 3u);
  integration::set_memory_limit(3 * packed_bytes() - 1);
  EXPECT_EQ(written(3).packed(), 2u);
  integration::set_memory_limit(0);
  EXPECT_EQ(written(3).packed(), 0u);
  integration::set_memory_limit(std::nullopt);
  EXPECT_EQ(written(3).packed(), 3u) << "a few kilobytes are free";
}

TEST_P(Budget, IsSharedByAllBuffersAndGivenBack) {
  integration::set_memory_limit(3 * packed_bytes());
  Weights first = written(2);
  EXPECT_EQ(budget::account().taken(), 2 * packed_bytes());
  EXPECT_EQ(written(2).packed(), 1u);
  EXPECT_EQ(budget::account().taken(), 2 * packed_bytes());
  first.free();
  EXPECT_EQ(budget::account().taken(), 0u);
  EXPECT_EQ(written(2).packed(), 2u);
}

TEST_P(Budget, TheLoadersDummyBuffersTakeNothing) {
  integration::set_memory_limit(packed_bytes());
  const GgmlPtr<ggml_backend_buffer> dummy(ggml_backend_buft_alloc_buffer(integration::buffer_type(), 0));
  const Weights unwritten(integration::buffer_type(), recipe(), 2);
  EXPECT_EQ(budget::account().taken(), 0u);
  EXPECT_EQ(written(1).packed(), 1u);
}

TEST_P(Budget, ClearedAndWrittenAgainItIsTheSame) {
  integration::set_memory_limit(packed_bytes());
  const Weights weights = written(2);
  ASSERT_EQ(weights.packed(), 1u);
  for (int i = 0; i < 3; ++i) {
    weights.clear();
    EXPECT_EQ(weights.packed(), 0u);
    weights.write(0, blocks(5));
    weights.write(1, blocks(6));
    EXPECT_EQ(weights.packed(), 1u);
    EXPECT_EQ(budget::account().taken(), packed_bytes());
  }
}

/// Every use of a declined tensor is ggml's own code on the format's own bytes.
TEST_P(Budget, DeclinedTensorsArePlainAndComputedByGgml) {
  integration::set_memory_limit(packed_bytes());
  const Weights juno = written(2);
  Weights stock(ggml_backend_cpu_buffer_type(), recipe(), 2);
  for (std::size_t i = 0; i < 2; ++i) stock.write(i, blocks(i));
  const std::size_t plain = integration::packed_state_of(juno.tensor(0)) == nullptr ? 0 : 1;
  ASSERT_EQ(integration::packed_state_of(juno.tensor(plain)), nullptr);
  ASSERT_NE(integration::packed_state_of(juno.tensor(1 - plain)), nullptr);
  EXPECT_EQ(std::memcmp(juno.tensor(plain)->data, blocks(plain).data(), ggml_nbytes(juno.tensor(plain))), 0);

  auto* provider = static_cast<ggml::cpu::extra_buffer_type*>(integration::buffer_type()->context);
  const auto product_with = [](ggml_context* context, ggml_tensor* weight) {
    return ggml_mul_mat(context, weight, ggml_new_tensor_2d(context, GGML_TYPE_F32, kWidth, 9));
  };
  const GgmlPtr<ggml_context> context = new_context();
  EXPECT_EQ(provider->get_tensor_traits(product_with(context.get(), juno.tensor(plain))), nullptr);
  EXPECT_NE(provider->get_tensor_traits(product_with(context.get(), juno.tensor(1 - plain))), nullptr);

  for (const std::int64_t columns : {1, 3, 9}) {
    const auto result = [&](const Weights& weights) {
      const Build product = [&](ggml_context* graph, ggml_tensor*) {
        return ggml_mul_mat(graph, weights.tensor(plain), ggml_new_tensor_2d(graph, GGML_TYPE_F32, kWidth, columns));
      };
      const Weight unused(ggml_backend_cpu_buffer_type(), GGML_TYPE_F32, {1}, {});
      return compute(unused, 2, product, normal_inputs());
    };
    EXPECT_EQ(result(juno), result(stock)) << columns << " columns";
  }
  std::vector<std::byte> back(ggml_nbytes(juno.tensor(plain)));
  ggml_backend_tensor_get(juno.tensor(plain), back.data(), 0, back.size());
  EXPECT_EQ(back, blocks(plain));
}

TEST_P(Budget, ReceiptsSayWhy) {
  integration::set_memory_limit(packed_bytes());
  const std::size_t before = receipt::ledger().snapshot().size();
  const Weights weights = written(2);
  const auto receipts = receipt::ledger().snapshot();
  ASSERT_EQ(receipts.size(), before + 2) << "one for each tensor";
  std::size_t declined = 0;
  for (std::size_t i = before; i < receipts.size(); ++i) {
    if (receipts[i].reason == Reason::compiled) continue;
    ++declined;
    EXPECT_EQ(receipts[i].reason, Reason::budget);
    EXPECT_NE(receipts[i].detail.find("MiB"), std::string::npos) << receipts[i].detail;
    EXPECT_EQ(receipts[i].packed_bytes, 0u);
    EXPECT_EQ(receipts[i].layout, "");
    EXPECT_EQ(receipts[i].native_bytes, ggml_nbytes(weights.tensor(0)));
  }
  EXPECT_EQ(declined, 1u);
}

/// Through views and in parts, the plan is made all the same.
TEST_P(Budget, AnyFirstWriteMakesThePlan) {
  integration::set_memory_limit(packed_bytes());
  const Weights weights(integration::buffer_type(), recipe(), 2);
  ggml_backend_tensor_memset(weights.tensor(1), 0, 0, 8);
  EXPECT_EQ(budget::account().taken(), packed_bytes());
  weights.write(0, blocks(0));
  weights.write(1, blocks(1));
  EXPECT_EQ(weights.packed(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Formats, Budget, testing::ValuesIn(formats()), format_name);

}  // namespace
}  // namespace juno::test
