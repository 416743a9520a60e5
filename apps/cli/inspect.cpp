// SPDX-License-Identifier: Apache-2.0
#include "juno/inspect.h"

#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "engine.h"
#include "gguf/tensor_type.h"

namespace juno::cli {
namespace {

struct Options {
  std::string file;
  std::string target = "auto";
  bool json = false;
};

/// The machine that the decisions are for: this one, or the one that a target names.
Target target_for(const std::string& name) {
  if (name == "sme2") return {.machine = cpu::sme2_machine(), .enabled = true, .isa = {}, .verified = false};
  return integration::target();
}

std::string shape_text(const std::array<std::uint64_t, 4>& shape) {
  std::string text = fmt::format("{}x{}", shape[1], shape[0]);
  if (shape[2] * shape[3] != 1) text = fmt::format("{}x{}", shape[2] * shape[3], text);
  return text;
}

void print_table(const Inspection& inspection) {
  std::size_t width = 4;
  for (const auto& tensor : inspection.tensors) width = std::max(width, tensor.name.size());
  fmt::print("{:<{}}  {:<8} {:>16}  {:>14}  {:>14}  {}\n", "name", width, "type", "rows x columns", "native bytes",
             "packed bytes", "decision");
  std::uint64_t compiled = 0;
  std::uint64_t native_bytes = 0;
  std::uint64_t replaced_bytes = 0;
  std::uint64_t packed_bytes = 0;
  for (const auto& tensor : inspection.tensors) {
    const gguf::TensorType* type = gguf::find_tensor_type(tensor.type);
    const bool is_compiled = tensor.reason == Reason::compiled;
    fmt::print("{:<{}}  {:<8} {:>16}  {:>14}  {:>14}  {}\n", tensor.name, width, type != nullptr ? type->name : "?",
               shape_text(tensor.shape), tensor.native_bytes, is_compiled ? fmt::to_string(tensor.packed_bytes) : "-",
               is_compiled ? fmt::format("juno: {}", tensor.detail)
                           : fmt::format("native ({}): {}", to_string(tensor.reason), tensor.detail));
    native_bytes += tensor.native_bytes;
    if (is_compiled) {
      ++compiled;
      replaced_bytes += tensor.native_bytes;
      packed_bytes += tensor.packed_bytes;
    }
  }
  fmt::print("\n{} of {} tensors by Juno: {} bytes become {}; {} bytes in all\n", compiled, inspection.tensors.size(),
             replaced_bytes, packed_bytes, native_bytes);
}

}  // namespace

Command add_inspect(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("inspect", "Says what Juno would do with each tensor of a model file");
  command->add_option("FILE", options->file, "GGUF file; only its header is read")->required();
  command->add_option("--target", options->target, "Machine to decide for: this one (auto), or sme2")
      ->check(CLI::IsMember({"auto", "sme2"}))
      ->capture_default_str();
  command->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  return [options]() -> Status {
    const Target target = target_for(options->target);
    const auto inspection = inspect(options->file, target);
    if (!inspection) return inspection.error();
    if (options->json) {
      fmt::print("{}", receipt::to_json(inspection->tensors, target));
    } else {
      print_table(*inspection);
    }
    return Done{};
  };
}

}  // namespace juno::cli
