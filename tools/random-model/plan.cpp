// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <regex>
#include <utility>

#include "gguf/tensor_type.h"
#include "weights.h"

namespace juno::random_model {
namespace {

constexpr uint32_t kMaxLayers = 512;  // LLAMA_MAX_LAYERS of llama.cpp
// Generous for any model, and small enough that no product of sizes overflows.
constexpr uint32_t kMaxWidth = 1U << 20;
constexpr uint32_t kMaxVocabulary = 1U << 22;

Error invalid(std::string where, std::string why) {
  return {ErrorCode::invalid_argument, kWhat, std::move(where), std::move(why)};
}

std::string not_in_range(uint64_t value, uint64_t least, uint64_t most) {
  return std::to_string(value) + " is not between " + std::to_string(least) + " and " + std::to_string(most);
}

Status check_shape(const Options& options) {
  if (options.architecture != "llama") {
    return Error{ErrorCode::unsupported, kWhat, "architecture", "'" + options.architecture + "' is not \"llama\""};
  }
  const struct {
    const char* name;
    uint32_t value, least, most;
  } ranges[] = {
      {"layers", options.layers, 1, kMaxLayers},
      {"embedding", options.embedding, 1, kMaxWidth},
      {"feed_forward", options.feed_forward, 1, kMaxWidth},
      {"heads", options.heads, 1, kMaxWidth},
      {"kv_heads", options.kv_heads, 1, options.heads},
      {"context", options.context, 1, 1U << 30},
      {"vocabulary", options.vocabulary, kSmallestVocabulary, kMaxVocabulary},
  };
  for (const auto& range : ranges) {
    if (range.value < range.least || range.value > range.most) {
      return invalid(range.name, not_in_range(range.value, range.least, range.most));
    }
  }
  // Rotary position encoding turns pairs of a head's weights.
  if (options.embedding % (2 * uint64_t{options.heads}) != 0) {
    return invalid("embedding", std::to_string(options.embedding) + " does not divide into " +
                                    std::to_string(options.heads) + " heads of even width");
  }
  if (options.heads % options.kv_heads != 0) {
    return invalid("kv_heads",
                   std::to_string(options.kv_heads) + " does not divide " + std::to_string(options.heads) + " heads");
  }
  return Done{};
}

// Decides the type of each matrix by its name.
class TypeChoice {
 public:
  static Result<TypeChoice> create(const Options& options) {
    TypeChoice choice;
    for (const auto& [pattern, name] : options.types) {
      const auto type = find(name);
      if (!type.ok()) return type.error();
      try {
        choice.rules_.emplace_back(std::regex(pattern), *type);
      } catch (const std::regex_error& error) {
        return invalid("types", "'" + pattern + "' is not a regular expression: " + error.what());
      }
    }
    const auto fallback = find(options.default_type);
    if (!fallback.ok()) return fallback.error();
    choice.fallback_ = *fallback;
    return choice;
  }

  [[nodiscard]] const gguf::TensorType& operator()(const std::string& tensor) const {
    for (const auto& [pattern, type] : rules_) {
      if (std::regex_search(tensor, pattern)) return *type;
    }
    return *fallback_;
  }

 private:
  static Result<const gguf::TensorType*> find(const std::string& name) {
    const gguf::TensorType* type = gguf::find_tensor_type(name);
    if (type == nullptr) return invalid("types", "'" + name + "' is not a tensor type");
    if (find_weight_format(type->id) == nullptr) {
      return Error{ErrorCode::unsupported, kWhat, "types", "weights are not stored as " + std::string(type->name)};
    }
    return type;
  }

  std::vector<std::pair<std::regex, const gguf::TensorType*>> rules_;
  const gguf::TensorType* fallback_ = nullptr;
};

// Tensor names and shapes of the llama architecture (llama.cpp, src/models/llama.cpp and src/llama-arch.cpp). A matrix
// gets its type later.
std::vector<PlannedTensor> list_tensors(const Options& options) {
  const uint64_t width = options.embedding;
  const uint64_t kv_width = width / options.heads * options.kv_heads;
  std::vector<PlannedTensor> tensors;
  const auto add = [&](std::string name, uint64_t columns, uint64_t rows) {
    tensors.push_back({std::move(name) + ".weight", 0, columns, rows});
  };
  add("token_embd", width, options.vocabulary);
  for (uint32_t layer = 0; layer < options.layers; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    add(prefix + "attn_norm", width, 0);
    add(prefix + "attn_q", width, width);
    add(prefix + "attn_k", width, kv_width);
    add(prefix + "attn_v", width, kv_width);
    add(prefix + "attn_output", width, width);
    add(prefix + "ffn_norm", width, 0);
    add(prefix + "ffn_gate", width, options.feed_forward);
    add(prefix + "ffn_up", width, options.feed_forward);
    add(prefix + "ffn_down", options.feed_forward, width);
  }
  add("output_norm", width, 0);
  if (!options.tied) add("output", width, options.vocabulary);
  return tensors;
}

}  // namespace

Result<std::vector<PlannedTensor>> plan_tensors(const Options& options) {
  if (const Status shape = check_shape(options); !shape.ok()) return shape.error();
  const auto choice = TypeChoice::create(options);
  if (!choice.ok()) return choice.error();
  std::vector<PlannedTensor> tensors = list_tensors(options);
  for (PlannedTensor& tensor : tensors) {
    if (tensor.rows == 0) continue;  // norms stay F32, type 0
    const gguf::TensorType& type = (*choice)(tensor.name);
    if (tensor.width % type.weights_per_block != 0) {
      return invalid(tensor.name, "row width " + std::to_string(tensor.width) + " is not a multiple of " +
                                      std::to_string(type.weights_per_block) + ", the block of " +
                                      std::string(type.name));
    }
    tensor.type = type.id;
  }
  return tensors;
}

}  // namespace juno::random_model
