// SPDX-License-Identifier: Apache-2.0
//
// What llama.cpp wants of a model of each architecture: which tensors a layer has, and which metadata. Shapes are given
// by the names of sizes, so that one table serves models of every size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace juno::random_model {

/// The sizes that shapes and metadata are made of.
enum class Size : uint8_t {
  none,  ///< always 0
  vocabulary,
  context,
  layers,
  embedding,
  feed_forward,
  gate_and_up,  ///< twice that: both matrices in one
  heads,
  kv_heads,
  head,           ///< width of one head
  explicit_head,  ///< the same, or 0 if llama.cpp's own default is meant
  queries,        ///< width of all heads together
  keys,           ///< width of all key heads together
  fused,          ///< width of all queries, keys and values together
  experts,        ///< 0 in an architecture without them, like the next two
  experts_used,
  expert_feed_forward,
};

/// The value of each size in one model.
class Shape {
 public:
  uint64_t& operator[](Size size) noexcept { return values_[static_cast<std::size_t>(size)]; }
  uint64_t operator[](Size size) const noexcept { return values_[static_cast<std::size_t>(size)]; }

 private:
  std::array<uint64_t, static_cast<std::size_t>(Size::expert_feed_forward) + 1> values_{};
};

/// A tensor as all models of an architecture have it.
struct TensorPattern {
  std::string_view name;  ///< without the layer in front and ".weight" behind
  Size width;
  Size rows = Size::none;      ///< none: a norm
  Size matrices = Size::none;  ///< none: a single matrix or a norm
  bool f32 = false;            ///< stays F32, as norms do
};

/// One metadata entry, without the architecture's name in front; a size of 0 is left out.
struct Key {
  std::string_view name;
  std::variant<Size, uint32_t, float> value;
};

/// One architecture of llama.cpp.
struct Architecture {
  static constexpr std::size_t kMaxParts = 6;

  std::string_view name;
  std::array<std::span<const TensorPattern>, kMaxParts> layer;  ///< in file order; unused parts are empty
  std::span<const Key> keys;                                    ///< beyond common_keys()
  bool any_head = true;  ///< whether heads may have another width than their share of the embedding

  [[nodiscard]] bool has_experts() const noexcept;
};

/// Every architecture that this tool knows.
std::span<const Architecture> known_architectures() noexcept;

/// The metadata that every architecture has.
std::span<const Key> common_keys() noexcept;

}  // namespace juno::random_model
