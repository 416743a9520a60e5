// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "kernel/kernel.h"

namespace juno::kernel::x86 {

/// Kernels for AVX-512 with VNNI, for AVX2 with VNNI and for AVX2, each instruction set with a GEMV (a few columns) and
/// a GEMM (many) for every layout that it serves. The lists are the same in every build; where the code cannot be
/// built, `run` is null, and no machine that such a build runs on has what the kernels require.
std::span<const KernelInfo> avx512_kernels() noexcept;
std::span<const KernelInfo> avxvnni_kernels() noexcept;
std::span<const KernelInfo> avx2_kernels() noexcept;

/// Their ways to round activations; null where the code cannot be built.
Quantise avx512_quantise() noexcept;
Quantise avxvnni_quantise() noexcept;
Quantise avx2_quantise() noexcept;

}  // namespace juno::kernel::x86
