// SPDX-License-Identifier: Apache-2.0
//
// A model in llama.cpp under one of the two engines, fed with token ids, and what is asked of it afterwards.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "juno/engine.h"
#include "juno/receipt.h"
#include "llama.h"

namespace juno::test {

/// What is to be other than llama.cpp's defaults.
using Change = std::function<void(llama_model_params&, llama_context_params&)>;

class Engine {
 public:
  Engine(const std::filesystem::path& path, bool juno, int threads, const Change& change = {}) {
    integration::set_enabled(juno);
    ggml_backend_dev_t no_devices[] = {nullptr};
    llama_model_params model_params = llama_model_default_params();
    model_params.devices = no_devices;
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 128;
    params.n_threads = threads;
    params.n_threads_batch = threads;
    if (change) change(model_params, params);
    model_.reset(llama_model_load_from_file(path.c_str(), model_params));
    if (model_ != nullptr) context_.reset(llama_init_from_model(model_.get(), params));
    integration::set_enabled(true);
  }
  explicit operator bool() const { return context_ != nullptr; }
  [[nodiscard]] llama_model* model() const { return model_.get(); }
  [[nodiscard]] llama_context* context() const { return context_.get(); }

  /// The logits after these tokens.
  std::vector<float> feed(std::vector<llama_token> tokens) {
    decode(tokens);
    const float* logits = llama_get_logits_ith(context(), -1);
    return {logits, logits + llama_vocab_n_tokens(llama_model_get_vocab(model()))};
  }

  /// The pooled embedding of these tokens.
  std::vector<float> embed(std::vector<llama_token> tokens) {
    decode(tokens);
    const float* embedding = llama_get_embeddings_seq(context(), 0);
    if (embedding == nullptr) return {};
    return {embedding, embedding + llama_model_n_embd(model())};
  }

  [[nodiscard]] std::vector<std::uint8_t> save() {
    std::vector<std::uint8_t> state(llama_state_get_size(context()));
    EXPECT_EQ(llama_state_get_data(context(), state.data(), state.size()), state.size());
    return state;
  }
  void restore(const std::vector<std::uint8_t>& state) {
    EXPECT_EQ(llama_state_set_data(context(), state.data(), state.size()), state.size());
  }

 private:
  void decode(std::vector<llama_token>& tokens) {
    const auto count = static_cast<std::int32_t>(tokens.size());
    EXPECT_EQ(llama_decode(context(), llama_batch_get_one(tokens.data(), count)), 0);
  }

  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_context* context) const { llama_free(context); }
  };
  std::unique_ptr<llama_model, Free> model_;
  std::unique_ptr<llama_context, Free> context_;
};

/// Tokens of every random model, enough for all classes of columns.
inline const std::vector<llama_token> kPrompt = {1, 300, 401, 17, 88, 499, 260, 277, 350, 366};

/// How far apart two vectors are, as a part of the size of the second.
inline double relative_difference(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto a = static_cast<double>(ours[i]);
    const auto b = static_cast<double>(theirs[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  return std::sqrt(difference / size);
}

inline void expect_same_bits(const std::vector<float>& ours, const std::vector<float>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_FALSE(ours.empty());
  EXPECT_EQ(std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(float)), 0);
}

/// Of logits, or of embeddings, from Juno and from llama.cpp's own code. On Arm: every bit. x86's own products sum in
/// another order; whole models then differ by as much as two builds of stock llama.cpp do. A wrong tensor changes
/// logits by their own size.
inline void expect_same_logits(const std::vector<float>& ours, const std::vector<float>& theirs) {
#if defined(__aarch64__)
  expect_same_bits(ours, theirs);
#else
  ASSERT_EQ(ours.size(), theirs.size());
  ASSERT_FALSE(ours.empty());
  EXPECT_LT(relative_difference(ours, theirs), 0.02);
#endif
}

inline std::size_t receipts_so_far() { return receipt::ledger().snapshot().size(); }

/// The receipts that came after the first ones.
inline std::vector<receipt::TensorReceipt> receipts_since(std::size_t first) {
  auto receipts = receipt::ledger().snapshot();
  receipts.erase(receipts.begin(), receipts.begin() + static_cast<std::ptrdiff_t>(first));
  return receipts;
}

/// The tensors that were packed since the ledger had `first` receipts.
inline std::set<std::string> packed_since(std::size_t first) {
  std::set<std::string> names;
  for (const auto& receipt : receipts_since(first)) {
    if (receipt.reason == Reason::compiled) names.insert(receipt.name);
  }
  return names;
}

/// Every tensor that was packed since then has been multiplied by a kernel, and used in no other way.
inline void expect_all_multiplied_since(std::size_t first) {
  std::size_t packed = 0;
  for (const auto& receipt : receipts_since(first)) {
    if (receipt.reason != Reason::compiled) continue;
    ++packed;
    EXPECT_FALSE(receipt.kernels.empty()) << receipt.name;
    EXPECT_EQ(receipt.unpacked_calls, 0u) << receipt.name;
  }
  EXPECT_GT(packed, 0u);
}

}  // namespace juno::test
