// SPDX-License-Identifier: Apache-2.0
//
// The switches of Juno inside llama.cpp (target juno::llama), one set per process:
//   JUNO_ENGINE=juno|native   which engine; juno if unset
//   JUNO_ISA=NAME             only kernels of this instruction set (sme2, scalar; none); the best if unset
//   JUNO_ONLY=REGEX           only tensors whose name this extended regular expression finds; all if unset
//   JUNO_SKIP=REGEX           not tensors whose name this one finds
//   JUNO_MEMORY_LIMIT=SIZE    what packed tensors of the process may take, such as 4G; what is free, less a reserve, if
//                             unset
//   JUNO_RECEIPTS=FILE        write receipts there when the process exits; %p stands for the process id
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "juno/decision.h"
#include "juno/status.h"

namespace juno::integration {

/// What llama.cpp was compiled for and this CPU has not, such as "AVX2"; "" if nothing is missing. For a program that
/// runs on unknown machines to ask first: if something is, Juno stays out, and nothing of llama.cpp may be called.
std::string_view missing_instructions();

/// What decisions are made for: this machine, and the switches as they are now. Thread-safe.
Target target();

/// Overrides JUNO_ENGINE. Call before a model is loaded; tensors that were loaded before stay as they are.
void set_enabled(bool enabled);

/// Override JUNO_ONLY, JUNO_SKIP and JUNO_MEMORY_LIMIT. Call before a model is loaded.
void set_only(Pattern only);
void set_skip(Pattern skip);
void set_memory_limit(std::optional<std::uint64_t> bytes);

/// The first switch with a value that means nothing. Juno then stays off; when a model is loaded, a warning goes to
/// ggml's log.
std::optional<Error> switch_error();

/// JUNO_RECEIPTS with %p replaced.
std::optional<std::filesystem::path> receipts_path();

/// Writes the process's receipts as JSON: to a temporary name first, so that the file is never half.
Status write_receipts(const std::filesystem::path& path);

}  // namespace juno::integration
