// SPDX-License-Identifier: Apache-2.0
#include "unpacked.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/bytes.h"
#include "buffer_type.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"

namespace juno::integration {
namespace {

// --- GET_ROWS ---

bool is_row_lookup(const ggml_tensor* op) {
  const ggml_tensor* table = op->src[0];
  const TensorState* state = op->op == GGML_OP_GET_ROWS ? packed_state_of(table) : nullptr;
  if (state == nullptr || packed_state_of(op->src[1]) != nullptr || packed_state_of(op) != nullptr) return false;
  const ggml_tensor* root = state->tensor();
  const auto offset = static_cast<const char*>(table->data) - static_cast<const char*>(root->data);
  const auto row = static_cast<std::ptrdiff_t>(root->nb[1]);
  const auto is_rows = [&](std::size_t stride) { return static_cast<std::ptrdiff_t>(stride) % row == 0; };
  return op->type == GGML_TYPE_F32 && op->src[1]->type == GGML_TYPE_I32 && table->ne[0] == root->ne[0] &&
         offset % row == 0 && is_rows(table->nb[1]) && is_rows(table->nb[2]) && is_rows(table->nb[3]);
}

void look_up_rows(const ggml_compute_params* params, ggml_tensor* op) {
  const ggml_tensor* table = op->src[0];
  const ggml_tensor* ids = op->src[1];
  const matmul::PackedTensor packed = packed_state_of(table)->packed();
  const std::size_t row_bytes = packed.recipe->row_bytes(packed.shape.width);
  const auto decode = ggml_get_type_traits(table->type)->to_float;
  std::byte* row = static_cast<std::byte*>(params->wdata) + static_cast<std::size_t>(params->ith) * row_bytes;
  const auto* base = static_cast<const char*>(packed_state_of(table)->tensor()->data);
  const std::int64_t count = ggml_nelements(ids);
  for (std::int64_t i = params->ith; i < count; i += params->nth) {
    const std::array<std::int64_t, 3> at = {i % ids->ne[0], i / ids->ne[0] % ids->ne[1], i / ids->ne[0] / ids->ne[1]};
    const auto address = [&](const ggml_tensor* tensor, std::size_t first_stride) {
      std::size_t offset = 0;
      for (std::size_t d = 0; d < at.size(); ++d)
        offset += static_cast<std::size_t>(at[d]) * tensor->nb[first_stride + d];
      return static_cast<char*>(tensor->data) + offset;
    };
    const auto id = load<std::int32_t>(reinterpret_cast<const std::byte*>(address(ids, 0)));
    GGML_ASSERT(id >= 0 && id < table->ne[1]);  // as ggml's own GET_ROWS
    const char* source = static_cast<const char*>(table->data) + static_cast<std::size_t>(id) * table->nb[1] +
                         static_cast<std::size_t>(at[1]) * table->nb[2] +
                         static_cast<std::size_t>(at[2]) * table->nb[3];
    const std::size_t source_row = static_cast<std::size_t>(source - base) / row_bytes;
    pack::unpack_tensor_row(*packed.recipe, packed.shape, packed.data, source_row, row);
    decode(row, reinterpret_cast<float*>(address(op, 1)), table->ne[0]);
  }
}

// --- everything else ---

/// The operation once more, as a graph of its own on plain copies of its packed operands. Built twice: to learn how
/// much memory the operation wants, and to compute it.
class PlainOperation {
 public:
  /// `copies` points at memory for the plain copies (copy_bytes(op)); nullptr while only planning.
  PlainOperation(const ggml_tensor* op, std::byte* copies) {
    context_.reset(
        ggml_init({.mem_size = (GGML_MAX_SRC + 2) * ggml_tensor_overhead() + ggml_graph_overhead_custom(kNodes, false),
                   .mem_buffer = nullptr,
                   .no_alloc = true}));
    for_each_root(op, [&](TensorState& state, std::size_t offset) {
      roots_[root_count_++] = {&state, copies != nullptr ? copies + offset : nullptr};
    });
    ggml_tensor* node = copy(op);
    for (std::size_t i = 0; i < GGML_MAX_SRC; ++i) {
      if (op->src[i] == nullptr) continue;
      node->src[i] = copy(op->src[i]);
      node->src[i]->op = GGML_OP_NONE;
      std::fill(std::begin(node->src[i]->src), std::end(node->src[i]->src), nullptr);
    }
    graph_ = ggml_new_graph_custom(context_.get(), kNodes, false);
    ggml_build_forward_expand(graph_, node);
    plan_ = ggml_graph_plan(graph_, 1, nullptr);
  }

  static std::size_t copy_bytes(const ggml_tensor* op) {
    std::size_t bytes = 0;
    for_each_root(op, [&](const TensorState& state, std::size_t offset) { bytes = offset + bytes_of(state); });
    return bytes;
  }

  [[nodiscard]] std::size_t work_bytes() const { return plan_.work_size; }

  void compute(std::byte* work, bool use_ref, const ggml_tensor* op) {
    for (std::size_t i = 0; i < root_count_; ++i) {
      roots_[i].state->read(roots_[i].plain, 0, ggml_nbytes(roots_[i].state->tensor()));
      roots_[i].state->counters().count_unpacked();
    }
    plan_.work_data = reinterpret_cast<std::uint8_t*>(work);
    plan_.use_ref = use_ref;
    const ggml_status status = ggml_graph_compute(graph_, &plan_);
    GGML_ASSERT(status == GGML_STATUS_SUCCESS);
    if (TensorState* written = packed_state_of(op); written != nullptr) {
      written->rewrite(plain_of(written));
    }
  }

 private:
  static constexpr std::size_t kNodes = 2 * (std::size_t{GGML_MAX_SRC} + 1);

  struct Root {
    TensorState* state;
    std::byte* plain;
  };

  static std::size_t bytes_of(const TensorState& state) { return round_up(ggml_nbytes(state.tensor()), kLineBytes); }

  /// Calls visit(state, offset of its copy) once for each packed tensor that the operation reads or writes.
  template <class Visit>
  static void for_each_root(const ggml_tensor* op, Visit visit) {
    std::array<TensorState*, GGML_MAX_SRC + 1> seen{};
    std::size_t count = 0;
    std::size_t offset = 0;
    const auto add = [&](const ggml_tensor* tensor) {
      TensorState* state = packed_state_of(tensor);
      if (state == nullptr || std::find(seen.begin(), seen.end(), state) != seen.end()) return;
      seen[count++] = state;
      visit(*state, offset);
      offset += bytes_of(*state);
    };
    add(op);
    for (const ggml_tensor* source : op->src) add(source);
  }

  std::byte* plain_of(const TensorState* state) {
    return std::find_if(roots_.begin(), roots_.end(), [&](const Root& root) { return root.state == state; })->plain;
  }

  /// A tensor like `tensor`, but of no buffer and with its data in the plain copy, if it lies in a packed tensor.
  ggml_tensor* copy(const ggml_tensor* tensor) {
    ggml_tensor* result = ggml_new_tensor(context_.get(), tensor->type, GGML_MAX_DIMS, tensor->ne);
    *result = *tensor;
    result->view_src = nullptr;
    if (const TensorState* state = packed_state_of(tensor); state != nullptr) {
      const auto offset = static_cast<const char*>(tensor->data) - static_cast<const char*>(state->tensor()->data);
      result->buffer = nullptr;
      result->extra = nullptr;
      result->data = plain_of(state) != nullptr ? plain_of(state) + offset : nullptr;
    }
    return result;
  }

  struct Free {
    void operator()(ggml_context* context) const { ggml_free(context); }
  };
  std::unique_ptr<ggml_context, Free> context_;
  std::array<Root, GGML_MAX_SRC + 1> roots_{};
  std::size_t root_count_ = 0;
  ggml_cgraph* graph_ = nullptr;
  ggml_cplan plan_{};
};

/// ADD is the one operation that, where ggml has no quantiser for its result, writes past it instead of giving up.
bool overruns_its_result(const ggml_tensor* op) {
  return op->op == GGML_OP_ADD && ggml_is_quantized(op->type) &&
         ggml_get_type_traits_cpu(op->type)->from_float == nullptr;
}

}  // namespace

std::size_t unpacked_work_size(int threads, const ggml_tensor* op) {
  if (is_row_lookup(op)) {
    const matmul::PackedTensor packed = packed_state_of(op->src[0])->packed();
    return static_cast<std::size_t>(threads) * packed.recipe->row_bytes(packed.shape.width);
  }
  // A line more: the work buffer itself is not aligned to lines.
  return kLineBytes + PlainOperation::copy_bytes(op) + PlainOperation(op, nullptr).work_bytes();
}

void compute_unpacked(const ggml_compute_params* params, ggml_tensor* op) {
  if (is_row_lookup(op)) {
    if (params->ith == 0) packed_state_of(op->src[0])->counters().count_unpacked();
    look_up_rows(params, op);
    return;
  }
  if (params->ith != 0) return;
  if (overruns_its_result(op)) GGML_ABORT("ggml cannot quantise %s in a graph", ggml_type_name(op->type));
  const auto start = reinterpret_cast<std::uintptr_t>(params->wdata);
  std::byte* copies = static_cast<std::byte*>(params->wdata) + (round_up(start, kLineBytes) - start);
  PlainOperation(op, copies).compute(copies + PlainOperation::copy_bytes(op), params->use_ref, op);
}

}  // namespace juno::integration
