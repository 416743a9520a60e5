// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace juno::integration {

/// The object that ggml asks about operations, as the context of the buffer type (a ggml::cpu::extra_buffer_type).
/// One per process, never freed.
void* traits_provider();

}  // namespace juno::integration
