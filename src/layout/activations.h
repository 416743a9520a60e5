// SPDX-License-Identifier: Apache-2.0
//
// The other operand of a matrix product: activations rounded to 8 bits, one block for each 256 values of a column.
//
//   byte 0         4                                   260                      292
//        | d float | q: 256 signed bytes               | sums: 16 int16 of 16 q |
//
// The bytes are those of ggml's Q8_K, so that both engines multiply the very same numbers. For a block of zeros ggml
// sets d = 0 and leaves `sums` unset; kernels must not let them reach a result. Source: block_q8_K and
// quantize_row_q8_K of ggml 0.23.0.
#pragma once

#include <cstdint>

#include "layout/layout.h"

namespace juno::layout {

struct ActivationBlock {
  float d;
  std::int8_t q[kSuperBlockWeights];
  std::int16_t sums[kSuperBlockWeights / 16];
};
static_assert(sizeof(ActivationBlock) == 292);

}  // namespace juno::layout
