// SPDX-License-Identifier: Apache-2.0
#include "plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <span>
#include <string_view>
#include <utility>

#include "gguf/tensor_type.h"
#include "weights.h"

namespace juno::random_model {
namespace {

constexpr uint32_t kF32 = 0;  // GGUF type id

constexpr uint32_t kMaxLayers = 512;    // LLAMA_MAX_LAYERS of llama.cpp
constexpr uint32_t kMaxExperts = 1024;  // LLAMA_MAX_EXPERTS
// Generous for any model, and small enough that no product of sizes overflows.
constexpr uint32_t kMaxWidth = 1U << 20;
constexpr uint32_t kMaxVocabulary = 1U << 22;

// Of the architectures that have experts, unless the options say otherwise.
constexpr uint32_t kExperts = 8;
constexpr uint32_t kExpertsUsed = 2;

Error invalid(std::string where, std::string why) {
  return {ErrorCode::invalid_argument, kWhat, std::move(where), std::move(why)};
}

Result<const Architecture*> find_architecture(std::string_view name) {
  const auto found = std::ranges::find(known_architectures(), name, &Architecture::name);
  if (found != known_architectures().end()) return &*found;
  return Error{ErrorCode::unsupported, kWhat, "architecture",
               fmt::format("'{}' is not one of: {}", name, fmt::join(architecture_names(), ", "))};
}

struct Range {
  const char* option;
  uint64_t value, least, most;
};

Status check_ranges(std::span<const Range> ranges) {
  for (const auto& [option, value, least, most] : ranges) {
    if (value < least || value > most) {
      return invalid(option, fmt::format("{} is not between {} and {}", value, least, most));
    }
  }
  return Done{};
}

// Rotary position encoding turns pairs of a head's weights, so a head's width is even.
Status set_heads(Shape& shape, const Options& options, const Architecture& architecture) {
  const uint64_t heads = options.heads;
  const uint64_t width = options.head_dimension;
  if (width == 0 && options.embedding % (2 * heads) != 0) {
    return invalid("embedding",
                   fmt::format("{} does not divide into {} heads of even width", options.embedding, heads));
  }
  if (width % 2 != 0) return invalid("head_dimension", fmt::format("{} is not even", width));
  if (width != 0 && width * heads != options.embedding && !architecture.any_head) {
    return invalid("head_dimension", fmt::format("the {} architecture shares its embedding of {} out among the heads",
                                                 architecture.name, options.embedding));
  }
  if (width * heads > kMaxWidth) {
    return invalid("head_dimension", fmt::format("{} heads of width {} are wider than {}", heads, width, kMaxWidth));
  }
  if (heads % options.kv_heads != 0) {
    return invalid("kv_heads", fmt::format("{} does not divide {} heads", options.kv_heads, heads));
  }
  shape[Size::heads] = heads;
  shape[Size::kv_heads] = options.kv_heads;
  shape[Size::explicit_head] = width;
  shape[Size::head] = width != 0 ? width : options.embedding / heads;
  shape[Size::queries] = shape[Size::head] * heads;
  shape[Size::keys] = shape[Size::head] * options.kv_heads;
  shape[Size::fused] = shape[Size::queries] + 2 * shape[Size::keys];
  return Done{};
}

Status set_experts(Shape& shape, const Options& options, const Architecture& architecture) {
  if (!architecture.has_experts()) {
    for (const auto& [option, value] : {std::pair{"experts", options.experts},
                                        {"experts_used", options.experts_used},
                                        {"expert_feed_forward", options.expert_feed_forward}}) {
      if (value != 0) return invalid(option, fmt::format("the {} architecture has no experts", architecture.name));
    }
    return Done{};
  }
  const auto or_default = [](uint32_t value, uint32_t fallback) { return value != 0 ? value : fallback; };
  const uint32_t experts = or_default(options.experts, kExperts);
  const uint32_t used = or_default(options.experts_used, std::min(kExpertsUsed, experts));
  const uint32_t feed_forward = or_default(options.expert_feed_forward, options.feed_forward);
  shape[Size::experts] = experts;
  shape[Size::experts_used] = used;
  shape[Size::expert_feed_forward] = feed_forward;
  const Range ranges[] = {
      {"experts", experts, 1, kMaxExperts},
      {"experts_used", used, 1, experts},
      {"expert_feed_forward", feed_forward, 1, kMaxWidth},
  };
  return check_ranges(ranges);
}

Result<Shape> make_shape(const Options& options, const Architecture& architecture) {
  const Range ranges[] = {
      {"layers", options.layers, 1, kMaxLayers},
      {"embedding", options.embedding, 1, kMaxWidth},
      {"feed_forward", options.feed_forward, 1, kMaxWidth},
      {"heads", options.heads, 1, kMaxWidth},
      {"kv_heads", options.kv_heads, 1, options.heads},
      {"context", options.context, 1, 1U << 30},
      {"vocabulary", options.vocabulary, kSmallestVocabulary, kMaxVocabulary},
  };
  if (const Status status = check_ranges(ranges); !status.ok()) return status.error();
  Shape shape;
  shape[Size::layers] = options.layers;
  shape[Size::embedding] = options.embedding;
  shape[Size::feed_forward] = options.feed_forward;
  shape[Size::gate_and_up] = uint64_t{2} * options.feed_forward;
  shape[Size::context] = options.context;
  shape[Size::vocabulary] = options.vocabulary;
  if (const Status status = set_heads(shape, options, architecture); !status.ok()) return status.error();
  if (const Status status = set_experts(shape, options, architecture); !status.ok()) return status.error();
  return shape;
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
        return invalid("types", fmt::format("'{}' is not a regular expression: {}", pattern, error.what()));
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
    if (type == nullptr) return invalid("types", fmt::format("'{}' is not a tensor type", name));
    if (find_weight_format(type->id) == nullptr) {
      return Error{ErrorCode::unsupported, kWhat, "types", fmt::format("weights are not stored as {}", type->name)};
    }
    return type;
  }

  std::vector<std::pair<std::regex, const gguf::TensorType*>> rules_;
  const gguf::TensorType* fallback_ = nullptr;
};

std::vector<PlannedTensor> list_tensors(const Architecture& architecture, const Shape& shape, const TypeChoice& choice,
                                        bool tied) {
  std::vector<PlannedTensor> tensors;
  const auto add = [&](const std::string& prefix, const TensorPattern& pattern) {
    std::string name = fmt::format("{}{}.weight", prefix, pattern.name);
    const bool f32 = pattern.f32 || pattern.rows == Size::none;
    const uint32_t type = f32 ? kF32 : choice(name).id;
    tensors.push_back({std::move(name), type, shape[pattern.width], shape[pattern.rows], shape[pattern.matrices]});
  };
  add("", {"token_embd", Size::embedding, Size::vocabulary});
  for (uint64_t layer = 0; layer < shape[Size::layers]; ++layer) {
    const std::string prefix = fmt::format("blk.{}.", layer);
    for (const auto& part : architecture.layer) {
      for (const TensorPattern& pattern : part) add(prefix, pattern);
    }
  }
  add("", {"output_norm", Size::embedding});
  if (!tied) add("", {"output", Size::embedding, Size::vocabulary});
  return tensors;
}

}  // namespace

Result<Plan> make_plan(const Options& options) {
  const auto architecture = find_architecture(options.architecture);
  if (!architecture.ok()) return architecture.error();
  const auto shape = make_shape(options, **architecture);
  if (!shape.ok()) return shape.error();
  const auto choice = TypeChoice::create(options);
  if (!choice.ok()) return choice.error();
  Plan plan{*architecture, *shape, list_tensors(**architecture, *shape, *choice, options.tied)};
  for (const PlannedTensor& tensor : plan.tensors) {
    const gguf::TensorType& type = *gguf::find_tensor_type(tensor.type);
    if (tensor.width % type.weights_per_block != 0) {
      return invalid(tensor.name, fmt::format("row width {} is not a multiple of {}, the block of {}", tensor.width,
                                              type.weights_per_block, type.name));
    }
  }
  return plan;
}

}  // namespace juno::random_model
