// SPDX-License-Identifier: Apache-2.0
#include "buffer_budget.h"

#include <algorithm>

#include "budget/account.h"
#include "budget/available.h"
#include "juno/engine.h"

namespace juno::integration {

// Asked before the buffer is mapped: its address space, which is for all tensors packed, must not count as used up.
BufferBudget::BufferBudget(bool real) {
  if (!real || target().memory_limit) return;
  if (const auto available = budget::available_memory()) free_ = budget::default_budget(*available);
}

BufferBudget::~BufferBudget() { budget::account().release(taken_, settled_); }

void BufferBudget::plan(std::deque<TensorState>& states) {
  if (planned_ == states.size()) return;
  std::vector<budget::Candidate> candidates;
  std::vector<TensorState*> tensors;
  for (; planned_ < states.size(); ++planned_) {
    TensorState& state = states[planned_];
    if (!state.decision().compiled()) continue;
    tensors.push_back(&state);
    candidates.push_back({.name = state.tensor()->name,
                          .native_bytes = ggml_nbytes(state.tensor()),
                          .packed_bytes = state.decision().packed_bytes,
                          .weights = static_cast<std::uint64_t>(ggml_nelements(state.tensor())),
                          .gguf_type = static_cast<std::uint32_t>(state.tensor()->type)});
  }
  const budget::Plan plan = budget::account().take(candidates, {.limit = target().memory_limit, .free = free_});
  taken_ += plan.packed;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!plan.chosen[i]) tensors[i]->decline(Reason::budget, budget::over_budget(candidates[i], plan.bytes));
  }
}

void BufferBudget::settle(std::uint64_t bytes) {
  // A buffer that is cleared and written once more settles the same bytes again.
  bytes = std::min(bytes, taken_ - settled_);
  settled_ += bytes;
  budget::account().settle(bytes);
}

}  // namespace juno::integration
