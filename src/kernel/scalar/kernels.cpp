// SPDX-License-Identifier: Apache-2.0
#include "kernel/scalar/kernels.h"

#include <array>

#include "kernel/scalar/gemv_lut4.h"
#include "layout/lut4.h"

namespace juno::kernel::scalar {
namespace {

constexpr std::array kKernels = {kernel_info<layout::Lut4>("gemv", "scalar", {}, 0, true, gemv_lut4)};

}  // namespace

std::span<const KernelInfo> kernels() noexcept { return kKernels; }

}  // namespace juno::kernel::scalar
