// SPDX-License-Identifier: Apache-2.0
#include "budget/account.h"

#include <limits>

namespace juno::budget {

Plan Account::take(std::span<const Candidate> candidates, const Room& room) {
  const std::lock_guard lock(mutex_);
  std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t used = 0;
  if (room.limit) {
    all = *room.limit;
    used = taken_;
  } else if (room.free) {
    all = *room.free;
    used = taken_ - settled_;
  }
  Plan plan;
  plan.bytes = all > used ? all - used : 0;
  plan.chosen = choose(candidates, plan.bytes);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (plan.chosen[i]) plan.packed += candidates[i].packed_bytes;
  }
  taken_ += plan.packed;
  return plan;
}

void Account::settle(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  settled_ += bytes;
}

void Account::release(std::uint64_t taken, std::uint64_t settled) {
  const std::lock_guard lock(mutex_);
  taken_ -= taken;
  settled_ -= settled;
}

std::uint64_t Account::taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

Account& account() {
  static Account& instance = *new Account;  // never destroyed: buffers may be freed by exit handlers
  return instance;
}

}  // namespace juno::budget
