// SPDX-License-Identifier: Apache-2.0
#include "kernel/sme2/kernels.h"

#include <array>

#include "kernel/sme2/streaming.h"
#include "layout/lut4.h"

namespace juno::kernel::sme2 {
namespace {

#if defined(__aarch64__)
/// Bytes of ZT0, and how far apart LUTI4 expects the entries of a table of bytes in it.
constexpr std::size_t kZt0Bytes = 64;
constexpr std::size_t kZt0EntryStride = 4;

void gemv_lut4(const TileJob& job) noexcept {
  alignas(kZt0Bytes) std::array<std::uint8_t, kZt0Bytes> zt0{};
  for (std::size_t i = 0; i < job.constants->table.size(); ++i) {
    zt0[i * kZt0EntryStride] = static_cast<std::uint8_t>(job.constants->table[i]);
  }
  const Lut4Argument argument{&job, zt0.data()};
  juno_sme2_call_streaming(juno_sme2_gemv_lut4, &argument);
}
constexpr auto kGemvLut4 = gemv_lut4;
#else
constexpr void (*kGemvLut4)(const TileJob&) noexcept = nullptr;
#endif

constexpr std::array kKernels = {
    kernel_info<layout::Lut4>("gemv", "sme2", {cpu::Feature::sme, cpu::Feature::sme2}, 64, false, kGemvLut4)};

}  // namespace

std::span<const KernelInfo> kernels() noexcept { return kKernels; }

}  // namespace juno::kernel::sme2
