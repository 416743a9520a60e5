// SPDX-License-Identifier: Apache-2.0
//
// Split models, written with ggml's own GGUF writer.
#include "juno/inspect.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "format/iq4_xs.h"
#include "ggml/graph.h"
#include "gguf.h"
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

}  // namespace
}  // namespace juno::test
