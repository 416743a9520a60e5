// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/kernel.h"

namespace juno::integration {

/// What rounds the activations of a product by `kernel`: its instruction set's own way if that gives the very bytes of
/// ggml's routine in this build, which is asked once per process; else ggml's routine. Thread-safe.
kernel::Quantise quantiser_for(const kernel::KernelInfo& kernel);

/// ggml's routine.
void ggml_quantise(const float* values, layout::ActivationBlock* blocks, std::size_t count) noexcept;

}  // namespace juno::integration
