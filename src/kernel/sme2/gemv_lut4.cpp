// SPDX-License-Identifier: Apache-2.0
//
// lut4 x activations on SME2 with 64-byte streaming vectors. Streaming code from the first to the last instruction.
//
//   ZT0        the table of 16 code values
//   ZA         16 four-vector groups of int32, one per column and sub-block: 64 rows each, rows 16i .. 16i+15 in
//              vector i. One column of lut4 uses the first 8 for its 8 sub-blocks; batches of columns take as many
//              sub-blocks at a time as there is room for: group = column * kPassSubs + sub-block of the pass
//   z (codes)  LD1B x2 loads one group (64 rows x 4 columns); LUTI4 makes 2 x 64 weights of each vector
//   z (y)      16 activations, repeated in every 128-bit segment; SDOT's lane picks four of them
//
// Per group of four columns: LD1B x2, LUTI4 x2, LUTI4 x2, and SDOT vgx4 for each column of activations; no other vector
// instruction touches a weight.
// After the last sub-block one pass reads the sums out of ZA and scales them in int32; the float step comes once a
// super-block.
#include <algorithm>

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

  /// Sub-blocks whose sums fit into ZA beside each other, for so many columns of activations.
  template <unsigned kColumns>
  static constexpr unsigned kPassSubs = std::min<unsigned>(Layout::kSubBlocks, kLanes / kColumns);

  /// One group of four columns of all 64 rows, times kColumns columns of activations, of which `kLane` says which four.
  template <unsigned kColumns, unsigned kSubOfPass, unsigned kLane>
  JUNO_INLINE static void add_group(svcount_t all_bytes, const std::uint8_t* codes, svint8_t y_0, svint8_t y_1,
                                    svint8_t y_2, svint8_t y_3) JUNO_SME2_STREAMING {
    constexpr unsigned kNext = kPassSubs<kColumns>;
    const svuint8x2_t both = svld1_u8_x2(all_bytes, codes);
    const svint8x2_t rows_0 = svluti4_lane_zt_s8_x2(0, svget2(both, 0), 0);
    const svint8x2_t rows_32 = svluti4_lane_zt_s8_x2(0, svget2(both, 1), 0);
    const svint8x4_t weights =
        svcreate4_s8(svget2(rows_0, 0), svget2(rows_0, 1), svget2(rows_32, 0), svget2(rows_32, 1));
    svdot_lane_za32_s8_vg1x4(kSubOfPass, weights, y_0, kLane);
    if constexpr (kColumns > 1) svdot_lane_za32_s8_vg1x4(kSubOfPass + kNext, weights, y_1, kLane);
    if constexpr (kColumns > 2) {
      svdot_lane_za32_s8_vg1x4(kSubOfPass + 2 * kNext, weights, y_2, kLane);
      svdot_lane_za32_s8_vg1x4(kSubOfPass + 3 * kNext, weights, y_3, kLane);
    }
  }

  /// 16 activations of column `kIndex` of a batch; of the last one, unused, where the batch has fewer columns.
  template <unsigned kIndex, unsigned kColumns>
  JUNO_INLINE static svint8_t segment(const Blocks<kColumns>& y, std::size_t column) JUNO_SME2_STREAMING {
    constexpr unsigned kBlock = std::min(kIndex, kColumns - 1);
    return svld1rq_s8(svptrue_b8(), y.block[kBlock]->q + column);
  }

  /// Columns `kColumn` .. `kColumn` + 15 of the super-block, and all after them in the pass that begins with `kFirst`.
  template <unsigned kColumns, unsigned kFirst, std::size_t kColumn = kFirst * Layout::kSubBlockWeights>
  JUNO_INLINE static void add_columns(svcount_t all_bytes, const std::uint8_t* super_block,
                                      const Blocks<kColumns>& y) JUNO_SME2_STREAMING {
    constexpr unsigned kSub = kColumn / Layout::kSubBlockWeights - kFirst;
    const std::uint8_t* codes = super_block + Layout::code_offset(0, kColumn);
    const svint8_t y_0 = segment<0>(y, kColumn);
    const svint8_t y_1 = segment<1>(y, kColumn);
    const svint8_t y_2 = segment<2>(y, kColumn);
    const svint8_t y_3 = segment<3>(y, kColumn);
    add_group<kColumns, kSub, 0>(all_bytes, codes, y_0, y_1, y_2, y_3);
    add_group<kColumns, kSub, 1>(all_bytes, codes + Layout::kGroupBytes, y_0, y_1, y_2, y_3);
    add_group<kColumns, kSub, 2>(all_bytes, codes + 2 * Layout::kGroupBytes, y_0, y_1, y_2, y_3);
    add_group<kColumns, kSub, 3>(all_bytes, codes + 3 * Layout::kGroupBytes, y_0, y_1, y_2, y_3);
    constexpr std::size_t kEnd = (kFirst + kPassSubs<kColumns>)*Layout::kSubBlockWeights;
    if constexpr (kColumn + kSegmentBytes < kEnd) {
      add_columns<kColumns, kFirst, kColumn + kSegmentBytes>(all_bytes, super_block, y);
    }
  }

  /// total += scale * sums of sub-block `kSub`, which are in ZA group `kGroup`, and of all after it up to `kEnd`. LD1SB
  /// widens the scales on the way in.
  template <unsigned kSub, unsigned kEnd, unsigned kGroup>
  JUNO_INLINE static void scale_sub_blocks(svbool_t all, const std::uint8_t* super_block, svint32_t& total_0,
                                           svint32_t& total_1, svint32_t& total_2,
                                           svint32_t& total_3) JUNO_SME2_STREAMING {
    const auto* scales = reinterpret_cast<const std::int8_t*>(super_block + Layout::scale_offset(0, kSub));
    const svint32x4_t sums = svread_za32_s32_vg1x4(kGroup);
    total_0 = svmla_s32_x(all, total_0, svget4(sums, 0), svld1sb_s32(all, scales));
    total_1 = svmla_s32_x(all, total_1, svget4(sums, 1), svld1sb_s32(all, scales + kLanes));
    total_2 = svmla_s32_x(all, total_2, svget4(sums, 2), svld1sb_s32(all, scales + 2 * kLanes));
    total_3 = svmla_s32_x(all, total_3, svget4(sums, 3), svld1sb_s32(all, scales + 3 * kLanes));
    if constexpr (kSub + 1 < kEnd) {
      scale_sub_blocks<kSub + 1, kEnd, kGroup + 1>(all, super_block, total_0, total_1, total_2, total_3);
    }
  }

  JUNO_INLINE static void add_floats(svbool_t all, const std::uint8_t* super_block, svint32_t total_0,
                                     svint32_t total_1, svint32_t total_2, svint32_t total_3, float d_activation,
                                     float sum_factor, svfloat32_t& acc_0, svfloat32_t& acc_1, svfloat32_t& acc_2,
                                     svfloat32_t& acc_3) JUNO_SME2_STREAMING {
    const auto* d = reinterpret_cast<const std::uint16_t*>(super_block + Layout::d_offset(0));
    acc_0 = float_step<kScaled>(all, acc_0, total_0, d, d_activation, sum_factor);
    acc_1 = float_step<kScaled>(all, acc_1, total_1, d + kLanes, d_activation, sum_factor);
    acc_2 = float_step<kScaled>(all, acc_2, total_2, d + 2 * kLanes, d_activation, sum_factor);
    acc_3 = float_step<kScaled>(all, acc_3, total_3, d + 3 * kLanes, d_activation, sum_factor);
  }

  JUNO_INLINE static void add_super_block(const std::uint8_t* super_block, const ActivationBlock& y, float sum_factor,
                                          svfloat32_t& acc_0, svfloat32_t& acc_1, svfloat32_t& acc_2,
                                          svfloat32_t& acc_3) JUNO_SME2_STREAMING {
    const svbool_t all = svptrue_b32();
    svzero_za();
    add_columns<1, 0>(svptrue_c8(), super_block, Blocks<1>{{&y}});
    svint32_t total_0 = svdup_n_s32(0);
    svint32_t total_1 = total_0;
    svint32_t total_2 = total_0;
    svint32_t total_3 = total_0;
    scale_sub_blocks<0, Layout::kSubBlocks, 0>(all, super_block, total_0, total_1, total_2, total_3);
    add_floats(all, super_block, total_0, total_1, total_2, total_3, y.d, sum_factor, acc_0, acc_1, acc_2, acc_3);
  }

  /// What the pass that begins with sub-block `kFirst` adds to column `kColumn` of a batch, and to all after it. Totals
  /// wait in memory for the next pass, float sums for the next super-block.
  template <unsigned kColumns, unsigned kFirst, unsigned kColumn = 0>
  JUNO_INLINE static void finish_pass(svbool_t all, const std::uint8_t* super_block, const Blocks<kColumns>& y,
                                      float sum_factor, Sums<kColumns>& sums) JUNO_SME2_STREAMING {
    constexpr unsigned kEnd = kFirst + kPassSubs<kColumns>;
    std::int32_t* totals = sums.totals[kColumn];
    svint32_t total_0 = svdup_n_s32(0);
    svint32_t total_1 = total_0;
    svint32_t total_2 = total_0;
    svint32_t total_3 = total_0;
    if constexpr (kFirst != 0) {
      total_0 = svld1_s32(all, totals);
      total_1 = svld1_s32(all, totals + kLanes);
      total_2 = svld1_s32(all, totals + 2 * kLanes);
      total_3 = svld1_s32(all, totals + 3 * kLanes);
    }
    scale_sub_blocks<kFirst, kEnd, kColumn * kPassSubs<kColumns>>(all, super_block, total_0, total_1, total_2, total_3);
    if constexpr (kEnd < Layout::kSubBlocks) {
      svst1_s32(all, totals, total_0);
      svst1_s32(all, totals + kLanes, total_1);
      svst1_s32(all, totals + 2 * kLanes, total_2);
      svst1_s32(all, totals + 3 * kLanes, total_3);
    } else {
      float* acc = sums.acc[kColumn];
      svfloat32_t acc_0 = svld1_f32(all, acc);
      svfloat32_t acc_1 = svld1_f32(all, acc + kLanes);
      svfloat32_t acc_2 = svld1_f32(all, acc + 2 * kLanes);
      svfloat32_t acc_3 = svld1_f32(all, acc + 3 * kLanes);
      add_floats(all, super_block, total_0, total_1, total_2, total_3, y.block[kColumn]->d, sum_factor, acc_0, acc_1,
                 acc_2, acc_3);
      svst1_f32(all, acc, acc_0);
      svst1_f32(all, acc + kLanes, acc_1);
      svst1_f32(all, acc + 2 * kLanes, acc_2);
      svst1_f32(all, acc + 3 * kLanes, acc_3);
    }
    if constexpr (kColumn + 1 < kColumns) {
      finish_pass<kColumns, kFirst, kColumn + 1>(all, super_block, y, sum_factor, sums);
    }
  }

  /// One super-block for a batch of columns, as many sub-blocks at a time as ZA has room for.
  template <unsigned kColumns, unsigned kFirst = 0>
  JUNO_INLINE static void add_super_block_to(const std::uint8_t* super_block, const Blocks<kColumns>& y,
                                             float sum_factor, Sums<kColumns>& sums) JUNO_SME2_STREAMING {
    svzero_za();
    add_columns<kColumns, kFirst>(svptrue_c8(), super_block, y);
    finish_pass<kColumns, kFirst>(svptrue_b32(), super_block, y, sum_factor, sums);
    if constexpr (kFirst + kPassSubs<kColumns> < Layout::kSubBlocks) {
      add_super_block_to<kColumns, kFirst + kPassSubs<kColumns>>(super_block, y, sum_factor, sums);
    }
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
