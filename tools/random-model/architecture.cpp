// SPDX-License-Identifier: Apache-2.0
#include "architecture.h"

#include <algorithm>
#include <vector>

#include "random_model.h"

namespace juno::random_model {
namespace {

using enum Size;

// Parts that layers are put together from. Names and shapes are those of llama.cpp v0.4.0 (src/llama-arch.cpp and
// src/models/*.cpp).
constexpr TensorPattern kAttention[] = {
    {"attn_norm", embedding},    {"attn_q", embedding, queries},      {"attn_k", embedding, keys},
    {"attn_v", embedding, keys}, {"attn_output", queries, embedding},
};
constexpr TensorPattern kFusedAttention[] = {
    {"attn_norm", embedding},
    {"attn_qkv", embedding, fused},
    {"attn_output", queries, embedding},
};
constexpr TensorPattern kHeadNorms[] = {{"attn_q_norm", head}, {"attn_k_norm", head}};
constexpr TensorPattern kPostAttentionNorm[] = {{"post_attention_norm", embedding}};
constexpr TensorPattern kFeedForward[] = {
    {"ffn_norm", embedding},
    {"ffn_gate", embedding, feed_forward},
    {"ffn_up", embedding, feed_forward},
    {"ffn_down", feed_forward, embedding},
};
constexpr TensorPattern kFusedFeedForward[] = {
    {"ffn_norm", embedding},
    {"ffn_up", embedding, gate_and_up},
    {"ffn_down", feed_forward, embedding},
};
constexpr TensorPattern kExperts[] = {
    {"ffn_norm", embedding},
    {.name = "ffn_gate_inp", .width = embedding, .rows = experts, .f32 = true},  // llama.cpp never quantises a router
    {"ffn_gate_exps", embedding, expert_feed_forward, experts},
    {"ffn_up_exps", embedding, expert_feed_forward, experts},
    {"ffn_down_exps", expert_feed_forward, embedding, experts},
};
constexpr TensorPattern kPostFeedForwardNorm[] = {{"post_ffw_norm", embedding}};

// The window of the smallest published models. Without it llama.cpp would build another graph than for those.
constexpr Key kSlidingWindow[] = {{"attention.sliding_window", 512U}};

// The result is the mean of all tokens. Layers with a window and layers without take turns: llama.cpp v0.4.0 stops with
// an assertion unless a model has both kinds, and its own default, every sixth without, would need six layers.
constexpr Key kEmbedding[] = {
    {"attention.sliding_window", 512U}, {"attention.sliding_window_pattern", 2U}, {"pooling_type", 1U}};

constexpr Architecture kArchitectures[] = {
    {"llama", {kAttention, kFeedForward}, {}},
    {"qwen3", {kAttention, kHeadNorms, kFeedForward}, {}},
    {"gemma3", {kAttention, kHeadNorms, kPostAttentionNorm, kFeedForward, kPostFeedForwardNorm}, kSlidingWindow},
    {"qwen3moe", {kAttention, kHeadNorms, kExperts}, {}},
    {"phi3", {kFusedAttention, kFusedFeedForward}, {}, false},
    {"gemma-embedding", {kAttention, kHeadNorms, kPostAttentionNorm, kFeedForward, kPostFeedForwardNorm}, kEmbedding},
};

constexpr Key kCommonKeys[] = {
    {"vocab_size", vocabulary},
    {"context_length", context},
    {"embedding_length", embedding},
    {"block_count", layers},
    {"feed_forward_length", feed_forward},
    {"rope.dimension_count", head},
    {"rope.freq_base", 10000.0F},
    {"attention.head_count", heads},
    {"attention.head_count_kv", kv_heads},
    {"attention.layer_norm_rms_epsilon", 1e-5F},
    {"attention.key_length", explicit_head},
    {"attention.value_length", explicit_head},
    {"expert_count", experts},
    {"expert_used_count", experts_used},
    {"expert_feed_forward_length", expert_feed_forward},
};

}  // namespace

bool Architecture::has_experts() const noexcept {
  return std::ranges::any_of(layer, [](const auto& part) {
    return std::ranges::find(part, Size::experts, &TensorPattern::matrices) != part.end();
  });
}

std::span<const Architecture> known_architectures() noexcept { return kArchitectures; }

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const Architecture& architecture : kArchitectures) names.push_back(architecture.name);
  return names;
}

std::span<const Key> common_keys() noexcept { return kCommonKeys; }

}  // namespace juno::random_model
