// SPDX-License-Identifier: Apache-2.0
//
// Which tensors are worth their memory, when it does not hold all of them packed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace juno::budget {

/// A tensor that could be packed.
struct Candidate {
  std::string_view name;
  std::uint64_t native_bytes = 0;
  /// What packing it costs, in full and not less the native bytes: those are pages of the model's file, which the
  /// system can drop and read again, and is told to once they are packed. Packed ones it can only keep, or swap.
  std::uint64_t packed_bytes = 0;
  std::uint64_t weights = 0;    ///< in all of its matrices
  std::uint32_t gguf_type = 0;  ///< GGUF tensor type
};

/// Time that llama.cpp's own code takes for one weight of a format when it decodes, in picoseconds; a middling one for
/// formats that nobody has measured. Measured on two x86-64 cores with AVX-512 VNNI, one thread, llama.cpp v0.4.0, a
/// model of 0.97 G random weights: 40.0 (Q2_K), 14.5 (IQ2_XS), 14.0 (IQ2_S), 10.2 (IQ3_XXS), 8.9 (IQ3_S) and 23.1
/// (IQ4_XS) tokens a second. On other machines the figures are others; only their proportions matter here.
std::uint64_t native_picoseconds(std::uint32_t gguf_type) noexcept;

/// True for each candidate that is to be packed: those with the most native time for a byte of packed memory first,
/// until no other fits into `bytes`; among equals the larger, then the one whose name comes first, so that the order of
/// the candidates does not matter.
std::vector<bool> choose(std::span<const Candidate> candidates, std::uint64_t bytes);

/// One clause that says why a tensor stays native: what it needs, and what was there for all.
std::string over_budget(const Candidate& candidate, std::uint64_t bytes);

}  // namespace juno::budget
