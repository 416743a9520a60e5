// SPDX-License-Identifier: Apache-2.0
//
// Models that do not only consist of matrices which Juno packs, and models that do not generate.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "model/engine.h"
#include "model/gguf_file.h"
#include "model/models.h"
#include "support/temporary_folder.h"

namespace juno::test {
namespace {

using Names = std::set<std::string>;

/// Both engines agree on a prompt and two further tokens, and Juno packs exactly these tensors and multiplies them all.
void expect_packed(const std::filesystem::path& path, const Names& packed) {
  Engine native(path, false, 2);
  const std::size_t before = receipts_so_far();
  Engine juno(path, true, 2);
  ASSERT_TRUE(native && juno);
  expect_same_logits(juno.feed(kPrompt), native.feed(kPrompt));
  for (const llama_token token : {301, 402}) expect_same_logits(juno.feed({token}), native.feed({token}));
  EXPECT_EQ(packed_since(before), packed);
  expect_all_multiplied_since(before);
}

/// Widths that are no multiples of 256, types that Juno has no recipe for, a router, look-ups, norms.
TEST(OtherParts, OddShapesAndTypesStayNative) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  random_model::Options options{.architecture = "qwen3moe",
                                .layers = 1,
                                .head_dimension = 60,
                                .experts = 4,
                                .expert_feed_forward = 96,
                                .default_type = "IQ4_XS",
                                .types = {{"attn_output", "F16"},
                                          {"attn_v", "BF16"},
                                          {"attn_k", "Q4_0"},
                                          {"ffn_down_exps", "Q8_0"},
                                          {"ffn_up_exps", "Q5_K"},
                                          {"token_embd", "IQ2_S"}}};
  ASSERT_TRUE(random_model::write_random_model(path, options).ok());
  expect_packed(path, {"blk.0.attn_q.weight", "blk.0.ffn_gate_exps.weight", "output.weight"});
}

/// A state-space model: convolutions, scans and recurrent state between the products.
TEST(OtherParts, StateSpaceModel) {
  constexpr std::int64_t kWidth = 256;
  constexpr std::int64_t kInner = 2 * kWidth;
  constexpr std::int64_t kState = 16;
  constexpr std::int64_t kStepRank = 16;
  constexpr std::int64_t kConvolution = 4;
  const TemporaryFolder folder;
  const auto tokeniser = folder.path() / "tokeniser.gguf";
  ASSERT_TRUE(random_model::write_random_model(tokeniser, {.layers = 1}).ok());
  const auto path = folder.path() / "mamba.gguf";
  GgufFile model;
  gguf_set_kv(model.metadata(), GgufHeader(tokeniser).metadata());
  gguf_set_val_str(model.metadata(), "general.architecture", "mamba");
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::int64_t>>{{"context_length", 512},
                                                         {"embedding_length", kWidth},
                                                         {"block_count", 1},
                                                         {"feed_forward_length", 0},
                                                         {"attention.head_count", 0},
                                                         {"ssm.conv_kernel", kConvolution},
                                                         {"ssm.inner_size", kInner},
                                                         {"ssm.state_size", kState},
                                                         {"ssm.time_step_rank", kStepRank}}) {
    gguf_set_val_u32(model.metadata(), ("mamba." + key).c_str(), static_cast<std::uint32_t>(value));
  }
  gguf_set_val_f32(model.metadata(), "mamba.attention.layer_norm_rms_epsilon", 1e-5f);
  model.add("token_embd.weight", GGML_TYPE_IQ4_XS, {kWidth, 1003});
  model.add_constant("blk.0.attn_norm.weight", {kWidth}, 1);
  model.add("blk.0.ssm_in.weight", GGML_TYPE_IQ4_XS, {kWidth, 2 * kInner});
  model.add("blk.0.ssm_conv1d.weight", GGML_TYPE_F32, {kConvolution, kInner});
  model.add_constant("blk.0.ssm_conv1d.bias", {kInner}, 0.1f);
  model.add("blk.0.ssm_x.weight", GGML_TYPE_IQ3_S, {kInner, kStepRank + 2 * kState});
  model.add("blk.0.ssm_dt.weight", GGML_TYPE_F32, {kStepRank, kInner});
  model.add_constant("blk.0.ssm_dt.bias", {kInner}, 0.1f);
  model.add_constant("blk.0.ssm_a", {kState, kInner}, -1);
  model.add_constant("blk.0.ssm_d", {kInner}, 1);
  model.add("blk.0.ssm_out.weight", GGML_TYPE_Q2_K, {kInner, kWidth});
  model.add_constant("output_norm.weight", {kWidth}, 1);
  model.add("output.weight", GGML_TYPE_IQ2_XS, {kWidth, 1003});
  model.write(path);
  expect_packed(path, {"blk.0.ssm_in.weight", "blk.0.ssm_x.weight", "blk.0.ssm_out.weight", "output.weight"});
}

/// Q, K and V in one matrix, gate and up in another: llama.cpp cuts up what their products give.
TEST(OtherParts, FusedMatrices) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  write_model(path, "phi3");
  Names names = {"output.weight"};
  for (const char* layer : {"blk.0.", "blk.1."}) {
    for (const char* name : {"attn_qkv", "attn_output", "ffn_up", "ffn_down"}) {
      names.insert(std::string(layer) + name + ".weight");
    }
  }
  expect_packed(path, names);
}

/// An embedding model, which has no KV cache: every token sees every other, and the result is one vector.
TEST(Embedding, IsThatOfTheNativeEngine) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  ASSERT_TRUE(
      random_model::write_random_model(path, {.architecture = "gemma-embedding", .default_type = "IQ4_XS"}).ok());
  for (const auto pooling : {LLAMA_POOLING_TYPE_MEAN, LLAMA_POOLING_TYPE_CLS, LLAMA_POOLING_TYPE_LAST}) {
    SCOPED_TRACE(pooling);
    const Change change = [&](llama_model_params&, llama_context_params& params) {
      params.embeddings = true;
      params.pooling_type = pooling;
    };
    Engine native(path, false, 2, change);
    const std::size_t before = receipts_so_far();
    Engine juno(path, true, 2, change);
    ASSERT_TRUE(native && juno);
    const auto embedding = juno.embed(kPrompt);
    expect_same_logits(embedding, native.embed(kPrompt));
    EXPECT_GT(relative_difference(embedding, juno.embed({1, 402, 17})), 0.2)
        << "the embedding does not depend on the text";
    for (const auto& receipt : receipts_since(before)) {
      if (receipt.reason != Reason::compiled || receipt.name == "output.weight") continue;  // no logits are asked for
      EXPECT_FALSE(receipt.kernels.empty()) << receipt.name;
      EXPECT_EQ(receipt.unpacked_calls, 0u) << receipt.name;
    }
    EXPECT_EQ(packed_since(before).size(), 2 * 7u + 1);
  }
}

}  // namespace
}  // namespace juno::test
