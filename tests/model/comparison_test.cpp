// SPDX-License-Identifier: Apache-2.0
//
// What compiling is worth, from rates that are known.
#include "comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

namespace juno::cli {
namespace {

TEST(Comparison, CompilingPaysOffWhenWhatEachTokenSavesAddsUpToItsTime) {
  // A token takes 100 ms natively and 20 ms compiled: 80 ms are saved.
  EXPECT_EQ(pays_off_after(0.8, 10, 50), 10u);
  EXPECT_EQ(pays_off_after(0.81, 10, 50), 11u);  // ten tokens are not enough
  EXPECT_EQ(pays_off_after(0, 10, 50), 0u);
}

TEST(Comparison, NothingIsSaidWhereNothingIsSaved) {
  EXPECT_EQ(pays_off_after(0.8, 50, 10), std::nullopt);
  EXPECT_EQ(pays_off_after(0.8, 10, 10), std::nullopt);
  EXPECT_EQ(pays_off_after(0.8, 0, 50), std::nullopt);  // not measured
  EXPECT_EQ(pays_off_after(0.8, 10, 0), std::nullopt);
  EXPECT_EQ(pays_off_after(0.8, 10, std::nextafter(10.0, 11.0)), std::nullopt);
  EXPECT_EQ(pays_off_after(std::numeric_limits<double>::infinity(), 10, 50), std::nullopt);
}

TEST(Comparison, TheRateLeavesTheFirstTokenOut) {
  Generation generation{.text = {}, .tokens = {1, 2, 3}};
  generation.generation_seconds = 0.5;
  EXPECT_EQ(generation_rate(generation), 4);
  generation.tokens = {1};
  EXPECT_EQ(generation_rate(generation), 0);
  generation.tokens = {1, 2};
  generation.generation_seconds = 0;
  EXPECT_EQ(generation_rate(generation), 0);
}

}  // namespace
}  // namespace juno::cli
