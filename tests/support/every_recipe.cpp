// SPDX-License-Identifier: Apache-2.0
//
// The one instantiation of EveryRecipe for all files of a test program.
#include "support/recipes.h"

namespace juno::test {
namespace {

std::string recipe_name(const testing::TestParamInfo<std::size_t>& info) {
  const pack::Recipe& recipe = pack::recipes()[info.param];
  return std::string(recipe.format) + "_" + std::string(recipe.layout.name);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Recipes, EveryRecipe, testing::Range(std::size_t{0}, pack::recipes().size()), recipe_name);

}  // namespace juno::test
