// SPDX-License-Identifier: Apache-2.0
#include "dispatch/sample.h"

namespace juno::dispatch {
namespace {

/// Small deterministic numbers (the generator of Numerical Recipes' "quick and dirty" kind; quality does not matter).
class Numbers {
 public:
  std::uint32_t next() noexcept { return (state_ = state_ * 1664525u + 1013904223u) >> 8; }

 private:
  std::uint32_t state_ = 1;
};

}  // namespace

Sample::Sample(const layout::Info& layout, std::size_t rows, std::size_t super_blocks, std::size_t columns)
    : rows_(rows),
      super_blocks_(super_blocks),
      columns_(columns),
      tiles_(layout.matrix_bytes(rows, super_blocks * layout::kSuperBlockWeights)),
      activations_(columns * super_blocks) {
  for (std::size_t i = 0; i < 8; ++i) {  // some layouts have signs: the second half of their tables is negative
    constants_.table[i] = static_cast<std::int8_t>(17 * static_cast<int>(i) + 8);
    constants_.table[i + 8] = static_cast<std::int8_t>(-constants_.table[i]);
  }
  Numbers numbers;
  for (std::size_t i = 0; i < tiles_.size(); ++i) tiles_.data()[i] = static_cast<std::byte>(numbers.next());
  // Half floats of random bits could be NaN, which compares equal to nothing: give fields of 16 bits an exponent
  // near 1.
  for (std::size_t s = 0; s < tiles_.size() / layout.super_block_bytes; ++s) {
    std::byte* super_block = tiles_.data() + s * layout.super_block_bytes;
    for (const layout::Field& field : layout.fields) {
      if (field.bits != 16) continue;
      for (std::size_t i = 0; i < field.repeats * field.count; ++i) {
        std::byte* at = super_block + field.offset + i / field.count * field.stride + i % field.count * 2;
        store(at, static_cast<std::uint16_t>(0x3800u | (numbers.next() & 0x83ffu)));
      }
    }
  }
  for (layout::ActivationBlock& block : activations_) {
    block.d = 0.01f * static_cast<float>(1 + numbers.next() % 100);
    for (std::int8_t& q : block.q) q = static_cast<std::int8_t>(static_cast<int>(numbers.next() % 255) - 127);
    for (std::size_t i = 0; i < std::size(block.sums); ++i) {
      int sum = 0;
      for (std::size_t j = 0; j < 16; ++j) sum += block.q[16 * i + j];
      block.sums[i] = static_cast<std::int16_t>(sum);
    }
  }
}

void Sample::run(const kernel::KernelInfo& kernel, std::vector<float>& out) const {
  out.resize(columns_ * rows_);
  std::vector<kernel::Column> columns;
  columns.reserve(columns_);
  for (std::size_t c = 0; c < columns_; ++c) {
    columns.push_back({activations_.data() + c * super_blocks_, out.data() + c * rows_});
  }
  kernel.run({.tiles = tiles_.data(),
              .first_row = 0,
              .rows = rows_,
              .super_blocks = super_blocks_,
              .constants = &constants_,
              .columns = columns.data(),
              .column_count = columns_});
}

}  // namespace juno::dispatch
