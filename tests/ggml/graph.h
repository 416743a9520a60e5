// SPDX-License-Identifier: Apache-2.0
//
// Small ggml graphs whose weights lie in a Juno buffer or in an ordinary one.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "buffer_type.h"
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-cpu.h"
#include "ggml.h"
#include "pack/recipe_list.h"
#include "support/data.h"

namespace juno::test {

struct FreeGgml {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
  void operator()(ggml_gallocr* allocator) const { ggml_gallocr_free(allocator); }
};
template <class T>
using GgmlPtr = std::unique_ptr<T, FreeGgml>;

inline GgmlPtr<ggml_context> new_context() {
  return GgmlPtr<ggml_context>(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
}

/// One weight tensor, filled with the given bytes, in a buffer of the given type.
class Weight {
 public:
  Weight(ggml_backend_buffer_type_t buffer_type, ggml_type type, std::vector<std::int64_t> shape,
         const std::vector<std::byte>& bytes)
      : context_(new_context()) {
    tensor_ = ggml_new_tensor(context_.get(), type, static_cast<int>(shape.size()), shape.data());
    ggml_set_name(tensor_, "blk.0.attn_q.weight");
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), buffer_type));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    if (!bytes.empty()) ggml_backend_tensor_set(tensor_, bytes.data(), 0, bytes.size());
  }
  [[nodiscard]] ggml_tensor* tensor() const { return tensor_; }
  [[nodiscard]] ggml_backend_buffer_t buffer() const { return buffer_.get(); }
  [[nodiscard]] integration::TensorState& state() const { return *integration::state_of(tensor_); }

 private:
  GgmlPtr<ggml_context> context_;
  GgmlPtr<ggml_backend_buffer> buffer_;
  ggml_tensor* tensor_;
};

/// Builds the nodes of a graph in `context` and returns the result; sets `inputs` to fill afterwards.
using Build = std::function<ggml_tensor*(ggml_context* context, ggml_tensor* weight)>;

/// Values for a graph's inputs: called for each leaf that has no data of its own, in creation order.
using Fill = std::function<void(ggml_tensor* input)>;

/// Computes the graph on ggml's CPU backend and returns the bytes of the result.
inline std::vector<std::byte> compute(const Weight& weight, int threads, const Build& build, const Fill& fill) {
  const GgmlPtr<ggml_context> context = new_context();
  ggml_tensor* result = build(context.get(), weight.tensor());
  ggml_set_output(result);
  ggml_cgraph* graph = ggml_new_graph(context.get());
  ggml_build_forward_expand(graph, result);
  const GgmlPtr<ggml_gallocr> allocator(ggml_gallocr_new(ggml_backend_cpu_buffer_type()));
  EXPECT_TRUE(ggml_gallocr_alloc_graph(allocator.get(), graph));
  for (ggml_tensor* t = ggml_get_first_tensor(context.get()); t != nullptr;
       t = ggml_get_next_tensor(context.get(), t)) {
    if (t->op == GGML_OP_NONE && t->view_src == nullptr) fill(t);
  }
  const GgmlPtr<ggml_backend> backend(ggml_backend_cpu_init());
  ggml_backend_cpu_set_n_threads(backend.get(), threads);
  EXPECT_EQ(ggml_backend_graph_compute(backend.get(), graph), GGML_STATUS_SUCCESS);
  std::vector<std::byte> bytes(ggml_nbytes(result));
  ggml_backend_tensor_get(result, bytes.data(), 0, bytes.size());
  return bytes;
}

/// Fills float inputs with normal numbers, the same at every call.
inline Fill normal_inputs() {
  return [](ggml_tensor* input) {
    Random random(99);
    std::vector<float> values(static_cast<std::size_t>(ggml_nelements(input)));
    for (float& value : values) value = random.normal();
    ggml_backend_tensor_set(input, values.data(), 0, ggml_nbytes(input));
  };
}

inline receipt::TensorReceipt receipt_of(const Weight& weight) {
  receipt::TensorReceipt receipt;
  weight.state().counters().read(receipt);
  return receipt;
}

}  // namespace juno::test
