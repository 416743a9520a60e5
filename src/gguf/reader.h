// SPDX-License-Identifier: Apache-2.0
//
// Reads the header of a GGUF file: its metadata and the list of its tensors, never the tensor data. The file is treated
// as hostile: every count, length and offset is checked against the file before anything is allocated or skipped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "juno/status.h"

namespace juno::gguf {

/// One tensor, already checked: its type is known, its row is whole blocks, and its bytes lie within the file.
struct TensorInfo {
  std::string name;
  uint32_t type;                  ///< an id that find_tensor_type() knows
  std::array<uint64_t, 4> shape;  ///< shape[0] is the row width in weights; unused dimensions are 1
  uint64_t offset;                ///< bytes from the start of the file
  uint64_t bytes;                 ///< without the padding that may follow
};

/// Stands in for a metadata array (and for text too long to keep); the elements themselves are not kept.
struct ArrayInfo {
  uint32_t element_type;  ///< GGUF value type: 0 u8, 1 i8, 2 u16, 3 i16, 4 u32, 5 i32, 6 f32, 7 bool, 8 string, ...
  uint64_t length;        ///< number of elements
};

/// Integers are widened, floats are kept as double.
using MetadataValue = std::variant<uint64_t, int64_t, double, bool, std::string, ArrayInfo>;

/// The header of one GGUF file.
struct Header {
  uint32_t version = 0;
  uint64_t alignment = 0;    ///< bytes; a power of two
  uint64_t data_offset = 0;  ///< where tensor data begins, bytes from the start of the file
  uint64_t file_bytes = 0;
  std::vector<TensorInfo> tensors;  ///< in file order
  std::map<std::string, MetadataValue, std::less<>> metadata;

  /// The text under `key`; nothing if the key is absent or not a string.
  [[nodiscard]] std::optional<std::string> string(std::string_view key) const;

  /// The integer under `key`, of any stored width; nothing if absent, not an integer, or negative.
  [[nodiscard]] std::optional<uint64_t> unsigned_value(std::string_view key) const;

  /// The array under `key`; nothing if absent or not an array.
  [[nodiscard]] std::optional<ArrayInfo> array(std::string_view key) const;

  /// The tensor with this name or nullptr; owned by this header. Takes time proportional to the number of tensors.
  [[nodiscard]] const TensorInfo* tensor(std::string_view name) const;
};

/// Reads the header of the file at `path`. Error.where is the path with the byte offset or the tensor's name.
/// Codes: not_found; unreadable (a directory, no permission, a read error); truncated (the header or a tensor ends
/// beyond the file); malformed; unsupported (GGUF version, byte order, tensor type, or a size beyond this reader's
/// limits); out_of_memory.
Result<Header> read_header(const std::filesystem::path& path);

/// The same for bytes already in memory: `bytes` is the beginning of a file of `file_bytes` bytes and holds at least
/// its header (a header that runs past `bytes` is truncated). `name` stands for the path in errors.
Result<Header> read_header(std::span<const std::byte> bytes, uint64_t file_bytes, std::string_view name);

}  // namespace juno::gguf
