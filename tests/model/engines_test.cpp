// SPDX-License-Identifier: Apache-2.0
//
// Both engines under the settings of llama.cpp that change what surrounds a matrix product: types of the KV cache,
// flash attention, saved state.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "model/engine.h"
#include "model/models.h"
#include "support/temporary_folder.h"

namespace juno::test {
namespace {

struct Setting {
  std::string name;
  ggml_type keys = GGML_TYPE_F16;
  ggml_type values = GGML_TYPE_F16;
  llama_flash_attn_type flash = LLAMA_FLASH_ATTN_TYPE_ENABLED;

  void operator()(llama_model_params&, llama_context_params& params) const {
    params.type_k = keys;
    params.type_v = values;
    params.flash_attn_type = flash;
  }
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

class EverySetting : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const Setting& setting() const { return settings()[GetParam()]; }

  /// Writes the model of this name from models().
  [[nodiscard]] std::filesystem::path write(const std::string& name) const {
    std::filesystem::path path = folder_.path() / (name + ".gguf");
    write_model(path, name);
    return path;
  }

 private:
  TemporaryFolder folder_;
};

TEST_P(EverySetting, EnginesAgree) {
  for (const char* name : {"mixed", "moe"}) {
    SCOPED_TRACE(name);
    const auto path = write(name);
    Engine native(path, false, 2, setting());
    Engine juno(path, true, 2, setting());
    ASSERT_TRUE(native && juno);
    expect_same_logits(juno.feed(kPrompt), native.feed(kPrompt));
    for (const llama_token token : {301, 402}) expect_same_logits(juno.feed({token}), native.feed({token}));
  }
}

TEST_P(EverySetting, StateMovesBetweenEngines) {
  const auto path = write("mixed");
  for (const bool saved_by_juno : {false, true}) {
    SCOPED_TRACE(saved_by_juno ? "saved by juno" : "saved by native");
    Engine saver(path, saved_by_juno, 2, setting());
    Engine loader(path, !saved_by_juno, 2, setting());
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
  const TemporaryFolder folder;
  const auto paths = std::array{folder.path() / "target.gguf", folder.path() / "draft.gguf"};
  const auto all = models();
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(random_model::write_random_model(paths[i], all[i].options).ok());
  }
  const Setting setting{"f16"};
  std::vector<float> alone;
  {
    Engine target(paths[0], true, 1, setting);
    ASSERT_TRUE(target);
    alone = target.feed(kPrompt);
  }
  Engine target(paths[0], true, 1, setting);
  std::vector<float> draft_logits;
  {
    Engine draft(paths[1], true, 1, setting);
    ASSERT_TRUE(target && draft);
    draft_logits = draft.feed(kPrompt);
    const std::vector<float> beside = target.feed(kPrompt);
    EXPECT_EQ(std::memcmp(beside.data(), alone.data(), alone.size() * sizeof(float)), 0);
  }
  Engine again(paths[1], true, 1, setting);
  const std::vector<float> second = again.feed(kPrompt);
  EXPECT_EQ(std::memcmp(second.data(), draft_logits.data(), second.size() * sizeof(float)), 0);
  EXPECT_TRUE(std::isfinite(target.feed({301})[0]));
}

}  // namespace
}  // namespace juno::test
