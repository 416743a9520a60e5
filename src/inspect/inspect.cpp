// SPDX-License-Identifier: Apache-2.0
#include "juno/inspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "budget/plan.h"
#include "gguf/reader.h"

namespace juno {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::uint64_t kMostParts = 99999;  // the file names have five digits

const gguf::TensorInfo* find(const std::vector<gguf::TensorInfo>& tensors, std::string_view name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const gguf::TensorInfo& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

receipt::TensorReceipt inspect_tensor(const gguf::TensorInfo& tensor, Operation operation, const Target& target) {
  const TensorFacts facts{tensor.name, tensor.type, tensor.shape, operation};
  return receipt::make_receipt(facts, decide(facts, target), tensor.bytes);
}

/// All files of a model, of which `path` is one: llama.cpp writes the parts of a split model as
/// NAME-00001-of-00003.gguf and so on, and each part says how many there are.
Result<std::vector<std::filesystem::path>> parts_of(const std::filesystem::path& path, const gguf::Header& header) {
  const std::uint64_t count = header.unsigned_value("split.count").value_or(0);
  if (count <= 1) return std::vector<std::filesystem::path>{path};
  const std::uint64_t number = header.unsigned_value("split.no").value_or(0) + 1;
  const std::string ending = fmt::format("-{:05}-of-{:05}.gguf", number, count);
  const std::string name = path.filename().string();
  if (!name.ends_with(ending) || count > kMostParts) {
    return Error{ErrorCode::malformed, "find the parts of a split model", path.string(),
                 fmt::format("part {} of {} is not named *{}", number, count, ending)};
  }
  const std::string stem = name.substr(0, name.size() - ending.size());
  std::vector<std::filesystem::path> parts;
  for (std::uint64_t i = 1; i <= count; ++i) {
    parts.push_back(path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", stem, i, count));
  }
  return parts;
}

/// True if llama.cpp multiplies with the token embedding when a file has no output matrix. Encoders have no output at
/// all. Source: the tensors that each file of llama.cpp v0.4.0's src/models creates.
bool ties_output(const std::vector<gguf::TensorInfo>& tensors, std::string_view architecture) {
  if (find(tensors, "output.weight") != nullptr || find(tensors, kEmbedding) == nullptr) return false;
  const bool encoder = architecture.find("bert") != std::string_view::npos || architecture == "clip" ||
                       architecture == "wavtokenizer-dec";
  return !encoder;
}

/// What will not be packed for want of memory, if `bytes` are all that the process's packed tensors may take.
void apply_limit(std::vector<receipt::TensorReceipt>& tensors, std::uint64_t bytes) {
  std::vector<budget::Candidate> candidates;
  std::vector<receipt::TensorReceipt*> compiled;
  for (receipt::TensorReceipt& tensor : tensors) {
    if (tensor.reason != Reason::compiled) continue;
    compiled.push_back(&tensor);
    candidates.push_back({.name = tensor.name,
                          .native_bytes = tensor.native_bytes,
                          .packed_bytes = tensor.packed_bytes,
                          .weights = tensor.shape[0] * tensor.shape[1] * tensor.shape[2] * tensor.shape[3],
                          .gguf_type = tensor.type});
  }
  const std::vector<bool> chosen = budget::choose(candidates, bytes);
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    if (chosen[i]) continue;
    compiled[i]->reason = Reason::budget;
    compiled[i]->detail = budget::over_budget(candidates[i], bytes);
    compiled[i]->layout.clear();
    compiled[i]->packed_bytes = 0;
  }
}

}  // namespace

Result<Inspection> inspect(const std::filesystem::path& path, const Target& target) {
  const auto any = gguf::read_header(path);
  if (!any) return any.error();
  const auto parts = parts_of(path, *any);
  if (!parts) return parts.error();

  Inspection inspection{.architecture = {}, .tensors = {}};
  std::vector<gguf::TensorInfo> tensors;
  for (const std::filesystem::path& part : *parts) {
    const auto header = part == path ? any : gguf::read_header(part);
    if (!header) return header.error();
    // Only the first part of a split model says what it is.
    if (inspection.architecture.empty()) inspection.architecture = header->string("general.architecture").value_or("");
    inspection.file_bytes += header->file_bytes;
    tensors.insert(tensors.end(), header->tensors.begin(), header->tensors.end());
  }
  inspection.tensors.reserve(tensors.size() + 1);
  for (const gguf::TensorInfo& tensor : tensors) {
    inspection.tensors.push_back(inspect_tensor(tensor, operation_of(tensor.name), target));
  }
  if (ties_output(tensors, inspection.architecture)) {
    inspection.tensors.push_back(inspect_tensor(*find(tensors, kEmbedding), Operation::mul_mat, target));
  }
  if (target.memory_limit) apply_limit(inspection.tensors, *target.memory_limit);
  return inspection;
}

}  // namespace juno
