// SPDX-License-Identifier: Apache-2.0
//
// Tests that hold for every recipe are written once and run for all of them: TEST_P(EveryRecipe, ...) in any
// file of a program that has support/every_recipe.cpp among its sources.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "pack/recipe_list.h"

namespace juno::test {

class EveryRecipe : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const pack::Recipe& recipe() const { return pack::recipes()[GetParam()]; }
};

/// Packs a whole matrix into `packed`.
inline void pack_matrix(const pack::Recipe& recipe, const std::byte* blocks, std::size_t rows, std::size_t width,
                        std::byte* packed) {
  for (std::size_t tile = 0; tile < recipe.layout.tiles(rows); ++tile) {
    recipe.pack_tile(blocks, rows, width, tile, packed);
  }
}

}  // namespace juno::test
