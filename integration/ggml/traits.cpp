// SPDX-License-Identifier: Apache-2.0
//
// Which operations Juno answers for, and computing them.
//
// ggml's own code would read packed bytes as plain ones without noticing, so every operation that has a packed tensor,
// or a view of one, in any place is ours. What no kernel covers is served by unpacking (unpacked.h).
#include "traits.h"

#include <algorithm>
#include <mutex>

#include "buffer_type.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "juno/engine.h"
#include "juno/receipt.h"
#include "traits_provider.h"
#include "unpacked.h"

namespace juno::integration {
namespace {

/// The operation a weight is used for, seen from the operation.
Operation operation_for(const ggml_tensor* op, const ggml_tensor* weight) {
  if (op->src[0] != weight) return Operation::other;
  switch (op->op) {
    case GGML_OP_MUL_MAT: return Operation::mul_mat;
    case GGML_OP_MUL_MAT_ID: return Operation::mul_mat_id;
    case GGML_OP_GET_ROWS: return Operation::get_rows;
    default: return Operation::other;
  }
}

/// A product that a kernel computes: a whole packed matrix times float columns.
bool is_kernel_product(const ggml_tensor* op) {
  const ggml_tensor* weights = op->src[0];
  const ggml_tensor* columns = op->src[1];
  return op->op == GGML_OP_MUL_MAT && weights->view_src == nullptr && packed_state_of(weights) != nullptr &&
         packed_state_of(columns) == nullptr && columns->type == GGML_TYPE_F32 && columns->nb[0] == sizeof(float) &&
         op->type == GGML_TYPE_F32 && ggml_is_contiguous(op) && ggml_get_op_params_i32(op, 1) == GGML_HINT_NONE;
}

std::size_t column_count(const ggml_tensor* op) {
  const ggml_tensor* columns = op->src[1];
  return static_cast<std::size_t>(columns->ne[1] * columns->ne[2] * columns->ne[3]);
}

std::size_t activation_bytes(const ggml_tensor* op) { return ggml_row_size(GGML_TYPE_Q8_K, op->src[1]->ne[0]); }

/// Rounds the columns to 8 bits into the work buffer, with ggml's own routine; threads share the blocks of each column.
void quantise_columns(const ggml_compute_params* params, const ggml_tensor* op) {
  const ggml_tensor* columns = op->src[1];
  const ggml_from_float_t from_float = ggml_get_type_traits_cpu(GGML_TYPE_Q8_K)->from_float;
  const std::int64_t block = ggml_blck_size(GGML_TYPE_Q8_K);
  const std::int64_t blocks = columns->ne[0] / block;
  const std::int64_t begin = blocks * params->ith / params->nth;
  const std::int64_t end = blocks * (params->ith + 1) / params->nth;
  if (begin == end) return;
  auto* out = static_cast<std::byte*>(params->wdata) + ggml_row_size(GGML_TYPE_Q8_K, begin * block);
  for (std::int64_t i3 = 0; i3 < columns->ne[3]; ++i3) {
    for (std::int64_t i2 = 0; i2 < columns->ne[2]; ++i2) {
      for (std::int64_t i1 = 0; i1 < columns->ne[1]; ++i1) {
        const auto offset = static_cast<std::size_t>(i1) * columns->nb[1] +
                            static_cast<std::size_t>(i2) * columns->nb[2] +
                            static_cast<std::size_t>(i3) * columns->nb[3];
        const auto* column = reinterpret_cast<const float*>(static_cast<const std::byte*>(columns->data) + offset);
        from_float(column + begin * block, out, (end - begin) * block);
        out += activation_bytes(op);
      }
    }
  }
}

void multiply(const ggml_compute_params* params, ggml_tensor* op) {
  TensorState& state = *packed_state_of(op->src[0]);
  quantise_columns(params, op);
  ggml_barrier(params->threadpool);
  const matmul::Product product{.weights = state.matrix(),
                                .kernel = state.decision().kernel,
                                .activations = static_cast<const std::byte*>(params->wdata),
                                .activation_stride = activation_bytes(op),
                                .columns = column_count(op),
                                .out = static_cast<float*>(op->data),
                                .out_stride = static_cast<std::size_t>(op->ne[0])};
  matmul::multiply_share(product, static_cast<std::size_t>(params->ith), static_cast<std::size_t>(params->nth),
                         state.counters());
}

class Traits : public ggml::cpu::tensor_traits {
 public:
  bool work_size(int threads, const ggml_tensor* op, std::size_t& size) override {
    size = is_kernel_product(op) ? column_count(op) * activation_bytes(op) : unpacked_work_size(threads, op);
    return true;
  }

  bool compute_forward(ggml_compute_params* params, ggml_tensor* op) override {
    if (is_kernel_product(op)) {
      multiply(params, op);
    } else {
      compute_unpacked(params, op);
    }
    return true;
  }
};

void warn_once_of_bad_switches() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (const auto error = switch_error()) GGML_LOG_WARN("juno: %s\n", error->message().c_str());
  });
}

class Provider : public ggml::cpu::extra_buffer_type {
 public:
  bool supports_op(ggml_backend_dev_t, const ggml_tensor* op) override {
    for (const ggml_tensor* source : op->src) {
      if (source == nullptr || source->buffer == nullptr || source->buffer->buft != buffer_type()) continue;
      // A tensor with memory is in a graph: whatever is done with it, we see to it.
      if (source->data != nullptr) continue;
      // Else the loader asks about a weight it has not placed yet.
      warn_once_of_bad_switches();
      const TensorFacts facts = facts_of(source, operation_for(op, source));
      const Decision decision = decide(facts, target());
      if (!decision.compiled()) {
        receipt::ledger().add_native(receipt::make_receipt(facts, decision, ggml_nbytes(source)));
        return false;
      }
    }
    return true;
  }

  ggml::cpu::tensor_traits* get_tensor_traits(const ggml_tensor* op) override {
    static Traits traits;
    const bool ours = packed_state_of(op) != nullptr ||
                      std::any_of(std::begin(op->src), std::end(op->src),
                                  [](const ggml_tensor* source) { return packed_state_of(source) != nullptr; });
    return ours ? &traits : nullptr;
  }
};

}  // namespace

void* traits_provider() {
  static ggml::cpu::extra_buffer_type* const kProvider = new Provider;
  return kProvider;
}

}  // namespace juno::integration
