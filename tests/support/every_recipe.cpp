// SPDX-License-Identifier: Apache-2.0
//
// The one instantiation of EveryRecipe for all files of a test program.
#include "dispatch/registry.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

/// All recipes; on Arm, where tests run in an emulator, only those that a kernel of that architecture asks for.
std::vector<std::size_t> recipes_under_test() {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < pack::recipes().size(); ++i) {
    bool wanted = cpu::facts().architecture != "arm64";
    for (const kernel::KernelInfo& kernel : dispatch::registry()) {
      wanted = wanted || (!kernel.reference && kernel.run != nullptr &&
                          kernel.layout_fingerprint == pack::recipes()[i].layout.fingerprint);
    }
    if (wanted) indices.push_back(i);
  }
  return indices;
}

std::string recipe_name(const testing::TestParamInfo<std::size_t>& info) {
  const pack::Recipe& recipe = pack::recipes()[info.param];
  return std::string(recipe.format) + "_" + std::string(recipe.layout.name);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Recipes, EveryRecipe, testing::ValuesIn(recipes_under_test()), recipe_name);

}  // namespace juno::test
