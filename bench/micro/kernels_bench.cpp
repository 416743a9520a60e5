// SPDX-License-Identifier: Apache-2.0
//
// Every kernel that this machine can run, with 1 to 512 columns, on weights that stay in the cache and on weights that
// come from memory. The result is compared with the specification, bit for bit, before anything is timed.
//
//   weights/s    weights of the matrix, however many columns they are multiplied with
//   products/s   weights times columns
//   bytes/s      packed bytes read
//   bandwidth    the same as a share of what one thread reads when it does nothing else, measured by this program
//
// read/threads:N is that: what so many threads read together.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "bandwidth.h"
#include "dispatch/registry.h"
#include "dispatch/sample.h"
#include "layout/layout_list.h"

namespace {

using namespace juno;
using bench::kMemoryBytes;
using bench::read_bandwidth;

constexpr std::size_t kSuperBlocks = 8;  // rows of 2048 weights

bool equals_specification(const kernel::KernelInfo& kernel, const layout::Info& layout, std::size_t columns) {
  const dispatch::Sample sample(layout, 2 * layout.tile_rows + 5, kSuperBlocks, columns);
  std::vector<float> expected;
  std::vector<float> actual;
  sample.run(*dispatch::reference_kernel(layout.fingerprint), expected);
  sample.run(kernel, actual);
  return std::equal(expected.begin(), expected.end(), actual.begin(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

/// Tiles for a benchmark; those from memory are shared by all benchmarks of a layout, since filling them takes long.
const dispatch::Sample& sample_for(const layout::Info& layout, bool memory, std::size_t columns) {
  static std::map<std::pair<std::uint64_t, std::pair<bool, std::size_t>>, std::unique_ptr<dispatch::Sample>> samples;
  if (memory) {  // one at a time
    std::erase_if(samples, [&](const auto& entry) {
      return entry.first.first != layout.fingerprint || entry.first.second.second != columns;
    });
  }
  auto& sample = samples[{layout.fingerprint, {memory, columns}}];
  if (sample == nullptr) {
    const std::size_t tile_bytes = kSuperBlocks * layout.super_block_bytes;
    const std::size_t tiles = memory ? kMemoryBytes / tile_bytes : 4;
    sample = std::make_unique<dispatch::Sample>(layout, tiles * layout.tile_rows, kSuperBlocks, columns);
  }
  return *sample;
}

void run(benchmark::State& state, const kernel::KernelInfo& kernel, bool memory, std::size_t columns) {
  const layout::Info& layout = *layout::find_layout(kernel.layout_fingerprint);
  if (!equals_specification(kernel, layout, columns)) {
    state.SkipWithError("differs from the specification");
    return;
  }
  const dispatch::Sample& sample = sample_for(layout, memory, columns);
  std::vector<float> out;
  for (auto _ : state) {
    sample.run(kernel, out);
    benchmark::ClobberMemory();
  }
  const auto per_second = [](double amount) {
    return benchmark::Counter(amount, benchmark::Counter::kIsIterationInvariantRate);
  };
  const auto weights = static_cast<double>(sample.weights());
  const auto bytes = static_cast<double>(sample.bytes());
  state.counters["weights/s"] = per_second(weights);
  state.counters["products/s"] = per_second(weights * static_cast<double>(columns));
  state.counters["bytes/s"] = per_second(bytes);
  if (memory) state.counters["bandwidth"] = per_second(bytes / read_bandwidth(1));
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const kernel::KernelInfo& kernel : dispatch::registry()) {
    if (kernel.reference || dispatch::fit(kernel, cpu::facts()) != Reason::compiled) continue;
    if (kernel.streaming_vector_bytes != 0 && !cpu::prepare_streaming(kernel.streaming_vector_bytes)) continue;
    for (const bool memory : {false, true}) {
      for (const std::size_t columns : std::initializer_list<std::size_t>{1, 2, 4, 8, 16, 64, 512}) {
        if (memory && columns > 16) continue;  // waits for no memory
        const std::string name =
            fmt::format("{}/columns:{}/{}", dispatch::kernel_id(kernel), columns, memory ? "memory" : "cache");
        benchmark::RegisterBenchmark(name.c_str(), [&kernel, memory, columns](benchmark::State& state) {
          run(state, kernel, memory, columns);
        })->Unit(benchmark::kMicrosecond);
      }
    }
  }
  for (unsigned threads = 1; threads <= std::max(1u, std::thread::hardware_concurrency()); threads *= 2) {
    benchmark::RegisterBenchmark(fmt::format("read/threads:{}", threads).c_str(), [threads](benchmark::State& state) {
      for (auto _ : state) state.counters["bytes/s"] = read_bandwidth(threads);
    })->Iterations(1);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
