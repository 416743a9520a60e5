// SPDX-License-Identifier: Apache-2.0
//
// What ggml was compiled for, against what this CPU has. ggml_cpu_has_avx2() and its likes are constants of ggml's own
// build: they ask no CPU, and no instruction in them is special.
#include <span>

#include "ggml-cpu.h"
#include "juno/cpu.h"
#include "juno/engine.h"

namespace juno::integration {
namespace {

struct Instructions {
  std::string_view name;
  bool compiled;
  bool present;
};

[[maybe_unused]] std::string_view first_missing(std::span<const Instructions> all) {
  for (const Instructions& set : all) {
    if (set.compiled && !set.present) return set.name;
  }
  return {};
}

}  // namespace

// The most recent ones come first: a CPU that has what is named, has the rest too.
std::string_view missing_instructions() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this runs before constructors have
  const Instructions all[] = {
      {"AVX512_BF16", ggml_cpu_has_avx512_bf16() != 0, __builtin_cpu_supports("avx512bf16") != 0},
      {"AVX512_VNNI", ggml_cpu_has_avx512_vnni() != 0, __builtin_cpu_supports("avx512vnni") != 0},
      {"AVX512_VBMI", ggml_cpu_has_avx512_vbmi() != 0, __builtin_cpu_supports("avx512vbmi") != 0},
      {"AVX512F", ggml_cpu_has_avx512() != 0, __builtin_cpu_supports("avx512f") != 0},
      {"AVX2", ggml_cpu_has_avx2() != 0, __builtin_cpu_supports("avx2") != 0},
      {"BMI2", ggml_cpu_has_bmi2() != 0, __builtin_cpu_supports("bmi2") != 0},
      {"FMA", ggml_cpu_has_fma() != 0, __builtin_cpu_supports("fma") != 0},
      {"F16C", ggml_cpu_has_f16c() != 0, __builtin_cpu_supports("f16c") != 0},
      {"AVX", ggml_cpu_has_avx() != 0, __builtin_cpu_supports("avx") != 0},
      {"SSSE3", ggml_cpu_has_ssse3() != 0, __builtin_cpu_supports("ssse3") != 0},
  };
  return first_missing(all);
#elif defined(__aarch64__)
  const cpu::FeatureSet features = cpu::facts().features;
  const Instructions all[] = {
      {"SME2", ggml_cpu_has_sme2() != 0, features.has(cpu::Feature::sme2)},
      {"SME", ggml_cpu_has_sme() != 0, features.has(cpu::Feature::sme)},
      {"SVE", ggml_cpu_has_sve() != 0, features.has(cpu::Feature::sve)},
      {"I8MM", ggml_cpu_has_matmul_int8() != 0, features.has(cpu::Feature::i8mm)},
      {"DotProd", ggml_cpu_has_dotprod() != 0, features.has(cpu::Feature::dotprod)},
  };
  return first_missing(all);
#else
  return {};
#endif
}

}  // namespace juno::integration
