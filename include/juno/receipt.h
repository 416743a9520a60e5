// SPDX-License-Identifier: Apache-2.0
//
// Receipts: what was decided for each tensor, and what really ran. Calls are counted where the kernel is called, so a
// tensor that was packed but never multiplied shows zero.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "juno/decision.h"
#include "juno/status.h"

namespace juno::receipt {

/// How many columns of activations one operation had.
enum class ColumnClass : unsigned { one, few, many };
inline constexpr std::array<std::string_view, 3> kColumnClassNames = {"1", "2-8", "9+"};
constexpr ColumnClass column_class(std::size_t columns) noexcept {
  return columns == 1 ? ColumnClass::one : columns <= 8 ? ColumnClass::few : ColumnClass::many;
}

struct KernelCount {
  std::string kernel;                    ///< id, such as "gemv.lut4.sme2"
  std::array<std::uint64_t, 3> calls{};  ///< operations, by ColumnClass
  std::uint64_t tiles = 0;               ///< tiles times operations, over all threads
  [[nodiscard]] std::uint64_t total_calls() const noexcept { return calls[0] + calls[1] + calls[2]; }
};

/// One tensor's receipt as plain data.
struct TensorReceipt {
  std::string name;
  std::uint32_t type = 0;
  std::array<std::uint64_t, 4> shape{};
  Operation operation = Operation::other;
  Reason reason = Reason::type;
  std::string detail;
  std::string layout;  ///< "" unless compiled
  std::uint64_t native_bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t pack_nanoseconds = 0;
  std::vector<KernelCount> kernels;  ///< those that ran at least once
  std::uint64_t unpacked_calls = 0;  ///< operations served by unpacking, because no kernel covers them
};

/// A receipt that says what was decided, before anything ran.
TensorReceipt make_receipt(const TensorFacts& tensor, const Decision& decision, std::uint64_t native_bytes);

/// The live counters of one tensor. Threads count concurrently; relaxed order, since nothing depends on the numbers.
class Counters {
 public:
  explicit Counters(std::size_t kernels) : counts_(kernels) {}

  /// One thread ran `tiles` tiles of an operation; `first` for exactly one of the operation's threads.
  void count(std::size_t kernel, ColumnClass columns, std::uint64_t tiles, bool first) noexcept {
    Count& count = counts_[kernel];
    if (first) count.calls[static_cast<unsigned>(columns)].fetch_add(1, std::memory_order_relaxed);
    count.tiles.fetch_add(tiles, std::memory_order_relaxed);
  }
  void count_unpacked() noexcept { unpacked_.fetch_add(1, std::memory_order_relaxed); }

  /// Fills `kernels` and `unpacked_calls`.
  void read(TensorReceipt& receipt) const;

 private:
  struct Count {
    std::array<std::atomic<std::uint64_t>, 3> calls{};
    std::atomic<std::uint64_t> tiles{0};
  };
  std::vector<Count> counts_;  ///< one for each kernel of the registry
  std::atomic<std::uint64_t> unpacked_{0};
};

/// All receipts of a process. Thread-safe. Entries outlive their tensors, so that a receipt can be read after a model
/// was freed.
class Ledger {
 public:
  class Entry {
   public:
    explicit Entry(TensorReceipt receipt, std::size_t kernels) : receipt_(std::move(receipt)), counters_(kernels) {}
    [[nodiscard]] Counters& counters() noexcept { return counters_; }

   private:
    friend class Ledger;
    TensorReceipt receipt_;
    Counters counters_;
  };

  /// A tensor that Juno holds. The entry lives as long as the ledger.
  Entry& add(TensorReceipt receipt);
  /// Replaces what `entry` says of its tensor; counts stay.
  void update(Entry& entry, TensorReceipt receipt);
  /// A tensor that stays native. Being asked twice about the same tensor counts once.
  void add_native(TensorReceipt receipt);
  [[nodiscard]] std::vector<TensorReceipt> snapshot() const;

 private:
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
};

/// The ledger of this process.
Ledger& ledger();

/// The receipts as a JSON document (see docs/json.md), pretty-printed, with a final newline.
std::string to_json(const std::vector<TensorReceipt>& receipts, const Target& target);

}  // namespace juno::receipt
