// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "gguf/tensor_type.h"
#include "support/temporary_folder.h"

namespace juno::gguf {
namespace {

constexpr uint32_t kF32 = 0;
constexpr uint32_t kIq4Xs = 23;
constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

// Appends raw fields, so that tests can also write headers that no real writer would.
struct Writer {
  std::string bytes;

  template <class T>
  Writer& put(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    put<uint64_t>(value.size());
    bytes += value;
    return *this;
  }
  Writer& preamble(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
    bytes += "GGUF";
    return put(version).put(tensors).put(keys);
  }
  template <class T>
  Writer& value(std::string_view key, uint32_t type, T stored) {
    return text(key).put(type).put(stored);
  }
  Writer& tensor(std::string_view name, const std::vector<uint64_t>& shape, uint32_t type, uint64_t offset) {
    text(name).put(static_cast<uint32_t>(shape.size()));
    for (const uint64_t extent : shape) put(extent);
    return put(type).put(offset);
  }
  Writer& pad(std::size_t alignment, std::size_t data = 0) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment + data);
    return *this;
  }
};

Result<Header> read(std::string_view bytes, uint64_t file_bytes) {
  return read_header(std::as_bytes(std::span(bytes)), file_bytes, "memory");
}
Result<Header> read(const Writer& writer) { return read(writer.bytes, writer.bytes.size()); }

void expect_error(const Result<Header>& result, ErrorCode code, std::string_view words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message();
  EXPECT_NE(result.error().message().find(words), std::string::npos) << result.error().message();
  EXPECT_EQ(result.error().message().find('\n'), std::string::npos);
}

ArrayInfo array_of(const Header& header, std::string_view key) {
  return header.array(key).value_or(ArrayInfo{99, kMax});
}

// Every kind of value, two tensors, alignment 64.
Writer good(uint32_t version = 3) {
  Writer w;
  w.preamble(2, 16, version);
  w.text("general.architecture").put<uint32_t>(8).text("llama");
  w.value<uint32_t>("general.alignment", 4, 64);
  w.value<uint8_t>("u8", 0, 8).value<int8_t>("i8", 1, -8).value<uint16_t>("u16", 2, 16).value<int16_t>("i16", 3, 17);
  w.value<int32_t>("i32", 5, -32).value<float>("f32", 6, 0.5F).value<uint8_t>("bool", 7, 1);
  w.value<uint64_t>("u64", 10, kMax).value<int64_t>("i64", 11, -64).value<double>("f64", 12, 0.25);
  w.text("tokens").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(3).text("a").text("").text("ccc");
  w.text("scores").put<uint32_t>(9).put<uint32_t>(6).put<uint64_t>(2).put(1.0F).put(2.0F);
  w.text("nested").put<uint32_t>(9).put<uint32_t>(9).put<uint64_t>(1).put<uint32_t>(0).put<uint64_t>(1).put<uint8_t>(7);
  w.text("empty").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(0);
  w.tensor("blk.0.attn_q.weight", {512, 3}, kIq4Xs, 0).tensor("output_norm.weight", {5}, kF32, 832);
  return w.pad(64, 832 + 20);
}

Writer one_tensor(const std::vector<uint64_t>& shape, uint32_t type = kF32, uint64_t offset = 0) {
  return Writer().preamble(1, 0).tensor("some.weight", shape, type, offset).pad(32, 4096);
}

class Folder : public test::TemporaryFolder {
 public:
  [[nodiscard]] std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path() / name, std::ios::binary) << bytes;
    return path() / name;
  }
};

TEST(TensorType, FindsByIdAndByNameInAnyCase) {
  for (const TensorType& type : tensor_types()) {
    EXPECT_EQ(find_tensor_type(type.id), &type);
    EXPECT_EQ(find_tensor_type(type.name), &type);
  }
  ASSERT_NE(find_tensor_type("iq4_xs"), nullptr);
  EXPECT_EQ(find_tensor_type("iq4_xs")->id, kIq4Xs);
  EXPECT_EQ(find_tensor_type("q4_K")->bytes_per_block, 144U);
  EXPECT_EQ(find_tensor_type(4U), nullptr);  // removed from ggml
  EXPECT_EQ(find_tensor_type(43U), nullptr);
  EXPECT_EQ(find_tensor_type("IQ4"), nullptr);
  EXPECT_EQ(find_tensor_type(""), nullptr);
}

TEST(GgufReader, ReadsEveryFieldOfVersions2And3) {
  for (const uint32_t version : {2U, 3U}) {
    const Folder folder;
    const Writer writer = good(version);
    const auto result = read_header(folder.write("good.gguf", writer.bytes));
    ASSERT_TRUE(result.ok()) << result.error().message();
    const Header& header = *result;
    EXPECT_EQ(header.version, version);
    EXPECT_EQ(header.alignment, 64U);
    EXPECT_EQ(header.file_bytes, writer.bytes.size());
    EXPECT_EQ(header.data_offset + 852, header.file_bytes);
    EXPECT_EQ(header.string("general.architecture"), "llama");
    EXPECT_EQ(header.string("u8"), std::nullopt);
    EXPECT_EQ(header.unsigned_value("u8"), 8U);
    EXPECT_EQ(header.unsigned_value("u16"), 16U);
    EXPECT_EQ(header.unsigned_value("i16"), 17U);
    EXPECT_EQ(header.unsigned_value("u64"), kMax);
    EXPECT_EQ(header.unsigned_value("i8"), std::nullopt);
    EXPECT_EQ(header.unsigned_value("absent"), std::nullopt);
    EXPECT_EQ(std::get<int64_t>(header.metadata.at("i64")), -64);
    EXPECT_EQ(std::get<double>(header.metadata.at("f32")), 0.5);
    EXPECT_TRUE(std::get<bool>(header.metadata.at("bool")));
    EXPECT_EQ(array_of(header, "tokens").length, 3U);
    EXPECT_EQ(array_of(header, "tokens").element_type, 8U);
    EXPECT_EQ(array_of(header, "empty").length, 0U);
    EXPECT_EQ(array_of(header, "nested").element_type, 9U);
    EXPECT_FALSE(header.array("u8"));
    ASSERT_EQ(header.tensors.size(), 2U);
    EXPECT_EQ(header.tensors[0].bytes, 3U * 2 * 136);
    EXPECT_EQ(header.tensors[0].shape, (std::array<uint64_t, 4>{512, 3, 1, 1}));
    EXPECT_EQ(header.tensors[1].offset, header.data_offset + 832);
    EXPECT_EQ(header.tensor("output_norm.weight"), &header.tensors[1]);
    EXPECT_EQ(header.tensor("absent"), nullptr);
  }
}

TEST(GgufReader, ReadsAHeaderWhoseDataIsNotInMemory) {
  const Writer writer = one_tensor({1024});
  EXPECT_TRUE(read(std::string_view(writer.bytes).substr(0, 80), writer.bytes.size()).ok());
  EXPECT_TRUE(read(Writer().preamble(0, 0)).ok());
}

TEST(GgufReader, NamesWhatIsWrongWithThePath) {
  const Folder folder;
  expect_error(read_header(folder.path()), ErrorCode::unreadable, "directory");
  expect_error(read_header(folder.path() / "absent.gguf"), ErrorCode::not_found, "absent.gguf");
  expect_error(read_header(folder.write("empty", "")), ErrorCode::truncated, "empty");
  expect_error(read_header(folder.write("short", "GGUF")), ErrorCode::truncated, "version");
  expect_error(read_header(folder.write("part", "GG")), ErrorCode::truncated, "magic");
  expect_error(read_header(folder.write("other", "PK\3\4")), ErrorCode::malformed, "not a GGUF file");
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  expect_error(read_header(folder.path() / "pipe"), ErrorCode::unreadable, "regular file");
  const auto locked = folder.write("locked", good().bytes);
  ASSERT_EQ(::chmod(locked.c_str(), 0), 0);
  if (::geteuid() != 0) expect_error(read_header(locked), ErrorCode::unreadable, "locked");
}

TEST(GgufReader, RefusesOtherVersionsAndByteOrders) {
  for (const uint32_t version : {0U, 1U, 4U, 65536U + 3}) {
    expect_error(read(Writer().preamble(0, 0, version)), ErrorCode::unsupported, "version");
  }
  for (const uint32_t version : {1U, 2U, 3U}) {
    expect_error(read(Writer().preamble(0, 0, version << 24)), ErrorCode::unsupported, "big-endian");
  }
}

TEST(GgufReader, RefusesCountsAndLengthsTheFileCannotHold) {
  expect_error(read(Writer().preamble(kMax, 0).pad(1, 999)), ErrorCode::truncated, "tensors do not fit");
  expect_error(read(Writer().preamble(0, kMax / 2).pad(1, 999)), ErrorCode::truncated, "entries do not fit");
  expect_error(read(Writer().preamble(31, 0).pad(1, 999)), ErrorCode::truncated, "tensors do not fit");
  expect_error(read(Writer().preamble(0, 1).put(kMax).pad(1, 99)), ErrorCode::malformed, "metadata key");
  expect_error(read(Writer().preamble(0, 1).put<uint64_t>(1000).pad(1, 99)), ErrorCode::truncated, "metadata key");
  expect_error(read(Writer().preamble(0, 1).put<uint64_t>(0).pad(1, 99)), ErrorCode::malformed, "empty");
  expect_error(read(Writer().preamble(0, 1).text("key").put<uint32_t>(8).put(kMax)), ErrorCode::truncated, "text");
  expect_error(read(Writer().preamble(1, 0).text(std::string(65, 'n')).pad(1, 99)), ErrorCode::malformed, "name");
  const auto array = [](uint32_t type, uint64_t count) {
    return Writer().preamble(0, 1).text("key").put<uint32_t>(9).put(type).put(count).pad(1, 99);
  };
  expect_error(read(array(6, kMax / 2)), ErrorCode::malformed, "overflows");
  for (const uint32_t type : {0U, 6U, 8U, 9U, 12U}) {
    expect_error(read(array(type, 1000)), ErrorCode::truncated, "array");
  }
  expect_error(read(array(13, 1)), ErrorCode::malformed, "element type 13");
  expect_error(read(Writer().preamble(0, 1).value<uint64_t>("key", 99, 0)), ErrorCode::malformed, "type 99");
}

TEST(GgufReader, LimitsTheDepthOfArrays) {
  Writer w;
  w.preamble(0, 1).text("key").put<uint32_t>(9);
  for (int i = 0; i < 100000; ++i) w.put<uint32_t>(9).put<uint64_t>(1);
  expect_error(read(w), ErrorCode::unsupported, "nested");
}

TEST(GgufReader, RefusesDuplicates) {
  expect_error(read(Writer().preamble(0, 2).value<uint8_t>("k", 0, 1).value<uint8_t>("k", 0, 1)), ErrorCode::malformed,
               "'k' appears twice");
  const auto w = Writer().preamble(2, 0).tensor("t\n", {1}, kF32, 0).tensor("t\n", {1}, kF32, 32).pad(32, 64);
  expect_error(read(w), ErrorCode::malformed, "two tensors");
}

TEST(GgufReader, RefusesImpossibleTensors) {
  expect_error(read(one_tensor({})), ErrorCode::malformed, "0 dimensions");
  expect_error(read(one_tensor({1, 1, 1, 1, 1})), ErrorCode::malformed, "5 dimensions");
  expect_error(read(one_tensor({4, 0})), ErrorCode::malformed, "dimension 1 is 0");
  expect_error(read(one_tensor({255, 2}, kIq4Xs)), ErrorCode::malformed, "row width 255");
  expect_error(read(one_tensor({256, 2}, 4)), ErrorCode::unsupported, "'some.weight': unknown tensor type 4");
  expect_error(read(one_tensor({1, 1}, 4000000000U)), ErrorCode::unsupported, "4000000000");
  expect_error(read(one_tensor({1ULL << 32, 1ULL << 32})), ErrorCode::malformed, "overflows");
  expect_error(read(one_tensor({1ULL << 62, 1})), ErrorCode::malformed, "overflows");
  expect_error(read(one_tensor({1ULL << 60, 1})), ErrorCode::truncated, "some.weight");
  expect_error(read(one_tensor({1025})), ErrorCode::truncated, "some.weight");
  expect_error(read(one_tensor({1}, kF32, 4)), ErrorCode::malformed, "offset 4 is not a multiple of 32");
  expect_error(read(one_tensor({1}, kF32, 4096)), ErrorCode::truncated, "some.weight");
  expect_error(read(one_tensor({1}, kF32, kMax - 31)), ErrorCode::truncated, "some.weight");
  const auto overlap = Writer().preamble(2, 0).tensor("a", {9}, kF32, 32).tensor("b", {9}, kF32, 0).pad(32, 99);
  expect_error(read(overlap), ErrorCode::malformed, "overlaps tensor 'b'");
}

TEST(GgufReader, RefusesBadAlignment) {
  for (const uint32_t alignment : {0U, 3U, 48U}) {
    expect_error(read(Writer().preamble(0, 1).value("general.alignment", 4, alignment)), ErrorCode::malformed,
                 "alignment");
  }
  expect_error(read(Writer().preamble(0, 1).value("general.alignment", 6, 32.0F)), ErrorCode::malformed, "alignment");
  expect_error(read(Writer().preamble(0, 1).value("general.alignment", 10, 1ULL << 40)), ErrorCode::malformed,
               "alignment");
}

TEST(GgufReader, TruncationAtEveryByteIsAnError) {
  const std::string bytes = good().bytes;
  const Folder folder;
  const auto path = folder.write("cut.gguf", bytes);
  for (std::size_t length = bytes.size(); length-- > 0;) {
    expect_error(read(std::string_view(bytes).substr(0, length), length), ErrorCode::truncated, "memory");
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(length)), 0);
    expect_error(read_header(path), ErrorCode::truncated, "cut.gguf");
  }
}

TEST(GgufReader, SurvivesRandomMutations) {
  const std::string bytes = good().bytes;
  std::mt19937 random(1);  // NOLINT: the same mutations on every run
  std::size_t refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string changed = bytes;
    const unsigned changes = round % 2 == 0 ? 1 : 1 + random() % 16;
    for (unsigned i = 0; i < changes; ++i) changed[random() % 700] = static_cast<char>(random());
    const auto result = read(changed, changed.size());
    refused += result.ok() ? 0 : 1;
    if (!result.ok()) continue;
    for (const TensorInfo& tensor : result->tensors) EXPECT_LE(tensor.offset + tensor.bytes, changed.size());
  }
  EXPECT_GT(refused, 1000U);
}

TEST(GgufReader, KeepsHugeTextOutOfMemory) {
  Writer w;
  w.preamble(0, 1).text("key").put<uint32_t>(8).text(std::string(65U << 20, 'x'));
  const auto result = read(w);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_FALSE(result->string("key"));
  EXPECT_EQ(array_of(*result, "key").length, 65U << 20);
}

// A vocabulary of 250000 and 3000 tensors in a file that claims 100 GB without storing them.
TEST(GgufReader, ReadsALargeHeaderOfAHugeSparseFileQuickly) {
  Writer w;
  w.preamble(3000, 2).text("tokenizer.ggml.tokens").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(250000);
  for (int i = 0; i < 250000; ++i) w.text("token " + std::to_string(i));
  w.text("tokenizer.ggml.scores").put<uint32_t>(9).put<uint32_t>(6).put<uint64_t>(250000).pad(1, 1000000);
  for (uint64_t i = 0; i < 3000; ++i) {
    w.tensor("blk." + std::to_string(i) + ".ffn_up.weight", {4096, 1024}, kF32, i << 24);
  }
  const Folder folder;
  const auto path = folder.write("sparse.gguf", w.bytes);
  uint64_t bytes = 100'000'000'000;
  if (::truncate(path.c_str(), static_cast<off_t>(bytes)) != 0) {
    bytes = 8'000'000'000;  // a file system without large files; the tensors no longer fit
    ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto result = read_header(path);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 1.0);
  if (bytes < 3000ULL << 24) return expect_error(result, ErrorCode::truncated, "ffn_up");
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->tensors.size(), 3000U);
  EXPECT_EQ(array_of(*result, "tokenizer.ggml.tokens").length, 250000U);
  EXPECT_EQ(result->file_bytes, bytes);
}

TEST(GgufReader, BoundsTheWorkAHostileSparseFileCanDemand) {
  const Folder folder;
  Writer w;
  w.preamble(0, 1).text("key").put<uint32_t>(9).put<uint32_t>(8).put<uint64_t>(1'000'000'000);
  const auto path = folder.write("hostile.gguf", w.bytes);
  ASSERT_EQ(::truncate(path.c_str(), off_t{9} << 30), 0);
  expect_error(read_header(path), ErrorCode::unsupported, "too many elements");
}

}  // namespace
}  // namespace juno::gguf
