// SPDX-License-Identifier: Apache-2.0
#include "layout/lin2.h"

#include "kernel/scalar/gemv.h"
#include "kernel/scalar/reference.h"
#include "layout/lin2w.h"

namespace juno::kernel::scalar {
namespace {

template <class Layout>
void gemv(const TileJob& job) noexcept {
  multiply<Layout>(job, [](const layout::Lin2Values& weights, const layout::ActivationBlock& y,
                           const layout::Constants&, float acc) {
    std::int32_t isum = 0;  // at most 256 * 15 * 3 * 128
    std::int32_t msum = 0;  // at most 256 * 15 * 128
    for (std::size_t sub = 0; sub < weights.scales.size(); ++sub) {
      std::int32_t sum = 0;
      for (std::size_t i = sub * Layout::kSubBlockWeights; i < (sub + 1) * Layout::kSubBlockWeights; ++i) {
        sum += static_cast<std::int32_t>(weights.code(i)) * y.q[i];
      }
      isum += weights.scales[sub] * sum;
      msum += static_cast<std::int32_t>(weights.minimum(sub)) * y.sums[sub];
    }
    acc = std::fma(-(half_to_float(weights.dmin) * y.d), static_cast<float>(msum), acc);
    return std::fma(half_to_float(weights.d) * y.d, static_cast<float>(isum), acc);
  });
}

}  // namespace

void gemv_lin2(const TileJob& job) noexcept { gemv<layout::Lin2>(job); }
void gemv_lin2w(const TileJob& job) noexcept { gemv<layout::Lin2W>(job); }

}  // namespace juno::kernel::scalar
