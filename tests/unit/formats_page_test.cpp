// SPDX-License-Identifier: Apache-2.0
//
// docs/formats.md: its table is made from the lists of recipes and kernels. Run with JUNO_UPDATE_DOCS=1 to write it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "dispatch/registry.h"
#include "pack/recipe_list.h"

namespace juno::test {
namespace {

constexpr std::string_view kBegin = "<!-- table: begin -->\n";
constexpr std::string_view kEnd = "<!-- table: end -->\n";

/// Tests of this program, each of which runs for every recipe.
const std::vector<std::string> kOfReference = {"SpecificationIsADotProduct", "SpecificationAgainstGgmlGenericVecDot",
                                               "SpecificationAgainstGgmlVecDot", "UnpackGivesBackEveryByte"};
const std::vector<std::string> kOfKernel = {"KernelsEqualTheSpecificationBitForBit", "QuantisedStructuredWeights",
                                            "ExtremesOfCodesScalesAndActivations",
                                            "AnyNumberOfThreadsGivesTheSameBits"};

double bits_per_weight(std::size_t bytes, std::size_t weights) {
  return 8.0 * static_cast<double>(bytes) / static_cast<double>(weights);
}

std::string table() {
  std::string text =
      "| format | bits a weight | layout | bits a weight | instruction set | kernels | proved by |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const pack::Recipe& recipe : pack::recipes()) {
    std::map<std::string, std::string> kernels;  // by instruction set
    std::map<std::string, bool> reference;
    for (const kernel::KernelInfo& kernel : dispatch::registry()) {
      if (kernel.layout_fingerprint != recipe.layout.fingerprint) continue;
      std::string& list = kernels[std::string(kernel.isa)];
      list += fmt::format("{}`{}`", list.empty() ? "" : ", ", dispatch::kernel_id(kernel));
      reference[std::string(kernel.isa)] = kernel.reference;
    }
    for (const auto& [isa, list] : kernels) {
      std::string proofs;
      for (const std::string& test : reference[isa] ? kOfReference : kOfKernel) {
        proofs += fmt::format("{}{}", proofs.empty() ? "" : ", ", test);
      }
      text += fmt::format(
          "| {} | {:.4f} | {} | {:.4f} | {} | {} | {} |\n", recipe.format,
          bits_per_weight(recipe.block_bytes, layout::kSuperBlockWeights), recipe.layout.name,
          bits_per_weight(recipe.layout.super_block_bytes, recipe.layout.tile_rows * layout::kSuperBlockWeights), isa,
          list, proofs);
    }
  }
  return text;
}

TEST(FormatsPage, TableIsThatOfTheLists) {
  const char* path = std::getenv("JUNO_FORMATS_PAGE");
  ASSERT_NE(path, nullptr);
  std::ifstream file(path);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string page = stream.str();
  const std::size_t begin = page.find(kBegin);
  const std::size_t end = page.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t first = begin + kBegin.size();
  if (std::getenv("JUNO_UPDATE_DOCS") != nullptr) {
    page.replace(first, end - first, table());
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(first, end - first), table()) << "run with JUNO_UPDATE_DOCS=1";
}

/// What the table says proves a kernel is there, for every recipe.
TEST(FormatsPage, ProofsExist) {
  std::map<std::string, std::size_t> recipes_of_test;
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *program.GetTestSuite(s);
    if (std::string_view(suite.name()) != "Recipes/EveryRecipe") continue;
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const std::string name = suite.GetTestInfo(t)->name();
      ++recipes_of_test[name.substr(0, name.find('/'))];
    }
  }
  std::size_t recipes = pack::recipes().size();
#if defined(__aarch64__)
  // One layout for each format has kernels for Arm; the others are not tested in the emulator.
  std::set<std::uint32_t> formats;
  for (const pack::Recipe& recipe : pack::recipes()) formats.insert(recipe.gguf_type);
  recipes = formats.size();
#endif
  for (const auto& list : {kOfReference, kOfKernel}) {
    for (const std::string& test : list) EXPECT_EQ(recipes_of_test[test], recipes) << test;
  }
}

}  // namespace
}  // namespace juno::test
