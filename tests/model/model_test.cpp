// SPDX-License-Identifier: Apache-2.0
//
// Whole random models through llama.cpp under both engines, in one process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "juno/engine.h"
#include "juno/inspect.h"
#include "juno/receipt.h"
#include "model/engine.h"
#include "model/models.h"
#include "progress.h"
#include "session.h"

namespace juno::test {
namespace {

class EveryModel : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    path_ = std::filesystem::path(testing::TempDir()) / ("juno_model_" + std::to_string(getpid()) + ".gguf");
    const Status status = random_model::write_random_model(path_, models()[GetParam()].options);
    ASSERT_TRUE(status.ok()) << status.error().message();
  }
  void TearDown() override {
    integration::set_enabled(true);
    std::filesystem::remove(path_);
  }

  /// Logits of every step of a short generation.
  std::vector<float> logits(bool juno, int threads, bool memory_map = true) {
    integration::set_enabled(juno);
    const auto session = cli::Session::open(
        {.model = path_, .threads = threads, .context = 128, .memory_map = memory_map, .log_to_stderr = false});
    EXPECT_TRUE(session.ok()) << session.error().message();
    std::vector<float> all;
    const auto generation =
        (*session)->generate("The quick brown fox jumps", {.count = 6}, nullptr, [&](std::span<const float> row) {
          all.insert(all.end(), row.begin(), row.end());
          return true;
        });
    EXPECT_TRUE(generation.ok()) << generation.error().message();
    EXPECT_GT(generation->prompt_tokens, 8u);  // so that all classes of columns occur
    return all;
  }

  std::filesystem::path path_;
};

void expect_sane(const std::vector<float>& logits) {
  ASSERT_FALSE(logits.empty());
  EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float v) { return std::isfinite(v); }));
  EXPECT_NE(*std::max_element(logits.begin(), logits.end()), *std::min_element(logits.begin(), logits.end()));
}

#if defined(__aarch64__)  // x86's own code sums in another order below 8 columns
TEST_P(EveryModel, LogitsEqualNativeBitForBit) {
  for (const int threads : {1, 2, 3, 8}) {
    const std::vector<float> native = logits(false, threads);
    const std::size_t before = receipt::ledger().snapshot().size();
    const std::vector<float> juno = logits(true, threads);
    expect_sane(native);
    ASSERT_EQ(native.size(), juno.size());
    EXPECT_EQ(std::memcmp(native.data(), juno.data(), native.size() * sizeof(float)), 0) << threads << " threads";
    const auto receipts = receipts_since(before);
    EXPECT_TRUE(std::any_of(receipts.begin(), receipts.end(),
                            [](const auto& receipt) { return receipt.reason == Reason::compiled; }));
  }
}
#endif

TEST_P(EveryModel, EveryCompiledTensorIsMultiplied) {
  const std::size_t before = receipt::ledger().snapshot().size();
  expect_sane(logits(true, 2));
  std::size_t compiled = 0;
  for (const auto& receipt : receipts_since(before)) {
    if (receipt.reason != Reason::compiled) continue;
    ++compiled;
    std::uint64_t single = 0;
    for (const receipt::KernelCount& ran : receipt.kernels) single += ran.calls[0];
    EXPECT_GE(single, 5u) << receipt.name;  // one for each generated token after the first
    EXPECT_EQ(receipt.unpacked_calls, 0u) << receipt.name;
    EXPECT_GT(receipt.pack_nanoseconds, 0u);
    EXPECT_GE(receipt.packed_bytes, receipt.native_bytes);
  }
  EXPECT_GT(compiled, 0u);
}

TEST_P(EveryModel, NativeEngineLeavesEverythingAlone) {
  const std::size_t before = receipt::ledger().snapshot().size();
  expect_sane(logits(false, 2));
  for (const auto& receipt : receipts_since(before)) {
    EXPECT_EQ(receipt.reason, Reason::engine_off) << receipt.name;
    EXPECT_TRUE(receipt.kernels.empty());
  }
}

TEST_P(EveryModel, MappedAndReadFilesGiveTheSameBits) {
  const std::vector<float> mapped = logits(true, 2, true);
  const std::vector<float> read = logits(true, 2, false);
  ASSERT_EQ(mapped.size(), read.size());
  EXPECT_EQ(std::memcmp(mapped.data(), read.data(), mapped.size() * sizeof(float)), 0);
}

/// What a receipt and an inspection must agree on.
std::string key(const receipt::TensorReceipt& receipt) {
  return receipt.name + " " + std::to_string(receipt.type) + " " + std::to_string(receipt.shape[0]) + "x" +
         std::to_string(receipt.shape[1]) + " " + std::string(to_string(receipt.reason)) + " " + receipt.detail + " " +
         receipt.layout + " " + std::to_string(receipt.native_bytes) + " " + std::to_string(receipt.packed_bytes);
}

TEST_P(EveryModel, InspectSaysWhatTheReceiptsSay) {
  const std::size_t before = receipt::ledger().snapshot().size();
  logits(true, 1);
  const auto inspection = inspect(path_, integration::target());
  ASSERT_TRUE(inspection.ok()) << inspection.error().message();
  std::vector<std::string> inspected;
  for (const auto& tensor : inspection->tensors) inspected.push_back(key(tensor));
  std::sort(inspected.begin(), inspected.end());
  std::vector<std::string> loaded;
  std::vector<receipt::TensorReceipt> receipts = receipts_since(before);
  // Tensors that stay native are noted once per process; another test's model may have had the same.
  for (const auto& tensor : receipt::ledger().snapshot()) {
    const bool earlier = tensor.reason != Reason::compiled &&
                         std::none_of(receipts.begin(), receipts.end(),
                                      [&](const auto& receipt) { return key(receipt) == key(tensor); });
    if (earlier && std::binary_search(inspected.begin(), inspected.end(), key(tensor))) receipts.push_back(tensor);
  }
  for (const auto& tensor : receipts) loaded.push_back(key(tensor));
  std::sort(loaded.begin(), loaded.end());
  EXPECT_EQ(inspected, loaded);
}

/// The text that updates at these seconds leave behind.
std::string progress_text(bool live, std::initializer_list<double> seconds) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  {
    cli::LoadProgress progress(out, live);
    for (const double second : seconds) progress.update(static_cast<float>(second / 100), second);
  }
  std::fclose(out);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(LoadProgress, QuietForASecondThenNotTooOften) {
  EXPECT_EQ(progress_text(true, {0.1, 0.5, 0.99}), "");
  EXPECT_EQ(progress_text(false, {0.1, 0.5, 0.99}), "");
  EXPECT_EQ(progress_text(false, {0.5, 2, 3, 6.9, 8, 50}),
            "loading and compiling: 2 %\nloading and compiling: 8 %\nloading and compiling: 50 %\n");
  EXPECT_EQ(progress_text(true, {0.5, 2, 2.1, 3}),
            "\r\033[Kloading and compiling: 2 %\r\033[Kloading and compiling: 3 %\r\033[K");
}

TEST_P(EveryModel, LoadingReportsItsProgress) {
  std::vector<float> fractions;
  const auto session =
      cli::Session::open({.model = path_, .threads = 1, .context = 64, .progress = [&](float fraction, double seconds) {
                            EXPECT_GE(seconds, 0);
                            fractions.push_back(fraction);
                          }});
  ASSERT_TRUE(session.ok()) << session.error().message();
  ASSERT_FALSE(fractions.empty());
  EXPECT_TRUE(std::is_sorted(fractions.begin(), fractions.end()));
  EXPECT_EQ(fractions.back(), 1.0f);
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::Range(std::size_t{0}, models().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) { return models()[info.param].name; });

}  // namespace
}  // namespace juno::test
