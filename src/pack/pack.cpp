// SPDX-License-Identifier: Apache-2.0
#include "pack/pack.h"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace juno::pack {
namespace {

/// A thread costs some 50 microseconds, in which it could have packed about this many weights.
constexpr std::size_t kWeightsWorthAThread = std::size_t{1} << 18;

}  // namespace

std::optional<BadRow> pack_tensor(const Recipe& recipe, const Shape& shape, const std::byte* blocks, std::byte* packed,
                                  unsigned threads) noexcept {
  const std::size_t tiles = recipe.layout.tiles(shape.rows);
  const std::size_t matrix_bytes = recipe.layout.matrix_bytes(shape.rows, shape.width);
  const std::size_t block_bytes = shape.rows * recipe.row_bytes(shape.width);
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> first_bad{kNoRow};  // counted through all matrices
  const auto work = [&] {
    for (std::size_t i = next.fetch_add(1); i < tiles * shape.matrices; i = next.fetch_add(1)) {
      const std::size_t matrix = i / tiles;
      // Tiles are claimed in order: once a bad row is known, only those before it can hold an earlier one.
      if (matrix * shape.rows + i % tiles * recipe.layout.tile_rows > first_bad.load()) return;
      const std::size_t bad = recipe.pack_tile(blocks + matrix * block_bytes, shape.rows, shape.width, i % tiles,
                                               packed + matrix * matrix_bytes);
      if (bad == kNoRow) continue;
      const std::size_t at = matrix * shape.rows + bad;
      std::size_t known = first_bad.load();
      while (at < known && !first_bad.compare_exchange_weak(known, at)) {
      }
    }
  };

  const std::size_t weights = shape.matrices * shape.rows * shape.width;
  const std::size_t wanted =
      std::min({std::size_t{threads}, tiles * shape.matrices, 1 + weights / kWeightsWorthAThread});
  std::vector<std::thread> helpers;
  // Without memory or threads to be had, those that run, and this one, do it all.
  const auto start_one = [&]() noexcept {
    try {
      helpers.emplace_back(work);
      return true;
    } catch (...) {
      return false;
    }
  };
  while (helpers.size() + 1 < wanted && start_one()) {
  }
  work();
  for (std::thread& helper : helpers) helper.join();
  if (first_bad == kNoRow) return std::nullopt;
  return BadRow{first_bad / shape.rows, first_bad % shape.rows};
}

void unpack_tensor_row(const Recipe& recipe, const Shape& shape, const std::byte* packed, std::size_t row,
                       std::byte* blocks) noexcept {
  const std::byte* matrix = packed + row / shape.rows * recipe.layout.matrix_bytes(shape.rows, shape.width);
  recipe.unpack_row(matrix, shape.width, row % shape.rows, blocks);
}

unsigned usable_processors() noexcept {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1u, static_cast<unsigned>(CPU_COUNT(&set)));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace juno::pack
