// SPDX-License-Identifier: Apache-2.0
#include "pack/recipe_list.h"

#include <algorithm>
#include <array>

#include "format/iq2_s.h"
#include "format/iq2_xs.h"
#include "format/iq3_s.h"
#include "format/iq3_xxs.h"
#include "pack/driver.h"
#include "pack/grid_to_lut4.h"
#include "pack/iq4_xs_to_lut4.h"
#include "pack/q2_k_to_lin2.h"

namespace juno::pack {
namespace {

constexpr std::array kRecipes = {
    make_recipe<Q2KToLin2>(),                   //
    make_recipe<GridToLut4<format::Iq2Xs>>(),   //
    make_recipe<GridToLut4<format::Iq2S>>(),    //
    make_recipe<GridToLut4<format::Iq3Xxs>>(),  //
    make_recipe<GridToLut4<format::Iq3S>>(),    //
    make_recipe<Iq4XsToLut4>(),
};

}  // namespace

std::span<const Recipe> recipes() noexcept { return kRecipes; }

const Recipe* find_recipe(std::uint32_t gguf_type) noexcept {
  const auto* found = std::find_if(kRecipes.begin(), kRecipes.end(),
                                   [&](const Recipe& recipe) { return recipe.gguf_type == gguf_type; });
  return found == kRecipes.end() ? nullptr : found;
}

}  // namespace juno::pack
