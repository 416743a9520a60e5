// SPDX-License-Identifier: Apache-2.0
#include "kernel/simd/gemm.h"
#include "kernel/simd/word_decoders.h"
#include "kernel/x86/avx2.h"
#include "kernel/x86/entries.h"
#include "kernel/x86/quantise.h"

namespace juno::kernel::x86 {

using simd::gemm;
using simd::gemv;
using simd::Lin2Decoder;
using simd::Lut4Decoder;

constinit const Entries avxvnni_entries = {
    .lut4w = {gemv<AvxVnni, Lut4Decoder<AvxVnni, 32>>, gemm<AvxVnni, Lut4Decoder<AvxVnni, 32>>},
    .lut4s16w = {gemv<AvxVnni, Lut4Decoder<AvxVnni, 16>>, gemm<AvxVnni, Lut4Decoder<AvxVnni, 16>>},
    .lin2w = {gemv<AvxVnni, Lin2Decoder<AvxVnni>>, gemm<AvxVnni, Lin2Decoder<AvxVnni>>},
    .quantise = quantise<AvxVnni>,
};

}  // namespace juno::kernel::x86
