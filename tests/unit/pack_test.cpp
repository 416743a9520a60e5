// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "format/format_list.h"
#include "layout/layout_list.h"
#include "support/data.h"
#include "support/guarded.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

TEST(Recipes, EveryFormatHasOne) {
  const auto expect_recipe = [](std::string_view name, std::uint32_t type) {
    EXPECT_NE(pack::find_recipe(type), nullptr) << name;
  };
  std::apply([&](auto... format) { (expect_recipe(format.kName, format.kGgufType), ...); }, format::FormatList{});
  EXPECT_EQ(pack::find_recipe(0), nullptr);  // F32
}

TEST_P(EveryRecipe, UnpackGivesBackEveryByte) {
  Random random(1);
  for (const std::size_t rows : Sizes{1, 2, 63, 64, 65, 127, 200}) {
    for (const std::size_t width : Sizes{256, 512, 2816}) {
      const auto blocks = random_blocks(recipe(), rows, width, random);
      Guarded<std::byte> packed(recipe().layout.matrix_bytes(rows, width));
      pack_matrix(recipe(), blocks.data(), rows, width, packed.data());
      const std::size_t row_bytes = recipe().row_bytes(width);
      for (std::size_t row = 0; row < rows; ++row) {
        Guarded<std::byte> unpacked(row_bytes);
        recipe().unpack_row(packed.data(), width, row, unpacked.data());
        ASSERT_EQ(std::memcmp(unpacked.data(), blocks.data() + row * row_bytes, row_bytes), 0)
            << rows << " x " << width << ", row " << row;
      }
    }
  }
}

/// Every single bit of a block comes back: random data would miss a bit that is nearly always zero.
TEST_P(EveryRecipe, EveryBitOfABlockSurvives) {
  for (std::size_t bit = 0; bit < 8 * recipe().block_bytes; ++bit) {
    for (const bool ones : {false, true}) {
      std::vector<std::byte> block(recipe().block_bytes, ones ? std::byte{0xff} : std::byte{0});
      block[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
      Guarded<std::byte> packed(recipe().layout.super_block_bytes);
      pack_matrix(recipe(), block.data(), 1, layout::kSuperBlockWeights, packed.data());
      std::vector<std::byte> unpacked(recipe().block_bytes);
      recipe().unpack_row(packed.data(), layout::kSuperBlockWeights, 0, unpacked.data());
      ASSERT_EQ(block, unpacked) << "bit " << bit;
    }
  }
}

TEST_P(EveryRecipe, RowsBeyondTheMatrixAreZeroBits) {
  Random random(2);
  const std::size_t width = 512;
  const auto blocks = random_blocks(recipe(), 1, width, random);
  Guarded<std::byte> packed(recipe().layout.matrix_bytes(1, width));
  std::memset(packed.data(), 0xff, packed.size());  // whatever was in memory before
  recipe().pack_tile(blocks.data(), 1, width, 0, packed.data());
  // A format's zero values need not be zero bits (a scale may be stored with an offset), so look at the bytes
  // themselves: packing the same row again into zeroed memory must give the same bytes.
  Guarded<std::byte> again(packed.size());
  std::memset(again.data(), 0, again.size());
  recipe().pack_tile(blocks.data(), 1, width, 0, again.data());
  EXPECT_EQ(std::memcmp(packed.data(), again.data(), packed.size()), 0);
}

/// A layout's bytes may change only with its version: packed data and kernels of different builds must not meet.
TEST(Layouts, FingerprintsArePinned) {
  std::map<std::string_view, std::uint64_t> fingerprints;
  for (const layout::Info& layout : layout::kLayouts) fingerprints[layout.name] = layout.fingerprint;
  EXPECT_EQ(fingerprints, (std::map<std::string_view, std::uint64_t>{{"lut4", 622819225649780715u},
                                                                     {"lut4s16", 133398025240565692u},
                                                                     {"lin2", 14597996761686547290u},
                                                                     {"lut4w", 17776266311602138050u},
                                                                     {"lut4s16w", 6144263270506305329u},
                                                                     {"lut3w", 3266068261787229266u},
                                                                     {"lin2w", 8256231076568824578u}}));
}

template <class Layout>
void expect_lut4_bijection() {
  std::vector<unsigned> nibbles(2 * Layout::kSuperBlockBytes, 0);
  for (std::size_t row = 0; row < Layout::kTileRows; ++row) {
    for (std::size_t column = 0; column < layout::kSuperBlockWeights; ++column) {
      ++nibbles[2 * Layout::code_offset(row, column) + column % 2];
    }
    for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) {
      ++nibbles[2 * Layout::scale_offset(row, sub)];
      ++nibbles[2 * Layout::scale_offset(row, sub) + 1];
    }
    for (std::size_t i = 0; i < 4; ++i) ++nibbles[2 * Layout::d_offset(row) + i];
  }
  for (std::size_t i = 0; i < nibbles.size(); ++i) ASSERT_EQ(nibbles[i], 1u) << "nibble " << i;
}

TEST(Lut4, OffsetsAreABijection) {
  expect_lut4_bijection<layout::Lut4>();
  expect_lut4_bijection<layout::Lut4S16>();
}

TEST(Lin2, OffsetsAreABijection) {
  using layout::Lin2;
  std::vector<unsigned> crumbs(4 * Lin2::kSuperBlockBytes, 0);
  const auto add = [&](std::size_t byte, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) ++crumbs[4 * byte + first + i];
  };
  for (std::size_t row = 0; row < Lin2::kTileRows; ++row) {
    for (std::size_t column = 0; column < layout::kSuperBlockWeights; ++column) {
      add(Lin2::code_offset(row, column), column % 4, 1);
    }
    for (std::size_t sub = 0; sub < Lin2::kSubBlocks; ++sub) {
      add(Lin2::scale_offset(row, sub), 0, 4);
      add(Lin2::minima_offset(row, sub / 2), 2 * (sub % 2), 2);
    }
    add(Lin2::d_offset(row), 0, 8);
    add(Lin2::dmin_offset(row), 0, 8);
  }
  for (std::size_t i = 0; i < crumbs.size(); ++i) ASSERT_EQ(crumbs[i], 1u) << "crumb " << i;
}

/// The picture in layout/lin2.h, by hand.
TEST(Lin2, BytesAreWhereThePictureSaysTheyAre) {
  using layout::Lin2;
  EXPECT_EQ(Lin2::code_offset(0, 0), 0u);
  EXPECT_EQ(Lin2::code_offset(0, 3), 0u);
  EXPECT_EQ(Lin2::code_offset(1, 0), 1u);
  EXPECT_EQ(Lin2::code_offset(0, 4), 64u);
  EXPECT_EQ(Lin2::scale_offset(0, 0), 256u);
  EXPECT_EQ(Lin2::code_offset(0, 16), 320u);
  EXPECT_EQ(Lin2::scale_offset(0, 1), 576u);
  EXPECT_EQ(Lin2::minima_offset(0, 0), 640u);
  EXPECT_EQ(Lin2::code_offset(0, 32), 704u);
  EXPECT_EQ(Lin2::minima_offset(63, 7), 5631u);
  EXPECT_EQ(Lin2::d_offset(0), 5632u);
  EXPECT_EQ(Lin2::dmin_offset(0), 5760u);
  EXPECT_EQ(Lin2::kSuperBlockBytes, 5888u);
}

/// The picture in layout/lut4.h, by hand.
TEST(Lut4, BytesAreWhereThePictureSaysTheyAre) {
  using layout::Lut4;
  EXPECT_EQ(Lut4::code_offset(0, 0), 0u);
  EXPECT_EQ(Lut4::code_offset(0, 2), 1u);
  EXPECT_EQ(Lut4::code_offset(1, 0), 2u);
  EXPECT_EQ(Lut4::code_offset(32, 0), 64u);
  EXPECT_EQ(Lut4::code_offset(0, 4), 128u);
  EXPECT_EQ(Lut4::scale_offset(0, 0), 1024u);
  EXPECT_EQ(Lut4::code_offset(0, 32), 1088u);
  EXPECT_EQ(Lut4::scale_offset(63, 7), 8703u);
  EXPECT_EQ(Lut4::d_offset(0), 8704u);
  EXPECT_EQ(Lut4::kSuperBlockBytes, 8832u);
}

}  // namespace
}  // namespace juno::test
