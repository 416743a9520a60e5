// SPDX-License-Identifier: Apache-2.0
#include "kernel/x86/avx2.h"

#include "kernel/simd/gemm.h"
#include "kernel/simd/word_decoders.h"
#include "kernel/x86/entries.h"
#include "kernel/x86/quantise.h"

namespace juno::kernel::x86 {

using simd::gemm;
using simd::gemv;
using simd::Lin2Decoder;
using simd::Lut4Decoder;

constinit const Entries avx2_entries = {
    .lut4w = {gemv<Avx2, Lut4Decoder<Avx2, 32>>, gemm<Avx2, Lut4Decoder<Avx2, 32>>},
    .lut4s16w = {gemv<Avx2, Lut4Decoder<Avx2, 16>>, gemm<Avx2, Lut4Decoder<Avx2, 16>>},
    .lin2w = {gemv<Avx2, Lin2Decoder<Avx2>>, gemm<Avx2, Lin2Decoder<Avx2>>},
    .quantise = quantise<Avx2>,
};

}  // namespace juno::kernel::x86
