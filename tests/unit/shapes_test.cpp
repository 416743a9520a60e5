// SPDX-License-Identifier: Apache-2.0
//
// Products of every kind of shape: rows, widths, columns and threads that do and do not divide evenly. Every pair of
// values of two axes occurs; the whole product runs if JUNO_ALL_SHAPES is set (hours in an emulator).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <set>

#include "dispatch/registry.h"
#include "support/problem.h"

namespace juno::test {
namespace {

constexpr std::size_t kAxes = 4;
using Case = std::array<std::size_t, kAxes>;  // rows, width, columns, threads

const std::array<std::vector<std::size_t>, kAxes> kValues = {{
    {1, 2, 63, 64, 65, 127, 1003, 2048},
    {256, 768, 2816, 4096, 16384},
    {1, 2, 7, 8, 9, 33, 512},
    {1, 2, 3, 8, 64},
}};

std::size_t cost(const Case& c) { return c[0] * c[1] * c[2]; }

/// The whole product, the cheapest first.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::size_t rows : kValues[0]) {
    for (const std::size_t width : kValues[1]) {
      for (const std::size_t columns : kValues[2]) {
        for (const std::size_t threads : kValues[3]) cases.push_back({rows, width, columns, threads});
      }
    }
  }
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return std::pair(cost(a), a) < std::pair(cost(b), b); });
  return cases;
}

/// Those that have a pair of values which no cheaper one has.
std::vector<Case> pairwise_cases() {
  using Pair = std::array<std::size_t, 4>;  // axis, value, axis, value
  std::set<Pair> seen;
  std::vector<Case> chosen;
  for (const Case& c : all_cases()) {
    bool fresh = false;
    for (std::size_t a = 0; a < kAxes; ++a) {
      for (std::size_t b = a + 1; b < kAxes; ++b) fresh |= seen.insert({a, c[a], b, c[b]}).second;
    }
    if (fresh) chosen.push_back(c);
  }
  return chosen;
}

std::vector<Case> cases() { return std::getenv("JUNO_ALL_SHAPES") != nullptr ? all_cases() : pairwise_cases(); }

TEST(Shapes, EveryPairOfValuesOccurs) {
  const auto chosen = pairwise_cases();
  for (std::size_t a = 0; a < kAxes; ++a) {
    for (std::size_t b = 0; b < kAxes; ++b) {
      if (a == b) continue;
      for (const std::size_t x : kValues[a]) {
        for (const std::size_t y : kValues[b]) {
          EXPECT_TRUE(std::any_of(chosen.begin(), chosen.end(), [&](const Case& c) { return c[a] == x && c[b] == y; }));
        }
      }
    }
  }
  EXPECT_LT(chosen.size(), all_cases().size() / 4);
}

/// The kernel for few columns of each instruction set that this machine has, in the registry itself; that of the
/// specification if there is no other.
std::vector<const kernel::KernelInfo*> kernels_for(const layout::Info& layout) {
  std::vector<const kernel::KernelInfo*> kernels;
  for (const kernel::KernelInfo& kernel : dispatch::registry()) {
    if (kernel.layout_fingerprint != layout.fingerprint || kernel.reference || kernel.from_columns != 1) continue;
    if (dispatch::fit(kernel, cpu::facts()) == Reason::compiled) kernels.push_back(&kernel);
  }
  if (kernels.empty()) kernels.push_back(dispatch::reference_kernel(layout.fingerprint));
  return kernels;
}

/// A product with up to kDistinctColumns columns of its own, and what the specification makes of it. With more columns
/// some share their activations: each is computed for itself all the same.
struct Expected {
  static constexpr std::size_t kDistinctColumns = 33;

  Expected(const pack::Recipe& recipe, std::size_t rows, std::size_t width, std::size_t columns, std::uint64_t seed)
      : problem(recipe, {rows, width, std::min(columns, kDistinctColumns)}, seed),
        results(rows * problem.shape.columns) {
    problem.run(*dispatch::reference_kernel(recipe.layout.fingerprint), results.data(), rows);
  }

  Problem problem;
  Guarded<float> results;
};

TEST_P(EveryRecipe, EveryShape) {
  const auto kernels = kernels_for(recipe().layout);
  (void)kernels_under_test();  // that there are some where there must be
  const auto first_of_layout = std::find_if(pack::recipes().begin(), pack::recipes().end(), [&](const auto& other) {
    return other.layout.fingerprint == recipe().layout.fingerprint;
  });
  // Formats that share a layout share its kernels: hours are spent on one of them.
  if (std::getenv("JUNO_ALL_SHAPES") != nullptr && &*first_of_layout != &recipe()) return;
  std::uint64_t seed = 300;
  std::unique_ptr<Expected> expected;
  Case last{};
  for (const auto& [rows, width, columns, threads] : cases()) {
    if (last != Case{rows, width, columns, 0}) {  // cases that differ in threads alone follow each other
      expected = std::make_unique<Expected>(recipe(), rows, width, columns, ++seed);
      last = {rows, width, columns, 0};
    }
    const Problem& problem = expected->problem;
    const std::size_t distinct = problem.shape.columns;
    // Results lie further apart than they are long, as in a part of a wider matrix.
    const std::size_t stride = rows + 3;
    for (const kernel::KernelInfo* kernel : kernels) {
      Guarded<float> actual(stride * columns);
      std::vector<kernel::Column> list;
      for (std::size_t c = 0; c < columns; ++c) {
        const auto* activations = problem.activations.data() + c % distinct * problem.shape.super_blocks();
        list.push_back({activations, actual.data() + c * stride});
      }
      const matmul::Group group{0, list};
      const auto receipt = multiply(
          {.weights = {&recipe(), problem.packed.data(), {rows, width, 1}}, .kernel = kernel, .groups = {&group, 1}},
          threads);
      for (std::size_t c = 0; c < columns; ++c) {
        ASSERT_TRUE(same_bits(expected->results.data() + c % distinct * rows, actual.data() + c * stride, rows))
            << dispatch::kernel_id(*kernel) << " " << problem.shape << ", column " << c << " of " << columns << ", "
            << threads << " threads";
      }
      ASSERT_EQ(receipt.kernels.size(), 1u);
      ASSERT_EQ(receipt.kernels[0].kernel, dispatch::kernel_id(dispatch::kernel_for(*kernel, columns)));
      ASSERT_EQ(receipt.kernels[0].tiles, recipe().layout.tiles(rows));
    }
  }
}

/// The end of a very tall matrix, as of a vocabulary: only its last tiles exist here, and only their rows are written.
TEST_P(EveryRecipe, TailOfATallMatrix) {
  constexpr std::size_t kTall = 151669;
  const std::size_t tile = recipe().layout.tile_rows;
  const std::size_t first = kTall / tile * tile - tile;
  const Problem problem(recipe(), {kTall - first, 512, 2}, 9);
  Guarded<float> expected(2 * problem.shape.rows);
  problem.run(*dispatch::reference_kernel(recipe().layout.fingerprint), expected.data(), problem.shape.rows);
  auto kernels = kernels_under_test();
  kernels.push_back(*dispatch::reference_kernel(recipe().layout.fingerprint));
  for (const kernel::KernelInfo& kernel : kernels) {
    if (kernel.layout_fingerprint != recipe().layout.fingerprint) continue;
    Guarded<float> out(2 * kTall);
    const auto list = problem.columns(out.data(), kTall);
    kernel::TileJob job = problem.job(list);
    job.first_row = first;
    run_kernel(kernel, job);
    const Guarded<float> untouched(first);
    for (std::size_t c = 0; c < 2; ++c) {
      ASSERT_TRUE(same_bits(out.data() + c * kTall, untouched.data(), first)) << dispatch::kernel_id(kernel);
      ASSERT_TRUE(same_bits(out.data() + c * kTall + first, expected.data() + c * problem.shape.rows, kTall - first));
    }
  }
}

}  // namespace
}  // namespace juno::test
