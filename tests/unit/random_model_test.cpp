// SPDX-License-Identifier: Apache-2.0
#include "random_model.h"

#include <ggml.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf/reader.h"
#include "gguf/tensor_type.h"
#include "support/temporary_folder.h"

namespace juno::random_model {
namespace {

class RandomModel : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const Options& options) const {
    const Status status = write_random_model(path, options);
    EXPECT_TRUE(status.ok()) << status.error().message();
    return contents();
  }
  [[nodiscard]] std::string contents() const {
    std::string bytes(std::filesystem::file_size(path), '\0');
    std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }
  [[nodiscard]] gguf::Header header() const {
    auto result = gguf::read_header(path);
    EXPECT_TRUE(result.ok()) << result.error().message();
    return result.ok() ? std::move(*result) : gguf::Header{};
  }
  [[nodiscard]] std::ptrdiff_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  }
  void expect_refused(const Options& options, ErrorCode code, const std::string& words) const {
    const Status status = write_random_model(path, options);
    ASSERT_FALSE(status.ok()) << words;
    EXPECT_EQ(status.error().code, code) << status.error().message();
    EXPECT_NE(status.error().message().find(words), std::string::npos) << status.error().message();
    EXPECT_EQ(files(), 0);
  }

  test::TemporaryFolder temporary;
  std::filesystem::path folder = temporary.path();
  std::filesystem::path path = folder / "model.gguf";
};

// Types that hold intermediate results or integers, never weights.
bool holds_weights(const gguf::TensorType& type) {
  constexpr std::string_view kOthers[] = {"Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64"};
  return std::ranges::find(kOthers, type.name) == std::end(kOthers);
}

std::vector<float> dequantise(const std::string& bytes, const gguf::TensorInfo& tensor) {
  const auto count = tensor.shape[0] * tensor.shape[1] * tensor.shape[2];
  std::vector<float> values(count);
  const char* data = bytes.data() + tensor.offset;
  if (tensor.type == GGML_TYPE_F32) {
    std::memcpy(values.data(), data, tensor.bytes);
  } else {
    ggml_get_type_traits(static_cast<ggml_type>(tensor.type))
        ->to_float(data, values.data(), static_cast<int64_t>(count));
  }
  return values;
}

// FNV-1a
uint64_t hash_of(const std::string& bytes) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

using TensorShape = std::array<uint64_t, 4>;

// The shape of a tensor; {} if there is none of that name.
TensorShape shape_of(const gguf::Header& model, const std::string& name) {
  const gguf::TensorInfo* tensor = model.tensor(name + ".weight");
  return tensor != nullptr ? tensor->shape : TensorShape{};
}

double deviation_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The table of tensor types is written by hand; ggml is the authority.
TEST(TensorTypes, AgreeWithGgml) {
  std::size_t known = 0;
  for (int id = 0; id < GGML_TYPE_COUNT; ++id) {
    const auto type = static_cast<ggml_type>(id);
    const gguf::TensorType* found = gguf::find_tensor_type(static_cast<uint32_t>(id));
    ASSERT_EQ(found != nullptr, ggml_blck_size(type) != 0) << id;
    if (found == nullptr) continue;
    ++known;
    std::string name = ggml_type_name(type);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    EXPECT_EQ(found->name, name);
    EXPECT_EQ(found->weights_per_block, static_cast<uint64_t>(ggml_blck_size(type))) << name;
    EXPECT_EQ(found->bytes_per_block, ggml_type_size(type)) << name;
  }
  EXPECT_EQ(known, gguf::tensor_types().size());
}

TEST_F(RandomModel, BytesDependOnlyOnOptions) {
  Options options;
  options.default_type = "IQ4_XS";
  const std::string first = write(options);
  EXPECT_EQ(write(options), first);
  EXPECT_EQ(files(), 1);
  options.seed = 2;
  const std::string second = write(options);
  EXPECT_EQ(second.size(), first.size());
  EXPECT_NE(second, first);
}

// Pins the bytes, so that a measurement made with one build of this tool can be repeated with another.
TEST_F(RandomModel, BytesAreTheSameOnEveryMachine) {
  Options options;
  options.default_type = "Q4_K";
  options.types = {{"attn_q", "F16"}, {"attn_k", "MXFP4"}, {"attn_v", "Q6_K"}, {"ffn_up", "IQ1_M"}};
  EXPECT_EQ(hash_of(write(options)), 1716151336342671646U);

  constexpr std::pair<const char*, uint64_t> kPlain[] = {
      {"llama", 6366987279996714423U},   {"qwen3", 173296370509244905U},  {"gemma3", 10481639606820383675U},
      {"qwen3moe", 620542396945281121U}, {"phi3", 15634717346487929643U}, {"gemma-embedding", 18180505164183854089U},
  };
  for (const auto& [architecture, hash] : kPlain) {
    EXPECT_EQ(hash_of(write({.architecture = architecture})), hash) << architecture;
  }
}

TEST_F(RandomModel, HasTheTensorsAndKeysOfALlama) {
  Options options;
  options.layers = 3;
  options.types = {{"^blk\\.1\\.", "q8_0"}, {"attn_(q|k)", "BF16"}, {"output\\.weight$", "Q6_K"}};
  options.default_type = "IQ4_XS";
  const std::string bytes = write(options);
  const gguf::Header model = header();
  EXPECT_EQ(model.tensors.size(), 3U * 9 + 3);
  const auto type = [&](const char* name) {
    const gguf::TensorInfo* tensor = model.tensor(name);
    return tensor == nullptr ? "absent" : gguf::find_tensor_type(tensor->type)->name;
  };
  EXPECT_EQ(type("blk.0.attn_q.weight"), "BF16");
  EXPECT_EQ(type("blk.1.attn_q.weight"), "Q8_0");
  EXPECT_EQ(type("blk.1.attn_norm.weight"), "F32");
  EXPECT_EQ(type("blk.2.attn_v.weight"), "IQ4_XS");
  EXPECT_EQ(type("token_embd.weight"), "IQ4_XS");
  EXPECT_EQ(type("output.weight"), "Q6_K");
  EXPECT_EQ(type("output_norm.weight"), "F32");
  EXPECT_EQ(model.tensor("blk.0.attn_k.weight")->shape, (std::array<uint64_t, 4>{256, 128, 1, 1}));
  EXPECT_EQ(model.tensor("blk.0.ffn_down.weight")->shape, (std::array<uint64_t, 4>{512, 256, 1, 1}));
  EXPECT_EQ(model.tensor("token_embd.weight")->shape, (std::array<uint64_t, 4>{256, 1003, 1, 1}));
  EXPECT_EQ(model.string("general.architecture"), "llama");
  EXPECT_EQ(model.unsigned_value("llama.block_count"), 3U);
  EXPECT_EQ(model.unsigned_value("llama.rope.dimension_count"), 64U);
  EXPECT_EQ(model.array("tokenizer.ggml.tokens").value_or(gguf::ArrayInfo{}).length, 1003U);
  for (const float value : dequantise(bytes, *model.tensor("output_norm.weight"))) EXPECT_NEAR(value, 1.0F, 0.07F);
  // Only padding follows the last tensor.
  EXPECT_EQ((model.tensors.back().offset + model.tensors.back().bytes + 31) / 32 * 32, bytes.size());
}

TEST_F(RandomModel, ANameIsEnoughForEveryArchitecture) {
  EXPECT_EQ(architecture_names(),
            (std::vector<std::string_view>{"llama", "qwen3", "gemma3", "qwen3moe", "phi3", "gemma-embedding"}));
  for (const std::string_view name : architecture_names()) {
    const Options options{.architecture = std::string(name)};
    const std::string bytes = write(options);
    EXPECT_EQ(write(options), bytes) << name;
    const gguf::Header model = header();
    const std::string prefix = std::string(name) + ".";
    EXPECT_EQ(model.string("general.architecture"), name);
    EXPECT_EQ(model.unsigned_value(prefix + "block_count"), 2U) << name;
    EXPECT_EQ(model.unsigned_value(prefix + "rope.dimension_count"), 64U) << name;
    // Left to llama.cpp, which divides the embedding by the heads as we do.
    EXPECT_FALSE(model.metadata.contains(prefix + "attention.key_length")) << name;
    EXPECT_EQ((model.tensors.back().offset + model.tensors.back().bytes + 31) / 32 * 32, bytes.size()) << name;
  }
}

TEST_F(RandomModel, FusedMatricesOfPhi3) {
  (void)write({.architecture = "phi3", .layers = 1, .embedding = 256, .feed_forward = 320, .heads = 4, .kv_heads = 2});
  const gguf::Header model = header();
  EXPECT_EQ(model.tensors.size(), 6U + 3);
  EXPECT_EQ(shape_of(model, "blk.0.attn_qkv"), (TensorShape{256, 256 + 2 * 128, 1, 1}));
  EXPECT_EQ(shape_of(model, "blk.0.ffn_up"), (TensorShape{256, 640, 1, 1}));
  EXPECT_EQ(shape_of(model, "blk.0.ffn_down"), (TensorShape{320, 256, 1, 1}));
}

TEST_F(RandomModel, GemmaEmbeddingSaysHowToPool) {
  (void)write({.architecture = "gemma-embedding"});
  EXPECT_EQ(header().unsigned_value("gemma-embedding.pooling_type"), 1U);
}

TEST_F(RandomModel, NormsOfQwen3AndGemma3) {
  const auto tensors_of = [&](const char* architecture) {
    (void)write({.architecture = architecture, .layers = 1, .default_type = "Q8_0"});
    return header();
  };
  for (const char* architecture : {"qwen3", "gemma3"}) {
    const gguf::Header model = tensors_of(architecture);
    for (const char* norm : {"attn_q_norm", "attn_k_norm"}) {
      EXPECT_EQ(shape_of(model, std::string("blk.0.") + norm), (TensorShape{64, 1, 1, 1})) << architecture << norm;
    }
  }
  EXPECT_EQ(tensors_of("llama").tensors.size(), 9U + 3);
  EXPECT_EQ(tensors_of("qwen3").tensors.size(), 9U + 2 + 3);
  const gguf::Header gemma = tensors_of("gemma3");
  EXPECT_EQ(gemma.tensors.size(), 9U + 4 + 3);
  EXPECT_EQ(shape_of(gemma, "blk.0.post_attention_norm"), (TensorShape{256, 1, 1, 1}));
  EXPECT_EQ(shape_of(gemma, "blk.0.post_ffw_norm"), (TensorShape{256, 1, 1, 1}));
  EXPECT_EQ(gemma.tensor("blk.0.post_ffw_norm.weight")->type, 0U);
  EXPECT_EQ(gemma.unsigned_value("gemma3.attention.sliding_window"), 512U);
}

TEST_F(RandomModel, ExpertsAreStacksOfMatrices) {
  const Options options{.architecture = "qwen3moe",
                        .layers = 1,
                        .experts = 6,
                        .experts_used = 3,
                        .expert_feed_forward = 768,
                        .default_type = "IQ4_XS",
                        .types = {{"ffn_gate", "Q2_K"}}};
  const std::string bytes = write(options);
  const gguf::Header model = header();
  EXPECT_EQ(shape_of(model, "blk.0.ffn_gate_exps"), (TensorShape{256, 768, 6, 1}));
  EXPECT_EQ(shape_of(model, "blk.0.ffn_up_exps"), (TensorShape{256, 768, 6, 1}));
  EXPECT_EQ(shape_of(model, "blk.0.ffn_down_exps"), (TensorShape{768, 256, 6, 1}));
  EXPECT_EQ(shape_of(model, "blk.0.ffn_gate"), TensorShape{});
  EXPECT_EQ(model.unsigned_value("qwen3moe.expert_count"), 6U);
  EXPECT_EQ(model.unsigned_value("qwen3moe.expert_used_count"), 3U);
  EXPECT_EQ(model.unsigned_value("qwen3moe.expert_feed_forward_length"), 768U);

  const gguf::TensorInfo& router = *model.tensor("blk.0.ffn_gate_inp.weight");
  EXPECT_EQ(router.shape, (TensorShape{256, 6, 1, 1}));
  EXPECT_EQ(router.type, 0U);  // F32, although a rule matches its name
  EXPECT_NEAR(deviation_of(dequantise(bytes, router)), 1 / std::sqrt(256), 0.5 / std::sqrt(256));

  const gguf::TensorInfo& gate = *model.tensor("blk.0.ffn_gate_exps.weight");
  EXPECT_EQ(gguf::find_tensor_type(gate.type)->name, "Q2_K");
  const std::vector<float> weights = dequantise(bytes, gate);
  for (std::size_t expert = 0; expert < 6; ++expert) {
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(expert * 256 * 768);
    const std::vector<float> own(first, first + std::ptrdiff_t{256} * 768);
    EXPECT_NEAR(deviation_of(own), 1 / std::sqrt(256), 0.5 / std::sqrt(256)) << expert;
    if (expert > 0) EXPECT_FALSE(std::equal(own.begin(), own.end(), weights.begin())) << expert;
  }
}

TEST_F(RandomModel, ExpertsHaveDefaults) {
  const auto count = [&](const Options& options, const char* key) {
    (void)write(options);
    return header().unsigned_value(std::string("qwen3moe.") + key);
  };
  const Options plain{.architecture = "qwen3moe", .feed_forward = 320};
  EXPECT_EQ(count(plain, "expert_count"), 8U);
  EXPECT_EQ(count(plain, "expert_used_count"), 2U);
  EXPECT_EQ(count(plain, "expert_feed_forward_length"), 320U);
  EXPECT_EQ(count({.architecture = "qwen3moe", .experts = 1}, "expert_used_count"), 1U);
  EXPECT_EQ(count({.architecture = "qwen3moe", .experts_used = 8}, "expert_count"), 8U);
  (void)write({});
  EXPECT_FALSE(header().metadata.contains("llama.expert_count"));
}

TEST_F(RandomModel, HeadsMayBeOfAnyEvenWidth) {
  for (const std::string_view name : architecture_names()) {
    if (name == "phi3") continue;  // whose heads share the embedding out: llama.cpp takes no other width
    (void)write({.architecture = std::string(name), .heads = 3, .kv_heads = 1, .head_dimension = 96});
    const gguf::Header model = header();
    const std::string prefix = std::string(name) + ".";
    for (const char* key : {"attention.key_length", "attention.value_length", "rope.dimension_count"}) {
      EXPECT_EQ(model.unsigned_value(prefix + key), 96U) << name << " " << key;
    }
    EXPECT_EQ(shape_of(model, "blk.1.attn_q"), (TensorShape{256, 288, 1, 1})) << name;
    EXPECT_EQ(shape_of(model, "blk.1.attn_k"), (TensorShape{256, 96, 1, 1})) << name;
    EXPECT_EQ(shape_of(model, "blk.1.attn_output"), (TensorShape{288, 256, 1, 1})) << name;
    if (name != "llama") EXPECT_EQ(shape_of(model, "blk.1.attn_q_norm"), (TensorShape{96, 1, 1, 1})) << name;
  }
}

TEST_F(RandomModel, TiedHasNoOutputMatrix) {
  Options options;
  options.tied = true;
  (void)write(options);
  EXPECT_EQ(header().tensor("output.weight"), nullptr);
  EXPECT_NE(header().tensor("token_embd.weight"), nullptr);
}

TEST_F(RandomModel, EveryTypeIsValidAndHasTheWantedSpread) {
  for (const uint32_t width : {256U, 2048U}) {
    for (const gguf::TensorType& type : gguf::tensor_types()) {
      if (!holds_weights(type)) continue;
      Options options;
      options.layers = 1;
      options.embedding = width;
      options.feed_forward = 256;
      options.vocabulary = 259;
      options.default_type = "Q4_0";
      options.types = {{"token_embd", std::string(type.name)}};
      const std::string bytes = write(options);
      const gguf::Header model = header();
      const gguf::TensorInfo& tensor = *model.tensor("token_embd.weight");
      ASSERT_EQ(tensor.type, type.id);
      EXPECT_TRUE(ggml_validate_row_data(static_cast<ggml_type>(type.id), bytes.data() + tensor.offset, tensor.bytes));
      double sum = 0;
      double squares = 0;
      for (const float value : dequantise(bytes, tensor)) {
        ASSERT_TRUE(std::isfinite(value)) << type.name;
        sum += value;
        squares += static_cast<double>(value) * value;
      }
      const auto count = static_cast<double>(tensor.shape[0] * tensor.shape[1]);
      const double wanted = 1 / std::sqrt(width);
      const double deviation = std::sqrt(squares / count - sum / count * (sum / count));
      EXPECT_GT(deviation, wanted / 2) << type.name;
      EXPECT_LT(deviation, wanted * 2) << type.name;
      EXPECT_LT(std::abs(sum / count), wanted / 10) << type.name;
    }
  }
}

TEST_F(RandomModel, RefusesImpossibleOptions) {
  const auto refuse = [&](const std::function<void(Options&)>& change, const std::string& words,
                          ErrorCode code = ErrorCode::invalid_argument) {
    Options options;
    change(options);
    expect_refused(options, code, words);
  };
  refuse([](Options& o) { o.architecture = "mamba"; }, "architecture", ErrorCode::unsupported);
  refuse([](Options& o) { o.architecture = "Qwen3"; },
         "not one of: llama, qwen3, gemma3, qwen3moe, phi3, gemma-embedding", ErrorCode::unsupported);
  refuse([](Options& o) { o.layers = 0; }, "layers");
  refuse([](Options& o) { o.layers = 513; }, "layers");
  refuse([](Options& o) { o.embedding = 0; }, "embedding");
  refuse([](Options& o) { o.embedding = 4294967040; }, "embedding");
  refuse([](Options& o) { o.heads = 0; }, "heads");
  refuse(
      [](Options& o) {
        o.heads = 3;
        o.kv_heads = 1;
      },
      "3 heads of even width");
  refuse([](Options& o) { o.heads = o.kv_heads = 256; }, "even width");
  refuse([](Options& o) { o.kv_heads = 3; }, "kv_heads");
  refuse([](Options& o) { o.kv_heads = 8; }, "kv_heads");
  refuse([](Options& o) { o.context = 0; }, "context");
  refuse([](Options& o) { o.vocabulary = 258; }, "vocabulary");
  refuse([](Options& o) { o.feed_forward = 0; }, "feed_forward");
  refuse([](Options& o) { o.default_type = "Q9"; }, "'Q9' is not a tensor type");
  refuse([](Options& o) { o.default_type = "I32"; }, "I32", ErrorCode::unsupported);
  refuse([](Options& o) { o.types = {{"(", "Q4_0"}}; }, "regular expression");
  refuse([](Options& o) { o.types = {{"x", "Q9"}}; }, "Q9");
  refuse(
      [](Options& o) {
        o.default_type = "Q4_K";
        o.feed_forward = 320;
      },
      "blk.0.ffn_down.weight: row width 320");
}

TEST_F(RandomModel, RefusesImpossibleHeadsAndExperts) {
  const auto refuse = [&](const Options& options, const std::string& words) {
    expect_refused(options, ErrorCode::invalid_argument, words);
  };
  refuse({.head_dimension = 33}, "head_dimension: 33 is not even");
  refuse({.head_dimension = 1U << 20}, "head_dimension: 4 heads of width 1048576");
  refuse({.architecture = "phi3", .head_dimension = 96},
         "head_dimension: the phi3 architecture shares its embedding of 256 out among the heads");
  for (const char* dense : {"llama", "qwen3", "gemma3", "phi3", "gemma-embedding"}) {
    const std::string why = std::string("the ") + dense + " architecture has no experts";
    refuse({.architecture = dense, .experts = 8}, "experts: " + why);
    refuse({.architecture = dense, .experts_used = 1}, "experts_used: " + why);
    refuse({.architecture = dense, .expert_feed_forward = 256}, "expert_feed_forward: " + why);
  }
  refuse({.architecture = "qwen3moe", .experts = 1025}, "experts: 1025 is not between 1 and 1024");
  refuse({.architecture = "qwen3moe", .experts_used = 9}, "experts_used: 9 is not between 1 and 8");
  refuse({.architecture = "qwen3moe", .expert_feed_forward = 1U << 21}, "expert_feed_forward: 2097152");
  refuse({.architecture = "qwen3moe", .expert_feed_forward = 300, .default_type = "IQ4_XS"},
         "blk.0.ffn_down_exps.weight: row width 300");
}

TEST_F(RandomModel, FailureLeavesNothingBehind) {
  const std::filesystem::path absent = folder / "absent" / "model.gguf";
  const Status status = write_random_model(absent, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::write_failed);
  EXPECT_NE(status.error().message().find("absent"), std::string::npos);
  EXPECT_EQ(files(), 0);

  std::filesystem::create_directory(path);
  EXPECT_FALSE(write_random_model(path, {}).ok());
  EXPECT_EQ(files(), 1);
  EXPECT_TRUE(std::filesystem::is_directory(path));
}

// A limit on the size of files stands in for a full disk.
TEST_F(RandomModel, AnIncompleteWriteKeepsTheOldFile) {
  std::ofstream(path) << "old";
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small{100'000, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = write_random_model(path, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  (void)std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::write_failed);
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(contents(), "old");
}

}  // namespace
}  // namespace juno::random_model
