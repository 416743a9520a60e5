// SPDX-License-Identifier: Apache-2.0
#include "kernel/x86/avx512.h"

#include "kernel/simd/gemm.h"
#include "kernel/simd/word_decoders.h"
#include "kernel/x86/entries.h"
#include "kernel/x86/quantise.h"

namespace juno::kernel::x86 {

using simd::gemm;
using simd::gemv;
using simd::Lin2Decoder;
using simd::Lut3Decoder;
using simd::Lut4Decoder;

constinit const Entries avx512_entries = {
    .lut4w = {gemv<Avx512, Lut4Decoder<Avx512, 32>>, gemm<Avx512, Lut4Decoder<Avx512, 32>>},
    .lut3w = {gemv<Avx512, Lut3Decoder<Avx512>>, gemm<Avx512, Lut3Decoder<Avx512>>},
    .lin2w = {gemv<Avx512, Lin2Decoder<Avx512>>, gemm<Avx512, Lin2Decoder<Avx512>>},
    .quantise = quantise<Avx512>,
};

}  // namespace juno::kernel::x86
