// SPDX-License-Identifier: Apache-2.0
#include "matmul/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dispatch/registry.h"
#include "support/problem.h"

namespace juno::test {
namespace {

/// The row of the registry itself: multiply_share counts by its position.
const kernel::KernelInfo& registered(const kernel::KernelInfo& kernel) {
  const auto all = dispatch::registry();
  return *std::find_if(all.begin(), all.end(), [&](const kernel::KernelInfo& row) {
    return dispatch::kernel_id(row) == dispatch::kernel_id(kernel);
  });
}

std::vector<kernel::KernelInfo> kernels_for(const layout::Info& layout) {
  std::vector<kernel::KernelInfo> kernels = kernels_under_test();
  kernels.push_back(*dispatch::reference_kernel(layout.fingerprint));
  std::erase_if(kernels, [&](const auto& kernel) { return kernel.layout_fingerprint != layout.fingerprint; });
  return kernels;
}

TEST_P(EveryRecipe, AnyNumberOfThreadsGivesTheSameBits) {
  for (const std::size_t rows : Sizes{1, 65, 1003}) {
    const std::size_t columns = 2;
    const Problem problem(recipe(), {rows, 512, columns}, 20 + rows);
    Guarded<float> expected(rows * columns);
    problem.run(*dispatch::reference_kernel(recipe().layout.fingerprint), expected.data(), rows);
    for (const kernel::KernelInfo& kernel : kernels_for(recipe().layout)) {
      for (const std::size_t threads : Sizes{1, 2, 3, 16, 64}) {
        Guarded<float> actual(rows * columns);
        const auto list = problem.columns(actual.data(), rows);
        const matmul::Group group{0, list};
        const auto receipt = multiply(
            {
                .weights = {&recipe(), problem.packed.data(), {rows, 512, 1}},
                .kernel = &registered(kernel),
                .groups = {&group, 1},
            },
            threads);
        ASSERT_TRUE(same_bits(expected.data(), actual.data(), expected.size()))
            << rows << " rows, " << threads << " threads";
        ASSERT_EQ(receipt.kernels.size(), 1u);
        EXPECT_EQ(receipt.kernels[0].kernel, dispatch::kernel_id(kernel));
        EXPECT_EQ(receipt.kernels[0].tiles, recipe().layout.tiles(rows));
        EXPECT_EQ(receipt.kernels[0].calls[static_cast<unsigned>(receipt::ColumnClass::few)], 1u);
        EXPECT_EQ(receipt.kernels[0].total_calls(), 1u);
      }
    }
  }
}

/// Several matrices, each with its own number of columns, none included: every tile is computed once, whatever the
/// threads are, and the operation counts once.
TEST_P(EveryRecipe, GroupsShareTheThreads) {
  const std::size_t rows = 130;
  const std::size_t matrices = 5;
  const std::vector<std::size_t> counts = {3, 0, 1, 11, 0};
  Random random(77);
  const auto blocks = random_blocks(recipe(), matrices * rows, 256, random);
  const pack::Shape shape{rows, 256, matrices};
  Guarded<std::byte> packed(matrices * recipe().layout.matrix_bytes(rows, 256));
  ASSERT_FALSE(pack::pack_tensor(recipe(), shape, blocks.data(), packed.data(), 3));
  const auto activations = random_activations(11, random);
  const kernel::KernelInfo& reference = *dispatch::reference_kernel(recipe().layout.fingerprint);
  const auto results = [&](const kernel::KernelInfo& kernel, std::size_t threads) {
    std::vector<std::vector<float>> out;
    std::vector<std::vector<kernel::Column>> columns(matrices);
    std::vector<matmul::Group> groups;
    for (std::size_t m = 0; m < matrices; ++m) {
      for (std::size_t c = 0; c < counts[m]; ++c) out.emplace_back(rows);
    }
    std::size_t next = 0;
    for (std::size_t m = 0; m < matrices; ++m) {
      for (std::size_t c = 0; c < counts[m]; ++c) columns[m].push_back({&activations[c], out[next++].data()});
      groups.push_back({m, columns[m]});
    }
    const auto receipt = multiply({{&recipe(), packed.data(), shape}, &registered(kernel), groups}, threads);
    std::size_t tiles = 0;
    std::size_t calls = 0;
    for (const receipt::KernelCount& count : receipt.kernels) {  // one for few columns, maybe one for many
      tiles += count.tiles;
      calls += count.total_calls();
      EXPECT_EQ(count.calls[static_cast<unsigned>(receipt::ColumnClass::many)], count.total_calls());
    }
    EXPECT_EQ(tiles, 3 * recipe().layout.tiles(rows)) << threads << " threads";
    EXPECT_EQ(calls, 1u);
    return out;
  };
  const auto expected = results(reference, 1);
  // Against plain products of each matrix, too.
  std::size_t next = 0;
  for (std::size_t m = 0; m < matrices; ++m) {
    if (counts[m] == 0) continue;
    const std::size_t bytes = rows * recipe().row_bytes(256);
    const Problem alone(recipe(), {rows, 256, counts[m]}, {blocks.data() + m * bytes, blocks.data() + (m + 1) * bytes},
                        {activations.begin(), activations.begin() + static_cast<std::ptrdiff_t>(counts[m])});
    std::vector<float> out(rows * counts[m]);
    alone.run(reference, out.data(), rows);
    for (std::size_t c = 0; c < counts[m]; ++c, ++next) {
      ASSERT_TRUE(same_bits(out.data() + c * rows, expected[next].data(), rows)) << "matrix " << m;
    }
  }
  for (const kernel::KernelInfo& kernel : kernels_for(recipe().layout)) {
    for (const std::size_t threads : Sizes{1, 2, 3, 7, 64}) {
      const auto actual = results(kernel, threads);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        ASSERT_TRUE(same_bits(expected[i].data(), actual[i].data(), rows)) << dispatch::kernel_id(kernel);
      }
    }
  }
}

}  // namespace
}  // namespace juno::test
