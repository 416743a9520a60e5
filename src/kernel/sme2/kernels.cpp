// SPDX-License-Identifier: Apache-2.0
#include "kernel/sme2/kernels.h"

#include <array>
#include <type_traits>

#include "base/bytes.h"
#include "kernel/sme2/streaming.h"
#include "layout/lin2.h"
#include "layout/lut4.h"

namespace juno::kernel::sme2 {
namespace {

#if defined(__aarch64__)
/// Bytes of ZT0, and how far apart the look-ups expect the entries of a table of up to 16-bit numbers in it.
constexpr std::size_t kZt0Bytes = 64;
constexpr std::size_t kZt0EntryStride = 4;

template <class Layout, auto kBody>
void run(const TileJob& job) noexcept {
  alignas(kZt0Bytes) std::array<std::byte, kZt0Bytes> zt0{};
  for (std::size_t i = 0; i < job.constants->table.size(); ++i) {
    constexpr bool kCodesAreValues = std::is_same_v<Layout, layout::Lin2>;
    const auto value = kCodesAreValues ? static_cast<std::int16_t>(i) : std::int16_t{job.constants->table[i]};
    store(zt0.data() + i * kZt0EntryStride, value);
  }
  const Argument argument{&job, reinterpret_cast<const std::uint8_t*>(zt0.data())};
  juno_sme2_call_streaming(kBody, &argument);
}
#else
#endif

template <class Layout, auto kBody>
constexpr KernelInfo gemv() noexcept {
  KernelInfo info = kernel_info<Layout>("gemv", "sme2", {cpu::Feature::sme, cpu::Feature::sme2}, 64, false, nullptr);
#if defined(__aarch64__)
  info.run = run<Layout, kBody>;
#endif
  return info;
}

constexpr std::array kKernels = {
    gemv<layout::Lut4, juno_sme2_gemv_lut4>(),
    gemv<layout::Lut4S16, juno_sme2_gemv_lut4s16>(),
    gemv<layout::Lin2, juno_sme2_gemv_lin2>(),
};

}  // namespace

std::span<const KernelInfo> kernels() noexcept { return kKernels; }

}  // namespace juno::kernel::sme2
