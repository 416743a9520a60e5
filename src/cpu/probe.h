// SPDX-License-Identifier: Apache-2.0
//
// Asks the operating system that this was compiled for; exactly one probe_*.cpp is part of a build.
#pragma once

#include "juno/cpu.h"

namespace juno::cpu {

Facts probe();

}  // namespace juno::cpu
