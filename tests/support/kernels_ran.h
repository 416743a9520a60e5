// SPDX-License-Identifier: Apache-2.0
//
// The gate against tests that pass without having tested: which kernels ran in this process, and which had to.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace juno::test {

/// Runs `kernel` and remembers that it ran. The machine must have what it needs.
void run_kernel(const kernel::KernelInfo& kernel, const kernel::TileJob& job);

/// Kernels of the registry that this machine can run, but for the reference kernels. Fails the test if an instruction
/// set named in JUNO_REQUIRE_ISA (comma-separated) has none among them.
std::vector<kernel::KernelInfo> kernels_under_test();

/// Appends the ids of all kernels that ran here, in tests or for ggml, to the file JUNO_KERNEL_LOG.
void write_kernel_log();

}  // namespace juno::test
