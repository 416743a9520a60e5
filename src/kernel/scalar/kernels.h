// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernel/kernel.h"

namespace juno::kernel::scalar {

/// One kernel for each layout, on every machine: the specification.
std::span<const KernelInfo> kernels() noexcept;

}  // namespace juno::kernel::scalar
