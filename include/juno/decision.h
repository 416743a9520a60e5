// SPDX-License-Identifier: Apache-2.0
//
// What Juno does with a tensor, and why: one decision function for the loader and for `juno inspect`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "juno/cpu.h"
#include "juno/pattern.h"
#include "juno/status.h"

namespace juno {

namespace pack {
struct Recipe;
}
namespace kernel {
struct KernelInfo;
}

/// Why a tensor is compiled, or stays with llama.cpp's own code. The first ones follow from name, type, shape,
/// operation and machine; the last ones come up only while loading.
enum class Reason {
  compiled,     ///< Juno packs and multiplies it
  engine_off,   ///< the native engine was asked for
  not_chosen,   ///< its name was left out: --only, --skip
  type,         ///< its format has no recipe
  operation,    ///< it is not used in a matrix product that Juno has a kernel for
  shape,        ///< row width or number of dimensions
  no_kernel,    ///< no kernel for this CPU
  vector_size,  ///< the CPU has SME2, but not with the vector length that the kernels need
  self_test,    ///< the CPU's instructions gave wrong results
  budget,       ///< (loading) no room in the memory budget for packed tensors
  not_written,  ///< (loading) the tensor has not been written completely
  no_memory,    ///< (loading) no memory to pack it
  bad_scale,    ///< (loading) a block scale is infinite or NaN
};

/// A stable name such as "no-kernel", for JSON and tests.
std::string_view to_string(Reason reason) noexcept;

/// How the model uses a weight.
enum class Operation { mul_mat, mul_mat_id, get_rows, other };
std::string_view to_string(Operation operation) noexcept;

/// The operation that llama.cpp assumes for a weight from its name when it decides where to put it; "other" for all
/// that is neither a matrix product nor a row look-up. Source: LLM_TENSOR_INFOS and create_tensor of llama.cpp v0.4.0.
Operation operation_of(std::string_view tensor_name) noexcept;

struct TensorFacts {
  std::string_view name;
  std::uint32_t type;                  ///< GGUF tensor type
  std::array<std::uint64_t, 4> shape;  ///< shape[0] is the row width; unused dimensions are 1
  Operation operation;
};

/// The machine and the switches that a decision depends on.
struct Target {
  cpu::Facts machine;
  bool enabled = true;    ///< false: the native engine
  std::string isa;        ///< "" for the best, or the name of one instruction set, such as "scalar"
  bool verified = false;  ///< run each kernel's self-test before choosing it (this machine only)
  Pattern only = {};      ///< unless empty: tensors whose name it does not find stay native
  Pattern skip = {};      ///< tensors whose name it finds stay native
  /// Bytes for all packed tensors of the process together; nothing: what the machine has free. decide() sees one
  /// tensor, and leaves this to those who see all.
  std::optional<std::uint64_t> memory_limit = {};
};

struct Decision {
  Reason reason;
  std::string detail;  ///< one clause for people, such as "this CPU has no sme2"
  const pack::Recipe* recipe = nullptr;
  const kernel::KernelInfo* kernel = nullptr;
  std::uint64_t packed_bytes = 0;  ///< 0 unless compiled

  [[nodiscard]] bool compiled() const noexcept { return reason == Reason::compiled; }
};

/// A pure function of its arguments (self-tests, if asked for, are run once and remembered). Thread-safe.
Decision decide(const TensorFacts& tensor, const Target& target);

/// The target for this machine.
Target this_machine();

}  // namespace juno
