// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernel/kernel.h"

namespace juno::kernel::sme2 {

/// Kernels for 512-bit streaming vectors. The list is the same in every build; where the code cannot be built, `run` is
/// null, and no machine that such a build runs on has what the kernels require.
std::span<const KernelInfo> kernels() noexcept;

}  // namespace juno::kernel::sme2
