// SPDX-License-Identifier: Apache-2.0
//
// The buffer itself: writing, reading, what stays plain, and what ggml is told about it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ggml-backend-impl.h"
#include "ggml/graph.h"
#include "juno/engine.h"
#include "memory.h"
#include "support/recipes.h"
#include "traits.h"

namespace juno::test {
namespace {

using integration::Content;

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kRows = 100;

Weight empty(const pack::Recipe& recipe) {
  return Weight(integration::buffer_type(), static_cast<ggml_type>(recipe.gguf_type), {kWidth, kRows}, {});
}

std::vector<std::byte> blocks(const pack::Recipe& recipe, std::uint64_t seed) {
  Random random(seed);
  return random_blocks(recipe, kRows, kWidth, random);
}

std::vector<std::byte> read_back(const Weight& weight) {
  std::vector<std::byte> bytes(ggml_nbytes(weight.tensor()));
  ggml_backend_tensor_get(weight.tensor(), bytes.data(), 0, bytes.size());
  return bytes;
}

TEST_P(EveryFormat, WhatIsWrittenIsReadBack) {
  const Weight weight = empty(recipe());
  const auto bytes = blocks(recipe(), 1);
  ggml_backend_tensor_set(weight.tensor(), bytes.data(), 0, bytes.size());
  EXPECT_EQ(weight.state().content(), Content::packed);
  EXPECT_EQ(read_back(weight), bytes);
  // any part, also across rows and blocks
  for (const auto& [offset, size] :
       {std::pair<std::size_t, std::size_t>{0, 1}, {135, 3}, {271, 300}, {bytes.size() - 1, 1}}) {
    std::vector<std::byte> part(size);
    ggml_backend_tensor_get(weight.tensor(), part.data(), offset, size);
    EXPECT_EQ(std::memcmp(part.data(), bytes.data() + offset, size), 0) << offset;
  }
}

TEST_P(EveryFormat, WrittenInPartsItIsPackedWhenComplete) {
  const Weight weight = empty(recipe());
  const auto bytes = blocks(recipe(), 2);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = std::min<std::size_t>(1000, bytes.size() - at);
    EXPECT_EQ(weight.state().content(), Content::plain);
    ggml_backend_tensor_set(weight.tensor(), bytes.data() + at, at, size);
    at += size;
  }
  EXPECT_EQ(weight.state().content(), Content::packed);
  EXPECT_EQ(read_back(weight), bytes);
}

TEST_P(EveryFormat, PartlyWrittenStaysPlainAndIsReportedAsSuch) {
  const Weight weight = empty(recipe());
  const auto bytes = blocks(recipe(), 3);
  ggml_backend_tensor_set(weight.tensor(), bytes.data() + 500, 500, bytes.size() - 500);
  EXPECT_EQ(weight.state().content(), Content::plain);
  const auto receipts = receipt::ledger().snapshot();
  EXPECT_EQ(receipts.back().reason, Reason::not_written);
  EXPECT_EQ(receipts.back().packed_bytes, 0u);
}

TEST_P(EveryFormat, AChangedPartChangesThatPartOnly) {
  const Weight weight = empty(recipe());
  auto bytes = blocks(recipe(), 4);
  ggml_backend_tensor_set(weight.tensor(), bytes.data(), 0, bytes.size());
  const auto other = blocks(recipe(), 5);
  std::memcpy(bytes.data() + 777, other.data() + 777, 5000);
  ggml_backend_tensor_set(weight.tensor(), other.data() + 777, 777, 5000);
  EXPECT_EQ(weight.state().content(), Content::packed);
  EXPECT_EQ(read_back(weight), bytes);
  ggml_backend_tensor_memset(weight.tensor(), 0x22, 10, 300);
  std::memset(bytes.data() + 10, 0x22, 300);
  EXPECT_EQ(read_back(weight), bytes);
}

/// Every place of a bad scale, in every half float of the format: the tensor stays plain, the receipt names the first.
TEST_P(EveryFormat, BadScalesStayPlain) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  const std::size_t experts = 3;
  const std::size_t row_bytes = recipe().row_bytes(kWidth);
  Random random(9);
  const auto good = random_blocks(recipe(), experts * kRows, kWidth, random);
  for (const std::size_t half : half_offsets(recipe())) {
    for (const unsigned bits : {0x7c00u, 0xfc00u, 0x7e00u, 0xfdffu}) {
      const auto bad = static_cast<std::uint16_t>(bits);
      auto bytes = good;
      // Two bad rows, the later one first in memory order of discovery for any split among threads.
      store(bytes.data() + (2 * kRows + 99) * row_bytes + half, bad);
      store(bytes.data() + (kRows + 65) * row_bytes + recipe().block_bytes + half, bad);
      const Weight weight(integration::buffer_type(), type, {kWidth, kRows, 3}, bytes);
      EXPECT_EQ(weight.state().content(), Content::plain);
      EXPECT_EQ(read_back(weight), bytes);
      const auto receipt = receipt::ledger().snapshot().back();
      EXPECT_EQ(receipt.reason, Reason::bad_scale);
      EXPECT_EQ(receipt.detail, "row 65 of expert 1 has a block scale that is infinite or NaN");
      EXPECT_EQ(receipt.layout, "");
      EXPECT_EQ(receipt.packed_bytes, 0u);
      ggml_backend_tensor_set(weight.tensor(), good.data(), 0, good.size());
      EXPECT_EQ(weight.state().content(), Content::packed);
      ggml_backend_tensor_set(weight.tensor(), bytes.data(), 0, bytes.size());
      EXPECT_EQ(weight.state().content(), Content::plain);
      EXPECT_EQ(read_back(weight), bytes);
    }
  }
}

TEST_P(EveryFormat, ExpertsAreReadBack) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  Random random(10);
  const auto bytes = random_blocks(recipe(), 4 * kRows, kWidth, random);
  const Weight weight(integration::buffer_type(), type, {kWidth, kRows, 4}, bytes);
  EXPECT_EQ(weight.state().content(), Content::packed);
  EXPECT_EQ(read_back(weight), bytes);
  std::vector<std::byte> part(3 * recipe().row_bytes(kWidth));
  const std::size_t offset = 99 * recipe().row_bytes(kWidth) + 7;  // across the border of two experts
  ggml_backend_tensor_get(weight.tensor(), part.data(), offset, part.size());
  EXPECT_EQ(std::memcmp(part.data(), bytes.data() + offset, part.size()), 0);
}

TEST_P(EveryFormat, ClearMakesItPlain) {
  const Weight weight = empty(recipe());
  const auto bytes = blocks(recipe(), 6);
  ggml_backend_tensor_set(weight.tensor(), bytes.data(), 0, bytes.size());
  ggml_backend_buffer_clear(weight.buffer(), 0);
  EXPECT_EQ(weight.state().content(), Content::plain);
  EXPECT_EQ(read_back(weight), std::vector<std::byte>(bytes.size()));
}

TEST_P(EveryFormat, WritesThroughAView) {
  const Weight weight = empty(recipe());
  auto bytes = blocks(recipe(), 7);
  ggml_backend_tensor_set(weight.tensor(), bytes.data(), 0, bytes.size());
  const GgmlPtr<ggml_context> context = new_context();
  const std::size_t row = weight.tensor()->nb[1];
  ggml_tensor* view = ggml_view_2d(context.get(), weight.tensor(), kWidth, 10, row, 30 * row);
  ASSERT_EQ(ggml_backend_view_init(view), GGML_STATUS_SUCCESS);
  const auto other = blocks(recipe(), 8);
  ggml_backend_tensor_set(view, other.data(), 0, 10 * row);
  std::memcpy(bytes.data() + 30 * row, other.data(), 10 * row);
  EXPECT_EQ(read_back(weight), bytes);
  std::vector<std::byte> part(10 * row);
  ggml_backend_tensor_get(view, part.data(), 0, part.size());
  EXPECT_EQ(std::memcmp(part.data(), other.data(), part.size()), 0);
}

TEST_P(EveryFormat, CopyBetweenBuffers) {
  const Weight weight = empty(recipe());
  const auto bytes = blocks(recipe(), 9);
  const Weight stock(ggml_backend_cpu_buffer_type(), static_cast<ggml_type>(recipe().gguf_type), {kWidth, kRows},
                     bytes);
  ggml_backend_tensor_copy(stock.tensor(), weight.tensor());
  EXPECT_EQ(weight.state().content(), Content::packed);
  const Weight back(ggml_backend_cpu_buffer_type(), static_cast<ggml_type>(recipe().gguf_type), {kWidth, kRows},
                    blocks(recipe(), 10));
  ggml_backend_tensor_copy(weight.tensor(), back.tensor());
  EXPECT_EQ(std::memcmp(back.tensor()->data, bytes.data(), bytes.size()), 0);
}

TEST_P(EveryFormat, WhatGgmlIsTold) {
  ggml_backend_buffer_type_t buft = integration::buffer_type();
  EXPECT_FALSE(ggml_backend_buft_is_host(buft));
  EXPECT_STREQ(ggml_backend_buft_name(buft), "JUNO");
  const Weight weight = empty(recipe());
  EXPECT_GE(ggml_backend_buft_get_alloc_size(buft, weight.tensor()), ggml_nbytes(weight.tensor()));
  EXPECT_GE(ggml_backend_buft_get_alloc_size(buft, weight.tensor()), recipe().layout.matrix_bytes(kRows, kWidth));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weight.tensor()->data) % kLineBytes, 0u);
}

/// The loader's question: an operation on a weight that is in no memory yet, in a dummy buffer of size 0.
bool loader_accepts(ggml_type type, std::int64_t width, std::int64_t rows, ggml_op operation) {
  const GgmlPtr<ggml_context> context = new_context();
  ggml_tensor* weight = ggml_new_tensor_2d(context.get(), type, width, rows);
  ggml_set_name(weight, "blk.0.ffn_up.weight");
  ggml_tensor* op =
      operation == GGML_OP_GET_ROWS
          ? ggml_get_rows(context.get(), weight, ggml_new_tensor_1d(context.get(), GGML_TYPE_I32, 512))
          : ggml_mul_mat(context.get(), weight, ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, width, 512));
  const GgmlPtr<ggml_backend_buffer> dummy(ggml_backend_buft_alloc_buffer(integration::buffer_type(), 0));
  weight->buffer = dummy.get();
  return ggml_backend_dev_supports_op(integration::buffer_type()->device, op);
}

TEST_P(EveryFormat, TheLoaderIsAnsweredByTheDecisionFunction) {
  const auto type = static_cast<ggml_type>(recipe().gguf_type);
  EXPECT_TRUE(loader_accepts(type, 512, 64, GGML_OP_MUL_MAT));
  EXPECT_FALSE(loader_accepts(type, 512, 64, GGML_OP_GET_ROWS));
  EXPECT_FALSE(loader_accepts(GGML_TYPE_F32, 512, 64, GGML_OP_MUL_MAT));
  integration::set_enabled(false);
  EXPECT_FALSE(loader_accepts(type, 512, 64, GGML_OP_MUL_MAT));
  integration::set_enabled(true);
}

/// A tensor that was forced into the buffer although Juno declines it: plain, and ggml's own code computes it.
TEST(Declined, TensorsInTheBufferStayPlainAndAreComputedByGgml) {
  std::vector<float> values(256 * 10);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8;
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  const Weight juno(integration::buffer_type(), GGML_TYPE_F32, {256, 10}, bytes);
  const Weight stock(ggml_backend_cpu_buffer_type(), GGML_TYPE_F32, {256, 10}, bytes);
  EXPECT_EQ(juno.state().content(), Content::plain);
  const Build product = [](ggml_context* context, ggml_tensor* weight) {
    return ggml_mul_mat(context, weight, ggml_new_tensor_2d(context, GGML_TYPE_F32, 256, 3));
  };
  EXPECT_EQ(compute(juno, 2, product, normal_inputs()), compute(stock, 2, product, normal_inputs()));
}

// --- pages ---

class TemporaryFile {
 public:
  explicit TemporaryFile(std::size_t bytes) : path_(testing::TempDir() + "juno_pages_" + std::to_string(getpid())) {
    std::ofstream file(path_, std::ios::binary);
    const std::vector<char> content(bytes, 'j');
    file.write(content.data(), static_cast<std::streamsize>(bytes));
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] int open(int flags) const { return ::open(path_.c_str(), flags); }

 private:
  std::string path_;
};

TEST(Pages, OnlyReadOnlyFileMappingsAreGivenBack) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = 16 * page;
  const TemporaryFile file(bytes);
  const int fd = file.open(O_RDWR);
  ASSERT_GE(fd, 0);
  auto* read_only = static_cast<char*>(mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0));
  auto* writable = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
  ASSERT_NE(read_only, MAP_FAILED);
  ASSERT_NE(writable, MAP_FAILED);
  writable[3 * page] = 'x';

  EXPECT_EQ(integration::release_file_pages(read_only, bytes), bytes);
  EXPECT_EQ(read_only[5 * page], 'j') << "given back, not lost";
  EXPECT_EQ(integration::release_file_pages(read_only + 1, bytes - 2), bytes - 2 * page) << "whole pages only";
  EXPECT_EQ(integration::release_file_pages(read_only + 1, page), 0u);
  EXPECT_EQ(integration::release_file_pages(writable, bytes), 0u);
  EXPECT_EQ(writable[3 * page], 'x');
  std::vector<char> heap(bytes, 'h');
  EXPECT_EQ(integration::release_file_pages(heap.data(), bytes), 0u);
  EXPECT_EQ(heap, std::vector<char>(bytes, 'h'));
  munmap(read_only, bytes);
  munmap(writable, bytes);
  close(fd);
}

TEST(Pages, AllocationIsAlignedAndZeroed) {
  for (const std::size_t bytes : Sizes{1, 4096, (std::size_t{2} << 20) + 1}) {
    std::byte* pages = integration::allocate_pages(bytes);
    ASSERT_NE(pages, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pages) % (std::size_t{2} << 20), 0u);
    EXPECT_EQ(pages[0], std::byte{0});
    EXPECT_EQ(pages[bytes - 1], std::byte{0});
    pages[bytes - 1] = std::byte{1};
    integration::free_pages(pages, bytes);
  }
  EXPECT_EQ(integration::allocate_pages(std::size_t{1} << 60), nullptr);
}

}  // namespace
}  // namespace juno::test
