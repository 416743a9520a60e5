// SPDX-License-Identifier: Apache-2.0
//
// From plain to packed and back.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "buffer_type.h"
#include "ggml-impl.h"
#include "memory.h"

namespace juno::integration {

TensorState::TensorState(ggml_tensor* tensor, Decision decision) : tensor_(tensor), decision_(std::move(decision)) {}

pack::Shape TensorState::shape() const noexcept {
  return {static_cast<std::size_t>(tensor_->ne[1]), static_cast<std::size_t>(tensor_->ne[0]),
          static_cast<std::size_t>(tensor_->ne[2])};
}

matmul::PackedTensor TensorState::packed() const noexcept { return {decision_.recipe, bytes(), shape()}; }

void TensorState::report(Reason reason, std::string detail) {
  const auto facts = facts_of(tensor_, product_of(tensor_));
  receipt::TensorReceipt receipt = receipt::make_receipt(facts, decision_, ggml_nbytes(tensor_));
  receipt.reason = reason;
  receipt.detail = std::move(detail);
  receipt.pack_nanoseconds = pack_nanoseconds_;
  if (reason != Reason::compiled) {
    receipt.layout.clear();
    receipt.packed_bytes = 0;
  }
  if (entry_ == nullptr) {
    entry_ = &receipt::ledger().add(std::move(receipt));
  } else {
    receipt::ledger().update(*entry_, std::move(receipt));
  }
}

void TensorState::report_no_memory() noexcept {
  try {
    if (entry_ != nullptr && content_ == Content::plain) report(Reason::no_memory, "no memory to pack it");
  } catch (...) {
    GGML_LOG_ERROR("juno: write tensor: %s: no memory for its receipt\n", tensor_->name);
  }
}

std::optional<pack::BadRow> TensorState::pack(const std::byte* plain, unsigned threads) {
  const auto start = std::chrono::steady_clock::now();
  const auto bad = pack::pack_tensor(*decision_.recipe, shape(), plain, bytes(), threads);
  pack_nanoseconds_ += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
  return bad;
}

void TensorState::set_content(const std::byte* plain) {
  // A packed tensor counts its calls in its entry: should there be no memory for one, nothing has been touched yet.
  if (entry_ == nullptr) report(Reason::not_written, "not packed yet");
  if (const auto bad = pack(plain, pack::usable_processors())) {
    const std::string where = tensor_->ne[2] == 1 ? fmt::format("row {}", bad->row)
                                                  : fmt::format("row {} of expert {}", bad->row, bad->matrix);
    const std::string why = where + " has a block scale that is infinite or NaN";
    std::memcpy(bytes(), plain, ggml_nbytes(tensor_));
    content_ = Content::plain;
    GGML_LOG_WARN("juno: pack tensor: %s: %s; it stays with llama.cpp's own code\n", tensor_->name, why.c_str());
    report(Reason::bad_scale, why);
    return;
  }
  content_ = Content::packed;
  report(Reason::compiled, decision_.detail);
}

void TensorState::rewrite(const std::byte* plain) noexcept {
  // Bad scales give what they give; and ggml's threads are waiting, so none of ours are started.
  (void)pack(plain, 1);
}

void TensorState::write_part(const void* data, std::size_t offset, std::size_t size) {
  const std::size_t total = ggml_nbytes(tensor_);
  if (content_ == Content::packed) {
    std::vector<std::byte> plain(total);
    read(plain.data(), 0, total);
    std::memcpy(plain.data() + offset, data, size);
    set_content(plain.data());
    return;
  }
  std::memcpy(bytes() + offset, data, size);
  if (offset <= written_) written_ = std::max(written_, offset + size);
  if (!decision_.compiled()) return;
  if (written_ < total) {
    report(Reason::not_written, "written in parts, so far not completely");
    return;
  }
  const std::vector<std::byte> plain(bytes(), bytes() + total);
  set_content(plain.data());
}

void TensorState::write(const void* data, std::size_t offset, std::size_t size) noexcept {
  const std::size_t total = ggml_nbytes(tensor_);
  try {
    if (offset != 0 || size != total || !decision_.compiled()) {
      write_part(data, offset, size);
      return;
    }
    written_ = total;
    set_content(static_cast<const std::byte*>(data));
    release_file_pages(data, size);
  } catch (...) {
    // Only memory can have run out, and ggml's interface has no way to report it. The content stays consistent: what
    // was there before (a packed tensor that could not be changed), or plain bytes.
    if (content_ == Content::plain && decision_.compiled() && offset == 0 && size == total) {
      std::memcpy(bytes(), data, size);
    }
    GGML_LOG_ERROR("juno: write tensor: %s: no memory to pack it\n", tensor_->name);
    report_no_memory();
  }
}

void TensorState::read(void* data, std::size_t offset, std::size_t size) const noexcept {
  if (content_ == Content::plain) {
    std::memcpy(data, bytes() + offset, size);
    return;
  }
  const std::size_t row_bytes = decision_.recipe->row_bytes(shape().width);
  auto* out = static_cast<std::byte*>(data);
  // One block at a time would do without this row; ggml reads whole tensors nearly always.
  const std::unique_ptr<std::byte[]> row(new (std::nothrow) std::byte[row_bytes]);
  if (!row) {
    GGML_LOG_ERROR("juno: read tensor: %s: no memory for one row\n", tensor_->name);
    return;
  }
  for (std::size_t done = 0; done < size;) {
    const std::size_t at = offset + done;
    const std::size_t in_row = at % row_bytes;
    const std::size_t count = std::min(row_bytes - in_row, size - done);
    pack::unpack_tensor_row(*decision_.recipe, shape(), bytes(), at / row_bytes, row.get());
    std::memcpy(out + done, row.get() + in_row, count);
    done += count;
  }
}

void TensorState::decline(Reason reason, std::string detail) {
  decision_ = {.reason = reason, .detail = detail};
  report(reason, std::move(detail));
}

void TensorState::forget() noexcept {
  content_ = Content::plain;
  written_ = 0;
}

}  // namespace juno::integration
