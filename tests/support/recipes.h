// SPDX-License-Identifier: Apache-2.0
//
// Tests that hold for every recipe are written once and run for all of them: TEST_P(EveryRecipe, ...) in any
// file of a program that has support/every_recipe.cpp among its sources. Tests of what the engine makes of a format,
// with the instruction set that it is told to use: TEST_P(EveryFormat, ...) and support/every_format.cpp.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "pack/recipe_list.h"

namespace juno::test {

class EveryRecipe : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const pack::Recipe& recipe() const { return pack::recipes()[GetParam()]; }
};

class EveryFormat : public testing::TestWithParam<std::uint32_t> {
 protected:
  /// The recipe that the engine chooses on this machine, under JUNO_ISA.
  [[nodiscard]] const pack::Recipe& recipe() const;
};

/// GGUF types of all formats that there are recipes for.
std::vector<std::uint32_t> formats();
std::string format_name(const testing::TestParamInfo<std::uint32_t>& info);

/// Packs a whole matrix into `packed`.
inline void pack_matrix(const pack::Recipe& recipe, const std::byte* blocks, std::size_t rows, std::size_t width,
                        std::byte* packed) {
  for (std::size_t tile = 0; tile < recipe.layout.tiles(rows); ++tile) {
    recipe.pack_tile(blocks, rows, width, tile, packed);
  }
}

}  // namespace juno::test
