// SPDX-License-Identifier: Apache-2.0
//
// `juno run --compare`: how fast llama.cpp's own code generates from the same model, and what compiling is worth then.
#pragma once

#include <cstdint>
#include <optional>

#include "session.h"

namespace juno::cli {

/// Tokens a second after the first token, which comes with the prompt; 0 if there was no other.
double generation_rate(const Generation& generation) noexcept;

/// After how many generated tokens the time that compiling took has been saved again; nothing if none is saved. What
/// a faster prompt saves is not counted.
std::optional<std::uint64_t> pays_off_after(double compile_seconds, double native_rate, double our_rate) noexcept;

}  // namespace juno::cli
