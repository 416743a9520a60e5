// SPDX-License-Identifier: Apache-2.0
//
// LoRA adapters on packed weights: the product of the packed matrix, plus that of two small plain ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "model/engine.h"
#include "model/gguf_file.h"
#include "model/models.h"
#include "support/temporary_folder.h"

namespace juno::test {
namespace {

constexpr std::int64_t kRank = 4;

/// A pair for every matrix of the model's layers and for its output, experts included.
void write_adapter(const std::filesystem::path& path, const std::filesystem::path& model) {
  const GgufHeader header(model);
  GgufFile adapter;
  gguf_set_val_str(adapter.metadata(), "general.type", "adapter");
  const std::int64_t architecture = gguf_find_key(header.metadata(), "general.architecture");
  gguf_set_val_str(adapter.metadata(), "general.architecture", gguf_get_val_str(header.metadata(), architecture));
  gguf_set_val_str(adapter.metadata(), "adapter.type", "lora");
  gguf_set_val_f32(adapter.metadata(), "adapter.lora.alpha", kRank);
  for (const ggml_tensor* weight : header.tensors()) {
    const std::string name = weight->name;
    if (weight->ne[1] == 1 || name == "token_embd.weight" || name.find("ffn_gate_inp") != std::string::npos) continue;
    adapter.add(name + ".lora_a", GGML_TYPE_F32, {weight->ne[0], kRank, weight->ne[2]});
    adapter.add(name + ".lora_b", GGML_TYPE_F32, {kRank, weight->ne[1], weight->ne[2]});
  }
  adapter.write(path);
}

std::vector<float> feed_from_the_start(Engine& engine) {
  llama_memory_clear(llama_get_memory(engine.context()), true);
  std::vector<float> logits = engine.feed(kPrompt);
  for (const float logit : engine.feed({301})) logits.push_back(logit);
  return logits;
}

std::vector<float> with_adapter(Engine& engine, const std::filesystem::path& path) {
  llama_adapter_lora* adapter = llama_adapter_lora_init(engine.model(), path.c_str());
  EXPECT_NE(adapter, nullptr);
  float scale = 0.5f;
  EXPECT_EQ(llama_set_adapters_lora(engine.context(), &adapter, 1, &scale), 0);
  std::vector<float> logits = feed_from_the_start(engine);
  EXPECT_EQ(llama_set_adapters_lora(engine.context(), nullptr, 0, nullptr), 0);
  return logits;
}

TEST(Lora, AddsToPackedWeights) {
  for (const char* name : {"mixed", "moe"}) {
    SCOPED_TRACE(name);
    const TemporaryFolder folder;
    const auto model = folder.path() / "model.gguf";
    const auto adapter = folder.path() / "adapter.gguf";
    write_model(model, name);
    write_adapter(adapter, model);
    Engine native(model, false, 2);
    const std::size_t before = receipts_so_far();
    Engine juno(model, true, 2);
    ASSERT_TRUE(native && juno);
    const auto alone = feed_from_the_start(juno);
    const auto adapted = with_adapter(juno, adapter);
    expect_same_logits(adapted, with_adapter(native, adapter));
    EXPECT_GT(relative_difference(adapted, alone), 0.2) << "the adapter does nothing";
    expect_all_multiplied_since(before);
    // The packed weights are as they were.
    expect_same_bits(feed_from_the_start(juno), alone);
  }
}

}  // namespace
}  // namespace juno::test
