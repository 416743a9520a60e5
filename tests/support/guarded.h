// SPDX-License-Identifier: Apache-2.0
//
// Memory whose last byte is followed by a page that must not be touched: reading or writing past the end ends the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/bytes.h"

namespace juno::test {

template <class T>
class Guarded {
 public:
  /// `count` values, all bytes 0xa5; the end is flush with the guard page.
  explicit Guarded(std::size_t count) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t room = round_up(count * sizeof(T), page);
    mapped_ = room + page;
    void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) throw std::bad_alloc();
    start_ = static_cast<std::byte*>(mapping);
    if (mprotect(start_ + room, page, PROT_NONE) != 0) throw std::bad_alloc();
    data_ = reinterpret_cast<T*>(start_ + room - count * sizeof(T));
    std::memset(static_cast<void*>(data_), 0xa5, count * sizeof(T));
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  ~Guarded() { munmap(start_, mapped_); }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  T& operator[](std::size_t i) noexcept { return data_[i]; }
  const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + count_; }
  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(data_); }
  [[nodiscard]] const std::byte* bytes() const noexcept { return reinterpret_cast<const std::byte*>(data_); }

 private:
  std::size_t count_;
  std::size_t mapped_;
  std::byte* start_;
  T* data_;
};

}  // namespace juno::test
