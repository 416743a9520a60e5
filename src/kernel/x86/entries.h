// SPDX-License-Identifier: Apache-2.0
//
// What the objects of the instruction sets hand to code that runs on every machine: addresses, and nothing else.
#pragma once

#include "kernel/kernel.h"

namespace juno::kernel::x86 {

using Run = void (*)(const TileJob& job) noexcept;

/// Null where an instruction set has no kernel for a layout.
struct Entries {
  struct Pair {
    Run gemv;
    Run gemm;
  };
  Pair lut4w{};
  Pair lut4s16w{};
  Pair lut3w{};
  Pair lin2w{};
  Quantise quantise = nullptr;
};

extern const Entries avx512_entries;
extern const Entries avxvnni_entries;
extern const Entries avx2_entries;

}  // namespace juno::kernel::x86
