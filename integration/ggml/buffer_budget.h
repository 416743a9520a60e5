// SPDX-License-Identifier: Apache-2.0
//
// Memory for the packed tensors of one buffer.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "buffer_type.h"

namespace juno::integration {

/// Plans once all tensors of a buffer are known, which is when the first of them is written: llama.cpp asks for sizes,
/// allocates a buffer for all of its tensors, places each (init_tensor), and only then writes them one after the other
/// (create_backend_buffers and load_all_data of v0.4.0). What is planned is process-wide; it is given back at the end.
class BufferBudget {
 public:
  /// For a buffer that is about to be allocated; `real`: not one of the loader's dummies, which get no tensors.
  explicit BufferBudget(bool real);
  BufferBudget(const BufferBudget&) = delete;
  BufferBudget& operator=(const BufferBudget&) = delete;
  ~BufferBudget();

  /// Decides which of the tensors that were not planned yet stay plain for want of memory.
  void plan(std::deque<TensorState>& states);
  /// `bytes` of packed tensors were written.
  void settle(std::uint64_t bytes);

 private:
  std::optional<std::uint64_t> free_;  ///< before this buffer
  std::size_t planned_ = 0;            ///< tensors
  std::uint64_t taken_ = 0;
  std::uint64_t settled_ = 0;
};

}  // namespace juno::integration
