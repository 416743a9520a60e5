// SPDX-License-Identifier: Apache-2.0
#include "juno/engine.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/output_file.h"
#include "budget/limit.h"
#include "dispatch/isa_list.h"
#include "juno/receipt.h"

namespace juno::integration {
namespace {

/// std::getenv is read once, before any thread of ours exists.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool known_isa(std::string_view name) {
  return name.empty() || name == "none" ||
         std::any_of(dispatch::kIsas.begin(), dispatch::kIsas.end(), [&](const auto& isa) { return isa.name == name; });
}

struct Switches {
  std::atomic<bool> enabled{true};
  std::string isa = environment("JUNO_ISA");
  std::mutex mutex;  ///< of the next three
  Pattern only;
  Pattern skip;
  std::optional<std::uint64_t> memory_limit;
  std::string receipts = environment("JUNO_RECEIPTS");
  std::optional<Error> error;

  Switches() {
    const std::string engine = environment("JUNO_ENGINE");
    if (engine == "native") {
      enabled = false;
    } else if (!engine.empty() && engine != "juno") {
      fail({ErrorCode::invalid_argument, "read the engine switch", "JUNO_ENGINE=" + engine,
            "neither 'juno' nor 'native'"});
    } else if (!known_isa(isa)) {
      fail({ErrorCode::invalid_argument, "read the instruction set switch", "JUNO_ISA=" + isa,
            "Juno has no kernels of that name"});
    }
    read_pattern("JUNO_ONLY", only);
    read_pattern("JUNO_SKIP", skip);
    if (const std::string limit = environment("JUNO_MEMORY_LIMIT"); !limit.empty()) {
      const auto bytes = budget::parse_limit(limit, "JUNO_MEMORY_LIMIT");
      if (bytes) {
        memory_limit = *bytes;
      } else {
        fail(bytes.error());
      }
    }
  }

  /// The first switch that means nothing is the one that is reported.
  void fail(Error why) {
    enabled = false;
    if (error) return;
    why.why += "; Juno stays off";
    error = std::move(why);
  }

  void read_pattern(const char* name, Pattern& pattern) {
    const std::string text = environment(name);
    if (text.empty()) return;
    auto compiled = Pattern::compile(text, name);
    if (compiled) {
      pattern = std::move(compiled).value();
    } else {
      fail(compiled.error());
    }
  }
};

/// Never destroyed: exit handlers still read it.
Switches& switches() {
  static Switches& instance = *new Switches;
  return instance;
}

}  // namespace

Target target() {
  Target target = this_machine();
  target.enabled = switches().enabled;
  target.isa = switches().isa;
  const std::lock_guard lock(switches().mutex);
  target.only = switches().only;
  target.skip = switches().skip;
  target.memory_limit = switches().memory_limit;
  return target;
}

void set_enabled(bool enabled) { switches().enabled = enabled; }

void set_only(Pattern only) {
  const std::lock_guard lock(switches().mutex);
  switches().only = std::move(only);
}

void set_skip(Pattern skip) {
  const std::lock_guard lock(switches().mutex);
  switches().skip = std::move(skip);
}

void set_memory_limit(std::optional<std::uint64_t> bytes) {
  const std::lock_guard lock(switches().mutex);
  switches().memory_limit = bytes;
}

std::optional<Error> switch_error() { return switches().error; }

std::optional<std::filesystem::path> receipts_path() {
  std::string path = switches().receipts;
  if (path.empty()) return std::nullopt;
  const std::string id = std::to_string(getpid());
  for (std::size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p", at + id.size())) {
    path.replace(at, 2, id);
  }
  return path;
}

Status write_receipts(const std::filesystem::path& path) {
  OutputFile file("write receipts", path);
  if (const Status opened = file.open(); !opened) return opened;
  const std::string text = receipt::to_json(receipt::ledger().snapshot(), target());
  if (const Status written = file.write(text); !written) return written;
  return file.finish();
}

}  // namespace juno::integration
