// SPDX-License-Identifier: Apache-2.0
//
// The buffer type that holds Juno's tensors inside ggml, and what is known of each tensor in it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ggml-backend.h"
#include "ggml.h"
#include "juno/decision.h"
#include "juno/receipt.h"
#include "matmul/matmul.h"

namespace juno::integration {

/// The buffer type "JUNO" of ggml's CPU device. One per process.
ggml_backend_buffer_type_t buffer_type();

/// What a tensor's bytes are at the moment.
enum class Content {
  plain,   ///< the format's own bytes, as ggml expects them (also before anything was written)
  packed,  ///< a packed matrix
};

/// State of one tensor in a Juno buffer, at ggml_tensor::extra. Owned by the buffer. Its content changes only while
/// ggml writes the tensor from outside of a graph; a graph that writes into a packed tensor leaves it packed.
class TensorState {
 public:
  TensorState(ggml_tensor* tensor, Decision decision);

  [[nodiscard]] Content content() const noexcept { return content_; }
  [[nodiscard]] const Decision& decision() const noexcept { return decision_; }
  [[nodiscard]] const ggml_tensor* tensor() const noexcept { return tensor_; }
  /// Valid while content() is packed.
  [[nodiscard]] matmul::PackedTensor packed() const noexcept;
  [[nodiscard]] receipt::Counters& counters() noexcept { return entry_->counters(); }

  /// Writes and reads the format's own bytes at a byte offset, whatever the content is. A tensor is packed as soon as
  /// all its bytes have been written.
  void write(const void* data, std::size_t offset, std::size_t size) noexcept;
  void read(void* data, std::size_t offset, std::size_t size) const noexcept;
  /// New content for a packed tensor that a graph writes into; it stays packed.
  void rewrite(const std::byte* plain) noexcept;
  /// Leaves the tensor to ggml's own code, for a reason that came up while loading. Call before anything is written.
  void decline(Reason reason, std::string detail);
  /// Forgets what was written; the bytes in memory are plain from now on.
  void forget() noexcept;

 private:
  [[nodiscard]] std::byte* bytes() const noexcept { return static_cast<std::byte*>(tensor_->data); }
  void write_part(const void* data, std::size_t offset, std::size_t size);
  std::optional<pack::BadRow> pack(const std::byte* plain, unsigned threads);
  void set_content(const std::byte* plain);
  [[nodiscard]] pack::Shape shape() const noexcept;
  void report(Reason reason, std::string detail);
  void report_no_memory() noexcept;

  ggml_tensor* tensor_;
  Decision decision_;
  Content content_ = Content::plain;
  std::size_t written_ = 0;  ///< bytes written without a gap from the start
  std::uint64_t pack_nanoseconds_ = 0;
  receipt::Ledger::Entry* entry_ = nullptr;
};

/// The state of `tensor`, or of the tensor that it is a view of, if that lies in a Juno buffer; else nullptr.
TensorState* state_of(const ggml_tensor* tensor) noexcept;

/// The same, and only if it is packed.
TensorState* packed_state_of(const ggml_tensor* tensor) noexcept;

/// The product that a weight in a Juno buffer was accepted for.
Operation product_of(const ggml_tensor* tensor) noexcept;

/// `tensor` as the decision function sees it.
TensorFacts facts_of(const ggml_tensor* tensor, Operation operation) noexcept;

}  // namespace juno::integration
