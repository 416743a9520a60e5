// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "gguf/tensor_type.h"
#include "juno/receipt.h"
#include "juno/version.h"

namespace juno::receipt {
namespace {

using Json = nlohmann::ordered_json;

Json kernel_json(const KernelCount& count) {
  Json calls;
  for (std::size_t i = 0; i < count.calls.size(); ++i) calls[std::string(kColumnClassNames[i])] = count.calls[i];
  return {{"id", count.kernel}, {"calls", std::move(calls)}, {"tiles", count.tiles}};
}

Json tensor_json(const TensorReceipt& receipt) {
  Json kernels = Json::array();
  for (const KernelCount& count : receipt.kernels) kernels.push_back(kernel_json(count));
  const bool compiled = receipt.reason == Reason::compiled;
  return {{"name", receipt.name},
          {"type", gguf::tensor_type_name(receipt.type)},
          {"rows", receipt.shape[1]},
          {"columns", receipt.shape[0]},
          {"matrices", receipt.shape[2] * receipt.shape[3]},
          {"operation", to_string(receipt.operation)},
          {"decision", compiled ? "juno" : "native"},
          {"reason", to_string(receipt.reason)},
          {"detail", receipt.detail},
          {"layout", receipt.layout.empty() ? Json(nullptr) : Json(receipt.layout)},
          {"bytes_native", receipt.native_bytes},
          {"bytes_packed", receipt.packed_bytes},
          {"pack_ms", static_cast<double>(receipt.pack_nanoseconds) / 1e6},
          {"kernels", std::move(kernels)},
          {"unpacked_calls", receipt.unpacked_calls}};
}

}  // namespace

std::string to_json(const std::vector<TensorReceipt>& receipts, const Target& target) {
  Json tensors = Json::array();
  for (const TensorReceipt& receipt : receipts) tensors.push_back(tensor_json(receipt));
  const Json document = {{"schema", 1},
                         {"juno", kVersion},
                         {"llama_cpp", kLlamaCpp},
                         {"engine", target.enabled ? "juno" : "native"},
                         {"cpu",
                          {{"architecture", target.machine.architecture},
                           {"features", target.machine.features.names()},
                           {"streaming_vector_bytes", target.machine.streaming_vector_bytes}}},
                         {"tensors", std::move(tensors)}};
  // Names come from files: bytes that are not UTF-8 are replaced rather than thrown about.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace juno::receipt
