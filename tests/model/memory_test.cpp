// SPDX-License-Identifier: Apache-2.0
//
// How much memory a large model takes. Under an emulator the process is the emulator, so this is a native test.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "juno/engine.h"
#include "juno/receipt.h"
#include "random_model.h"
#include "session.h"

#if defined(__linux__) && defined(__x86_64__)

namespace juno::test {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// A line of /proc/self/status in bytes.
std::uint64_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoull(line.substr(name.size() + 1)) * 1024;
  }
  ADD_FAILURE() << "no " << name;
  return 0;
}

struct ModelBytes {
  std::uint64_t total = 0;    ///< packed where it is packed, else native
  std::uint64_t largest = 0;  ///< native bytes of the largest tensor
};

/// Of everything in the ledger: this process loads one model.
ModelBytes model_bytes() {
  ModelBytes bytes;
  for (const auto& receipt : receipt::ledger().snapshot()) {
    bytes.total += receipt.reason == Reason::compiled ? receipt.packed_bytes : receipt.native_bytes;
    bytes.largest = std::max(bytes.largest, receipt.native_bytes);
  }
  return bytes;
}

/// The file's pages are given back as they are packed, and so never all there at once; the KV cache and the compute
/// buffers of a context of 64 tokens are counted in, which makes the bound a little stricter than it needs to be.
TEST(Memory, ALargeModelIsHeldOnce) {
  random_model::Options options;
  options.layers = 15;
  options.embedding = 2048;
  options.feed_forward = 8192;
  options.heads = 16;
  options.kv_heads = 8;
  options.vocabulary = 16000;
  options.default_type = "IQ3_S";
  options.types = {{"attn_v", "Q2_K"}, {"ffn_gate", "IQ4_XS"}, {"ffn_up", "IQ2_XS"}, {"attn_q", "Q6_K"}};
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("juno_memory_" + std::to_string(getpid()) + ".gguf");
  ASSERT_TRUE(random_model::write_random_model(path, options).ok());
  ASSERT_GE(std::filesystem::file_size(path), 400 * kMiB);
  const std::uint64_t before = status_bytes("VmRSS");
  {
    const auto session = cli::Session::open({.model = path, .threads = 1, .context = 64});
    ASSERT_TRUE(session.ok()) << session.error().message();
    const ModelBytes bytes = model_bytes();
    ASSERT_GT(bytes.total, 400 * kMiB);
    const auto bound = static_cast<std::uint64_t>(1.15 * static_cast<double>(bytes.total));
    EXPECT_LE(status_bytes("VmRSS"), bound);
    EXPECT_LE(status_bytes("VmHWM"), bound + bytes.largest);
    RecordProperty("resident_bytes", std::to_string(status_bytes("VmRSS")));
    RecordProperty("peak_bytes", std::to_string(status_bytes("VmHWM")));
    RecordProperty("model_bytes", std::to_string(bytes.total));
    std::printf("model %.0f MiB packed and native, resident %.0f, peak %.0f\n", static_cast<double>(bytes.total) / kMiB,
                static_cast<double>(status_bytes("VmRSS")) / kMiB, static_cast<double>(status_bytes("VmHWM")) / kMiB);
  }
  EXPECT_LE(status_bytes("VmRSS"), before + 32 * kMiB) << "unloading left something behind";
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace juno::test

#endif
