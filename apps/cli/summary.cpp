// SPDX-License-Identifier: Apache-2.0
#include "summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "comparison.h"

namespace juno::cli {
namespace {

using Json = nlohmann::ordered_json;
using Calls = std::map<std::string, std::uint64_t>;

double rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0.0; }

double prompt_rate(const Generation& generation) {
  return rate(static_cast<double>(generation.prompt_tokens), generation.prompt_seconds);
}

/// The largest resident size of this process so far.
std::uint64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<std::uint64_t>(usage.ru_maxrss);
#else
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
#endif
}

/// Operations by kernel over all tensors, and by unpacking.
Calls calls_of(const std::vector<receipt::TensorReceipt>& receipts) {
  Calls calls;
  for (const auto& receipt : receipts) {
    for (const auto& count : receipt.kernels) calls[count.kernel] += count.total_calls();
    if (receipt.unpacked_calls != 0) calls["unpacked"] += receipt.unpacked_calls;
  }
  return calls;
}

Calls minus(Calls calls, const Calls& earlier) {
  for (const auto& [kernel, count] : earlier) calls[kernel] -= count;
  return calls;
}

std::string_view to_string(Ending ending) {
  switch (ending) {
    case Ending::end_of_text: return "end-of-text";
    case Ending::count: return "count";
    case Ending::context_full: return "context-full";
    case Ending::stopped: return "stopped";
  }
  return "unknown";
}

struct Totals {
  std::size_t compiled = 0;
  std::uint64_t replaced_bytes = 0;
  std::uint64_t packed_bytes = 0;
  double pack_seconds = 0;
  struct Native {
    std::size_t tensors = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> details;  ///< each once
  };
  std::map<Reason, Native> native;
};

Totals totals_of(const std::vector<receipt::TensorReceipt>& receipts) {
  Totals totals;
  for (const auto& receipt : receipts) {
    totals.pack_seconds += static_cast<double>(receipt.pack_nanoseconds) / 1e9;
    if (receipt.reason == Reason::compiled) {
      ++totals.compiled;
      totals.replaced_bytes += receipt.native_bytes;
      totals.packed_bytes += receipt.packed_bytes;
    } else {
      Totals::Native& native = totals.native[receipt.reason];
      ++native.tensors;
      native.bytes += receipt.native_bytes;
      const auto known = std::find(native.details.begin(), native.details.end(), receipt.detail);
      if (known == native.details.end()) native.details.push_back(receipt.detail);
    }
  }
  return totals;
}

std::optional<std::uint64_t> pays_off(const RunReport& report, const Totals& totals) {
  return pays_off_after(totals.pack_seconds, report.native_rate.value_or(0), generation_rate(report.generation));
}

std::string gain_text(const RunReport& report, const Totals& totals) {
  if (!report.native_rate) return "  compiling pays off after: not known, --compare 32 measures it\n";
  const double native = *report.native_rate;
  const double ours = generation_rate(report.generation);
  if (native <= 0 || ours <= 0) return "  compiling pays off after: not known, the text ended too soon\n";
  const auto tokens = pays_off(report, totals);
  return fmt::format("  compared  native {:.1f} tokens/s, juno {:.1f} tokens/s: {:.1f} times\n", native, ours,
                     ours / native) +
         (tokens ? fmt::format("  compiling pays off after about {} tokens\n", *tokens)
                 : "  compiling does not pay off: generation was not faster\n");
}

}  // namespace

std::string summary_text(const RunReport& report) {
  const Generation& generation = report.generation;
  const Totals totals = totals_of(report.at_end);
  std::string text;
  const auto line = std::back_inserter(text);
  if (generation.ending == Ending::context_full) fmt::format_to(line, "(the context is full)\n");
  if (generation.ending == Ending::stopped) fmt::format_to(line, "(stopped)\n");
  fmt::format_to(line, "prompt      {} tokens, {:.1f} tokens/s\n", generation.prompt_tokens, prompt_rate(generation));
  fmt::format_to(line, "generation  {} tokens, {:.1f} tokens/s\n", generation.tokens.size(),
                 generation_rate(generation));
  fmt::format_to(line, "load        {:.2f} s, of which compiling {:.2f} s\n", report.load_seconds, totals.pack_seconds);
  fmt::format_to(line, "memory      {:.1f} MiB at most\n", static_cast<double>(peak_memory_bytes()) / (1 << 20));
  if (report.at_end.empty()) {
    fmt::format_to(line, "Juno was offered 0 tensors: llama.cpp put them all elsewhere\n");
    return text;
  }
  fmt::format_to(line, "Juno        compiled {} of {} tensors", totals.compiled, report.at_end.size());
  if (totals.compiled != 0) {
    fmt::format_to(line, ", {:.1f} MiB into {:.1f} MiB", static_cast<double>(totals.replaced_bytes) / (1 << 20),
                   static_cast<double>(totals.packed_bytes) / (1 << 20));
  }
  fmt::format_to(line, "\n");
  for (const auto& [reason, native] : totals.native) {
    if (reason == Reason::budget) {  // each has figures of its own
      fmt::format_to(line, "  native    {} ({}: no memory left to compile their {:.1f} MiB; --memory-limit)\n",
                     native.tensors, juno::to_string(reason), static_cast<double>(native.bytes) / (1 << 20));
      continue;
    }
    constexpr std::size_t kShown = 3;  // juno inspect has them all
    std::vector<std::string> details = native.details;
    if (details.size() > kShown) {
      details.resize(kShown);
      details.emplace_back("...");
    }
    fmt::format_to(line, "  native    {} ({}: {})\n", native.tensors, juno::to_string(reason),
                   fmt::join(details, ", "));
  }
  const Calls prompt = calls_of(report.after_prompt);
  for (const auto& [kernel, calls] : calls_of(report.at_end)) {
    const auto found = prompt.find(kernel);
    const std::uint64_t in_prompt = found != prompt.end() ? found->second : 0;
    fmt::format_to(line, "  {}  {} calls for the prompt, {} for the generation\n", kernel, in_prompt,
                   calls - in_prompt);
  }
  if (totals.compiled != 0) text += gain_text(report, totals);
  return text;
}

std::string summary_json(const RunReport& report) {
  const Generation& generation = report.generation;
  const Totals totals = totals_of(report.at_end);
  const Calls prompt = calls_of(report.after_prompt);
  const auto tokens = totals.compiled != 0 ? pays_off(report, totals) : std::nullopt;
  const Json document = {{"text", generation.text},
                         {"tokens", generation.tokens},
                         {"ending", to_string(generation.ending)},
                         {"prompt_tokens", generation.prompt_tokens},
                         {"prompt_tokens_per_second", prompt_rate(generation)},
                         {"generation_tokens_per_second", generation_rate(generation)},
                         {"load_seconds", report.load_seconds},
                         {"compile_seconds", totals.pack_seconds},
                         {"compile_pays_off_after_tokens", tokens ? Json(*tokens) : Json(nullptr)},
                         {"peak_memory_bytes", peak_memory_bytes()},
                         {"calls", {{"prompt", prompt}, {"generation", minus(calls_of(report.at_end), prompt)}}},
                         {"receipts", Json::parse(receipt::to_json(report.at_end, report.target))}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace juno::cli
