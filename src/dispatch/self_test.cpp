// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "base/aligned.h"
#include "dispatch/registry.h"
#include "layout/layout_list.h"

namespace juno::dispatch {
namespace {

/// Small deterministic numbers (the generator of Numerical Recipes' "quick and dirty" kind; quality does not matter).
class Numbers {
 public:
  std::uint32_t next() noexcept { return (state_ = state_ * 1664525u + 1013904223u) >> 8; }

 private:
  std::uint32_t state_ = 1;
};

/// One tile and a bit, two super-blocks, one column more than a kernel is meant for.
struct Problem {
  Problem(const layout::Info& layout, std::size_t column_count)
      : rows(layout.tile_rows + 3),
        column_count(column_count),
        tiles(layout.matrix_bytes(rows, kWidth)),
        activations(column_count * kBlocks) {
    Numbers numbers;
    const std::size_t tile_count = layout.tiles(rows);
    for (std::size_t i = 0; i < tiles.size(); ++i) tiles.data()[i] = static_cast<std::byte>(numbers.next());
    // Half floats of random bits could be NaN, which compares equal to nothing: give fields of 16 bits an exponent
    // near 1.
    for (std::size_t s = 0; s < tile_count * kBlocks; ++s) {
      std::byte* super_block = tiles.data() + s * layout.super_block_bytes;
      for (const layout::Field& field : layout.fields) {
        if (field.bits != 16) continue;
        for (std::size_t i = 0; i < field.repeats * field.count; ++i) {
          std::byte* at = super_block + field.offset + i / field.count * field.stride + i % field.count * 2;
          store(at, static_cast<std::uint16_t>(0x3800u | (numbers.next() & 0x83ffu)));
        }
      }
    }
    for (layout::ActivationBlock& block : activations) {
      block.d = 0.01f * static_cast<float>(1 + numbers.next() % 100);
      for (std::int8_t& q : block.q) q = static_cast<std::int8_t>(static_cast<int>(numbers.next() % 255) - 127);
      for (std::size_t i = 0; i < std::size(block.sums); ++i) {
        int sum = 0;
        for (std::size_t j = 0; j < 16; ++j) sum += block.q[16 * i + j];
        block.sums[i] = static_cast<std::int16_t>(sum);
      }
    }
  }

  std::vector<float> run(const kernel::KernelInfo& kernel) const {
    layout::Constants constants{{}, 0.5f, 0.25f};
    for (std::size_t i = 0; i < 8; ++i) {  // some layouts have signs: the second half of their tables is negative
      constants.table[i] = static_cast<std::int8_t>(17 * static_cast<int>(i) + 8);
      constants.table[i + 8] = static_cast<std::int8_t>(-constants.table[i]);
    }
    std::vector<float> out(column_count * rows);
    std::vector<kernel::Column> columns;
    for (std::size_t c = 0; c < column_count; ++c) {
      columns.push_back({activations.data() + c * kBlocks, out.data() + c * rows});
    }
    kernel.run({.tiles = tiles.data(),
                .first_row = 0,
                .rows = rows,
                .super_blocks = kBlocks,
                .constants = &constants,
                .columns = columns.data(),
                .column_count = column_count});
    return out;
  }

  static constexpr std::size_t kBlocks = 2;
  static constexpr std::size_t kWidth = kBlocks * layout::kSuperBlockWeights;
  std::size_t rows;
  std::size_t column_count;
  AlignedBytes tiles;
  std::vector<layout::ActivationBlock> activations;
};

}  // namespace

bool self_test(const kernel::KernelInfo& kernel) {
  const layout::Info* layout = layout::find_layout(kernel.layout_fingerprint);
  const kernel::KernelInfo* reference = reference_kernel(kernel.layout_fingerprint);
  if (layout == nullptr || reference == nullptr || kernel.run == nullptr) return false;
  if (kernel.streaming_vector_bytes != 0 && !cpu::prepare_streaming(kernel.streaming_vector_bytes)) return false;
  const Problem problem(*layout, kernel.from_columns + 1);
  const std::vector<float> expected = problem.run(*reference);
  const std::vector<float> actual = problem.run(kernel);
  return std::equal(expected.begin(), expected.end(), actual.begin(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

}  // namespace juno::dispatch
