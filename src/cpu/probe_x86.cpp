// SPDX-License-Identifier: Apache-2.0
//
// x86-64: CPUID, and whether the operating system saves the wide registers. The compiler's run-time library asks both.
#include "cpu/probe.h"

namespace juno::cpu {

Facts probe() {
  __builtin_cpu_init();
  Facts facts{.architecture = "x86-64"};
  const auto add = [&](Feature feature, bool present) {
    if (present) facts.features.add(feature);
  };
  add(Feature::avx2, __builtin_cpu_supports("avx2") != 0);
  add(Feature::fma, __builtin_cpu_supports("fma") != 0);
  add(Feature::f16c, __builtin_cpu_supports("f16c") != 0);
  add(Feature::avxvnni, __builtin_cpu_supports("avxvnni") != 0);
  add(Feature::avx512f, __builtin_cpu_supports("avx512f") != 0);
  add(Feature::avx512bw, __builtin_cpu_supports("avx512bw") != 0);
  add(Feature::avx512vl, __builtin_cpu_supports("avx512vl") != 0);
  add(Feature::avx512vnni, __builtin_cpu_supports("avx512vnni") != 0);
  return facts;
}

bool prepare_streaming(unsigned) noexcept { return false; }

}  // namespace juno::cpu
