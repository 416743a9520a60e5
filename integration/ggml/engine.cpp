// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

#include "ggml-impl.h"
#include "juno/receipt.h"

namespace juno::integration {
namespace {

/// std::getenv is read once, before any thread of ours exists.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct Switches {
  std::atomic<bool> enabled{true};
  std::string isa = environment("JUNO_ISA");
  std::string receipts = environment("JUNO_RECEIPTS");
  std::optional<Error> error;

  Switches() {
    const std::string engine = environment("JUNO_ENGINE");
    if (engine == "native") {
      enabled = false;
    } else if (!engine.empty() && engine != "juno") {
      enabled = false;
      error = Error{ErrorCode::invalid_argument, "read the engine switch", "JUNO_ENGINE=" + engine,
                    "neither 'juno' nor 'native'; Juno stays off"};
      GGML_LOG_WARN("juno: %s\n", error->message().c_str());
    }
  }
};

Switches& switches() {
  static Switches instance;
  return instance;
}

Error write_error(const std::filesystem::path& path, std::string why) {
  return {ErrorCode::write_failed, "write receipts", path.string(), std::move(why)};
}

}  // namespace

Target target() {
  Target target = this_machine();
  target.enabled = switches().enabled;
  target.isa = switches().isa;
  return target;
}

void set_enabled(bool enabled) { switches().enabled = enabled; }

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
  const std::string text = receipt::to_json(receipt::ledger().snapshot(), target());
  std::error_code code;
  if (std::filesystem::exists(path, code) && !std::filesystem::is_regular_file(path, code)) {
    // A pipe or a device, such as /dev/stdout: nothing to rename onto.
    std::ofstream direct(path);
    direct << text << std::flush;
    if (!direct) return write_error(path, "cannot be written");
    return Done{};
  }
  std::filesystem::path temporary = path;
  temporary += ".part" + std::to_string(getpid());
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    if (!file) return write_error(path, "the folder is missing or not writable");
    file << text << std::flush;
    if (!file) {
      file.close();
      std::filesystem::remove(temporary, code);
      return write_error(path, "no space, or an I/O error");
    }
  }
  std::filesystem::rename(temporary, path, code);
  if (code) {
    const std::string why = code.message();
    std::filesystem::remove(temporary, code);
    return write_error(path, why);
  }
  return Done{};
}

}  // namespace juno::integration
