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
#include "product.h"
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

class Traits : public ggml::cpu::tensor_traits {
 public:
  bool work_size(int threads, const ggml_tensor* op, std::size_t& size) override {
    size = is_kernel_product(op) ? product_work_size(op) : unpacked_work_size(threads, op);
    return true;
  }

  bool compute_forward(ggml_compute_params* params, ggml_tensor* op) override {
    if (is_kernel_product(op)) {
      compute_product(params, op);
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
