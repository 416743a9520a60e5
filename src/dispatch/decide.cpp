// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "dispatch/registry.h"
#include "gguf/tensor_type.h"
#include "juno/decision.h"
#include "pack/recipe_list.h"

namespace juno {
namespace {

/// More than any machine holds, and few enough that no count of bytes overflows.
constexpr std::uint64_t kMostWeights = std::uint64_t{1} << 48;

bool passes_self_test(const kernel::KernelInfo& kernel) {
  static std::mutex mutex;
  static std::map<const kernel::KernelInfo*, bool> results;
  const std::lock_guard lock(mutex);
  const auto known = results.find(&kernel);
  if (known != results.end()) return known->second;
  return results[&kernel] = dispatch::self_test(kernel);
}

/// Of all kernels that share `kernel`'s layout and instruction set, the first that fails; nullptr if none does.
const kernel::KernelInfo* failing_kernel(const kernel::KernelInfo& kernel) {
  for (const kernel::KernelInfo& each : dispatch::registry()) {
    if (each.layout_fingerprint != kernel.layout_fingerprint || each.isa != kernel.isa) continue;
    if (!passes_self_test(each)) return &each;
  }
  return nullptr;
}

std::string type_name(std::uint32_t type) {
  const gguf::TensorType* known = gguf::find_tensor_type(type);
  return known != nullptr ? std::string(known->name) : fmt::format("type {}", type);
}

}  // namespace

std::string_view to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::compiled: return "compiled";
    case Reason::engine_off: return "engine-off";
    case Reason::not_chosen: return "not-chosen";
    case Reason::type: return "type";
    case Reason::operation: return "operation";
    case Reason::shape: return "shape";
    case Reason::no_kernel: return "no-kernel";
    case Reason::vector_size: return "vector-size";
    case Reason::self_test: return "self-test";
    case Reason::budget: return "budget";
    case Reason::not_written: return "not-written";
    case Reason::no_memory: return "no-memory";
    case Reason::bad_scale: return "bad-scale";
  }
  return "unknown";
}

Target this_machine() { return {.machine = cpu::facts(), .enabled = true, .isa = {}, .verified = true}; }

Decision decide(const TensorFacts& tensor, const Target& target) {
  if (!target.enabled) return {Reason::engine_off, "the native engine was asked for"};
  if (!target.only.empty() && !target.only.finds(tensor.name)) {
    return {Reason::not_chosen, fmt::format("its name does not match {}", target.only.source())};
  }
  if (target.skip.finds(tensor.name)) {
    return {Reason::not_chosen, fmt::format("its name matches {}", target.skip.source())};
  }
  if (pack::find_recipe(tensor.type) == nullptr)
    return {Reason::type, fmt::format("{} has no recipe", type_name(tensor.type))};
  if (tensor.operation == Operation::get_rows) return {Reason::operation, "used for row look-ups, not products"};
  if (tensor.operation != Operation::mul_mat && tensor.operation != Operation::mul_mat_id) {
    return {Reason::operation, "not used in a matrix product"};
  }
  const auto& [width, rows, matrices, more] = tensor.shape;
  if (width == 0 || width % layout::kSuperBlockWeights != 0) {
    return {Reason::shape, fmt::format("row width {} is no multiple of {}", width, layout::kSuperBlockWeights)};
  }
  if (rows == 0 || matrices == 0 || more != 1) return {Reason::shape, "neither a matrix nor a stack of them"};
  if (rows > kMostWeights / width || matrices > kMostWeights / (rows * width)) {
    return {Reason::shape, "larger than any memory"};
  }

  const dispatch::Choice choice = dispatch::choose_kernel(tensor.type, target.machine, target.isa);
  if (choice.kernel == nullptr) return {choice.reason, choice.detail};
  if (target.verified && !choice.kernel->reference) {
    if (const kernel::KernelInfo* failed = failing_kernel(*choice.kernel)) {
      return {Reason::self_test, fmt::format("{} gave wrong results on this CPU", dispatch::kernel_id(*failed))};
    }
  }
  const pack::Recipe* recipe = choice.recipe;
  return {Reason::compiled, fmt::format("{} by {}", recipe->layout.name, dispatch::kernel_id(*choice.kernel)), recipe,
          choice.kernel, matrices * recipe->layout.matrix_bytes(rows, width)};
}

}  // namespace juno
