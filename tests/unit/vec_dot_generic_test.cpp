// SPDX-License-Identifier: Apache-2.0
//
// The specification against ggml's portable C dot products, which are compiled on every machine.
#include <gtest/gtest.h>

#include <cmath>

#include "dispatch/registry.h"
#include "format/format_list.h"
#include "ggml-cpu.h"
#include "ggml-cpu/quants.h"
#include "support/problem.h"

namespace juno::test {
namespace {

using VecDot = void (*)(int, float*, std::size_t, const void*, std::size_t, const void*, std::size_t, int);

VecDot generic_vec_dot(std::uint32_t gguf_type) {
  switch (gguf_type) {
    case format::Q2K::kGgufType: return ggml_vec_dot_q2_K_q8_K_generic;
    case format::Iq2Xs::kGgufType: return ggml_vec_dot_iq2_xs_q8_K_generic;
    case format::Iq2S::kGgufType: return ggml_vec_dot_iq2_s_q8_K_generic;
    case format::Iq3Xxs::kGgufType: return ggml_vec_dot_iq3_xxs_q8_K_generic;
    case format::Iq3S::kGgufType: return ggml_vec_dot_iq3_s_q8_K_generic;
    case format::Iq4Xs::kGgufType: return ggml_vec_dot_iq4_xs_q8_K_generic;
  }
  return nullptr;
}

TEST_P(EveryRecipe, SpecificationAgainstGgmlGenericVecDot) {
  ggml_cpu_init();  // tables that its x86 code converts halves with
  const VecDot vec_dot = generic_vec_dot(recipe().gguf_type);
  ASSERT_NE(vec_dot, nullptr) << "add " << recipe().format << " to generic_vec_dot()";
  const std::size_t rows = 300;
  const std::size_t width = 1536;
  const Problem problem(recipe(), {rows, width, 1}, 8);
  std::vector<float> ours(rows);
  problem.run(*dispatch::reference_kernel(recipe().layout.fingerprint), ours.data(), rows);
  for (std::size_t row = 0; row < rows; ++row) {
    float theirs = 0;
    vec_dot(static_cast<int>(width), &theirs, 0, problem.row(row), 0, problem.activations.data(), 0, 1);
    const double magnitude = exact_dot(problem, row, 0).magnitude;
    // One float addition for each of at most 16 sub-blocks on their side, two per super-block on ours, and at most 8
    // roundings on the way to a term (see SpecificationAgainstGgmlVecDot).
    const double bound = (18.0 * static_cast<double>(problem.shape.super_blocks()) + 8) * 0x1p-24 * magnitude;
    ASSERT_LE(std::abs(static_cast<double>(ours[row]) - static_cast<double>(theirs)), bound) << row;
  }
}

}  // namespace
}  // namespace juno::test
