// SPDX-License-Identifier: Apache-2.0
#include "buffer_type.h"

#include <chrono>
#include <deque>
#include <memory>
#include <new>

#include "base/bytes.h"
#include "buffer_budget.h"
#include "ggml-backend-impl.h"
#include "ggml-cpu.h"
#include "ggml-impl.h"
#include "juno/engine.h"
#include "memory.h"
#include "traits_provider.h"

namespace juno::integration {
namespace {

/// What a ggml buffer of ours points to.
struct Buffer {
  explicit Buffer(std::size_t size) : bytes(size), budget(size != 0), pages(allocate_pages(size)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { free_pages(pages, bytes); }

  std::size_t bytes;
  BufferBudget budget;
  std::byte* pages;                // nullptr if there are none
  std::deque<TensorState> states;  // addresses stay valid; ggml fills a buffer from one thread
};

Buffer& context_of(ggml_backend_buffer_t buffer) { return *static_cast<Buffer*>(buffer->context); }

Decision decision_for(const ggml_tensor* tensor) { return decide(facts_of(tensor, product_of(tensor)), target()); }

// --- the buffer ---

void free_buffer(ggml_backend_buffer_t buffer) { delete &context_of(buffer); }

void* get_base(ggml_backend_buffer_t buffer) { return context_of(buffer).pages; }

ggml_status init_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor) {
  if (tensor->view_src != nullptr) return GGML_STATUS_SUCCESS;  // state_of() follows views
  try {
    tensor->extra = &context_of(buffer).states.emplace_back(tensor, decision_for(tensor));
  } catch (const std::bad_alloc&) {
    return GGML_STATUS_ALLOC_FAILED;
  }
  return GGML_STATUS_SUCCESS;
}

/// Byte offset of a tensor (maybe a view) in the tensor that owns the state.
std::size_t offset_in(const TensorState& state, const ggml_tensor* tensor) {
  return static_cast<std::size_t>(static_cast<const char*>(tensor->data) -
                                  static_cast<const char*>(state.tensor()->data));
}

/// Every write from outside of a graph. With the first one all tensors of the buffer are known.
void write(ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* data, std::size_t offset, std::size_t size) {
  Buffer& context = context_of(buffer);
  TensorState& state = *state_of(tensor);
  try {
    context.budget.plan(context.states);
  } catch (const std::bad_alloc&) {
    // So little memory that it cannot even be shared out; packing will find out for itself.
    GGML_LOG_ERROR("juno: plan packed weights: no memory for the plan\n");
  }
  const bool was_packed = state.content() == Content::packed;
  state.write(data, offset_in(state, tensor) + offset, size);
  if (!was_packed && state.content() == Content::packed) context.budget.settle(state.decision().packed_bytes);
}

void set_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, const void* data, std::size_t offset,
                std::size_t size) {
  write(buffer, tensor, data, offset, size);
}

void get_tensor(ggml_backend_buffer_t, const ggml_tensor* tensor, void* data, std::size_t offset, std::size_t size) {
  const TensorState& state = *state_of(tensor);
  state.read(data, offset_in(state, tensor) + offset, size);
}

void memset_tensor(ggml_backend_buffer_t buffer, ggml_tensor* tensor, std::uint8_t value, std::size_t offset,
                   std::size_t size) {
  const std::vector<std::uint8_t> bytes(size, value);
  write(buffer, tensor, bytes.data(), offset, size);
}

void clear(ggml_backend_buffer_t buffer, std::uint8_t value) {
  Buffer& context = context_of(buffer);
  std::memset(context.pages, value, context.bytes);
  for (TensorState& state : context.states) state.forget();
}

// --- the buffer type ---

const char* get_name(ggml_backend_buffer_type_t) { return "JUNO"; }

ggml_backend_buffer_t alloc_buffer(ggml_backend_buffer_type_t type, std::size_t size) {
  auto context = std::make_unique<Buffer>(size);
  if (context->pages == nullptr) {
    GGML_LOG_ERROR("juno: allocate packed weights: %zu bytes: the system has no memory for them\n", size);
    return nullptr;
  }
  const ggml_backend_buffer_i interface = {
      .free_buffer = free_buffer,
      .get_base = get_base,
      .init_tensor = init_tensor,
      .memset_tensor = memset_tensor,
      .set_tensor = set_tensor,
      .get_tensor = get_tensor,
      .set_tensor_2d = nullptr,
      .get_tensor_2d = nullptr,
      .cpy_tensor = nullptr,  // ggml then copies through get_tensor and set_tensor
      .clear = clear,
      .reset = nullptr,
  };
  return ggml_backend_buffer_init(type, interface, context.release(), size);
}

std::size_t get_alignment(ggml_backend_buffer_type_t) { return kLineBytes; }

/// Room for either content: a tensor may stay plain for a reason that only its bytes tell.
std::size_t get_alloc_size(ggml_backend_buffer_type_t, const ggml_tensor* tensor) {
  return round_up(std::max<std::size_t>(ggml_nbytes(tensor), decision_for(tensor).packed_bytes), kLineBytes);
}

/// The loader would otherwise write into the tensor's memory itself, and nothing would be packed.
bool is_host(ggml_backend_buffer_type_t) { return false; }

}  // namespace

ggml_backend_buffer_type_t buffer_type() {
  static ggml_backend_buffer_type type = {
      .iface =
          {
              .get_name = get_name,
              .alloc_buffer = alloc_buffer,
              .get_alignment = get_alignment,
              .get_max_size = nullptr,
              .get_alloc_size = get_alloc_size,
              .is_host = is_host,
          },
      .device = ggml_backend_reg_dev_get(ggml_backend_cpu_reg(), 0),
      .context = traits_provider(),
  };
  return &type;
}

Operation product_of(const ggml_tensor* tensor) noexcept {
  return operation_of(tensor->name) == Operation::mul_mat_id ? Operation::mul_mat_id : Operation::mul_mat;
}

TensorFacts facts_of(const ggml_tensor* tensor, Operation operation) noexcept {
  TensorFacts facts{
      .name = tensor->name, .type = static_cast<std::uint32_t>(tensor->type), .shape = {}, .operation = operation};
  for (std::size_t i = 0; i < facts.shape.size(); ++i) facts.shape[i] = static_cast<std::uint64_t>(tensor->ne[i]);
  return facts;
}

TensorState* state_of(const ggml_tensor* tensor) noexcept {
  if (tensor == nullptr) return nullptr;
  const ggml_tensor* root = tensor->view_src != nullptr ? tensor->view_src : tensor;
  if (root->buffer == nullptr || root->buffer->buft != buffer_type()) return nullptr;
  return static_cast<TensorState*>(root->extra);
}

TensorState* packed_state_of(const ggml_tensor* tensor) noexcept {
  TensorState* state = state_of(tensor);
  return state != nullptr && state->content() == Content::packed ? state : nullptr;
}

}  // namespace juno::integration
