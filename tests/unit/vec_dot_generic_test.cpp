// SPDX-License-Identifier: Apache-2.0
//
// The specification against ggml's portable C dot products, which are compiled on every machine.
#include <gtest/gtest.h>

#include <cmath>

#include "dispatch/registry.h"
#include "format/iq4_xs.h"
#include "ggml-cpu.h"
#include "ggml-cpu/quants.h"
#include "support/data.h"
#include "support/guarded.h"
#include "support/kernels_ran.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

using VecDot = void (*)(int, float*, std::size_t, const void*, std::size_t, const void*, std::size_t, int);

VecDot generic_vec_dot(std::uint32_t gguf_type) {
  if (gguf_type == format::Iq4Xs::kGgufType) return ggml_vec_dot_iq4_xs_q8_K_generic;
  return nullptr;
}

TEST_P(EveryRecipe, SpecificationAgainstGgmlGenericVecDot) {
  ggml_cpu_init();  // tables that its x86 code converts halves with
  const VecDot vec_dot = generic_vec_dot(recipe().gguf_type);
  ASSERT_NE(vec_dot, nullptr) << "add " << recipe().format << " to generic_vec_dot()";
  const std::size_t rows = 300;
  const std::size_t width = 1536;
  const std::size_t super_blocks = width / layout::kSuperBlockWeights;
  Random random(8);
  const auto blocks = random_blocks(recipe(), rows, width, random);
  Guarded<std::byte> packed(recipe().layout.matrix_bytes(rows, width));
  pack_matrix(recipe(), blocks.data(), rows, width, packed.data());
  const auto activations = random_activations(super_blocks, random);
  std::vector<float> ours(rows);
  run_kernel(*dispatch::reference_kernel(recipe().layout.fingerprint),
             {.tiles = packed.data(),
              .rows = rows,
              .super_blocks = super_blocks,
              .constants = &recipe().constants,
              .activations = reinterpret_cast<const std::byte*>(activations.data()),
              .activation_stride = 0,
              .columns = 1,
              .out = ours.data(),
              .out_stride = rows});
  std::vector<float> weights(width);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* source = blocks.data() + row * recipe().row_bytes(width);
    float theirs = 0;
    vec_dot(static_cast<int>(width), &theirs, 0, source, 0, activations.data(), 0, 1);
    recipe().decode(source, super_blocks, weights.data());
    double magnitude = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const layout::ActivationBlock& block = activations[i / layout::kSuperBlockWeights];
      magnitude += std::abs(static_cast<double>(weights[i]) * static_cast<double>(block.d) *
                            block.q[i % layout::kSuperBlockWeights]);
    }
    // One float addition for each of at most 16 sub-blocks on their side, one per super-block on ours, and at most 8
    // roundings on the way to a term (see SpecificationAgainstGgmlVecDot).
    const double bound = (17.0 * static_cast<double>(super_blocks) + 8) * 0x1p-24 * magnitude;
    ASSERT_LE(std::abs(static_cast<double>(ours[row]) - static_cast<double>(theirs)), bound) << row;
  }
}

}  // namespace
}  // namespace juno::test
