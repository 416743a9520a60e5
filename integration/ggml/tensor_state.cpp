// SPDX-License-Identifier: Apache-2.0
//
// From plain to packed and back.
#include <chrono>
#include <cstring>
#include <new>

#include "base/bytes.h"
#include "buffer_type.h"
#include "ggml-impl.h"
#include "memory.h"

namespace juno::integration {

TensorState::TensorState(ggml_tensor* tensor, Decision decision) : tensor_(tensor), decision_(std::move(decision)) {}

matmul::PackedMatrix TensorState::matrix() const noexcept {
  return {decision_.recipe, bytes(), static_cast<std::size_t>(tensor_->ne[1]),
          static_cast<std::size_t>(tensor_->ne[0])};
}

void TensorState::report(Reason reason, std::string detail) {
  const auto facts = facts_of(tensor_, Operation::mul_mat);
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

void TensorState::pack(const std::byte* plain) {
  const auto start = std::chrono::steady_clock::now();
  const matmul::PackedMatrix target = matrix();
  for (std::size_t tile = 0; tile < target.recipe->layout.tiles(target.rows); ++tile) {
    target.recipe->pack_tile(plain, target.rows, target.width, tile, bytes());
  }
  // When a graph writes into a packed tensor, other threads look at content_ meanwhile: it must not be touched.
  if (content_ != Content::packed) content_ = Content::packed;
  pack_nanoseconds_ += static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count());
  report(Reason::compiled, decision_.detail);
}

void TensorState::write_part(const void* data, std::size_t offset, std::size_t size) {
  const std::size_t total = ggml_nbytes(tensor_);
  if (content_ == Content::packed) {
    std::vector<std::byte> plain(total);
    read(plain.data(), 0, total);
    std::memcpy(plain.data() + offset, data, size);
    pack(plain.data());
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
  pack(plain.data());
}

void TensorState::write(const void* data, std::size_t offset, std::size_t size) noexcept {
  const std::size_t total = ggml_nbytes(tensor_);
  try {
    if (offset != 0 || size != total || !decision_.compiled()) {
      write_part(data, offset, size);
      return;
    }
    written_ = total;
    pack(static_cast<const std::byte*>(data));
    release_file_pages(data, size);
  } catch (const std::bad_alloc&) {
    // ggml's interface has no way to report this. The content is still consistent: what was there before (a packed
    // tensor that could not be changed), or plain bytes.
    GGML_LOG_ERROR("juno: write tensor: %s: no memory to pack it\n", tensor_->name);
    if (entry_ != nullptr && content_ == Content::plain) report(Reason::no_memory, "no memory to pack it");
  }
}

void TensorState::read(void* data, std::size_t offset, std::size_t size) const noexcept {
  if (content_ == Content::plain) {
    std::memcpy(data, bytes() + offset, size);
    return;
  }
  const matmul::PackedMatrix source = matrix();
  const std::size_t row_bytes = source.recipe->row_bytes(source.width);
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
    source.recipe->unpack_row(source.data, source.width, at / row_bytes, row.get());
    std::memcpy(out + done, row.get() + in_row, count);
    done += count;
  }
}

void TensorState::forget() noexcept {
  content_ = Content::plain;
  written_ = 0;
}

}  // namespace juno::integration
