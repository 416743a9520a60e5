// SPDX-License-Identifier: Apache-2.0
#include "kernel/x86/kernels.h"

#include <array>

#include "kernel/x86/entries.h"
#include "layout/lin2w.h"
#include "layout/lut3w.h"
#include "layout/lut4w.h"

namespace juno::kernel::x86 {

#if !defined(__x86_64__)
constinit const Entries avx512_entries{};
constinit const Entries avxvnni_entries{};
constinit const Entries avx2_entries{};
#endif

namespace {

using cpu::Feature;
using cpu::FeatureSet;

constexpr FeatureSet kAvx512 = {Feature::avx512f, Feature::avx512bw, Feature::avx512vl, Feature::avx512vnni};
constexpr FeatureSet kAvxVnni = {Feature::avx2, Feature::fma, Feature::f16c, Feature::avxvnni};
constexpr FeatureSet kAvx2 = {Feature::avx2, Feature::fma, Feature::f16c};

/// From how many columns on GEMM is the faster one: where it stops being cheaper to decode in registers for each batch
/// than once into memory for all.
constexpr std::size_t kGemmFrom = 9;

template <class Layout>
KernelInfo gemv(std::string_view isa, FeatureSet required, const Entries::Pair& entries) noexcept {
  return kernel_info<Layout>("gemv", isa, required, 0, false, entries.gemv);
}

template <class Layout>
KernelInfo gemm(std::string_view isa, FeatureSet required, const Entries::Pair& entries) noexcept {
  KernelInfo info = kernel_info<Layout>("gemm", isa, required, 0, false, entries.gemm);
  info.from_columns = kGemmFrom;
  return info;
}

std::array<KernelInfo, 6> kernels_for_256_bits(std::string_view isa, FeatureSet required,
                                               const Entries& entries) noexcept {
  return {
      gemv<layout::Lut4W>(isa, required, entries.lut4w),       gemm<layout::Lut4W>(isa, required, entries.lut4w),
      gemv<layout::Lut4S16W>(isa, required, entries.lut4s16w), gemm<layout::Lut4S16W>(isa, required, entries.lut4s16w),
      gemv<layout::Lin2W>(isa, required, entries.lin2w),       gemm<layout::Lin2W>(isa, required, entries.lin2w),
  };
}

}  // namespace

std::span<const KernelInfo> avx512_kernels() noexcept {
  static const std::array kKernels = {
      gemv<layout::Lut4W>("avx512", kAvx512, avx512_entries.lut4w),
      gemm<layout::Lut4W>("avx512", kAvx512, avx512_entries.lut4w),
      gemv<layout::Lut3W>("avx512", kAvx512, avx512_entries.lut3w),
      gemm<layout::Lut3W>("avx512", kAvx512, avx512_entries.lut3w),
      gemv<layout::Lin2W>("avx512", kAvx512, avx512_entries.lin2w),
      gemm<layout::Lin2W>("avx512", kAvx512, avx512_entries.lin2w),
  };
  return kKernels;
}

std::span<const KernelInfo> avxvnni_kernels() noexcept {
  static const auto kKernels = kernels_for_256_bits("avxvnni", kAvxVnni, avxvnni_entries);
  return kKernels;
}

std::span<const KernelInfo> avx2_kernels() noexcept {
  static const auto kKernels = kernels_for_256_bits("avx2", kAvx2, avx2_entries);
  return kKernels;
}

Quantise avx512_quantise() noexcept { return avx512_entries.quantise; }
Quantise avxvnni_quantise() noexcept { return avxvnni_entries.quantise; }
Quantise avx2_quantise() noexcept { return avx2_entries.quantise; }

}  // namespace juno::kernel::x86
