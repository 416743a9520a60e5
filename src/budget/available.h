// SPDX-License-Identifier: Apache-2.0
//
// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace juno::budget {

/// Limits of the process, as getrlimit() tells them; nothing: none.
struct ProcessLimits {
  std::optional<std::uint64_t> address_space;  ///< RLIMIT_AS
  std::optional<std::uint64_t> data;           ///< RLIMIT_DATA
};
ProcessLimits process_limits() noexcept;

/// Bytes that can be taken without swapping, or being ended for it: the least of what the machine has available, what
/// each control group above the process leaves (its file cache counts as free, for the system drops it first), and what
/// the process's own limits leave. Nothing if none of them is known. `root` is where proc and sys are found (Linux).
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root = "/",
                                              const ProcessLimits& limits = process_limits());

/// What of `available` bytes packed weights may take by default. The rest is for what llama.cpp allocates later, when
/// nobody asks Juno any more: the KV cache of 4096 tokens of a model with 32 layers, 8 heads of 128 for keys and
/// values, and 16-bit floats is 512 MiB, which is the least that stays; an eighth on large machines, where contexts and
/// models grow, and where the pages of tensors that stay native want to remain in memory, too.
std::uint64_t default_budget(std::uint64_t available) noexcept;

}  // namespace juno::budget
