// SPDX-License-Identifier: Apache-2.0
//
// Split models, written with ggml's own GGUF writer.
#include "juno/inspect.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "format/iq4_xs.h"
#include "ggml/graph.h"
#include "gguf.h"
#include "gguf/reader.h"
#include "support/temporary_folder.h"

namespace juno::test {
namespace {

namespace fs = std::filesystem;

class SplitModel : public testing::Test {
 protected:
  void SetUp() override {
    for (int part = 0; part < 3; ++part) write_part(part);
  }

  [[nodiscard]] fs::path part(int number) const {
    return folder_ / ("toy-0000" + std::to_string(number) + "-of-00003.gguf");
  }

  /// Part `index` holds one IQ4_XS matrix; the last one the token embedding, so that the output is tied to it.
  void write_part(int index) const {
    gguf_context* file = gguf_init_empty();
    if (index == 0) gguf_set_val_str(file, "general.architecture", "llama");
    gguf_set_val_u16(file, "split.no", static_cast<std::uint16_t>(index));
    gguf_set_val_u16(file, "split.count", 3);
    const GgmlPtr<ggml_context> context(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = false}));
    ggml_tensor* tensor = ggml_new_tensor_2d(context.get(), GGML_TYPE_IQ4_XS, 256, 10 + index);
    std::memset(tensor->data, 0, ggml_nbytes(tensor));
    const std::string name = index == 2 ? "token_embd.weight" : "blk." + std::to_string(index) + ".attn_q.weight";
    ggml_set_name(tensor, name.c_str());
    gguf_add_tensor(file, tensor);
    ASSERT_TRUE(gguf_write_to_file(file, part(index + 1).c_str(), false));
    gguf_free(file);
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
  Target target_ = {.machine = cpu::sme2_machine(), .enabled = true, .isa = {}, .verified = false};
};

TEST_F(SplitModel, AnyPartStandsForTheWholeModel) {
  for (int number = 1; number <= 3; ++number) {
    const auto inspection = inspect(part(number), target_);
    ASSERT_TRUE(inspection.ok()) << inspection.error().message();
    EXPECT_EQ(inspection->architecture, "llama");
    ASSERT_EQ(inspection->tensors.size(), 4u);
    EXPECT_EQ(inspection->tensors[0].name, "blk.0.attn_q.weight");
    EXPECT_EQ(inspection->tensors[1].name, "blk.1.attn_q.weight");
    EXPECT_EQ(inspection->tensors[2].operation, Operation::get_rows);
    EXPECT_EQ(inspection->tensors[3].operation, Operation::mul_mat);
    EXPECT_EQ(inspection->tensors[3].name, "token_embd.weight");
    EXPECT_EQ(inspection->tensors[3].reason, Reason::compiled);
    EXPECT_EQ(inspection->file_bytes, fs::file_size(part(1)) + fs::file_size(part(2)) + fs::file_size(part(3)));
  }
}

TEST_F(SplitModel, AMissingPartIsNamed) {
  fs::remove(part(2));
  const auto inspection = inspect(part(1), target_);
  ASSERT_FALSE(inspection.ok());
  EXPECT_EQ(inspection.error().code, ErrorCode::not_found);
  EXPECT_NE(inspection.error().message().find(part(2).string()), std::string::npos) << inspection.error().message();
}

TEST_F(SplitModel, APartUnderAnotherNameIsRefused) {
  fs::rename(part(1), folder_ / "renamed.gguf");
  const auto inspection = inspect(folder_ / "renamed.gguf", target_);
  ASSERT_FALSE(inspection.ok());
  EXPECT_EQ(inspection.error().code, ErrorCode::malformed);
}

/// Metadata of real vocabularies, as ggml's own reader sees it.
TEST(VocabularyFiles, AreReadAsGgmlReadsThem) {
  const char* llama = std::getenv("JUNO_LLAMA");
  ASSERT_NE(llama, nullptr);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(llama) / "models")) {
    if (entry.path().extension() != ".gguf") continue;
    SCOPED_TRACE(entry.path());
    ++files;
    const auto header = gguf::read_header(entry.path());
    ASSERT_TRUE(header.ok()) << header.error().message();
    const std::unique_ptr<gguf_context, decltype(&gguf_free)> expected(
        gguf_init_from_file(entry.path().c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free);
    ASSERT_NE(expected, nullptr);
    const std::int64_t keys = gguf_get_n_kv(expected.get());
    EXPECT_EQ(header->metadata.size(), static_cast<std::size_t>(keys));
    EXPECT_EQ(header->version, gguf_get_version(expected.get()));
    EXPECT_EQ(header->alignment, gguf_get_alignment(expected.get()));
    EXPECT_EQ(header->tensors.size(), static_cast<std::size_t>(gguf_get_n_tensors(expected.get())));
    for (std::int64_t i = 0; i < keys; ++i) {
      const char* key = gguf_get_key(expected.get(), i);
      SCOPED_TRACE(key);
      switch (gguf_get_kv_type(expected.get(), i)) {
        case GGUF_TYPE_STRING: {
          const auto text = header->string(key);
          if (text) EXPECT_EQ(*text, gguf_get_val_str(expected.get(), i));  // nothing: too long to keep
          break;
        }
        case GGUF_TYPE_UINT32: EXPECT_EQ(header->unsigned_value(key), gguf_get_val_u32(expected.get(), i)); break;
        case GGUF_TYPE_ARRAY: {
          const auto array = header->array(key);
          ASSERT_TRUE(array.has_value());
          EXPECT_EQ(array->length, gguf_get_arr_n(expected.get(), i));
          EXPECT_EQ(array->element_type, static_cast<std::uint32_t>(gguf_get_arr_type(expected.get(), i)));
          break;
        }
        default: EXPECT_TRUE(header->metadata.contains(key));
      }
    }
  }
  EXPECT_GE(files, 15u);
}

}  // namespace
}  // namespace juno::test
