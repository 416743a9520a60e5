// SPDX-License-Identifier: Apache-2.0
//
// Machines without kernels so far.
#include "cpu/probe.h"

namespace juno::cpu {

Facts probe() {
#if defined(__x86_64__)
  return {.architecture = "x86-64"};
#else
  return {.architecture = "other"};
#endif
}

bool prepare_streaming(unsigned) noexcept { return false; }

}  // namespace juno::cpu
