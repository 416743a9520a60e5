// SPDX-License-Identifier: Apache-2.0
//
// `juno cpu`: detection, compilation and selection are three separate facts; all three are shown.
#include "juno/cpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "dispatch/isa_list.h"
#include "dispatch/registry.h"
#include "juno/engine.h"
#include "pack/recipe_list.h"

namespace juno::cli {
namespace {

using Json = nlohmann::ordered_json;

/// One instruction set on this machine.
struct IsaReport {
  std::string name;
  std::vector<std::string> kernels;
  bool built = false;
  std::string missing;  ///< what the machine lacks, "" if nothing
  bool selected = false;
  std::string why;
};

std::string missing_on(const kernel::KernelInfo& kernel, const cpu::Facts& machine) {
  switch (dispatch::fit(kernel, machine)) {
    case Reason::compiled: return {};
    case Reason::vector_size: return fmt::format("streaming vectors of {} bits", 8 * kernel.streaming_vector_bytes);
    default: return std::string(machine.features.first_missing(kernel.required));
  }
}

IsaReport report_isa(const dispatch::Isa& isa, const Target& target) {
  IsaReport report{.name = std::string(isa.name), .kernels = {}, .missing = {}, .why = {}};
  for (const kernel::KernelInfo& kernel : isa.kernels()) {
    report.kernels.push_back(dispatch::kernel_id(kernel));
    report.built = report.built || kernel.run != nullptr;
    if (report.missing.empty()) report.missing = missing_on(kernel, target.machine);
  }
  for (const pack::Recipe& recipe : pack::recipes()) {
    const dispatch::Choice choice = dispatch::choose_kernel(recipe.gguf_type, target.machine, target.isa);
    report.selected = report.selected || (choice.kernel != nullptr && choice.kernel->isa == isa.name);
  }
  const bool reference = !isa.kernels().empty() && isa.kernels().front().reference;
  if (!target.enabled) {
    report.selected = false;
    report.why = "the native engine was asked for";
  } else if (!report.missing.empty()) {
    report.why = fmt::format("this CPU has no {}", report.missing);
  } else if (!report.built) {
    report.why = "not part of this build";
  } else if (report.selected) {
    report.why = target.isa.empty() ? "the first in the list that this CPU can run" : "JUNO_ISA asks for it";
  } else if (reference) {
    report.why = "the specification; used only when JUNO_ISA=scalar asks for it";
  } else {
    report.why = target.isa.empty() ? "a faster one was found" : "JUNO_ISA asks for another";
  }
  return report;
}

struct Cache {
  std::string level;  ///< such as "L1 data"
  std::string size;   ///< as the system writes it, such as "32K"
};

/// Caches of the first core, where Linux lists them.
std::vector<Cache> caches() {
  std::vector<Cache> found;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::string level;
    std::string type;
    std::string size;
    if (!(std::ifstream(folder + "level") >> level)) return found;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "size") >> size;
    if (type == "Instruction") continue;
    found.push_back({fmt::format("L{}{}", level, type == "Data" ? " data" : ""), size});
  }
}

std::uint64_t memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

Json to_json(const Target& target, const std::vector<IsaReport>& isas) {
  Json caches_json = Json::object();
  for (const Cache& cache : caches()) caches_json[cache.level] = cache.size;
  Json isas_json = Json::array();
  for (const IsaReport& isa : isas) {
    isas_json.push_back({{"name", isa.name},
                         {"built", isa.built},
                         {"detected", isa.missing.empty()},
                         {"selected", isa.selected},
                         {"why", isa.why},
                         {"kernels", isa.kernels}});
  }
  const std::optional<unsigned> units = cpu::sme_units();
  return {{"architecture", target.machine.architecture},
          {"features", target.machine.features.names()},
          {"streaming_vector_bytes", target.machine.streaming_vector_bytes},
          {"sme_units", units ? Json(*units) : Json(nullptr)},
          {"threads", std::thread::hardware_concurrency()},
          {"memory_bytes", memory_bytes()},
          {"caches", std::move(caches_json)},
          {"instruction_sets", std::move(isas_json)}};
}

void print_text(const Target& target, const std::vector<IsaReport>& isas) {
  const auto names = target.machine.features.names();
  fmt::print("architecture       {}\n", target.machine.architecture);
  fmt::print("features           {}\n",
             names.empty() ? "none that Juno has kernels for" : fmt::format("{}", fmt::join(names, " ")));
  fmt::print("streaming vectors  {}\n", target.machine.streaming_vector_bytes == 0
                                            ? "none"
                                            : fmt::format("{} bits", 8 * target.machine.streaming_vector_bytes));
  const std::optional<unsigned> units = cpu::sme_units();
  fmt::print("SME units          {}\n", target.machine.streaming_vector_bytes == 0 ? "none"
                                        : units                                    ? fmt::to_string(*units)
                                                                                   : "the system does not say");
  fmt::print("hardware threads   {}\n", std::thread::hardware_concurrency());
  fmt::print("memory             {:.1f} GiB\n", static_cast<double>(memory_bytes()) / (1 << 30));
  for (const Cache& cache : caches()) fmt::print("cache {:<12} {}\n", cache.level, cache.size);
  fmt::print("\n{:<8} {:<6} {:<9} {:<9} {}\n", "kernels", "built", "detected", "selected", "why");
  for (const IsaReport& isa : isas) {
    const auto yes = [](bool value) { return value ? "yes" : "no"; };
    fmt::print("{:<8} {:<6} {:<9} {:<9} {}\n", isa.name, yes(isa.built), yes(isa.missing.empty()), yes(isa.selected),
               isa.why);
    for (const std::string& kernel : isa.kernels) fmt::print("  {}\n", kernel);
  }
}

}  // namespace

Command add_cpu(CLI::App& program) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* command = program.add_subcommand("cpu", "Says what this machine has, and which kernels that selects");
  command->add_flag("--json", *json, "Machine-readable output (docs/json.md)");
  return [json]() -> Status {
    const Target target = integration::target();
    std::vector<IsaReport> isas;
    isas.reserve(dispatch::kIsas.size());
    for (const dispatch::Isa& isa : dispatch::kIsas) isas.push_back(report_isa(isa, target));
    if (*json) {
      fmt::print("{}\n", to_json(target, isas).dump(2));
    } else {
      print_text(target, isas);
    }
    return Done{};
  };
}

}  // namespace juno::cli
