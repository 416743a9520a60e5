// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernel/kernel.h"

namespace juno::kernel::sme2 {

/// Kernels for 512-bit streaming vectors; empty if this build has none.
std::span<const KernelInfo> kernels() noexcept;

}  // namespace juno::kernel::sme2
