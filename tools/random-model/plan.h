// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "juno/status.h"
#include "random_model.h"

namespace juno::random_model {

inline constexpr const char* kWhat = "write random model";

/// Special tokens and byte tokens, which every vocabulary has.
inline constexpr uint32_t kSmallestVocabulary = 3 + 256;

/// One tensor to write.
struct PlannedTensor {
  std::string name;
  uint32_t type;   ///< GGUF tensor type id
  uint64_t width;  ///< weights per row
  uint64_t rows;   ///< 0 for a vector: a norm of `width` weights
};

/// Checks the options and lists the tensors in file order. Errors as write_random_model().
Result<std::vector<PlannedTensor>> plan_tensors(const Options& options);

/// The complete GGUF header, padded to where tensor data begins, and where each tensor goes.
struct Metadata {
  std::vector<char> bytes;
  std::vector<uint64_t> offsets;  ///< bytes from the end of `bytes`, one per planned tensor
};

/// Builds the header with ggml's own writer. `options` and `tensors` have passed plan_tensors().
Result<Metadata> make_metadata(const Options& options, const std::vector<PlannedTensor>& tensors);

}  // namespace juno::random_model
