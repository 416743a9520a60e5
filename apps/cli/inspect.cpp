// SPDX-License-Identifier: Apache-2.0
#include "juno/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/printable.h"
#include "choice.h"
#include "commands.h"
#include "gguf/tensor_type.h"
#include "juno/engine.h"

namespace juno::cli {
namespace {

struct Options {
  std::string file;
  std::string target = "auto";
  std::string show;
  ChoiceOptions choice;
  std::string order = "file";
  bool json = false;
  bool totals = false;
};

/// The machine that the decisions are for: this one, or the one that a target names.
Target target_for(const std::string& name) {
  Target target = integration::target();
  if (name == "sme2") {
    target.machine = cpu::sme2_machine();
    target.enabled = true;
    target.isa.clear();
    target.verified = false;
  }
  return target;
}

std::string shape_text(const std::array<std::uint64_t, 4>& shape) {
  std::string text = fmt::format("{}x{}", shape[1], shape[0]);
  if (shape[2] * shape[3] != 1) text = fmt::format("{}x{}", shape[2] * shape[3], text);
  return text;
}

/// Keeps the tensors whose names the pattern finds.
void keep(Inspection& inspection, const Pattern& show) {
  if (show.empty()) return;
  std::erase_if(inspection.tensors, [&](const auto& tensor) { return !show.finds(tensor.name); });
}

/// Tensors with equal keys keep the order of the file.
void sort(Inspection& inspection, const std::string& order) {
  using Tensor = receipt::TensorReceipt;
  const auto by = [&](auto key) {
    std::multimap<decltype(key(Tensor{})), Tensor> sorted;
    for (Tensor& tensor : inspection.tensors) sorted.emplace(key(tensor), std::move(tensor));
    inspection.tensors.clear();
    for (auto& [ignored, tensor] : sorted) inspection.tensors.push_back(std::move(tensor));
  };
  if (order == "name") by([](const Tensor& tensor) { return tensor.name; });
  if (order == "type") by([](const Tensor& tensor) { return tensor.type; });
  if (order == "decision") by([](const Tensor& tensor) { return tensor.reason; });
  if (order == "size") by([](const Tensor& tensor) { return ~tensor.native_bytes; });  // the largest first
}

std::string decision_text(const receipt::TensorReceipt& tensor) {
  if (tensor.reason == Reason::compiled) return fmt::format("juno: {}", tensor.detail);
  return fmt::format("native ({}): {}", to_string(tensor.reason), tensor.detail);
}

struct Total {
  std::size_t tensors = 0;
  std::uint64_t native_bytes = 0;
  std::uint64_t packed_bytes = 0;
};

void print_tensors(const Inspection& inspection) {
  std::size_t width = 4;
  std::vector<std::string> names;
  names.reserve(inspection.tensors.size());
  for (const auto& tensor : inspection.tensors) {
    names.push_back(printable(tensor.name));
    width = std::max(width, names.back().size());
  }
  fmt::print("{:<{}}  {:<8} {:>16}  {:>14}  {:>14}  {}\n", "name", width, "type", "rows x columns", "native bytes",
             "packed bytes", "decision");
  for (std::size_t i = 0; i < names.size(); ++i) {
    const receipt::TensorReceipt& tensor = inspection.tensors[i];
    const bool compiled = tensor.reason == Reason::compiled;
    fmt::print("{:<{}}  {:<8} {:>16}  {:>14}  {:>14}  {}\n", names[i], width, gguf::tensor_type_name(tensor.type),
               shape_text(tensor.shape), tensor.native_bytes, compiled ? fmt::to_string(tensor.packed_bytes) : "-",
               decision_text(tensor));
  }
  fmt::print("\n");
}

/// By type and decision.
void print_totals(const Inspection& inspection) {
  std::map<std::pair<std::string, std::string>, Total> totals;
  Total compiled;
  Total all;
  for (const auto& tensor : inspection.tensors) {
    const bool is_compiled = tensor.reason == Reason::compiled;
    for (Total* total : {&totals[{gguf::tensor_type_name(tensor.type), decision_text(tensor)}], &all,
                         is_compiled ? &compiled : nullptr}) {
      if (total == nullptr) continue;
      ++total->tensors;
      total->native_bytes += tensor.native_bytes;
      total->packed_bytes += tensor.packed_bytes;
    }
  }
  fmt::print("{:<8} {:>8}  {:>14}  {:>14}  {}\n", "type", "tensors", "native bytes", "packed bytes", "decision");
  for (const auto& [key, total] : totals) {
    fmt::print("{:<8} {:>8}  {:>14}  {:>14}  {}\n", key.first, total.tensors, total.native_bytes,
               total.packed_bytes != 0 ? fmt::to_string(total.packed_bytes) : "-", key.second);
  }
  fmt::print("\n{} of {} tensors by Juno: {} bytes become {}; {} bytes in all\n", compiled.tensors, all.tensors,
             compiled.native_bytes, compiled.packed_bytes, all.native_bytes);
}

}  // namespace

Command add_inspect(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("inspect", "Says what Juno would do with each tensor of a model file");
  command->add_option("MODEL", options->file, "GGUF file; only its header is read")->required()->type_name("GGUF");
  command->add_option("--target", options->target, "Machine to decide for: this one (auto), or sme2")
      ->check(CLI::IsMember({"auto", "sme2"}))
      ->capture_default_str();
  options->choice.add_to(*command);
  const CLI::Option* show =
      command
          ->add_option("--show", options->show, "Show only tensors whose name this extended regular expression finds")
          ->type_name("REGEX");
  command->add_option("--sort", options->order, "Order of the tensors")
      ->check(CLI::IsMember({"file", "name", "type", "size", "decision"}))
      ->capture_default_str();
  command->add_flag("--totals", options->totals, "Only the totals, no line for each tensor");
  command->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  return [options, show]() -> Status {
    if (const Status applied = options->choice.apply(); !applied) return applied;
    const auto shown = show->count() != 0 ? Pattern::compile(options->show, "--show") : Pattern();
    if (!shown) return shown.error();
    const Target target = target_for(options->target);
    auto inspection = inspect(options->file, target);
    if (!inspection) return inspection.error();
    keep(*inspection, *shown);
    sort(*inspection, options->order);
    if (options->json) {
      fmt::print("{}", receipt::to_json(inspection->tensors, target));
    } else {
      if (!options->totals) print_tensors(*inspection);
      print_totals(*inspection);
    }
    return Done{};
  };
}

}  // namespace juno::cli
