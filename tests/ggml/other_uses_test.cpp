// SPDX-License-Identifier: Apache-2.0
//
// What else a graph may do with a packed tensor: views, row look-ups, copies. ggml's own code would read packed bytes
// as plain ones and report success, so each result is compared with an ordinary buffer, byte for byte.
#include <gtest/gtest.h>

#include "ggml/graph.h"
#include "support/recipes.h"

namespace juno::test {
namespace {

constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kRows = 150;

class Pair {
 public:
  explicit Pair(const pack::Recipe& recipe)
      : blocks_(make_blocks(recipe)),
        juno(integration::buffer_type(), static_cast<ggml_type>(recipe.gguf_type), {kWidth, kRows}, blocks_),
        stock(ggml_backend_cpu_buffer_type(), static_cast<ggml_type>(recipe.gguf_type), {kWidth, kRows}, blocks_) {}

  void expect_equal(const Build& build, const Fill& fill = normal_inputs()) const {
    ASSERT_NE(integration::packed_state_of(juno.tensor()), nullptr);
    for (const int threads : {1, 4}) {
      const auto ours = compute(juno, threads, build, fill);
      const auto theirs = compute(stock, threads, build, fill);
      ASSERT_EQ(ours.size(), theirs.size());
      EXPECT_EQ(std::memcmp(ours.data(), theirs.data(), ours.size()), 0) << threads << " threads";
    }
    EXPECT_GT(receipt_of(juno).unpacked_calls, 0u) << "the packed tensor was not what was read";
  }

 private:
  static std::vector<std::byte> make_blocks(const pack::Recipe& recipe) {
    Random random(41);
    return random_blocks(recipe, kRows, kWidth, random, Scales::small);
  }

  std::vector<std::byte> blocks_;

 public:
  Weight juno;
  Weight stock;
};

Fill row_ids(std::vector<std::int32_t> ids) {
  return [ids = std::move(ids)](ggml_tensor* input) {
    ggml_backend_tensor_set(input, ids.data(), 0, ids.size() * sizeof(std::int32_t));
  };
}

TEST_P(EveryFormat, GetRows) {
  const Pair pair(recipe());
  pair.expect_equal(
      [](ggml_context* context, ggml_tensor* weight) {
        return ggml_get_rows(context, weight, ggml_new_tensor_1d(context, GGML_TYPE_I32, 5));
      },
      row_ids({0, 63, 64, kRows - 1, 0}));
}

TEST_P(EveryFormat, GetRowsOfAViewAtARowOffset) {
  const Pair pair(recipe());
  pair.expect_equal(
      [](ggml_context* context, ggml_tensor* weight) {
        ggml_tensor* view = ggml_view_2d(context, weight, kWidth, 70, weight->nb[1], 61 * weight->nb[1]);
        return ggml_get_rows(context, view, ggml_new_tensor_1d(context, GGML_TYPE_I32, 4));
      },
      row_ids({0, 2, 3, 69}));
}

/// A reshape that cuts rows in two: not rows of the packed matrix any more.
TEST_P(EveryFormat, GetRowsOfAReshape) {
  const Pair pair(recipe());
  pair.expect_equal(
      [](ggml_context* context, ggml_tensor* weight) {
        ggml_tensor* halves = ggml_reshape_2d(context, weight, kWidth / 2, 2 * kRows);
        return ggml_get_rows(context, halves, ggml_new_tensor_1d(context, GGML_TYPE_I32, 4));
      },
      row_ids({0, 1, 127, 2 * kRows - 1}));
}

TEST_P(EveryFormat, ProductWithAViewAtARowOffset) {
  const Pair pair(recipe());
  for (const std::int64_t first : {0, 1, 64, 77}) {
    pair.expect_equal([first](ggml_context* context, ggml_tensor* weight) {
      ggml_tensor* view =
          ggml_view_2d(context, weight, kWidth, 70, weight->nb[1], static_cast<std::size_t>(first) * weight->nb[1]);
      return ggml_mul_mat(context, view, ggml_new_tensor_2d(context, GGML_TYPE_F32, kWidth, 3));
    });
  }
}

TEST_P(EveryFormat, ProductWithAReshape) {
  const Pair pair(recipe());
  pair.expect_equal([](ggml_context* context, ggml_tensor* weight) {
    ggml_tensor* pieces = ggml_reshape_3d(context, weight, kWidth, kRows / 2, 2);
    return ggml_mul_mat(context, pieces, ggml_new_tensor_3d(context, GGML_TYPE_F32, kWidth, 3, 2));
  });
}

TEST_P(EveryFormat, MixtureOfExpertsOnAReshape) {
  const Pair pair(recipe());
  const auto inputs = [](ggml_tensor* input) {
    if (input->type == GGML_TYPE_I32) {
      const std::vector<std::int32_t> ids = {1, 0, 1, 1};
      ggml_backend_tensor_set(input, ids.data(), 0, ggml_nbytes(input));
      return;
    }
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(input)), 0.25f);
    ggml_backend_tensor_set(input, values.data(), 0, ggml_nbytes(input));
  };
  pair.expect_equal(
      [](ggml_context* context, ggml_tensor* weight) {
        ggml_tensor* experts = ggml_reshape_3d(context, weight, kWidth, kRows / 2, 2);
        ggml_tensor* columns = ggml_new_tensor_3d(context, GGML_TYPE_F32, kWidth, 1, 2);
        ggml_tensor* ids = ggml_new_tensor_2d(context, GGML_TYPE_I32, 2, 2);
        return ggml_mul_mat_id(context, experts, columns, ids);
      },
      inputs);
}

TEST_P(EveryFormat, CopyToFloats) {
  const Pair pair(recipe());
  pair.expect_equal([](ggml_context* context, ggml_tensor* weight) {
    return ggml_cpy(context, weight, ggml_new_tensor_2d(context, GGML_TYPE_F32, kWidth, kRows));
  });
}

TEST_P(EveryFormat, ContiguousCopyOfAView) {
  const Pair pair(recipe());
  pair.expect_equal([](ggml_context* context, ggml_tensor* weight) {
    return ggml_cont(context, ggml_view_2d(context, weight, kWidth, 10, weight->nb[1], 60 * weight->nb[1]));
  });
}

/// Whether ggml's CPU code can write this format in a graph. In v0.4.0 it cannot write IQ2_XS, IQ2_S, IQ3_XXS and
/// IQ3_S, and no call of ggml_quantize_init() changes that: their from_float in type_traits_cpu (ggml-cpu.c) is null. A
/// copy into such a tensor ends in GGML_ABORT. ADD does not look: ggml_compute_forward_add_q_f32 (ops.cpp) then copies
/// ne0 * nb0 bytes, for 512 weights of IQ2_S 41984, from 2112 bytes of floats into a row of 164. Stock ggml without
/// Juno and with a buffer of its own does the same (heap-buffer-overflow, says the address sanitizer), although its
/// supports_op() says yes: there is no right result to compare with. Juno ends the process instead of overwriting
/// memory.
bool graphs_can_quantise(const pack::Recipe& recipe) {
  return ggml_get_type_traits_cpu(static_cast<ggml_type>(recipe.gguf_type))->from_float != nullptr;
}

TEST_P(EveryFormat, AddToQuantisedWeights) {
  const Pair pair(recipe());
  const Build add = [](ggml_context* context, ggml_tensor* weight) {
    return ggml_add(context, weight, ggml_new_tensor_2d(context, GGML_TYPE_F32, kWidth, kRows));
  };
  if (graphs_can_quantise(recipe())) {
    pair.expect_equal(add);
  } else {
    EXPECT_DEATH(compute(pair.juno, 1, add, normal_inputs()), "ggml cannot quantise");
  }
}

/// A graph that writes into the weight itself: the packed tensor must change as a plain one does, and stay packed.
TEST_P(EveryFormat, GraphWritesIntoTheWeight) {
  const Pair pair(recipe());
  const Build overwrite = [](ggml_context* context, ggml_tensor* weight) {
    ggml_tensor* rows = ggml_view_2d(context, weight, kWidth, 10, weight->nb[1], 60 * weight->nb[1]);
    return ggml_cpy(context, ggml_new_tensor_2d(context, GGML_TYPE_F32, kWidth, 10), rows);
  };
  if (!graphs_can_quantise(recipe())) {
    EXPECT_DEATH(compute(pair.juno, 1, overwrite, normal_inputs()), "not implemented");
    return;
  }
  pair.expect_equal(overwrite);
  ASSERT_NE(integration::packed_state_of(pair.juno.tensor()), nullptr);
  std::vector<std::byte> ours(ggml_nbytes(pair.juno.tensor()));
  std::vector<std::byte> theirs(ours.size());
  ggml_backend_tensor_get(pair.juno.tensor(), ours.data(), 0, ours.size());
  ggml_backend_tensor_get(pair.stock.tensor(), theirs.data(), 0, theirs.size());
  EXPECT_EQ(ours, theirs);
}

}  // namespace
}  // namespace juno::test
