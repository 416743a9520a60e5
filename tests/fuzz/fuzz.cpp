// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/bytes.h"
#include "base/half.h"
#include "pack/recipe_list.h"
#include "support/data.h"

namespace juno::fuzz {
namespace {

/// As many blocks as any tensor has, about.
constexpr std::size_t kBlocks = 130;

/// Found out once for each recipe: it takes a hundred times as long as a block.
const std::vector<std::size_t>& scale_offsets(const pack::Recipe& recipe) {
  static const auto all = [] {
    std::vector<std::vector<std::size_t>> offsets;
    for (const pack::Recipe& each : pack::recipes()) offsets.push_back(test::half_offsets(each));
    return offsets;
  }();
  return all[static_cast<std::size_t>(&recipe - pack::recipes().data())];
}

}  // namespace

void finding(const pack::Recipe& recipe, const pack::Shape& shape, const char* what) {
  std::fprintf(stderr, "error: %.*s, %zu x %zu x %zu: %s\n", static_cast<int>(recipe.format.size()),
               recipe.format.data(), shape.matrices, shape.rows, shape.width, what);
  std::abort();
}

pack::Shape any_shape(FuzzedDataProvider& input) {
  // In this order, so that much of one dimension leaves less for the others: small tensors are quick, quick is many.
  const auto rows = input.ConsumeIntegralInRange<std::size_t>(1, 130);
  const auto super_blocks = input.ConsumeIntegralInRange<std::size_t>(1, std::clamp<std::size_t>(kBlocks / rows, 1, 6));
  const std::size_t room = std::clamp<std::size_t>(kBlocks / (rows * super_blocks), 1, 3);
  return {rows, super_blocks * layout::kSuperBlockWeights, input.ConsumeIntegralInRange<std::size_t>(1, room)};
}

std::unique_ptr<std::byte[]> repeat(const std::vector<std::byte>& bytes, std::size_t size) {
  auto repeated = std::make_unique<std::byte[]>(size);
  if (bytes.empty()) return repeated;
  for (std::size_t at = 0; at < size; at += bytes.size()) {
    std::copy_n(bytes.begin(), std::min(bytes.size(), size - at), repeated.get() + at);
  }
  return repeated;
}

std::unique_ptr<std::byte[]> tensor(const pack::Recipe& recipe, const pack::Shape& shape,
                                    const std::vector<std::byte>& bytes, std::size_t sound_rows) {
  const std::size_t row_bytes = recipe.row_bytes(shape.width);
  auto blocks = repeat(bytes, shape.matrices * shape.rows * row_bytes);
  for (std::size_t block = 0; block < sound_rows * row_bytes; block += recipe.block_bytes) {
    for (const std::size_t offset : scale_offsets(recipe)) {
      std::byte* scale = blocks.get() + block + offset;
      const auto half = load<std::uint16_t>(scale);
      if (!is_finite_half(half)) store(scale, static_cast<std::uint16_t>(half & 0xbfffu));
    }
  }
  return blocks;
}

std::optional<std::size_t> first_bad_row(const pack::Recipe& recipe, const pack::Shape& shape,
                                         const std::byte* blocks) {
  const std::size_t super_blocks = shape.width / layout::kSuperBlockWeights;
  std::vector<float> weights(shape.width);
  for (std::size_t row = 0; row < shape.matrices * shape.rows; ++row) {
    recipe.decode(blocks + row * recipe.row_bytes(shape.width), super_blocks, weights.data());
    if (std::any_of(weights.begin(), weights.end(), [](float weight) { return !std::isfinite(weight); })) return row;
  }
  return std::nullopt;
}

std::size_t packed_bytes(const pack::Recipe& recipe, const pack::Shape& shape) {
  return shape.matrices * recipe.layout.matrix_bytes(shape.rows, shape.width);
}

}  // namespace juno::fuzz
