// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "base/bytes.h"

namespace juno {

/// Zeroed memory aligned to kLineBytes. Throws std::bad_alloc like any container.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t size)
      : size_(size), data_(static_cast<std::byte*>(::operator new(size, std::align_val_t{kLineBytes}))) {
    std::memset(data_.get(), 0, size);
  }
  [[nodiscard]] std::byte* data() noexcept { return data_.get(); }
  [[nodiscard]] const std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  struct Delete {
    void operator()(std::byte* bytes) const noexcept { ::operator delete(bytes, std::align_val_t{kLineBytes}); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Delete> data_;
};

}  // namespace juno
