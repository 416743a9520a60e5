// SPDX-License-Identifier: Apache-2.0
//
// lut4 x activations on SME2 with 64-byte streaming vectors. Streaming code from the first to the last instruction.
//
//   ZT0        the table of 16 code values
//   ZA         eight four-vector groups of int32, one per sub-block: 64 rows each, rows 16i .. 16i+15 in vector i
//   z (codes)  LD1B x2 loads one group (64 rows x 4 columns); LUTI4 makes 2 x 64 weights of each vector
//   z (y)      16 activations, repeated in every 128-bit segment; SDOT's lane picks four of them
//
// Per sub-block: 8 x { LD1B x2, LUTI4 x2, LUTI4 x2, SDOT vgx4 }, no other vector instruction touches a weight. After
// the eight sub-blocks one pass reads the sums out of ZA and scales them in int32; the float step comes once a
// super-block.
#include <arm_sme.h>

#include "kernel/sme2/streaming.h"
#include "layout/lut4.h"

namespace juno::kernel::sme2 {
namespace {

using layout::ActivationBlock;
using layout::Lut4;

constexpr std::size_t kLanes = 16;  // int32 lanes of a 64-byte vector
constexpr std::size_t kVectorBytes = 64;
static_assert(Lut4::kTileRows == 4 * kLanes, "a tile is one four-vector group of int32 sums");
static_assert(Lut4::kGroupBytes == 2 * kVectorBytes, "a group of four columns is two code vectors");
static_assert(Lut4::kSubBlocks == 8, "one ZA group per sub-block: the slice offset of SDOT is an immediate 0 .. 7");

#define JUNO_INLINE [[gnu::always_inline]] inline

// Four vectors of one value per row, rows 0-15, 16-31, 32-47 and 48-63 of a tile, always travel together as _0 .. _3:
// vectors without a size cannot be members of a struct.

/// One group of four columns of all 64 rows, added to the sums in ZA group `kSub`.
template <unsigned kSub, unsigned kLane>
JUNO_INLINE void add_group(svcount_t all_bytes, const std::uint8_t* codes, svint8_t y) JUNO_SME2_STREAMING {
  const svuint8x2_t both = svld1_u8_x2(all_bytes, codes);
  const svint8x2_t rows_0 = svluti4_lane_zt_s8_x2(0, svget2(both, 0), 0);
  const svint8x2_t rows_32 = svluti4_lane_zt_s8_x2(0, svget2(both, 1), 0);
  const svint8x4_t weights = svcreate4_s8(svget2(rows_0, 0), svget2(rows_0, 1), svget2(rows_32, 0), svget2(rows_32, 1));
  svdot_lane_za32_s8_vg1x4(kSub, weights, y, kLane);
}

template <unsigned kSub>
JUNO_INLINE void add_sub_block(svcount_t all_bytes, const std::uint8_t* super_block,
                               const std::int8_t* q) JUNO_SME2_STREAMING {
  const std::uint8_t* codes = super_block + Lut4::code_offset(0, kSub * Lut4::kSubBlockWeights);
  const std::int8_t* y = q + kSub * Lut4::kSubBlockWeights;
  const svint8_t y_0 = svld1rq_s8(svptrue_b8(), y);
  const svint8_t y_16 = svld1rq_s8(svptrue_b8(), y + 16);
  add_group<kSub, 0>(all_bytes, codes + 0 * Lut4::kGroupBytes, y_0);
  add_group<kSub, 1>(all_bytes, codes + 1 * Lut4::kGroupBytes, y_0);
  add_group<kSub, 2>(all_bytes, codes + 2 * Lut4::kGroupBytes, y_0);
  add_group<kSub, 3>(all_bytes, codes + 3 * Lut4::kGroupBytes, y_0);
  add_group<kSub, 0>(all_bytes, codes + 4 * Lut4::kGroupBytes, y_16);
  add_group<kSub, 1>(all_bytes, codes + 5 * Lut4::kGroupBytes, y_16);
  add_group<kSub, 2>(all_bytes, codes + 6 * Lut4::kGroupBytes, y_16);
  add_group<kSub, 3>(all_bytes, codes + 7 * Lut4::kGroupBytes, y_16);
}

/// total += scale * sums of sub-block `kSub`. LD1SB widens the scales on the way in.
template <unsigned kSub>
JUNO_INLINE void scale_sub_block(svbool_t all, const std::uint8_t* super_block, svint32_t& total_0, svint32_t& total_1,
                                 svint32_t& total_2, svint32_t& total_3) JUNO_SME2_STREAMING {
  const auto* scales = reinterpret_cast<const std::int8_t*>(super_block + Lut4::scale_offset(0, kSub));
  const svint32x4_t sums = svread_za32_s32_vg1x4(kSub);
  total_0 = svmla_s32_x(all, total_0, svget4(sums, 0), svld1sb_s32(all, scales));
  total_1 = svmla_s32_x(all, total_1, svget4(sums, 1), svld1sb_s32(all, scales + kLanes));
  total_2 = svmla_s32_x(all, total_2, svget4(sums, 2), svld1sb_s32(all, scales + 2 * kLanes));
  total_3 = svmla_s32_x(all, total_3, svget4(sums, 3), svld1sb_s32(all, scales + 3 * kLanes));
}

/// fma(d_weight * d_activation, sum_factor * float(total), acc) for 16 rows, whose d_weight are at `halfs`.
template <bool kScaled>
JUNO_INLINE svfloat32_t float_step(svbool_t all, svfloat32_t acc, svint32_t total, const std::uint16_t* halfs,
                                   float d_activation, float sum_factor) JUNO_SME2_STREAMING {
  const svfloat32_t d_weight = svcvt_f32_f16_x(all, svreinterpret_f16_u32(svld1uh_u32(all, halfs)));
  const svfloat32_t d = svmul_n_f32_x(all, d_weight, d_activation);
  const svfloat32_t sum = svcvt_f32_s32_x(all, total);
  if constexpr (kScaled) return svmla_f32_x(all, acc, d, svmul_n_f32_x(all, sum, sum_factor));
  return svmla_f32_x(all, acc, d, sum);
}

template <bool kScaled>
JUNO_INLINE void add_super_block(const std::uint8_t* super_block, const ActivationBlock& y, float sum_factor,
                                 svfloat32_t& acc_0, svfloat32_t& acc_1, svfloat32_t& acc_2,
                                 svfloat32_t& acc_3) JUNO_SME2_STREAMING {
  const svcount_t all_bytes = svptrue_c8();
  const svbool_t all = svptrue_b32();
  svzero_za();
  add_sub_block<0>(all_bytes, super_block, y.q);
  add_sub_block<1>(all_bytes, super_block, y.q);
  add_sub_block<2>(all_bytes, super_block, y.q);
  add_sub_block<3>(all_bytes, super_block, y.q);
  add_sub_block<4>(all_bytes, super_block, y.q);
  add_sub_block<5>(all_bytes, super_block, y.q);
  add_sub_block<6>(all_bytes, super_block, y.q);
  add_sub_block<7>(all_bytes, super_block, y.q);

  svint32_t total_0 = svdup_n_s32(0);
  svint32_t total_1 = total_0;
  svint32_t total_2 = total_0;
  svint32_t total_3 = total_0;
  scale_sub_block<0>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<1>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<2>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<3>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<4>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<5>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<6>(all, super_block, total_0, total_1, total_2, total_3);
  scale_sub_block<7>(all, super_block, total_0, total_1, total_2, total_3);

  const auto* d = reinterpret_cast<const std::uint16_t*>(super_block + Lut4::d_offset(0));
  acc_0 = float_step<kScaled>(all, acc_0, total_0, d, y.d, sum_factor);
  acc_1 = float_step<kScaled>(all, acc_1, total_1, d + kLanes, y.d, sum_factor);
  acc_2 = float_step<kScaled>(all, acc_2, total_2, d + 2 * kLanes, y.d, sum_factor);
  acc_3 = float_step<kScaled>(all, acc_3, total_3, d + 3 * kLanes, y.d, sum_factor);
}

/// Writes 16 results, or as many of them as lie below row `rows`; the first belongs to row `first` of the tile.
JUNO_INLINE void write_rows(svfloat32_t acc, float row_factor, std::uint64_t first, std::uint64_t rows,
                            float* out) JUNO_SME2_STREAMING {
  const svbool_t mine = svwhilelt_b32_u64(first, rows);
  svst1_f32(mine, out + first, svmul_n_f32_x(mine, acc, row_factor));
}

template <bool kScaled>
JUNO_INLINE void multiply(const TileJob& job) JUNO_SME2_STREAMING {
  const auto* tile = reinterpret_cast<const std::uint8_t*>(job.tiles);
  const float sum_factor = job.constants->sum_factor;
  const float row_factor = job.constants->row_factor;
  for (std::size_t first = 0; first < job.rows; first += Lut4::kTileRows) {
    for (std::size_t column = 0; column < job.columns; ++column) {
      const auto* y = reinterpret_cast<const ActivationBlock*>(job.activations + column * job.activation_stride);
      svfloat32_t acc_0 = svdup_n_f32(0.0f);
      svfloat32_t acc_1 = acc_0;
      svfloat32_t acc_2 = acc_0;
      svfloat32_t acc_3 = acc_0;
      for (std::size_t s = 0; s < job.super_blocks; ++s) {
        add_super_block<kScaled>(tile + s * Lut4::kSuperBlockBytes, y[s], sum_factor, acc_0, acc_1, acc_2, acc_3);
      }
      const std::size_t rows = job.rows - first;
      float* out = job.out + column * job.out_stride + first;
      write_rows(acc_0, row_factor, 0, rows, out);
      write_rows(acc_1, row_factor, kLanes, rows, out);
      write_rows(acc_2, row_factor, 2 * kLanes, rows, out);
      write_rows(acc_3, row_factor, 3 * kLanes, rows, out);
    }
    tile += job.super_blocks * Lut4::kSuperBlockBytes;
  }
}

}  // namespace
}  // namespace juno::kernel::sme2

extern "C" void juno_sme2_gemv_lut4(const void* argument) JUNO_SME2_STREAMING {
  const auto& lut4 = *static_cast<const juno::kernel::sme2::Lut4Argument*>(argument);
  svldr_zt(0, lut4.zt0);
  if (lut4.job->constants->sum_factor == 1.0f) {
    juno::kernel::sme2::multiply<false>(*lut4.job);
  } else {
    juno::kernel::sme2::multiply<true>(*lut4.job);
  }
}
