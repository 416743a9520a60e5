// SPDX-License-Identifier: Apache-2.0
//
// What Juno would do with a model file, from its header alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "juno/receipt.h"
#include "juno/status.h"

namespace juno {

struct Inspection {
  std::string architecture;      ///< general.architecture, "" if the file does not say
  std::uint64_t file_bytes = 0;  ///< of all parts
  /// One entry per tensor and use, with the decision of decide() and no counts: a token embedding that the model also
  /// uses as its output matrix appears twice, as llama.cpp makes two tensors of it. A limit of memory in the target
  /// leaves out what it leaves out when a process loads this model alone.
  std::vector<receipt::TensorReceipt> tensors;
};

/// Reads the header of the GGUF file at `path`, never its tensor data; if it is one part of a split model, those of all
/// parts. Errors are those of the container reader, and not_found for a missing part.
Result<Inspection> inspect(const std::filesystem::path& path, const Target& target);

}  // namespace juno
