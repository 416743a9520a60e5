// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace juno::gguf {

/// A forward-only view of the file, backed by a descriptor or by memory.
class Source {
 public:
  Source(int descriptor, uint64_t bytes) : descriptor_(descriptor), end_(bytes), buffer_(kBufferBytes) {}
  explicit Source(std::span<const std::byte> bytes) : end_(bytes.size()), window_(bytes) {}

  [[nodiscard]] uint64_t position() const { return position_; }
  [[nodiscard]] uint64_t remaining() const { return end_ - position_; }
  [[nodiscard]] int read_error() const { return read_error_; }

  // The caller has compared `count` with remaining().
  void skip(uint64_t count) { position_ += count; }

  // False at the end of the file or on a read error (then read_error() is not 0).
  bool read(void* out, uint64_t count) {
    if (count > remaining()) return false;
    auto* to = static_cast<std::byte*>(out);
    while (count > 0) {
      if (position_ < window_start_ || position_ - window_start_ >= window_.size()) {
        if (!refill()) return false;
      }
      const uint64_t at = position_ - window_start_;
      const uint64_t take = std::min<uint64_t>(count, window_.size() - at);
      std::memcpy(to, window_.data() + at, take);
      to += take;
      position_ += take;
      count -= take;
    }
    return true;
  }

 private:
  static constexpr std::size_t kBufferBytes = 256 << 10;

  bool refill() {
    if (descriptor_ < 0) return false;
    ssize_t got = 0;
    do {
      got = ::pread(descriptor_, buffer_.data(), buffer_.size(), static_cast<off_t>(position_));
    } while (got < 0 && errno == EINTR);
    if (got < 0) read_error_ = errno;
    if (got <= 0) return false;
    window_ = std::span(buffer_.data(), static_cast<std::size_t>(got));
    window_start_ = position_;
    return true;
  }

  int descriptor_ = -1;
  int read_error_ = 0;
  uint64_t position_ = 0;
  uint64_t end_;
  uint64_t window_start_ = 0;
  std::span<const std::byte> window_;
  std::vector<std::byte> buffer_;
};

}  // namespace juno::gguf
