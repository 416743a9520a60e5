// SPDX-License-Identifier: Apache-2.0
//
// Every kernel of the registry against the specification, and the specification against ggml.
#include <gtest/gtest.h>

#include <cmath>

#include "dispatch/registry.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "support/problem.h"

namespace juno::test {
namespace {

TEST_P(EveryRecipe, KernelsEqualTheSpecificationBitForBit) {
  const auto kernels = kernels_under_test();
  const kernel::KernelInfo* reference = dispatch::reference_kernel(recipe().layout.fingerprint);
  ASSERT_NE(reference, nullptr);
  std::uint64_t seed = 10;
  for (const std::size_t rows : Sizes{1, 63, 64, 65, 1003}) {
    for (const std::size_t width : Sizes{256, 512, 2816}) {
      for (const std::size_t columns : Sizes{1, 2, 5, 33}) {
        const Problem problem(recipe(), {rows, width, columns}, ++seed);
        Guarded<float> expected(rows * columns);
        problem.run(*reference, expected.data(), rows);
        for (const kernel::KernelInfo& kernel : kernels) {
          if (kernel.layout_fingerprint != recipe().layout.fingerprint) continue;
          Guarded<float> actual(rows * columns);
          problem.run(kernel, actual.data(), rows);
          ASSERT_TRUE(same_bits(expected.data(), actual.data(), expected.size()))
              << dispatch::kernel_id(kernel) << " " << problem.shape;
        }
      }
    }
  }
}

/// Nothing between the columns of a result is touched: a kernel may be given a part of a wider matrix.
TEST_P(EveryRecipe, KernelsWriteOnlyTheirRows) {
  auto kernels = kernels_under_test();
  kernels.push_back(*dispatch::reference_kernel(recipe().layout.fingerprint));
  for (const std::size_t rows : Sizes{1, 17, 63, 65}) {
    const Problem problem(recipe(), {rows, 256, 3}, 77);
    const std::size_t stride = rows + 5;
    for (const kernel::KernelInfo& kernel : kernels) {
      if (kernel.layout_fingerprint != recipe().layout.fingerprint) continue;
      Guarded<float> out(2 * stride + rows);
      const Guarded<float> untouched(1);
      problem.run(kernel, out.data(), stride);
      for (std::size_t column = 0; column + 1 < 3; ++column) {
        for (std::size_t row = rows; row < stride; ++row) {
          ASSERT_TRUE(same_bits(&out[column * stride + row], untouched.data(), 1)) << dispatch::kernel_id(kernel);
        }
      }
    }
  }
}

/// The specification against decoded weights in double. Decoding is exact; the specification has up to two fused
/// operations per super-block, each with one rounding of the sum and up to 3 of its operands; a partial sum never
/// exceeds the sum of magnitudes. Hence |difference| <= (2 * super_blocks + 8) * 2^-24 * magnitude; double's own
/// rounding is far below that.
TEST_P(EveryRecipe, SpecificationIsADotProduct) {
  const kernel::KernelInfo* reference = dispatch::reference_kernel(recipe().layout.fingerprint);
  const Problem problem(recipe(), {70, 2816, 3}, 5);
  Guarded<float> out(70 * 3);
  problem.run(*reference, out.data(), 70);
  for (std::size_t column = 0; column < 3; ++column) {
    for (std::size_t row = 0; row < 70; ++row) {
      const ExactDot exact = exact_dot(problem, row, column);
      const double bound = (2 * 11 + 8) * 0x1p-24 * exact.magnitude;
      ASSERT_LE(std::abs(static_cast<double>(out[column * 70 + row]) - exact.value), bound) << row << " " << column;
    }
  }
}

/// ggml's own dot product of this build: on Arm the very same bits; elsewhere its SIMD code sums in another order, one
/// float term per sub-block or lane instead of one per super-block. With n <= 16 float additions per super-block each
/// side is within (16 * super_blocks + 8) * 2^-24 * magnitude of the exact value.
TEST_P(EveryRecipe, SpecificationAgainstGgmlVecDot) {
  ggml_cpu_init();  // tables that its x86 code converts halves with
  const auto* traits = ggml_get_type_traits_cpu(static_cast<ggml_type>(recipe().gguf_type));
  const kernel::KernelInfo* reference = dispatch::reference_kernel(recipe().layout.fingerprint);
  std::size_t compared = 0;
  for (const std::size_t width : Sizes{256, 512, 2816}) {
    const std::size_t rows = 400;
    const Problem problem(recipe(), {rows, width, 1}, 1000 + width);
    Guarded<float> ours(rows);
    problem.run(*reference, ours.data(), rows);
    for (std::size_t row = 0; row < rows; ++row) {
      float theirs = 0;
      traits->vec_dot(static_cast<int>(width), &theirs, 0, problem.row(row), 0, problem.activations.data(), 0, 1);
#if defined(__aarch64__)
      ASSERT_TRUE(same_bits(&ours[row], &theirs, 1)) << ours[row] << " " << theirs << " width " << width;
#else
      const double super_blocks = static_cast<double>(width / layout::kSuperBlockWeights);
      const double bound = 2 * (16 * super_blocks + 8) * 0x1p-24 * exact_dot(problem, row, 0).magnitude;
      ASSERT_LE(std::abs(static_cast<double>(ours[row]) - static_cast<double>(theirs)), bound) << "width " << width;
#endif
      ++compared;
    }
  }
  EXPECT_EQ(compared, 1200u);
}

TEST(SelfTest, EveryKernelPassesAndABrokenOneDoesNot) {
  for (const kernel::KernelInfo& kernel : kernels_under_test()) {
    EXPECT_TRUE(dispatch::self_test(kernel)) << dispatch::kernel_id(kernel);
  }
  kernel::KernelInfo broken = *dispatch::reference_kernel(pack::recipes()[0].layout.fingerprint);
  EXPECT_TRUE(dispatch::self_test(broken));
  broken.run = [](const kernel::TileJob& job) noexcept {
    dispatch::reference_kernel(pack::recipes()[0].layout.fingerprint)->run(job);
    float& last = job.columns[0].out[job.rows - 1];
    last = std::nextafter(last, 0.0f);  // one bit of one result
  };
  EXPECT_FALSE(dispatch::self_test(broken));
}

}  // namespace
}  // namespace juno::test
