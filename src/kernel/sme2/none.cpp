// SPDX-License-Identifier: Apache-2.0
#include "kernel/sme2/kernels.h"

namespace juno::kernel::sme2 {

std::span<const KernelInfo> kernels() noexcept { return {}; }

}  // namespace juno::kernel::sme2
