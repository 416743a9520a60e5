// SPDX-License-Identifier: Apache-2.0
//
// All kernels of this build, and which of them fits a layout and a machine.
#pragma once

#include <span>
#include <string>

#include "juno/cpu.h"
#include "juno/decision.h"
#include "kernel/kernel.h"
#include "pack/recipe.h"

namespace juno::dispatch {

/// Every kernel that there is, fastest instruction set first; those of other architectures for inspection only.
std::span<const kernel::KernelInfo> registry();

/// "<operation>.<layout>.<isa>".
std::string kernel_id(const kernel::KernelInfo& kernel);

/// The specification for a layout; nullptr only for a fingerprint that no layout of this build has.
const kernel::KernelInfo* reference_kernel(std::uint64_t layout_fingerprint);

/// Runs `kernel` on small known data and compares every bit with the reference kernel. The machine must have what the
/// kernel requires. A machine whose instructions give wrong results (it has happened: firmware that loses SME state) is
/// found out here rather than in an answer.
bool self_test(const kernel::KernelInfo& kernel);

/// Whether `machine` can run `kernel`: Reason::compiled if it can, no_kernel if a feature is missing, vector_size if
/// streaming vectors have another length.
Reason fit(const kernel::KernelInfo& kernel, const cpu::Facts& machine) noexcept;

/// Of the kernels of `kernel`'s layout and instruction set, the one meant for so many columns.
const kernel::KernelInfo& kernel_for(const kernel::KernelInfo& kernel, std::size_t columns);

/// The way of `kernel`'s instruction set to round activations; nullptr if it has none.
kernel::Quantise quantise_for(const kernel::KernelInfo& kernel);

/// A kernel for few columns and the recipe for its layout, or the reason why there is none.
struct Choice {
  const kernel::KernelInfo* kernel = nullptr;
  const pack::Recipe* recipe = nullptr;
  Reason reason = Reason::no_kernel;
  std::string detail;
};

/// The first kernel in registry order for whose layout there is a recipe from this format and that the machine can run:
/// so each instruction set chooses the layout. `isa` narrows the search to one instruction set ("" for all); only then
/// are reference kernels considered.
Choice choose_kernel(std::uint32_t gguf_type, const cpu::Facts& machine, std::string_view isa);

}  // namespace juno::dispatch
