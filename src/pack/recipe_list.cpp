// SPDX-License-Identifier: Apache-2.0
#include "pack/recipe_list.h"

#include <algorithm>
#include <array>

#include "pack/driver.h"
#include "pack/iq4_xs_to_lut4.h"

namespace juno::pack {
namespace {

constexpr std::array kRecipes = {make_recipe<Iq4XsToLut4>()};

}  // namespace

std::span<const Recipe> recipes() noexcept { return kRecipes; }

const Recipe* find_recipe(std::uint32_t gguf_type) noexcept {
  const auto* found = std::find_if(kRecipes.begin(), kRecipes.end(),
                                   [&](const Recipe& recipe) { return recipe.gguf_type == gguf_type; });
  return found == kRecipes.end() ? nullptr : found;
}

}  // namespace juno::pack
