// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "architecture.h"
#include "juno/status.h"
#include "random_model.h"

namespace juno::random_model {

inline constexpr const char* kWhat = "write random model";

/// Special tokens and byte tokens, which every vocabulary has.
inline constexpr uint32_t kSmallestVocabulary = 3 + 256;

/// One tensor to write.
struct PlannedTensor {
  std::string name;
  uint32_t type;      ///< GGUF tensor type id
  uint64_t width;     ///< weights per row
  uint64_t rows;      ///< 0 for a vector: a norm of `width` weights
  uint64_t matrices;  ///< 0 for a norm or a single matrix; a stack of experts otherwise
};

/// A model to write.
struct Plan {
  const Architecture* architecture;
  Shape shape;
  std::vector<PlannedTensor> tensors;  ///< in file order
};

/// Checks the options and fills in what they leave open. Errors as write_random_model().
Result<Plan> make_plan(const Options& options);

/// The complete GGUF header, padded to where tensor data begins, and where each tensor goes.
struct Metadata {
  std::vector<char> bytes;
  std::vector<uint64_t> offsets;  ///< bytes from the end of `bytes`, one per planned tensor
};

/// Builds the header with ggml's own writer.
Result<Metadata> make_metadata(const Plan& plan);

}  // namespace juno::random_model
