// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <gtest/gtest.h>

#include "juno/status.h"

namespace juno {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const char* text : {"", "blk.0.ffn_up.weight", "naïve – 模型 🙂", "a\\x0ab", "\xff\xfe not UTF-8"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, TakesThePowerFromControlCharacters) {
  EXPECT_EQ(printable("two\nlines\r\t"), "two\\x0alines\\x0d\\x09");
  EXPECT_EQ(printable("\033[31mred\x7f"), "\\x1b[31mred\\x7f");
  EXPECT_EQ(printable(std::string("nul\0", 4)), "nul\\x00");
  EXPECT_EQ(printable("C1 \xc2\x9b"
                      "31m"),
            "C1 \\xc2\\x9b31m");
  EXPECT_EQ(printable("\xc2\xa0 is a space, \xc2"), "\xc2\xa0 is a space, \xc2");
}

TEST(Printable, ErrorsAreOneLine) {
  const Error error{ErrorCode::malformed, "read", "a\nfile", "\033]0;title\007"};
  EXPECT_EQ(error.message(), "read: a\\x0afile: \\x1b]0;title\\x07");
}

}  // namespace
}  // namespace juno
