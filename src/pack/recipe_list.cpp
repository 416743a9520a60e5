// SPDX-License-Identifier: Apache-2.0
#include "pack/recipe_list.h"

#include <algorithm>
#include <array>

#include "format/iq2_s.h"
#include "format/iq2_xs.h"
#include "format/iq3_s.h"
#include "format/iq3_xxs.h"
#include "layout/lin2.h"
#include "layout/lin2w.h"
#include "layout/lut3w.h"
#include "layout/lut4.h"
#include "layout/lut4w.h"
#include "pack/driver.h"
#include "pack/grid_to_lut4.h"
#include "pack/iq4_xs_to_lut4.h"
#include "pack/q2_k_to_lin2.h"

namespace juno::pack {
namespace {

using layout::Lin2;
using layout::Lin2W;
using layout::Lut3W;
using layout::Lut4;
using layout::Lut4S16;
using layout::Lut4S16W;
using layout::Lut4W;

constexpr std::array kRecipes = {
    make_recipe<Q2KToLin2<Lin2>>(),
    make_recipe<Q2KToLin2<Lin2W>>(),
    make_recipe<GridToLut4<format::Iq2Xs, Lut4S16>>(),
    make_recipe<GridToLut4<format::Iq2Xs, Lut3W>>(),
    make_recipe<GridToLut4<format::Iq2Xs, Lut4S16W>>(),
    make_recipe<GridToLut4<format::Iq2S, Lut4S16>>(),
    make_recipe<GridToLut4<format::Iq2S, Lut3W>>(),
    make_recipe<GridToLut4<format::Iq2S, Lut4S16W>>(),
    make_recipe<GridToLut4<format::Iq3Xxs, Lut4>>(),
    make_recipe<GridToLut4<format::Iq3Xxs, Lut4W>>(),
    make_recipe<GridToLut4<format::Iq3S, Lut4>>(),
    make_recipe<GridToLut4<format::Iq3S, Lut4W>>(),
    make_recipe<Iq4XsToLut4<Lut4>>(),
    make_recipe<Iq4XsToLut4<Lut4W>>(),
};

}  // namespace

std::span<const Recipe> recipes() noexcept { return kRecipes; }

const Recipe* find_recipe(std::uint32_t gguf_type) noexcept {
  const auto* found = std::find_if(kRecipes.begin(), kRecipes.end(),
                                   [&](const Recipe& recipe) { return recipe.gguf_type == gguf_type; });
  return found == kRecipes.end() ? nullptr : found;
}

const Recipe* find_recipe(std::uint32_t gguf_type, std::uint64_t layout_fingerprint) noexcept {
  const auto* found = std::find_if(kRecipes.begin(), kRecipes.end(), [&](const Recipe& recipe) {
    return recipe.gguf_type == gguf_type && recipe.layout.fingerprint == layout_fingerprint;
  });
  return found == kRecipes.end() ? nullptr : found;
}

}  // namespace juno::pack
