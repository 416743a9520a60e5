// SPDX-License-Identifier: Apache-2.0
//
// What the packed tensors of all models in this process take together.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "budget/plan.h"

namespace juno::budget {

/// What there is for packed tensors.
struct Room {
  /// For all packed tensors of the process, if somebody said so.
  std::optional<std::uint64_t> limit;
  /// Else what was free when the memory was asked for: packed tensors that exist were no part of it any more, those
  /// that are planned and not yet written still were. Nothing: unknown, and no limit.
  std::optional<std::uint64_t> free;
};

/// What was taken, and by which candidates.
struct Plan {
  std::vector<bool> chosen;
  std::uint64_t bytes = 0;   ///< what there was for all candidates together
  std::uint64_t packed = 0;  ///< what the chosen ones take
};

/// Thread-safe.
class Account {
 public:
  /// Chooses among the candidates, and takes what those need.
  Plan take(std::span<const Candidate> candidates, const Room& room);
  /// `bytes` of what was taken have been written: the system knows of them.
  void settle(std::uint64_t bytes);
  /// Gives back `taken` bytes, `settled` of which had been written.
  void release(std::uint64_t taken, std::uint64_t settled);
  /// What is taken now.
  [[nodiscard]] std::uint64_t taken() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t taken_ = 0;
  std::uint64_t settled_ = 0;
};

/// The account of this process.
Account& account();

}  // namespace juno::budget
