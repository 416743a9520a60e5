// SPDX-License-Identifier: Apache-2.0
#include "gguf/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>

#include "gguf/parser.h"

namespace juno::gguf {
namespace {

// Closes the descriptor on every path.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Error out_of_memory(const std::string& name) {
  return {ErrorCode::out_of_memory, kReadHeader, name, "not enough memory for the header"};
}

Result<Header> read_file(const std::filesystem::path& path, const std::string& name) {
  // Looked at before opening: opening a pipe would wait for its writer.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    return Error{ErrorCode::not_found, kReadHeader, name, "no such file"};
  }
  if (error) return Error{ErrorCode::unreadable, kReadHeader, name, error.message()};
  if (std::filesystem::is_directory(status))
    return Error{ErrorCode::unreadable, kReadHeader, name, "it is a directory"};
  if (!std::filesystem::is_regular_file(status)) {
    return Error{ErrorCode::unreadable, kReadHeader, name, "it is not a regular file"};
  }
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts = {};
  if (file.descriptor() < 0 || ::fstat(file.descriptor(), &facts) != 0) {
    return Error{ErrorCode::unreadable, kReadHeader, name, std::generic_category().message(errno)};
  }
  const auto file_bytes = static_cast<uint64_t>(facts.st_size);
  Source source(file.descriptor(), file_bytes);
  return parse_header(source, file_bytes, name);
}

template <class T>
const T* find(const Header& header, std::string_view key) {
  const auto entry = header.metadata.find(key);
  return entry == header.metadata.end() ? nullptr : std::get_if<T>(&entry->second);
}

}  // namespace

std::optional<std::string> Header::string(std::string_view key) const {
  const auto* text = find<std::string>(*this, key);
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

std::optional<uint64_t> Header::unsigned_value(std::string_view key) const {
  if (const auto* value = find<uint64_t>(*this, key)) return *value;
  if (const auto* value = find<int64_t>(*this, key); value != nullptr && *value >= 0) {
    return static_cast<uint64_t>(*value);
  }
  return std::nullopt;
}

std::optional<ArrayInfo> Header::array(std::string_view key) const {
  const auto* info = find<ArrayInfo>(*this, key);
  return info != nullptr ? std::optional(*info) : std::nullopt;
}

const TensorInfo* Header::tensor(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &TensorInfo::name);
  return found != tensors.end() ? &*found : nullptr;
}

Result<Header> read_header(const std::filesystem::path& path) {
  const std::string name = path.string();
  try {
    return read_file(path, name);
  } catch (const std::bad_alloc&) {
    return out_of_memory(name);
  }
}

Result<Header> read_header(std::span<const std::byte> bytes, uint64_t file_bytes, std::string_view name) {
  const std::string where(name);
  try {
    Source source(bytes.first(std::min<uint64_t>(bytes.size(), file_bytes)));
    return parse_header(source, file_bytes, where);
  } catch (const std::bad_alloc&) {
    return out_of_memory(where);
  }
}

}  // namespace juno::gguf
