// SPDX-License-Identifier: Apache-2.0
#include "bandwidth.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

namespace juno::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Line = std::array<std::uint64_t, 8>;

constexpr int kPasses = 8;
constexpr std::size_t kAhead = 8192 / sizeof(Line);

constexpr std::align_val_t kLargePage{std::size_t{2} << 20};

/// In large pages where the system has them, as packed weights are.
class Memory {
 public:
  Memory() : lines_(static_cast<Line*>(::operator new(kMemoryBytes, kLargePage))) {
#if defined(MADV_HUGEPAGE)
    madvise(lines_.get(), kMemoryBytes, MADV_HUGEPAGE);
#endif
    std::uninitialized_fill_n(lines_.get(), kMemoryBytes / sizeof(Line), Line{1, 1, 1, 1, 1, 1, 1, 1});
  }
  [[nodiscard]] std::span<const Line> lines() const { return {lines_.get(), kMemoryBytes / sizeof(Line)}; }

 private:
  struct Delete {
    void operator()(Line* lines) const noexcept { ::operator delete(lines, kLargePage); }
  };
  std::unique_ptr<Line, Delete> lines_;
};

/// The sum of what it read, so that reading is not optimised away.
std::uint64_t read(std::span<const Line> lines, bool prefetch) {
  Line sums{};
  for (const Line& line : lines) {
    if (prefetch) __builtin_prefetch(&line + kAhead);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += line[i];
  }
  return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
}

/// Seconds until the last of the threads has read its share.
double seconds_to_read(std::span<const Line> lines, unsigned threads, bool prefetch) {
  const std::size_t share = lines.size() / threads;
  std::vector<Clock::time_point> begins(threads);
  std::vector<Clock::time_point> ends(threads);
  std::vector<std::uint64_t> sums(threads);
  std::barrier start(threads);
  const auto work = [&](unsigned thread) {
    start.arrive_and_wait();
    begins[thread] = Clock::now();
    sums[thread] = read(lines.subspan(thread * share, share), prefetch);
    ends[thread] = Clock::now();
  };
  std::vector<std::thread> others;
  for (unsigned thread = 1; thread < threads; ++thread) others.emplace_back(work, thread);
  work(0);
  for (std::thread& other : others) other.join();
  if (std::accumulate(sums.begin(), sums.end(), std::uint64_t{0}) == 0) return 0;  // never: all words are ones
  const auto last = *std::max_element(ends.begin(), ends.end());
  return std::chrono::duration<double>(last - *std::min_element(begins.begin(), begins.end())).count();
}

double measure(unsigned threads) {
  const Memory memory;
  const auto lines = memory.lines();
  const auto bytes = static_cast<double>(lines.size() / threads * threads * sizeof(Line));
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    for (const bool prefetch : {false, true}) {
      best = std::max(best, bytes / seconds_to_read(lines, threads, prefetch));
    }
  }
  return best;
}

}  // namespace

double read_bandwidth(unsigned threads) {
  static std::map<unsigned, double> known;
  const auto [entry, added] = known.try_emplace(threads, 0.0);
  if (added) entry->second = measure(threads);
  return entry->second;
}

}  // namespace juno::bench
