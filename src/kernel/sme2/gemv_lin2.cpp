// SPDX-License-Identifier: Apache-2.0
//
// lin2 x activations on SME2 with 64-byte streaming vectors. Streaming code from the first to the last instruction.
//
//   ZT0        the numbers 0 .. 15: LUTI2 widens codes, LUTI4 minima
//   ZA         four-vector groups of int32, 64 rows each, rows 16i .. 16i+15 in vector i:
//                group 0      scaled sums of the super-block
//                group 1      minima times activation sums
//                groups 4-7   plain sums of four sub-blocks at a time
//              with a batch of up to four columns c instead
//                group c      scaled sums, group 8 + c minima
//                group 4 + c and 12 + c   plain sums of two sub-blocks at a time
//   z (codes)  LD1B x4 loads one sub-block (64 rows x 16 columns); LUTI2 makes 4 x 64 weights of each vector
//   z (y)      the 16 activations of the sub-block, repeated in every 128-bit segment; SDOT's lane picks four of them
//
// Sums of 16 products of 2-bit codes fit into 16 bits (3 * 128 * 16). So scaling is an SDOT of 16-bit pairs as well:
// the low half of a sum times the scale, its high half times the zero above the scale that LD1B loaded. No z-register
// arithmetic until the float step.
#include "kernel/sme2/rows.h"
#include "layout/lin2.h"

namespace juno::kernel::sme2 {
namespace {

using layout::ActivationBlock;
using layout::Lin2;

static_assert(Lin2::kTileRows == 4 * kLanes, "a tile is one four-vector group of int32 sums");
static_assert(Lin2::kGroupBytes == kVectorBytes, "a group of four columns is one code vector");
static_assert(Lin2::kSubBlockWeights == kSegmentBytes, "one segment of activations per sub-block");

constexpr unsigned kTotal = 0;
constexpr unsigned kMinima = 1;
constexpr unsigned kFirstSum = 4;
constexpr unsigned kSumGroups = 4;
// Four-vector groups g and g + 8 lie in tile ZAg.D, where ZERO can clear them alone.
constexpr std::uint64_t kAccumulators = 1u << kTotal | 1u << kMinima;
constexpr std::uint64_t kSums = 0xfu << kFirstSum;

constexpr unsigned kBatchMinima = 8;
constexpr unsigned kBatchSums = 8;  // from one of two sub-blocks to the other
constexpr std::uint64_t kBatchAccumulators = 0xf;

struct Lin2Kernel {
  /// Sub-block `kSub`, added to the sums in its ZA group.
  ///
  /// All look-ups come before the products: clang 19 gives LUTI no chain to what precedes it, so that of products and
  /// look-ups in turn only the last product would remain. Here the look-ups hang on a load, which has a chain.
  template <unsigned kSub>
  JUNO_INLINE static void add_sub_block(svcount_t all_bytes, const std::uint8_t* super_block,
                                        const std::int8_t* q) JUNO_SME2_STREAMING {
    constexpr unsigned kGroup = kFirstSum + kSub % kSumGroups;
    const svuint8x4_t codes = svld1_u8_x4(all_bytes, super_block + Lin2::code_offset(0, kSub * Lin2::kSubBlockWeights));
    const svint8_t y = svld1rq_s8(svptrue_b8(), q + kSub * Lin2::kSubBlockWeights);
    const svint8x4_t columns_0 = svluti2_lane_zt_s8_x4(0, svget4(codes, 0), 0);
    const svint8x4_t columns_4 = svluti2_lane_zt_s8_x4(0, svget4(codes, 1), 0);
    const svint8x4_t columns_8 = svluti2_lane_zt_s8_x4(0, svget4(codes, 2), 0);
    const svint8x4_t columns_12 = svluti2_lane_zt_s8_x4(0, svget4(codes, 3), 0);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_0, y, 0);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_4, y, 1);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_8, y, 2);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_12, y, 3);
  }

  /// Group `kTo` += scale * sums of sub-block `kSub`, which are in group `kGroup`.
  template <unsigned kSub, unsigned kGroup = kFirstSum + kSub % kSumGroups, unsigned kTo = kTotal>
  JUNO_INLINE static void scale_sub_block(svbool_t all, const std::uint8_t* super_block) JUNO_SME2_STREAMING {
    const std::uint8_t* scales = super_block + Lin2::scale_offset(0, kSub);
    const svint32x4_t sums = svread_za32_s32_vg1x4(kGroup);
    const svint16x4_t pairs =
        svcreate4_s16(svreinterpret_s16_s32(svget4(sums, 0)), svreinterpret_s16_s32(svget4(sums, 1)),
                      svreinterpret_s16_s32(svget4(sums, 2)), svreinterpret_s16_s32(svget4(sums, 3)));
    const svint16x4_t factors = svcreate4_s16(svreinterpret_s16_u32(svld1ub_u32(all, scales)),
                                              svreinterpret_s16_u32(svld1ub_u32(all, scales + kLanes)),
                                              svreinterpret_s16_u32(svld1ub_u32(all, scales + 2 * kLanes)),
                                              svreinterpret_s16_u32(svld1ub_u32(all, scales + 3 * kLanes)));
    svdot_za32_s16_vg1x4(kTo, pairs, factors);
  }

  /// minima += minimum * sum of activations, for the sub-blocks 2 * `kPair` and 2 * `kPair` + 1. `sums` holds those of
  /// eight sub-blocks.
  template <unsigned kPair>
  JUNO_INLINE static void add_minima(svbool_t all_bytes, const std::uint8_t* super_block,
                                     svint16_t sums) JUNO_SME2_STREAMING {
    const svuint8_t both = svld1_u8(all_bytes, super_block + Lin2::minima_offset(0, kPair));
    svdot_lane_za32_s16_vg1x4(kMinima, svluti4_lane_zt_s16_x4(0, both, 0), sums, kPair % 4);
  }

  /// The sub-blocks `kSub` .. `kSub` + 3, and all after them.
  template <unsigned kSub = 0>
  JUNO_INLINE static void add_sub_blocks(const std::uint8_t* super_block,
                                         const ActivationBlock& y) JUNO_SME2_STREAMING {
    const svcount_t all_bytes = svptrue_c8();
    svzero_mask_za(kSub == 0 ? kSums | kAccumulators : kSums);
    add_sub_block<kSub>(all_bytes, super_block, y.q);
    add_sub_block<kSub + 1>(all_bytes, super_block, y.q);
    add_sub_block<kSub + 2>(all_bytes, super_block, y.q);
    add_sub_block<kSub + 3>(all_bytes, super_block, y.q);
    const svbool_t all = svptrue_b32();
    scale_sub_block<kSub>(all, super_block);
    scale_sub_block<kSub + 1>(all, super_block);
    scale_sub_block<kSub + 2>(all, super_block);
    scale_sub_block<kSub + 3>(all, super_block);
    const svint16_t sums = svld1rq_s16(svptrue_b16(), y.sums + std::size_t{kSub / 8} * 8);
    add_minima<kSub / 2>(svptrue_b8(), super_block, sums);
    add_minima<kSub / 2 + 1>(svptrue_b8(), super_block, sums);
    if constexpr (kSub + kSumGroups < Lin2::kSubBlocks) add_sub_blocks<kSub + kSumGroups>(super_block, y);
  }

  JUNO_INLINE static svfloat32_t rows_step(svbool_t all, svfloat32_t acc, svint32_t total, svint32_t minima,
                                           const std::uint8_t* super_block, std::size_t row,
                                           float d_activation) JUNO_SME2_STREAMING {
    const auto* d = reinterpret_cast<const std::uint16_t*>(super_block + Lin2::d_offset(row));
    const auto* dmin = reinterpret_cast<const std::uint16_t*>(super_block + Lin2::dmin_offset(row));
    acc = svmls_f32_x(all, acc, scaled_halfs(all, dmin, d_activation), svcvt_f32_s32_x(all, minima));
    return float_step<false>(all, acc, total, d, d_activation, 1.0f);
  }

  /// As add_sub_block(), for each column of a batch.
  template <unsigned kColumns, unsigned kSub>
  JUNO_INLINE static void add_sub_block_to(svcount_t all_bytes, const std::uint8_t* super_block,
                                           const Blocks<kColumns>& y) JUNO_SME2_STREAMING {
    const svuint8x4_t codes = svld1_u8_x4(all_bytes, super_block + Lin2::code_offset(0, kSub * Lin2::kSubBlockWeights));
    const svint8x4_t columns_0 = svluti2_lane_zt_s8_x4(0, svget4(codes, 0), 0);
    const svint8x4_t columns_4 = svluti2_lane_zt_s8_x4(0, svget4(codes, 1), 0);
    const svint8x4_t columns_8 = svluti2_lane_zt_s8_x4(0, svget4(codes, 2), 0);
    const svint8x4_t columns_12 = svluti2_lane_zt_s8_x4(0, svget4(codes, 3), 0);
    multiply_columns<kColumns, kSub>(columns_0, columns_4, columns_8, columns_12, y);
  }

  template <unsigned kColumns, unsigned kSub, unsigned kColumn = 0>
  JUNO_INLINE static void multiply_columns(svint8x4_t columns_0, svint8x4_t columns_4, svint8x4_t columns_8,
                                           svint8x4_t columns_12, const Blocks<kColumns>& y) JUNO_SME2_STREAMING {
    constexpr unsigned kGroup = kFirstSum + kColumn + kSub % 2 * kBatchSums;
    const svint8_t q = svld1rq_s8(svptrue_b8(), y.block[kColumn]->q + kSub * Lin2::kSubBlockWeights);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_0, q, 0);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_4, q, 1);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_8, q, 2);
    svdot_lane_za32_s8_vg1x4(kGroup, columns_12, q, 3);
    if constexpr (kColumn + 1 < kColumns) {
      multiply_columns<kColumns, kSub, kColumn + 1>(columns_0, columns_4, columns_8, columns_12, y);
    }
  }

  /// Scales of both sub-blocks of a pair, for each column.
  template <unsigned kColumns, unsigned kPair, unsigned kColumn = 0>
  JUNO_INLINE static void scale_pair(svbool_t all, const std::uint8_t* super_block) JUNO_SME2_STREAMING {
    scale_sub_block<2 * kPair, kFirstSum + kColumn, kColumn>(all, super_block);
    scale_sub_block<2 * kPair + 1, kFirstSum + kColumn + kBatchSums, kColumn>(all, super_block);
    if constexpr (kColumn + 1 < kColumns) scale_pair<kColumns, kPair, kColumn + 1>(all, super_block);
  }

  template <unsigned kColumns, unsigned kPair, unsigned kColumn = 0>
  JUNO_INLINE static void add_minima_to(svint16x4_t minima, const Blocks<kColumns>& y) JUNO_SME2_STREAMING {
    const svint16_t sums = svld1rq_s16(svptrue_b16(), y.block[kColumn]->sums + std::size_t{kPair / 4} * 8);
    svdot_lane_za32_s16_vg1x4(kBatchMinima + kColumn, minima, sums, kPair % 4);
    if constexpr (kColumn + 1 < kColumns) add_minima_to<kColumns, kPair, kColumn + 1>(minima, y);
  }

  /// The sub-blocks 2 * `kPair` and 2 * `kPair` + 1, and all after them, for each column.
  template <unsigned kColumns, unsigned kPair = 0>
  JUNO_INLINE static void add_pairs(const std::uint8_t* super_block, const Blocks<kColumns>& y) JUNO_SME2_STREAMING {
    const svcount_t all_bytes = svptrue_c8();
    svzero_mask_za(kPair == 0 ? kSums | kBatchAccumulators : kSums);
    add_sub_block_to<kColumns, 2 * kPair>(all_bytes, super_block, y);
    add_sub_block_to<kColumns, 2 * kPair + 1>(all_bytes, super_block, y);
    scale_pair<kColumns, kPair>(svptrue_b32(), super_block);
    const svuint8_t both = svld1_u8(svptrue_b8(), super_block + Lin2::minima_offset(0, kPair));
    add_minima_to<kColumns, kPair>(svluti4_lane_zt_s16_x4(0, both, 0), y);
    if constexpr (kPair + 1 < Lin2::kPairs) add_pairs<kColumns, kPair + 1>(super_block, y);
  }

  /// The float step of each column of a batch.
  template <unsigned kColumns, unsigned kColumn = 0>
  JUNO_INLINE static void finish(svbool_t all, const std::uint8_t* super_block, const Blocks<kColumns>& y,
                                 Sums<kColumns>& sums) JUNO_SME2_STREAMING {
    const svint32x4_t total = svread_za32_s32_vg1x4(kColumn);
    const svint32x4_t minima = svread_za32_s32_vg1x4(kBatchMinima + kColumn);
    const float d = y.block[kColumn]->d;
    float* acc = sums.acc[kColumn];
    add_rows<0>(all, acc, svget4(total, 0), svget4(minima, 0), super_block, d);
    add_rows<1>(all, acc, svget4(total, 1), svget4(minima, 1), super_block, d);
    add_rows<2>(all, acc, svget4(total, 2), svget4(minima, 2), super_block, d);
    add_rows<3>(all, acc, svget4(total, 3), svget4(minima, 3), super_block, d);
    if constexpr (kColumn + 1 < kColumns) finish<kColumns, kColumn + 1>(all, super_block, y, sums);
  }

  template <unsigned kVector>
  JUNO_INLINE static void add_rows(svbool_t all, float* acc, svint32_t total, svint32_t minima,
                                   const std::uint8_t* super_block, float d_activation) JUNO_SME2_STREAMING {
    constexpr std::size_t kRow = kVector * kLanes;
    svst1_f32(all, acc + kRow,
              rows_step(all, svld1_f32(all, acc + kRow), total, minima, super_block, kRow, d_activation));
  }

  template <unsigned kColumns>
  JUNO_INLINE static void add_super_block_to(const std::uint8_t* super_block, const Blocks<kColumns>& y, float,
                                             Sums<kColumns>& sums) JUNO_SME2_STREAMING {
    add_pairs<kColumns>(super_block, y);
    finish<kColumns>(svptrue_b32(), super_block, y, sums);
  }

  JUNO_INLINE static void add_super_block(const std::uint8_t* super_block, const ActivationBlock& y, float,
                                          svfloat32_t& acc_0, svfloat32_t& acc_1, svfloat32_t& acc_2,
                                          svfloat32_t& acc_3) JUNO_SME2_STREAMING {
    add_sub_blocks(super_block, y);
    const svbool_t all = svptrue_b32();
    const svint32x4_t total = svread_za32_s32_vg1x4(kTotal);
    const svint32x4_t minima = svread_za32_s32_vg1x4(kMinima);
    acc_0 = rows_step(all, acc_0, svget4(total, 0), svget4(minima, 0), super_block, 0, y.d);
    acc_1 = rows_step(all, acc_1, svget4(total, 1), svget4(minima, 1), super_block, kLanes, y.d);
    acc_2 = rows_step(all, acc_2, svget4(total, 2), svget4(minima, 2), super_block, 2 * kLanes, y.d);
    acc_3 = rows_step(all, acc_3, svget4(total, 3), svget4(minima, 3), super_block, 3 * kLanes, y.d);
  }
};

}  // namespace
}  // namespace juno::kernel::sme2

extern "C" void juno_sme2_gemv_lin2(const void* argument) JUNO_SME2_STREAMING {
  const auto& lin2 = *static_cast<const juno::kernel::sme2::Argument*>(argument);
  svldr_zt(0, lin2.zt0);
  juno::kernel::sme2::multiply<juno::layout::Lin2, juno::kernel::sme2::Lin2Kernel>(*lin2.job);
}
