// SPDX-License-Identifier: Apache-2.0
//
// The reference kernels, on whatever a packer accepts and any bytes as activations: no undefined behaviour, nothing
// written but the rows asked for, and results that are finite if all scales are and leave room for the sum.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "dispatch/registry.h"
#include "fuzz/fuzz.h"
#include "pack/recipe_list.h"

namespace juno::fuzz {
namespace {

constexpr std::size_t kColumns = 2;

/// A super-block's weights and activations come to less than 2^46 (integers below 2^30, weight scales below 2^16).
bool leaves_room(std::span<const layout::ActivationBlock> activations) {
  for (const layout::ActivationBlock& block : activations) {
    if (!std::isfinite(block.d) || std::abs(block.d) > 0x1p70f) return false;
  }
  return true;
}

void multiply(const pack::Recipe& recipe, const pack::Shape& shape, const std::byte* packed, std::size_t first_tile,
              std::span<const layout::ActivationBlock> activations) {
  const std::size_t super_blocks = shape.width / layout::kSuperBlockWeights;
  const std::size_t first_row = first_tile * recipe.layout.tile_rows;
  const float unwritten = std::numeric_limits<float>::quiet_NaN();
  std::array<std::vector<float>, kColumns> out;
  std::array<kernel::Column, kColumns> columns;
  for (std::size_t c = 0; c < kColumns; ++c) {
    out[c].assign(shape.rows, unwritten);
    columns[c] = {activations.data() + c * super_blocks, out[c].data()};
  }
  const kernel::KernelInfo* kernel = dispatch::reference_kernel(recipe.layout.fingerprint);
  if (kernel == nullptr) finding(recipe, shape, "no reference kernel");
  kernel->run({.tiles = packed + first_tile * recipe.layout.tile_bytes(shape.width),
               .first_row = first_row,
               .rows = shape.rows - first_row,
               .super_blocks = super_blocks,
               .constants = &recipe.constants,
               .columns = columns.data(),
               .column_count = kColumns});
  for (std::size_t c = 0; c < kColumns; ++c) {
    const bool finite = leaves_room(activations.subspan(c * super_blocks, super_blocks));
    for (std::size_t row = 0; row < shape.rows; ++row) {
      if (row < first_row && std::memcmp(&out[c][row], &unwritten, sizeof unwritten) != 0) {
        finding(recipe, shape, "a row was written that nobody asked for");
      }
      if (row >= first_row && finite && !std::isfinite(out[c][row])) finding(recipe, shape, "a result is not finite");
    }
  }
}

}  // namespace
}  // namespace juno::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace juno;
  FuzzedDataProvider input(data, size);
  pack::Shape shape = fuzz::any_shape(input);
  shape.matrices = 1;
  const auto tile_number = input.ConsumeIntegral<std::uint8_t>();
  const std::size_t blocks_of_columns = fuzz::kColumns * shape.width / layout::kSuperBlockWeights;
  const std::size_t activation_bytes = blocks_of_columns * sizeof(layout::ActivationBlock);
  const auto half = input.remaining_bytes() / 2;
  const auto raw = fuzz::repeat(input.ConsumeBytes<std::byte>(half), activation_bytes);
  std::vector<layout::ActivationBlock> activations(blocks_of_columns);
  std::memcpy(activations.data(), raw.get(), activation_bytes);
  const auto bytes = input.ConsumeRemainingBytes<std::byte>();
  for (const pack::Recipe& recipe : pack::recipes()) {
    const auto blocks = fuzz::tensor(recipe, shape, bytes, shape.rows);
    AlignedBytes packed(fuzz::packed_bytes(recipe, shape));
    if (pack::pack_tensor(recipe, shape, blocks.get(), packed.data(), 1)) {
      fuzz::finding(recipe, shape, "finite scales are called bad");
    }
    fuzz::multiply(recipe, shape, packed.data(), tile_number % recipe.layout.tiles(shape.rows), activations);
  }
  return 0;
}
