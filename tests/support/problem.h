// SPDX-License-Identifier: Apache-2.0
//
// One product of a packed matrix with columns, all of it in guarded memory.
#pragma once

#include <vector>

#include "kernel/kernel.h"
#include "layout/activations.h"
#include "matmul/matmul.h"
#include "support/data.h"
#include "support/guarded.h"
#include "support/kernels_ran.h"
#include "support/recipes.h"

namespace juno::test {

struct Shape {
  std::size_t rows;
  std::size_t width;
  std::size_t columns;

  [[nodiscard]] std::size_t super_blocks() const { return width / layout::kSuperBlockWeights; }
};

inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.rows << " x " << shape.width << ", " << shape.columns << " columns";
}

struct Problem {
  /// Random weights and activations.
  Problem(const pack::Recipe& recipe, Shape shape, std::uint64_t seed) : Problem(recipe, shape, Random(seed)) {}

  /// The given ones. `activations` has super_blocks() blocks for each column.
  Problem(const pack::Recipe& recipe, Shape shape, std::vector<std::byte> blocks,
          const std::vector<layout::ActivationBlock>& activations)
      : recipe(recipe),
        shape(shape),
        blocks(std::move(blocks)),
        packed(recipe.layout.matrix_bytes(shape.rows, shape.width)),
        activations(shape.columns * shape.super_blocks()) {
    pack_matrix(recipe, this->blocks.data(), shape.rows, shape.width, packed.data());
    std::copy(activations.begin(), activations.end(), this->activations.begin());
  }

  /// Runs `kernel` on the whole product; column c has its results at out + c * stride.
  void run(const kernel::KernelInfo& kernel, float* out, std::size_t stride) const {
    const auto list = columns(out, stride);
    run_kernel(kernel, job(list));
  }

  [[nodiscard]] std::vector<kernel::Column> columns(float* out, std::size_t stride) const {
    std::vector<kernel::Column> list;
    for (std::size_t c = 0; c < shape.columns; ++c) {
      list.push_back({activations.data() + c * shape.super_blocks(), out + c * stride});
    }
    return list;
  }

  [[nodiscard]] kernel::TileJob job(const std::vector<kernel::Column>& list) const {
    return {.tiles = packed.data(),
            .first_row = 0,
            .rows = shape.rows,
            .super_blocks = shape.super_blocks(),
            .constants = &recipe.constants,
            .columns = list.data(),
            .column_count = list.size()};
  }

  [[nodiscard]] const std::byte* row(std::size_t r) const { return blocks.data() + r * recipe.row_bytes(shape.width); }

  const pack::Recipe& recipe;
  Shape shape;
  std::vector<std::byte> blocks;
  Guarded<std::byte> packed;
  Guarded<layout::ActivationBlock> activations;

 private:
  Problem(const pack::Recipe& recipe, Shape shape, Random random)
      : Problem(recipe, shape, random_blocks(recipe, shape.rows, shape.width, random),
                random_activations(shape.columns * shape.super_blocks(), random)) {}
};

/// Computes the product on so many threads of its own, which share a counter of parts; returns what was counted.
receipt::TensorReceipt multiply(const matmul::Product& product, std::size_t threads);

/// The exact value of one result, and how large its terms are: no sum of them in any order exceeds `magnitude`.
struct ExactDot {
  double value;
  double magnitude;
};

ExactDot exact_dot(const Problem& problem, std::size_t row, std::size_t column);

}  // namespace juno::test
