// SPDX-License-Identifier: Apache-2.0
//
// Matrix products that a kernel computes: MUL_MAT and MUL_MAT_ID of a whole packed tensor with float columns.
//
//   work buffer | every column of activations as Q8_K blocks | Column for each product | Group for each matrix |
//
// All threads round the columns to 8 bits; thread 0 lists which matrix is multiplied with which; after a barrier the
// threads share the tiles.
#pragma once

#include <cstddef>

#include "ggml-cpu-impl.h"
#include "ggml.h"

namespace juno::integration {

bool is_kernel_product(const ggml_tensor* op);

/// Bytes of work buffer that compute_product needs for `op`.
std::size_t product_work_size(const ggml_tensor* op);

/// Computes `op`; called by every thread of the pool with its own params.
void compute_product(const ggml_compute_params* params, ggml_tensor* op);

}  // namespace juno::integration
