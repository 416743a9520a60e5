// SPDX-License-Identifier: Apache-2.0
#include "juno/inspect.h"

#include "gguf/reader.h"

namespace juno {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";

receipt::TensorReceipt inspect_tensor(const gguf::TensorInfo& tensor, Operation operation, const Target& target) {
  const TensorFacts facts{tensor.name, tensor.type, tensor.shape, operation};
  return receipt::make_receipt(facts, decide(facts, target), tensor.bytes);
}

/// True if llama.cpp multiplies with the token embedding when a file has no output matrix. Encoders have no output at
/// all. Source: the tensors that each file of llama.cpp v0.4.0's src/models creates.
bool ties_output(const gguf::Header& header, std::string_view architecture) {
  if (header.tensor("output.weight") != nullptr || header.tensor(kEmbedding) == nullptr) return false;
  const bool encoder = architecture.find("bert") != std::string_view::npos || architecture == "clip" ||
                       architecture == "wavtokenizer-dec";
  return !encoder;
}

}  // namespace

Result<Inspection> inspect(const std::filesystem::path& path, const Target& target) {
  const auto header = gguf::read_header(path);
  if (!header) return header.error();
  Inspection inspection{.architecture = header->string("general.architecture").value_or(""),
                        .file_bytes = header->file_bytes,
                        .tensors = {}};
  inspection.tensors.reserve(header->tensors.size() + 1);
  for (const gguf::TensorInfo& tensor : header->tensors) {
    inspection.tensors.push_back(inspect_tensor(tensor, operation_of(tensor.name), target));
  }
  if (ties_output(*header, inspection.architecture)) {
    inspection.tensors.push_back(inspect_tensor(*header->tensor(kEmbedding), Operation::mul_mat, target));
  }
  return inspection;
}

}  // namespace juno
