// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "dispatch/registry.h"
#include "juno/receipt.h"
#include "pack/recipe.h"

namespace juno::receipt {

TensorReceipt make_receipt(const TensorFacts& tensor, const Decision& decision, std::uint64_t native_bytes) {
  return {.name = std::string(tensor.name),
          .type = tensor.type,
          .shape = tensor.shape,
          .operation = tensor.operation,
          .reason = decision.reason,
          .detail = decision.detail,
          .layout = decision.compiled() ? std::string(decision.recipe->layout.name) : std::string(),
          .native_bytes = native_bytes,
          .packed_bytes = decision.packed_bytes,
          .kernels = {}};
}

void Counters::read(TensorReceipt& receipt) const {
  receipt.kernels.clear();
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    KernelCount count{.kernel = dispatch::kernel_id(dispatch::registry()[i])};
    for (std::size_t c = 0; c < count.calls.size(); ++c) {
      count.calls[c] = counts_[i].calls[c].load(std::memory_order_relaxed);
    }
    count.tiles = counts_[i].tiles.load(std::memory_order_relaxed);
    if (count.tiles != 0) receipt.kernels.push_back(std::move(count));
  }
  receipt.unpacked_calls = unpacked_.load(std::memory_order_relaxed);
}

Ledger::Entry& Ledger::add(TensorReceipt receipt) {
  const std::lock_guard lock(mutex_);
  // deque: references to earlier entries stay valid
  return entries_.emplace_back(std::move(receipt), dispatch::registry().size());
}

void Ledger::update(Entry& entry, TensorReceipt receipt) {
  const std::lock_guard lock(mutex_);
  entry.receipt_ = std::move(receipt);
}

void Ledger::add_native(TensorReceipt receipt) {
  const auto key = [](const TensorReceipt& r) { return std::tie(r.name, r.type, r.shape, r.operation, r.reason); };
  const std::lock_guard lock(mutex_);
  const bool known = std::any_of(entries_.begin(), entries_.end(),
                                 [&](const Entry& entry) { return key(entry.receipt_) == key(receipt); });
  if (!known) entries_.emplace_back(std::move(receipt), 0);
}

std::vector<TensorReceipt> Ledger::snapshot() const {
  const std::lock_guard lock(mutex_);
  std::vector<TensorReceipt> receipts;
  receipts.reserve(entries_.size());
  for (const Entry& entry : entries_) entry.counters_.read(receipts.emplace_back(entry.receipt_));
  return receipts;
}

Ledger& ledger() {
  static Ledger& instance = *new Ledger;  // never destroyed: exit handlers still read it
  return instance;
}

}  // namespace juno::receipt
