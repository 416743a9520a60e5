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
#include "kernel/x86/kernels.h"

namespace juno::dispatch {

struct Isa {
  std::string_view name;
  std::string_view architecture;  ///< as in cpu::Facts; "" for every machine
  std::span<const kernel::KernelInfo> (*kernels)() noexcept;
  kernel::Quantise (*quantise)() noexcept = nullptr;  ///< none: callers have their own
};

inline constexpr std::array kIsas = {
    Isa{"sme2", "arm64", kernel::sme2::kernels},                                            //
    Isa{"avx512", "x86-64", kernel::x86::avx512_kernels, kernel::x86::avx512_quantise},     //
    Isa{"avxvnni", "x86-64", kernel::x86::avxvnni_kernels, kernel::x86::avxvnni_quantise},  //
    Isa{"avx2", "x86-64", kernel::x86::avx2_kernels, kernel::x86::avx2_quantise},           //
    Isa{"scalar", "", kernel::scalar::kernels},
};

}  // namespace juno::dispatch
