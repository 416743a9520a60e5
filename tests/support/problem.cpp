// SPDX-License-Identifier: Apache-2.0
#include "support/problem.h"

#include <thread>

#include "dispatch/registry.h"

namespace juno::test {

receipt::TensorReceipt multiply(const matmul::Product& product, std::size_t threads) {
  std::atomic<std::size_t> next_part{0};
  matmul::Product shared = product;
  shared.next_part = &next_part;
  receipt::Counters counters(dispatch::registry().size());
  std::vector<std::thread> pool;
  for (std::size_t thread = 0; thread < threads; ++thread) {
    pool.emplace_back([&] { matmul::multiply_share(shared, threads, counters); });
  }
  for (std::thread& thread : pool) thread.join();
  receipt::TensorReceipt receipt;
  counters.read(receipt);
  return receipt;
}

ExactDot exact_dot(const Problem& problem, std::size_t row, std::size_t column) {
  const std::size_t super_blocks = problem.shape.super_blocks();
  const std::vector<Weight64> weights = exact_weights(problem.recipe, problem.row(row), super_blocks);
  ExactDot result{0, 0};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const layout::ActivationBlock& block = problem.activations[column * super_blocks + i / layout::kSuperBlockWeights];
    const double activation = static_cast<double>(block.d) * block.q[i % layout::kSuperBlockWeights];
    result.value += weights[i].value * activation;
    result.magnitude += weights[i].magnitude * std::abs(activation);
  }
  return result;
}

}  // namespace juno::test
