// SPDX-License-Identifier: Apache-2.0
//
// The random models that whole-model tests run.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "random_model.h"

namespace juno::test {

struct Model {
  std::string name;
  random_model::Options options;
};

inline std::vector<Model> models() {
  random_model::Options plain;
  plain.default_type = "IQ4_XS";
  random_model::Options tied = plain;
  tied.tied = true;
  tied.vocabulary = 515;
  random_model::Options mixed = plain;
  mixed.embedding = 512;
  mixed.feed_forward = 768;
  mixed.heads = 8;
  // All six formats that Juno compiles and some that it does not.
  mixed.types = {{"attn_q", "Q2_K"},         {"attn_k", "IQ2_XS"},   {"attn_output", "IQ2_S"},
                 {"ffn_gate", "IQ3_XXS"},    {"ffn_up", "IQ3_S"},    {"attn_v", "Q6_K"},
                 {R"(1\.ffn_down)", "Q8_0"}, {R"(^output)", "Q4_K"}, {"token_embd", "IQ3_S"}};
  mixed.seed = 7;
  // Each of the low-bit formats once among the experts and once in attention.
  random_model::Options moe{.architecture = "qwen3moe", .experts = 4, .expert_feed_forward = 256};
  moe.default_type = "IQ4_XS";
  moe.types = {{R"(blk\.0\.(attn_q|ffn_gate))", "Q2_K"},
               {R"(blk\.0\.(attn_k|ffn_up))", "IQ2_S"},
               {R"(blk\.0\.(attn_v|ffn_down))", "IQ2_XS"},
               {R"(blk\.1\.(attn_q|ffn_gate))", "IQ3_XXS"},
               {R"(blk\.1\.(attn_k|ffn_up))", "IQ3_S"}};
  random_model::Options qwen3 = plain;
  qwen3.architecture = "qwen3";
  qwen3.head_dimension = 128;
  qwen3.types = {{"attn_v", "IQ3_XXS"}, {"ffn_down", "Q2_K"}};
  random_model::Options gemma3 = plain;
  gemma3.architecture = "gemma3";
  gemma3.vocabulary = 515;
  gemma3.tied = true;
  gemma3.types = {{"attn_v", "IQ2_S"}, {"ffn_down", "IQ2_XS"}};
  random_model::Options phi3 = plain;
  phi3.architecture = "phi3";
  phi3.types = {{"ffn_up", "IQ3_S"}, {"attn_output", "Q2_K"}};
  return {{"plain", plain},   {"tied", tied}, {"mixed", mixed}, {"qwen3", qwen3},
          {"gemma3", gemma3}, {"moe", moe},   {"phi3", phi3}};
}

/// Writes the model of this name.
inline void write_model(const std::filesystem::path& path, const std::string& name) {
  for (const Model& model : models()) {
    if (model.name != name) continue;
    const Status status = random_model::write_random_model(path, model.options);
    ASSERT_TRUE(status.ok()) << status.error().message();
    return;
  }
  FAIL() << "no model " << name;
}

}  // namespace juno::test
