// SPDX-License-Identifier: Apache-2.0
//
// THE list of instruction sets, the fastest first. Each brings one function that lists its kernels.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "kernel/kernel.h"
#include "kernel/scalar/kernels.h"
#include "kernel/sme2/kernels.h"

namespace juno::dispatch {

struct Isa {
  std::string_view name;
  std::span<const kernel::KernelInfo> (*kernels)() noexcept;
};

inline constexpr std::array kIsas = {Isa{"sme2", kernel::sme2::kernels}, Isa{"scalar", kernel::scalar::kernels}};

}  // namespace juno::dispatch
