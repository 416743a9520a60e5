// SPDX-License-Identifier: Apache-2.0
#include "kernel/scalar/kernels.h"

#include <array>

#include "kernel/scalar/gemv.h"
#include "layout/lin2.h"
#include "layout/lin2w.h"
#include "layout/lut3w.h"
#include "layout/lut4.h"
#include "layout/lut4w.h"

namespace juno::kernel::scalar {
namespace {

constexpr std::array kKernels = {
    kernel_info<layout::Lut4>("gemv", "scalar", {}, 0, true, gemv_lut4),
    kernel_info<layout::Lut4S16>("gemv", "scalar", {}, 0, true, gemv_lut4s16),
    kernel_info<layout::Lut4W>("gemv", "scalar", {}, 0, true, gemv_lut4w),
    kernel_info<layout::Lut4S16W>("gemv", "scalar", {}, 0, true, gemv_lut4s16w),
    kernel_info<layout::Lut3W>("gemv", "scalar", {}, 0, true, gemv_lut3w),
    kernel_info<layout::Lin2W>("gemv", "scalar", {}, 0, true, gemv_lin2w),
    kernel_info<layout::Lin2>("gemv", "scalar", {}, 0, true, gemv_lin2),
};

}  // namespace

std::span<const KernelInfo> kernels() noexcept { return kKernels; }

}  // namespace juno::kernel::scalar
