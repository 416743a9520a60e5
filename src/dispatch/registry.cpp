// SPDX-License-Identifier: Apache-2.0
#include "dispatch/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "dispatch/isa_list.h"
#include "pack/recipe_list.h"

namespace juno::dispatch {
namespace {

const Isa& isa_of(const kernel::KernelInfo& kernel) {
  return *std::find_if(kIsas.begin(), kIsas.end(), [&](const Isa& known) { return known.name == kernel.isa; });
}

}  // namespace

std::span<const kernel::KernelInfo> registry() {
  // Never destroyed: exit handlers still read it.
  static const std::vector<kernel::KernelInfo>& kernels = *new std::vector<kernel::KernelInfo>([] {
    std::vector<kernel::KernelInfo> all;
    for (const Isa& isa : kIsas) {
      const auto kernels = isa.kernels();
      all.insert(all.end(), kernels.begin(), kernels.end());
    }
    return all;
  }());
  return kernels;
}

std::string kernel_id(const kernel::KernelInfo& kernel) {
  return fmt::format("{}.{}.{}", kernel.operation, kernel.layout, kernel.isa);
}

const kernel::KernelInfo* reference_kernel(std::uint64_t layout_fingerprint) {
  const auto all = registry();
  const auto found = std::find_if(all.begin(), all.end(), [&](const kernel::KernelInfo& kernel) {
    return kernel.reference && kernel.layout_fingerprint == layout_fingerprint;
  });
  return found == all.end() ? nullptr : &*found;
}

Reason fit(const kernel::KernelInfo& kernel, const cpu::Facts& machine) noexcept {
  if (!machine.features.first_missing(kernel.required).empty()) return Reason::no_kernel;
  const bool any_length = kernel.streaming_vector_bytes == 0;
  return any_length || kernel.streaming_vector_bytes == machine.streaming_vector_bytes ? Reason::compiled
                                                                                       : Reason::vector_size;
}

const kernel::KernelInfo& kernel_for(const kernel::KernelInfo& kernel, std::size_t columns) {
  const kernel::KernelInfo* best = &kernel;
  for (const kernel::KernelInfo& other : registry()) {
    if (other.layout_fingerprint != kernel.layout_fingerprint || other.isa != kernel.isa) continue;
    if (best->from_columns < other.from_columns && other.from_columns <= columns) best = &other;
  }
  return *best;
}

kernel::Quantise quantise_for(const kernel::KernelInfo& kernel) {
  const Isa& isa = isa_of(kernel);
  return isa.quantise != nullptr ? isa.quantise() : nullptr;
}

Choice choose_kernel(std::uint32_t gguf_type, const cpu::Facts& machine, std::string_view isa) {
  Choice choice;
  if (!isa.empty() && std::none_of(kIsas.begin(), kIsas.end(), [&](const Isa& known) { return known.name == isa; })) {
    choice.detail = fmt::format("there is no instruction set named '{}'", isa);
    return choice;
  }
  for (const kernel::KernelInfo& kernel : registry()) {
    if (isa.empty() ? kernel.reference : kernel.isa != isa) continue;
    const pack::Recipe* recipe = pack::find_recipe(gguf_type, kernel.layout_fingerprint);
    if (recipe == nullptr) continue;
    const Reason reason = fit(kernel, machine);
    if (reason == Reason::compiled) return {&kernel, recipe, Reason::compiled, {}};
    if (isa.empty() && isa_of(kernel).architecture != machine.architecture)
      continue;  // says nothing about this machine
    choice.reason = reason;
    choice.detail =
        reason == Reason::no_kernel
            ? fmt::format("no kernel for this CPU, which has no {}", machine.features.first_missing(kernel.required))
            : fmt::format("no kernel for streaming vectors of {} bits, only for {}", 8 * machine.streaming_vector_bytes,
                          8 * kernel.streaming_vector_bytes);
  }
  if (choice.detail.empty()) choice.detail = "no kernel for CPUs of this kind";
  return choice;
}

}  // namespace juno::dispatch
