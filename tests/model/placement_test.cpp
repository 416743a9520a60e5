// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp's switches for how a model is loaded and where its tensors go.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "budget/account.h"
#include "buffer_type.h"
#include "model/engine.h"
#include "model/models.h"
#include "support/temporary_folder.h"

namespace juno::test {
namespace {

using Names = std::set<std::string>;

class Placement : public testing::Test {
 protected:
  struct Run {
    std::vector<float> logits;
    Names packed;
  };

  /// One prompt under Juno.
  [[nodiscard]] Run run(const Change& change) const {
    const std::size_t before = receipts_so_far();
    Engine engine(model_, true, 2, change);
    EXPECT_TRUE(engine);
    if (!engine) return {};
    return {engine.feed(kPrompt), packed_since(before)};
  }

  void SetUp() override { write_model(model_, "mixed"); }

  [[nodiscard]] std::vector<float> native(const Change& change = {}) const {
    Engine engine(model_, false, 2, change);
    EXPECT_TRUE(engine);
    return engine ? engine.feed(kPrompt) : std::vector<float>{};
  }

  [[nodiscard]] const std::filesystem::path& model() const { return model_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path model_ = folder_.path() / "model.gguf";
};

/// However the file gets into memory (locking it may not be permitted, which llama.cpp only warns of), the same tensors
/// are packed and give the same bits.
TEST_F(Placement, EveryLoadModePacksTheSame) {
  const Run usual = run({});
  EXPECT_FALSE(usual.packed.empty());
  expect_same_logits(usual.logits, native());
  for (const llama_load_mode mode : {LLAMA_LOAD_MODE_NONE, LLAMA_LOAD_MODE_MMAP, LLAMA_LOAD_MODE_MLOCK,
                                     LLAMA_LOAD_MODE_MMAP_MLOCK, LLAMA_LOAD_MODE_DIRECT_IO}) {
    SCOPED_TRACE(llama_load_mode_name(mode));
    const std::size_t before = receipts_so_far();
    const Run loaded = run([&](llama_model_params& params, llama_context_params&) { params.load_mode = mode; });
    EXPECT_EQ(loaded.packed, usual.packed);
    expect_same_bits(loaded.logits, usual.logits);
    expect_all_multiplied_since(before);
  }
}

/// `--no-repack`.
void without_extra_types(llama_model_params& params, llama_context_params&) { params.use_extra_bufts = false; }

/// llama.cpp then asks no extra buffer type, and Juno is one.
TEST_F(Placement, NoRepackLeavesEverythingNative) {
  const std::size_t before = receipts_so_far();
  const Run plain = run(without_extra_types);
  EXPECT_EQ(receipts_so_far(), before);
  expect_same_bits(plain.logits, native(without_extra_types));
}

/// `-ot REGEX=CPU`: to llama.cpp, the CPU's extra buffer types are part of the CPU.
TEST_F(Placement, TensorsSentToTheCpuArePacked) {
  const Run usual = run({});
  const std::array<llama_model_tensor_buft_override, 2> overrides = {{{".*", ggml_backend_cpu_buffer_type()}, {}}};
  const std::size_t before = receipts_so_far();
  const Run sent =
      run([&](llama_model_params& params, llama_context_params&) { params.tensor_buft_overrides = overrides.data(); });
  EXPECT_EQ(sent.packed, usual.packed);
  expect_same_bits(sent.logits, usual.logits);
  expect_all_multiplied_since(before);
}

/// What only a program of one's own can do: send tensors to Juno that it would not have asked for. The token embedding
/// of this model is IQ3_S: it is packed, and its rows are looked up by unpacking. Of the others some cannot be packed.
TEST_F(Placement, TensorsSentToJunoWorkWhatTheyAre) {
  const std::array<llama_model_tensor_buft_override, 2> overrides = {{{".*", integration::buffer_type()}, {}}};
  const std::size_t before = receipts_so_far();
  const Run sent =
      run([&](llama_model_params& params, llama_context_params&) { params.tensor_buft_overrides = overrides.data(); });
  expect_same_logits(sent.logits, native());
  EXPECT_TRUE(sent.packed.contains("token_embd.weight"));
  EXPECT_FALSE(sent.packed.contains("output.weight"));  // Q4_K
  EXPECT_FALSE(sent.packed.contains("output_norm.weight"));
  for (const auto& receipt : receipts_since(before)) {
    // The loader's first question about the embedding, answered before it was sent, may have a receipt of its own.
    const bool looked_up = receipt.name == "token_embd.weight" && receipt.reason == Reason::compiled;
    EXPECT_EQ(receipt.unpacked_calls, looked_up ? 1u : 0u) << receipt.name;
  }
}

TEST_F(Placement, UnloadingGivesBackThePackedTensors) {
  const std::uint64_t before = budget::account().taken();
  {
    Engine engine(model(), true, 1);
    ASSERT_TRUE(engine);
    EXPECT_GT(budget::account().taken(), before);
  }
  EXPECT_EQ(budget::account().taken(), before);
}

}  // namespace
}  // namespace juno::test
