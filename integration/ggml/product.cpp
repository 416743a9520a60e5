// SPDX-License-Identifier: Apache-2.0
#include "product.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <span>

#include "base/bytes.h"
#include "buffer_type.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "matmul/matmul.h"
#include "quantise.h"

namespace juno::integration {
namespace {

using kernel::Column;
using layout::ActivationBlock;
using matmul::Group;

std::size_t size(std::int64_t dimension) { return static_cast<std::size_t>(dimension); }

std::size_t activation_columns(const ggml_tensor* op) {
  const ggml_tensor* columns = op->src[1];
  return size(columns->ne[1] * columns->ne[2] * columns->ne[3]);
}

std::size_t column_blocks(const ggml_tensor* op) { return size(op->src[1]->ne[0]) / layout::kSuperBlockWeights; }

/// Columns of results; several may share a column of activations.
std::size_t product_columns(const ggml_tensor* op) { return size(op->ne[1] * op->ne[2] * op->ne[3]); }

std::size_t most_groups(const ggml_tensor* op) {
  if (op->op == GGML_OP_MUL_MAT_ID) return size(op->src[0]->ne[2]);
  return op->src[0]->ne[2] == 1 ? 1 : size(op->ne[2] * op->ne[3]);
}

/// The parts of the work buffer.
struct Work {
  static constexpr std::size_t bytes(const ggml_tensor* op) {
    return 4 * kLineBytes + sizeof(std::atomic<std::size_t>) +
           activation_columns(op) * column_blocks(op) * sizeof(ActivationBlock) + product_columns(op) * sizeof(Column) +
           most_groups(op) * sizeof(Group);
  }

  Work(void* start, const ggml_tensor* op) {
    auto at = reinterpret_cast<std::uintptr_t>(start);
    const auto take = [&]<class T>(T*& array, std::size_t count) {
      at = round_up(at, kLineBytes);
      array = reinterpret_cast<T*>(at);  // NOLINT(performance-no-int-to-ptr): aligned up inside the buffer
      at += count * sizeof(T);
    };
    take(activations, activation_columns(op) * column_blocks(op));
    take(columns, product_columns(op));
    take(groups, most_groups(op));
    take(next_part, 1);
  }

  ActivationBlock* activations = nullptr;
  Column* columns = nullptr;
  Group* groups = nullptr;
  std::atomic<std::size_t>* next_part = nullptr;
};

/// Rounds the columns to 8 bits; threads share the blocks of each column.
void quantise_columns(const ggml_compute_params* params, const ggml_tensor* op, kernel::Quantise quantise,
                      ActivationBlock* out) {
  const ggml_tensor* columns = op->src[1];
  const std::size_t blocks = column_blocks(op);
  const std::size_t begin = blocks * size(params->ith) / size(params->nth);
  const std::size_t end = blocks * size(params->ith + 1) / size(params->nth);
  if (begin == end) return;
  for (std::int64_t i3 = 0; i3 < columns->ne[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < columns->ne[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < columns->ne[1]; ++i1) {
        const std::size_t offset = size(i1) * columns->nb[1] + size(i2) * columns->nb[2] + size(i3) * columns->nb[3];
        const auto* column = reinterpret_cast<const float*>(static_cast<const std::byte*>(columns->data) + offset);
        quantise(column + begin * layout::kSuperBlockWeights, out + begin, end - begin);
        // For a block of zeros ggml leaves the sums as they were: any bytes, also those that would make a -0 of a 0.
        std::for_each(out + begin, out + end, [](ActivationBlock& block) {
          if (block.d == 0) std::fill(std::begin(block.sums), std::end(block.sums), std::int16_t{0});
        });
        out += blocks;
      }
    }
  }
}

/// One group for each matrix of activations, or one for all of them if there is a single matrix of weights.
void list_products(const ggml_tensor* op, const Work& work) {
  const std::size_t blocks = column_blocks(op);
  const std::size_t count = product_columns(op);
  for (std::size_t c = 0; c < count; ++c) {
    work.columns[c] = {work.activations + c * blocks, static_cast<float*>(op->data) + c * size(op->ne[0])};
  }
  const std::size_t groups = most_groups(op);
  const std::size_t matrices = size(op->src[0]->ne[2]);
  const std::size_t columns_each = count / groups;
  for (std::size_t g = 0; g < groups; ++g) {
    // Weights are repeated where there are more matrices of activations than of weights.
    const std::size_t matrix = matrices == 1 ? 0 : g % size(op->ne[2]) / (size(op->ne[2]) / matrices);
    work.groups[g] = {matrix, {work.columns + g * columns_each, columns_each}};
  }
}

/// One group for each expert, with the columns of the tokens that it was chosen for.
void list_expert_products(const ggml_tensor* op, const Work& work) {
  const ggml_tensor* ids = op->src[2];
  const ggml_tensor* activations = op->src[1];
  const std::size_t blocks = column_blocks(op);
  const std::size_t experts = size(op->src[0]->ne[2]);
  const auto for_each_choice = [&](auto visit) {
    for (std::int64_t token = 0; token < ids->ne[1]; ++token) {
      for (std::int64_t slot = 0; slot < ids->ne[0]; ++slot) {
        const auto* at = static_cast<const std::byte*>(ids->data) + size(token) * ids->nb[1] + size(slot) * ids->nb[0];
        const auto expert = load<std::int32_t>(at);
        GGML_ASSERT(expert >= 0 && size(expert) < experts);  // the graph's own business, as in ggml's code
        visit(work.groups[expert], token, slot);
      }
    }
  };
  for (std::size_t expert = 0; expert < experts; ++expert) work.groups[expert] = {expert, {}};
  // Count, place, fill.
  for_each_choice(
      [&](Group& group, std::int64_t, std::int64_t) { group.columns = {work.columns, group.columns.size() + 1}; });
  Column* next = work.columns;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    Group& group = work.groups[expert];
    Column* start = next;
    next += group.columns.size();
    group.columns = {start, std::size_t{0}};
  }
  for_each_choice([&](Group& group, std::int64_t token, std::int64_t slot) {
    const std::size_t source = size(token * activations->ne[1] + slot % activations->ne[1]);
    const std::size_t target = size(token * op->ne[1] + slot);
    Column* column = work.columns + (group.columns.data() - work.columns) + group.columns.size();
    *column = {work.activations + source * blocks, static_cast<float*>(op->data) + target * size(op->ne[0])};
    group.columns = {group.columns.data(), group.columns.size() + 1};
  });
}

}  // namespace

bool is_kernel_product(const ggml_tensor* op) {
  const ggml_tensor* weights = op->src[0];
  const ggml_tensor* columns = op->src[1];
  if (op->op != GGML_OP_MUL_MAT && op->op != GGML_OP_MUL_MAT_ID) return false;
  if (op->op == GGML_OP_MUL_MAT && ggml_get_op_params_i32(op, 1) != GGML_HINT_NONE) return false;
  if (op->op == GGML_OP_MUL_MAT_ID && (op->src[2]->type != GGML_TYPE_I32 || packed_state_of(op->src[2]) != nullptr)) {
    return false;
  }
  return weights->view_src == nullptr && packed_state_of(weights) != nullptr && packed_state_of(columns) == nullptr &&
         packed_state_of(op) == nullptr && columns->type == GGML_TYPE_F32 && columns->nb[0] == sizeof(float) &&
         op->type == GGML_TYPE_F32 && ggml_is_contiguous(op);
}

std::size_t product_work_size(const ggml_tensor* op) { return Work::bytes(op); }

void compute_product(const ggml_compute_params* params, ggml_tensor* op) {
  TensorState& state = *packed_state_of(op->src[0]);
  const Work work(params->wdata, op);
  const kernel::KernelInfo* kernel = state.decision().kernel;
  quantise_columns(params, op, quantiser_for(*kernel), work.activations);
  if (params->ith == 0) {
    new (work.next_part) std::atomic<std::size_t>(0);
    if (op->op == GGML_OP_MUL_MAT_ID) {
      list_expert_products(op, work);
    } else {
      list_products(op, work);
    }
  }
  ggml_barrier(params->threadpool);
  const matmul::Product product{.weights = state.packed(),
                                .kernel = kernel,
                                .groups = {work.groups, most_groups(op)},
                                .next_part = work.next_part};
  matmul::multiply_share(product, size(params->nth), state.counters());
}

}  // namespace juno::integration
