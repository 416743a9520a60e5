// SPDX-License-Identifier: Apache-2.0
#include "layout/lut4.h"

#include "kernel/scalar/gemv.h"
#include "kernel/scalar/reference.h"
#include "layout/lut3w.h"
#include "layout/lut4w.h"

namespace juno::kernel::scalar {
namespace {

using layout::ActivationBlock;
using layout::Constants;

/// sum over sub-blocks of scale * (sum of code values * activations); at most 256 * 127 * 128 * 127, fits int32.
template <class Layout>
std::int32_t integer_sum(const typename Layout::Values& weights, const Constants& constants,
                         const std::int8_t* q) noexcept {
  std::int32_t total = 0;
  for (std::size_t sub = 0; sub < Layout::kSubBlocks; ++sub) {
    std::int32_t sum = 0;
    for (std::size_t i = sub * Layout::kSubBlockWeights; i < (sub + 1) * Layout::kSubBlockWeights; ++i) {
      sum += constants.table[weights.code(i)] * q[i];
    }
    total += weights.scales[sub] * sum;
  }
  return total;
}

template <class Layout>
void gemv(const TileJob& job) noexcept {
  multiply<Layout>(
      job, [](const typename Layout::Values& weights, const ActivationBlock& y, const Constants& constants, float acc) {
        const auto sum = static_cast<float>(integer_sum<Layout>(weights, constants, y.q));
        return std::fma(half_to_float(weights.d) * y.d, constants.sum_factor * sum, acc);
      });
}

}  // namespace

void gemv_lut4(const TileJob& job) noexcept { gemv<layout::Lut4>(job); }
void gemv_lut4s16(const TileJob& job) noexcept { gemv<layout::Lut4S16>(job); }
void gemv_lut4w(const TileJob& job) noexcept { gemv<layout::Lut4W>(job); }
void gemv_lut4s16w(const TileJob& job) noexcept { gemv<layout::Lut4S16W>(job); }
void gemv_lut3w(const TileJob& job) noexcept { gemv<layout::Lut3W>(job); }

}  // namespace juno::kernel::scalar
