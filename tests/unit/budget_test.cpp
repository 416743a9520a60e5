// SPDX-License-Identifier: Apache-2.0
//
// Which tensors a budget of memory goes to, and sizes that people write.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "budget/account.h"
#include "budget/limit.h"
#include "budget/plan.h"

namespace juno::budget {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kIq4Xs = 23;
constexpr std::uint32_t kIq3S = 21;
constexpr std::uint32_t kQ2K = 10;

Candidate candidate(std::string_view name, std::uint64_t packed, std::uint64_t weights, std::uint32_t type = kIq4Xs) {
  return {.name = name,
          .native_bytes = packed - packed / 50,
          .packed_bytes = packed,
          .weights = weights,
          .gguf_type = type};
}

std::string chosen(const std::vector<Candidate>& candidates, std::uint64_t bytes) {
  const std::vector<bool> flags = choose(candidates, bytes);
  EXPECT_EQ(flags.size(), candidates.size());
  std::string names;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) names += candidates[i].name;
  }
  return names;
}

TEST(Plan, AllThatFits) {
  const std::vector<Candidate> all = {candidate("a", 100, 1000), candidate("b", 200, 2000), candidate("c", 300, 3000)};
  EXPECT_EQ(chosen(all, 600), "abc") << "exactly";
  EXPECT_EQ(chosen(all, 599), "bc");
  EXPECT_EQ(chosen(all, kMost), "abc");
  EXPECT_EQ(chosen(all, 0), "");
  EXPECT_EQ(chosen(all, 99), "");
  EXPECT_EQ(chosen(all, 100), "a");
  EXPECT_EQ(chosen({}, 100), "");
}

TEST(Plan, TheLargestGainForAByteComesFirst) {
  // Equal sizes; IQ3_S takes ggml the longest, Q2_K the least time.
  const std::vector<Candidate> all = {candidate("q", 100, 1000, kQ2K), candidate("x", 100, 1000, kIq4Xs),
                                      candidate("s", 100, 1000, kIq3S)};
  EXPECT_EQ(chosen(all, 100), "s");
  EXPECT_EQ(chosen(all, 200), "xs");
  EXPECT_EQ(chosen(all, 300), "qxs");
  // Of the same format the one that packs denser.
  EXPECT_EQ(chosen({candidate("a", 100, 1000), candidate("b", 90, 1000)}, 100), "b");
}

TEST(Plan, WhatDoesNotFitMakesRoomForSmallerOnes) {
  EXPECT_EQ(chosen({candidate("a", 1000, 90'000), candidate("b", 10, 100), candidate("c", 10, 100)}, 500), "bc");
}

TEST(Plan, TiesDoNotDependOnTheOrder) {
  std::vector<Candidate> all = {candidate("d", 100, 1000), candidate("a", 100, 1000), candidate("c", 200, 2000),
                                candidate("b", 100, 1000)};
  std::sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.name < b.name; });
  do {
    std::string names = chosen(all, 350);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, "ac") << "the larger, then by name";
  } while (std::next_permutation(all.begin(), all.end(),
                                 [](const Candidate& a, const Candidate& b) { return a.name < b.name; }));
}

TEST(Plan, NumbersAtTheirLimits) {
  EXPECT_EQ(chosen({candidate("a", kMost, kMost), candidate("b", kMost, kMost)}, kMost), "a");
  EXPECT_EQ(chosen({candidate("a", kMost, kMost), candidate("b", 1, kMost)}, kMost), "b");
  EXPECT_EQ(chosen({candidate("a", 0, 0), candidate("b", 5, 0), candidate("c", 5, 1)}, 5), "ac");
  EXPECT_EQ(chosen({candidate("a", 5, 1, 0xffffffffu)}, 5), "a") << "a format that nobody has measured";
  for (const std::uint32_t type : {0u, 10u, 17u, 18u, 21u, 22u, 23u, kIq4Xs}) EXPECT_GT(native_picoseconds(type), 0u);
}

TEST(Plan, TheClauseHasFigures) {
  const std::string text = over_budget(candidate("a", 3 << 20, 1), 5 << 19);
  EXPECT_NE(text.find("3.0 MiB"), std::string::npos) << text;
  EXPECT_NE(text.find("2.5 MiB"), std::string::npos) << text;
}

TEST(Accounts, ALimitIsForAllBuffersTogether) {
  Account account;
  const std::vector<Candidate> two = {candidate("a", 100, 1000), candidate("b", 100, 1000)};
  const Plan first = account.take(two, {.limit = 300, .free = {}});
  EXPECT_EQ(first.packed, 200u);
  EXPECT_EQ(account.taken(), 200u);
  account.settle(200);
  const Plan second = account.take(two, {.limit = 300, .free = kMost});
  EXPECT_EQ(second.bytes, 100u);
  EXPECT_EQ(second.chosen, (std::vector<bool>{true, false}));
  account.release(first.packed, 200);
  EXPECT_EQ(account.taken(), 100u);
  EXPECT_EQ(account.take(two, {.limit = 50, .free = {}}).packed, 0u) << "less than what is taken already";
  EXPECT_EQ(account.take(two, {.limit = 300, .free = {}}).packed, 200u);
}

TEST(Accounts, WhatIsFreeIsLessWhatIsPlannedAndNotWritten) {
  Account account;
  const std::vector<Candidate> one = {candidate("a", 100, 1000)};
  EXPECT_EQ(account.take(one, {.limit = {}, .free = 150}).packed, 100u);
  EXPECT_EQ(account.take(one, {.limit = {}, .free = 150}).packed, 0u);
  account.settle(100);  // the system counts these now
  EXPECT_EQ(account.take(one, {.limit = {}, .free = 150}).packed, 100u);
  EXPECT_EQ(account.take(one, {}).packed, 100u) << "nothing is known, nothing is limited";
  account.release(300, 100);
  EXPECT_EQ(account.taken(), 0u);
}

TEST(Sizes, AreNumbersWithUnitsOf1024) {
  const auto bytes = [](std::string_view text) { return parse_limit(text, "--memory-limit").value(); };
  EXPECT_EQ(bytes("0"), 0u);
  EXPECT_EQ(bytes("123"), 123u);
  EXPECT_EQ(bytes("100k"), 102400u);
  EXPECT_EQ(bytes("500M"), std::uint64_t{500} << 20);
  EXPECT_EQ(bytes("4G"), std::uint64_t{4} << 30);
  EXPECT_EQ(bytes("4 GiB"), std::uint64_t{4} << 30);
  EXPECT_EQ(bytes("1tb"), std::uint64_t{1} << 40);
  EXPECT_EQ(bytes("18446744073709551615"), kMost);
}

TEST(Sizes, AnythingElseIsAnErrorThatNamesTheSwitch) {
  const std::string_view zero("4\0G", 3);
  for (const std::string_view text :
       {std::string_view(""), std::string_view("G"), std::string_view("-1"), std::string_view("+1"),
        std::string_view("1.5G"), std::string_view("4X"), std::string_view("4G4"), std::string_view("0x10"),
        std::string_view("16E"), std::string_view("18446744073709551616"), std::string_view(" 4G"),
        std::string_view("1e3"), std::string_view("4\nG"), std::string_view("nan"), zero}) {
    const auto size = parse_limit(text, "JUNO_MEMORY_LIMIT");
    ASSERT_FALSE(size.ok()) << text;
    EXPECT_EQ(size.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(size.error().message().find("JUNO_MEMORY_LIMIT="), std::string::npos) << size.error().message();
  }
  const auto longest = parse_limit(std::string(100'000, '9'), "--memory-limit");
  ASSERT_FALSE(longest.ok());
  EXPECT_LT(longest.error().message().size(), 200u);
}

}  // namespace
}  // namespace juno::budget
