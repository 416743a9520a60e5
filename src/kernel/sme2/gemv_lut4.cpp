// SPDX-License-Identifier: Apache-2.0
//
// lut4 x activations on SME2 with 64-byte streaming vectors. Streaming code from the first to the last instruction.
//
//   ZT0        the table of 16 code values
//   ZA         16 four-vector groups of int32, one per sub-block: 64 rows each, rows 16i .. 16i+15 in vector i;
//              lut4 with its 8 sub-blocks uses the first 8
//   z (codes)  LD1B x2 loads one group (64 rows x 4 columns); LUTI4 makes 2 x 64 weights of each vector
//   z (y)      16 activations, repeated in every 128-bit segment; SDOT's lane picks four of them
//
// Per group of four columns: LD1B x2, LUTI4 x2, LUTI4 x2, SDOT vgx4; no other vector instruction touches a weight.
// After the last sub-block one pass reads the sums out of ZA and scales them in int32; the float step comes once a
// super-block.
#include "kernel/sme2/rows.h"
#include "layout/lut4.h"

namespace juno::kernel::sme2 {
namespace {

using layout::ActivationBlock;

template <class Layout, bool kScaled>
struct Lut4Kernel {
  static_assert(Layout::kTileRows == 4 * kLanes, "a tile is one four-vector group of int32 sums");
  static_assert(Layout::kGroupBytes == 2 * kVectorBytes, "a group of four columns is two code vectors");
  static_assert(Layout::kSubBlocks <= kLanes, "one four-vector ZA group per sub-block");
  static_assert(Layout::kSubBlockWeights % kSegmentBytes == 0);

  /// One group of four columns of all 64 rows, added to the sums in ZA group `kSub`.
  template <unsigned kSub, unsigned kLane>
  JUNO_INLINE static void add_group(svcount_t all_bytes, const std::uint8_t* codes, svint8_t y) JUNO_SME2_STREAMING {
    const svuint8x2_t both = svld1_u8_x2(all_bytes, codes);
    const svint8x2_t rows_0 = svluti4_lane_zt_s8_x2(0, svget2(both, 0), 0);
    const svint8x2_t rows_32 = svluti4_lane_zt_s8_x2(0, svget2(both, 1), 0);
    const svint8x4_t weights =
        svcreate4_s8(svget2(rows_0, 0), svget2(rows_0, 1), svget2(rows_32, 0), svget2(rows_32, 1));
    svdot_lane_za32_s8_vg1x4(kSub, weights, y, kLane);
  }

  /// Columns `kColumn` .. `kColumn` + 15 of the super-block, and all after them.
  template <std::size_t kColumn = 0>
  JUNO_INLINE static void add_columns(svcount_t all_bytes, const std::uint8_t* super_block,
                                      const std::int8_t* q) JUNO_SME2_STREAMING {
    constexpr unsigned kSub = kColumn / Layout::kSubBlockWeights;
    const std::uint8_t* codes = super_block + Layout::code_offset(0, kColumn);
    const svint8_t y = svld1rq_s8(svptrue_b8(), q + kColumn);
    add_group<kSub, 0>(all_bytes, codes, y);
    add_group<kSub, 1>(all_bytes, codes + Layout::kGroupBytes, y);
    add_group<kSub, 2>(all_bytes, codes + 2 * Layout::kGroupBytes, y);
    add_group<kSub, 3>(all_bytes, codes + 3 * Layout::kGroupBytes, y);
    if constexpr (kColumn + kSegmentBytes < layout::kSuperBlockWeights) {
      add_columns<kColumn + kSegmentBytes>(all_bytes, super_block, q);
    }
  }

  /// total += scale * sums of sub-block `kSub`, and of all after it. LD1SB widens the scales on the way in.
  template <unsigned kSub = 0>
  JUNO_INLINE static void scale_sub_blocks(svbool_t all, const std::uint8_t* super_block, svint32_t& total_0,
                                           svint32_t& total_1, svint32_t& total_2,
                                           svint32_t& total_3) JUNO_SME2_STREAMING {
    const auto* scales = reinterpret_cast<const std::int8_t*>(super_block + Layout::scale_offset(0, kSub));
    const svint32x4_t sums = svread_za32_s32_vg1x4(kSub);
    total_0 = svmla_s32_x(all, total_0, svget4(sums, 0), svld1sb_s32(all, scales));
    total_1 = svmla_s32_x(all, total_1, svget4(sums, 1), svld1sb_s32(all, scales + kLanes));
    total_2 = svmla_s32_x(all, total_2, svget4(sums, 2), svld1sb_s32(all, scales + 2 * kLanes));
    total_3 = svmla_s32_x(all, total_3, svget4(sums, 3), svld1sb_s32(all, scales + 3 * kLanes));
    if constexpr (kSub + 1 < Layout::kSubBlocks) {
      scale_sub_blocks<kSub + 1>(all, super_block, total_0, total_1, total_2, total_3);
    }
  }

  JUNO_INLINE static void add_super_block(const std::uint8_t* super_block, const ActivationBlock& y, float sum_factor,
                                          svfloat32_t& acc_0, svfloat32_t& acc_1, svfloat32_t& acc_2,
                                          svfloat32_t& acc_3) JUNO_SME2_STREAMING {
    const svbool_t all = svptrue_b32();
    svzero_za();
    add_columns(svptrue_c8(), super_block, y.q);
    svint32_t total_0 = svdup_n_s32(0);
    svint32_t total_1 = total_0;
    svint32_t total_2 = total_0;
    svint32_t total_3 = total_0;
    scale_sub_blocks(all, super_block, total_0, total_1, total_2, total_3);
    const auto* d = reinterpret_cast<const std::uint16_t*>(super_block + Layout::d_offset(0));
    acc_0 = float_step<kScaled>(all, acc_0, total_0, d, y.d, sum_factor);
    acc_1 = float_step<kScaled>(all, acc_1, total_1, d + kLanes, y.d, sum_factor);
    acc_2 = float_step<kScaled>(all, acc_2, total_2, d + 2 * kLanes, y.d, sum_factor);
    acc_3 = float_step<kScaled>(all, acc_3, total_3, d + 3 * kLanes, y.d, sum_factor);
  }
};

template <class Layout>
JUNO_INLINE void gemv(const void* argument) JUNO_SME2_STREAMING {
  const auto& lut4 = *static_cast<const Argument*>(argument);
  svldr_zt(0, lut4.zt0);
  if (lut4.job->constants->sum_factor == 1.0f) {
    multiply<Layout, Lut4Kernel<Layout, false>>(*lut4.job);
  } else {
    multiply<Layout, Lut4Kernel<Layout, true>>(*lut4.job);
  }
}

}  // namespace
}  // namespace juno::kernel::sme2

extern "C" void juno_sme2_gemv_lut4(const void* argument) JUNO_SME2_STREAMING {
  juno::kernel::sme2::gemv<juno::layout::Lut4>(argument);
}

extern "C" void juno_sme2_gemv_lut4s16(const void* argument) JUNO_SME2_STREAMING {
  juno::kernel::sme2::gemv<juno::layout::Lut4S16>(argument);
}
