// SPDX-License-Identifier: Apache-2.0
//
// Machines without kernels.
#include "cpu/probe.h"

namespace juno::cpu {

Facts probe() { return {.architecture = "other"}; }

bool prepare_streaming(unsigned) noexcept { return false; }

}  // namespace juno::cpu
