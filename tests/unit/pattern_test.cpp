// SPDX-License-Identifier: Apache-2.0
#include "juno/pattern.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

namespace juno {
namespace {

bool finds(std::string_view pattern, std::string_view name) {
  const auto compiled = Pattern::compile(pattern, "--only");
  EXPECT_TRUE(compiled.ok()) << compiled.error().message();
  return compiled.ok() && compiled->finds(name);
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string result;
  while (count-- != 0) result += text;
  return result;
}

TEST(Patterns, AreExtendedAndFindAnywhere) {
  const std::string name = "blk.12.attn_q.weight";
  EXPECT_TRUE(finds("attn", name));
  EXPECT_TRUE(finds("attn_(q|k)", name));
  EXPECT_TRUE(finds("^blk\\.1[0-9]\\..*weight$", name));
  EXPECT_TRUE(finds("[^]a]", name));
  EXPECT_TRUE(finds("[[:digit:]]{2}\\.", name));
  EXPECT_FALSE(finds("^attn", name));
  EXPECT_FALSE(finds("ATTN", name));
  EXPECT_FALSE(finds("(^|[.])1[.]", name));
  EXPECT_TRUE(finds("^$", ""));
  EXPECT_TRUE(finds("a*", ""));
  EXPECT_TRUE(finds(std::string(1000, 'a'), std::string(1000, 'a')));
  EXPECT_FALSE(finds("b", std::string_view("a\0b", 3))) << "ggml sees no more of the name";
}

TEST(Patterns, WithoutAnExpressionNothingIsFound) {
  const Pattern none;
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(none.finds(""));
  EXPECT_FALSE(none.finds("a"));
}

TEST(Patterns, CopiesOutliveTheOriginal) {
  Pattern copy;
  {
    const auto original = Pattern::compile("attn", "JUNO_ONLY");
    ASSERT_TRUE(original.ok());
    copy = *original;
  }
  EXPECT_FALSE(copy.empty());
  EXPECT_EQ(copy.source(), "JUNO_ONLY");
  EXPECT_TRUE(copy.finds("attn_q"));
}

TEST(Patterns, ErrorsNameTheSwitchAndThePattern) {
  struct Case {
    std::string pattern;
    std::string why;
  };
  const Case cases[] = {
      {"", "empty"},
      {"(", ""},
      {"a)b(", ""},
      {"[a", ""},
      {"[[:letters:]]", ""},
      {"a{2,1}", ""},
      {"a\\", ""},
      {std::string(1001, 'a'), "1000 characters"},
      {std::string(100'000, '('), "1000 characters"},
      {std::string("a\0b", 3), "zero byte"},
      {"(.*)(.*)(.*)(.*)(.*)\\1\\2\\3\\4\\5", "back-references"},
      {"((a{99}){99}){99}", "repetitions"},
      {"((a{3,99}){0,99}){99,}", "repetitions"},
      {repeated("(", 30) + "a" + repeated("+)", 30), "repetitions"},
      {"a" + repeated("+", 900), "repetitions"},
      {"(" + std::string(900, 'a') + "){200}", "repetitions"},
      {"[)]{300}" + repeated("(", 3) + "[]({9}{1,]" + repeated("{70})", 3), "repetitions"},
      {"(((a{99999999999999999999})))", "repetitions"},
  };
  for (const Case& bad : cases) {
    const auto compiled = Pattern::compile(bad.pattern, "JUNO_SKIP");
    ASSERT_FALSE(compiled.ok()) << bad.pattern;
    EXPECT_EQ(compiled.error().code, ErrorCode::invalid_argument);
    const std::string message = compiled.error().message();
    EXPECT_NE(message.find("JUNO_SKIP"), std::string::npos) << message;
    EXPECT_NE(message.find(bad.why), std::string::npos) << message;
    EXPECT_LT(message.size(), 250u);
    if (bad.pattern.find('\0') == std::string::npos) {
      EXPECT_NE(message.find("'" + bad.pattern.substr(0, 60)), std::string::npos) << message;
    }
  }
}

/// The largest ones that are taken: neither the stack nor time runs out, and memory is no more than a model's.
TEST(Patterns, TheWorstThatAreTakenAreQuick) {
  const auto start = std::chrono::steady_clock::now();
  const std::string name(63, 'a');
  const std::string patterns[] = {repeated("(", 490) + "a" + repeated(")", 490),
                                  repeated("(a*)*", 190) + "b",
                                  "(x+x+)+y",
                                  repeated("(a|aa)*", 140) + "$",
                                  "((a{40}){40}){20}",
                                  repeated("(", 12) + "a" + repeated("+)", 12),
                                  "(" + std::string(900, 'a') + "){100}",
                                  repeated(".*", 499) + "b",
                                  "\\(\\{[(]"};
  for (const std::string& pattern : patterns) {
    const auto compiled = Pattern::compile(pattern, "--only");
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(compiled->finds(name), compiled->finds(name)) << pattern;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << pattern;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__linux__)
  EXPECT_LT(usage.ru_maxrss, 1 << 20) << "KiB";
#endif
}

}  // namespace
}  // namespace juno
