// SPDX-License-Identifier: Apache-2.0
//
// The tensor element types a GGUF file can name, as ggml 0.23.0 numbers and sizes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace juno::gguf {

/// One ggml tensor type. Rows of a tensor are whole blocks: `weights_per_block` weights stored in `bytes_per_block`
/// bytes. Unquantised types have one weight per block.
struct TensorType {
  uint32_t id;            ///< the number stored in GGUF files (enum ggml_type)
  std::string_view name;  ///< ggml's name in upper case, such as "IQ4_XS"
  uint32_t weights_per_block;
  uint32_t bytes_per_block;
};

/// Every known type in ascending order of id. Ids that ggml has removed (Q4_2, Q4_0_4_4, ...) are absent.
std::span<const TensorType> tensor_types() noexcept;

/// The type with this id, or nullptr. The pointer stays valid for the life of the program.
const TensorType* find_tensor_type(uint32_t id) noexcept;

/// The name of the type with this id, or the id itself as text if it is unknown.
std::string tensor_type_name(uint32_t id);

/// The type with this name, in any mixture of upper and lower case, or nullptr.
const TensorType* find_tensor_type(std::string_view name) noexcept;

}  // namespace juno::gguf
