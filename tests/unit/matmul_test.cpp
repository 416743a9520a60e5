// SPDX-License-Identifier: Apache-2.0
#include "matmul/matmul.h"

#include <gtest/gtest.h>

#include <thread>

#include "dispatch/registry.h"
#include "support/data.h"
#include "support/guarded.h"
#include "support/kernels_ran.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

TEST_P(EveryRecipe, AnyNumberOfThreadsGivesTheSameBits) {
  Random random(20);
  std::vector<kernel::KernelInfo> kernels = kernels_under_test();
  kernels.push_back(*dispatch::reference_kernel(recipe().layout.fingerprint));
  for (const std::size_t rows : Sizes{1, 65, 1003}) {
    const std::size_t width = 512;
    const std::size_t columns = 2;
    const auto blocks = random_blocks(recipe(), rows, width, random);
    Guarded<std::byte> packed(recipe().layout.matrix_bytes(rows, width));
    pack_matrix(recipe(), blocks.data(), rows, width, packed.data());
    const auto activations = random_activations(columns * 2, random);
    Guarded<float> expected(rows * columns);
    run_kernel(kernels.back(), {.tiles = packed.data(),
                                .rows = rows,
                                .super_blocks = 2,
                                .constants = &recipe().constants,
                                .activations = reinterpret_cast<const std::byte*>(activations.data()),
                                .activation_stride = 2 * sizeof(layout::ActivationBlock),
                                .columns = columns,
                                .out = expected.data(),
                                .out_stride = rows});
    for (const kernel::KernelInfo& candidate : kernels) {
      // multiply_share counts by the registry's own rows
      const auto all = dispatch::registry();
      const auto kernel = std::find_if(all.begin(), all.end(), [&](const kernel::KernelInfo& row) {
        return dispatch::kernel_id(row) == dispatch::kernel_id(candidate);
      });
      if (kernel->layout_fingerprint != recipe().layout.fingerprint) continue;
      for (const std::size_t threads : Sizes{1, 2, 3, 16, 64}) {
        Guarded<float> actual(rows * columns);
        receipt::Counters counters(all.size());
        const matmul::Product product{.weights = {&recipe(), packed.data(), rows, width},
                                      .kernel = &*kernel,
                                      .activations = reinterpret_cast<const std::byte*>(activations.data()),
                                      .activation_stride = 2 * sizeof(layout::ActivationBlock),
                                      .columns = columns,
                                      .out = actual.data(),
                                      .out_stride = rows};
        std::vector<std::thread> pool;
        for (std::size_t thread = 0; thread < threads; ++thread) {
          pool.emplace_back([&, thread] { matmul::multiply_share(product, thread, threads, counters); });
        }
        for (std::thread& thread : pool) thread.join();
        ASSERT_TRUE(same_bits(expected.data(), actual.data(), expected.size()))
            << rows << " rows, " << threads << " threads";
        receipt::TensorReceipt receipt;
        counters.read(receipt);
        ASSERT_EQ(receipt.kernels.size(), 1u);
        EXPECT_EQ(receipt.kernels[0].kernel, dispatch::kernel_id(*kernel));
        EXPECT_EQ(receipt.kernels[0].tiles, recipe().layout.tiles(rows));
        EXPECT_EQ(receipt.kernels[0].calls[static_cast<unsigned>(receipt::ColumnClass::few)], 1u);
        EXPECT_EQ(receipt.kernels[0].total_calls(), 1u);
      }
    }
  }
}

}  // namespace
}  // namespace juno::test
