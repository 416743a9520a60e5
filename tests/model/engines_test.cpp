// SPDX-License-Identifier: Apache-2.0
//
// Both engines under the settings of llama.cpp that change what surrounds a matrix product: types of the KV cache,
// flash attention, saved state.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "juno/engine.h"
#include "llama.h"
#include "model/models.h"

namespace juno::test {
namespace {

struct Setting {
  std::string name;
  ggml_type keys = GGML_TYPE_F16;
  ggml_type values = GGML_TYPE_F16;
  llama_flash_attn_type flash = LLAMA_FLASH_ATTN_TYPE_ENABLED;
};

/// A V cache of blocks needs flash attention.
const std::vector<Setting>& settings() {
  static const std::vector<Setting> kSettings = {
      {"f16_flash"},
      {"f16_plain", GGML_TYPE_F16, GGML_TYPE_F16, LLAMA_FLASH_ATTN_TYPE_DISABLED},
      {"q8_0_flash", GGML_TYPE_Q8_0, GGML_TYPE_Q8_0, LLAMA_FLASH_ATTN_TYPE_ENABLED},
      {"q8_0_plain", GGML_TYPE_Q8_0, GGML_TYPE_F16, LLAMA_FLASH_ATTN_TYPE_DISABLED},
  };
  return kSettings;
}

/// A model with its context under one engine, fed with token ids.
class Engine {
 public:
  Engine(const std::filesystem::path& path, bool juno, const Setting& setting, int threads) {
    integration::set_enabled(juno);
    ggml_backend_dev_t no_devices[] = {nullptr};
    llama_model_params model_params = llama_model_default_params();
    model_params.devices = no_devices;
    model_.reset(llama_model_load_from_file(path.c_str(), model_params));
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 128;
    params.n_threads = threads;
    params.n_threads_batch = threads;
    params.type_k = setting.keys;
    params.type_v = setting.values;
    params.flash_attn_type = setting.flash;
    context_.reset(llama_init_from_model(model_.get(), params));
    integration::set_enabled(true);
  }
  explicit operator bool() const { return context_ != nullptr; }

  /// The logits after these tokens.
  std::vector<float> feed(std::vector<llama_token> tokens) {
    const auto count = static_cast<std::int32_t>(tokens.size());
    EXPECT_EQ(llama_decode(context_.get(), llama_batch_get_one(tokens.data(), count)), 0);
    const float* logits = llama_get_logits_ith(context_.get(), -1);
    return {logits, logits + llama_vocab_n_tokens(llama_model_get_vocab(model_.get()))};
  }

  [[nodiscard]] std::vector<std::uint8_t> save() {
    std::vector<std::uint8_t> state(llama_state_get_size(context_.get()));
    EXPECT_EQ(llama_state_get_data(context_.get(), state.data(), state.size()), state.size());
    return state;
  }
  void restore(const std::vector<std::uint8_t>& state) {
    EXPECT_EQ(llama_state_set_data(context_.get(), state.data(), state.size()), state.size());
  }

 private:
  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_context* context) const { llama_free(context); }
  };
  std::unique_ptr<llama_model, Free> model_;
  std::unique_ptr<llama_context, Free> context_;
};

/// On Arm: every bit. x86's own products sum in another order; whole models then differ by as much as two builds of
/// stock llama.cpp do. A wrong tensor changes logits by their own size.
void expect_same_logits(const std::vector<float>& ours, const std::vector<float>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
#if defined(__aarch64__)
  EXPECT_EQ(std::memcmp(ours.data(), theirs.data(), ours.size() * sizeof(float)), 0);
#else
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const auto a = static_cast<double>(ours[i]);
    const auto b = static_cast<double>(theirs[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  EXPECT_LT(std::sqrt(difference / size), 0.02);
#endif
}

class EverySetting : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const Setting& setting() const { return settings()[GetParam()]; }

  /// Writes the model of this name from models().
  const std::filesystem::path& write(const std::string& name) {
    for (const Model& model : models()) {
      if (model.name != name) continue;
      const Status status = random_model::write_random_model(path_, model.options);
      EXPECT_TRUE(status.ok()) << status.error().message();
      return path_;
    }
    ADD_FAILURE() << "no model " << name;
    return path_;
  }
  void TearDown() override { std::filesystem::remove(path_); }

 private:
  std::filesystem::path path_ =
      std::filesystem::path(testing::TempDir()) / ("juno_engines_" + std::to_string(getpid()) + ".gguf");
};

const std::vector<llama_token> kPrompt = {1, 300, 401, 17, 88, 499, 260, 277, 350, 366};

TEST_P(EverySetting, EnginesAgree) {
  for (const char* name : {"mixed", "moe"}) {
    SCOPED_TRACE(name);
    const auto& path = write(name);
    Engine native(path, false, setting(), 2);
    Engine juno(path, true, setting(), 2);
    ASSERT_TRUE(native && juno);
    expect_same_logits(juno.feed(kPrompt), native.feed(kPrompt));
    for (const llama_token token : {301, 402}) expect_same_logits(juno.feed({token}), native.feed({token}));
  }
}

TEST_P(EverySetting, StateMovesBetweenEngines) {
  const auto& path = write("mixed");
  for (const bool saved_by_juno : {false, true}) {
    SCOPED_TRACE(saved_by_juno ? "saved by juno" : "saved by native");
    Engine saver(path, saved_by_juno, setting(), 2);
    Engine loader(path, !saved_by_juno, setting(), 2);
    ASSERT_TRUE(saver && loader);
    (void)saver.feed(kPrompt);
    const std::vector<std::uint8_t> state = saver.save();
    loader.restore(state);
    EXPECT_EQ(loader.save(), state);
    expect_same_logits(loader.feed({301}), saver.feed({301}));
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, EverySetting, testing::Range(std::size_t{0}, settings().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) { return settings()[info.param].name; });

/// Two models at once, as for drafting: each keeps its own weights, and freeing one leaves the other whole.
TEST(SeveralModels, LiveSideBySide) {
  const std::filesystem::path folder(testing::TempDir());
  const auto paths = std::array{folder / ("juno_target_" + std::to_string(getpid()) + ".gguf"),
                                folder / ("juno_draft_" + std::to_string(getpid()) + ".gguf")};
  const auto all = models();
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(random_model::write_random_model(paths[i], all[i].options).ok());
  }
  const Setting setting{"f16"};
  std::vector<float> alone;
  {
    Engine target(paths[0], true, setting, 1);
    ASSERT_TRUE(target);
    alone = target.feed(kPrompt);
  }
  Engine target(paths[0], true, setting, 1);
  std::vector<float> draft_logits;
  {
    Engine draft(paths[1], true, setting, 1);
    ASSERT_TRUE(target && draft);
    draft_logits = draft.feed(kPrompt);
    const std::vector<float> beside = target.feed(kPrompt);
    EXPECT_EQ(std::memcmp(beside.data(), alone.data(), alone.size() * sizeof(float)), 0);
  }
  Engine again(paths[1], true, setting, 1);
  const std::vector<float> second = again.feed(kPrompt);
  EXPECT_EQ(std::memcmp(second.data(), draft_logits.data(), second.size() * sizeof(float)), 0);
  EXPECT_TRUE(std::isfinite(target.feed({301})[0]));
  for (const auto& path : paths) std::filesystem::remove(path);
}

}  // namespace
}  // namespace juno::test
