// SPDX-License-Identifier: Apache-2.0
//
// Operations on packed tensors that no kernel covers: right for every operation of ggml, without knowing any of them.
//
//   GET_ROWS   the wanted rows are unpacked and decoded with ggml's own routine, shared among the threads
//   the rest   one thread unpacks the packed operands whole, lets ggml compute the operation on the plain copies, and
//   packs
//              again what was written; the others wait at the barrier that ggml puts after every operation
#pragma once

#include <cstddef>

#include "ggml-cpu-impl.h"
#include "ggml.h"

namespace juno::integration {

/// Bytes of work buffer that compute_unpacked needs for `op`.
std::size_t unpacked_work_size(int threads, const ggml_tensor* op);

/// Computes `op`; called by every thread of the pool with its own params.
void compute_unpacked(const ggml_compute_params* params, ggml_tensor* op);

}  // namespace juno::integration
