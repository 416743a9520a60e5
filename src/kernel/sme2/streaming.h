// SPDX-License-Identifier: Apache-2.0
//
// The border between ordinary code and streaming code. Files on this side are compiled for any Arm machine; the bodies
// on the other side are compiled for SME2 and run only between call_streaming's SMSTART and SMSTOP.
#pragma once

#include <cstdint>

#include "kernel/kernel.h"

#if defined(__ARM_FEATURE_SME2)
#define JUNO_SME2_STREAMING __arm_streaming __arm_inout("za", "zt0")
#else
#define JUNO_SME2_STREAMING  // the ordinary side never calls a body, it only passes its address on
#endif

extern "C" {

/// Runs body(argument) in streaming mode with ZA and ZT0 on, and leaves both off. Saves what SMSTART and SMSTOP destroy
/// (d8-d15, FPSR) and honours a caller's dormant ZA state (TPIDR2_EL0). See call_streaming.S.
[[gnu::visibility("hidden")]] void juno_sme2_call_streaming(void (*body)(const void* argument), const void* argument);

[[gnu::visibility("hidden")]] void juno_sme2_gemv_lut4(const void* argument) JUNO_SME2_STREAMING;
[[gnu::visibility("hidden")]] void juno_sme2_gemv_lut4s16(const void* argument) JUNO_SME2_STREAMING;
[[gnu::visibility("hidden")]] void juno_sme2_gemv_lin2(const void* argument) JUNO_SME2_STREAMING;
}

namespace juno::kernel::sme2 {

/// What a body gets. `zt0` is the 64-byte image of ZT0: entry i of the table in bytes 4i and 4i + 1, so that it serves
/// look-ups of bytes and of 16-bit numbers.
struct Argument {
  const TileJob* job;
  const std::uint8_t* zt0;
};

}  // namespace juno::kernel::sme2
