// SPDX-License-Identifier: Apache-2.0
//
// SMIDR_EL1 (Arm Architecture Reference Manual): AFFINITY2 in bits 55:52, SH in 14:13, AFFINITY in 11:0. SH is 2 for a
// unit of the core's own; 3 for one that all cores with the same affinities share.
#include <fstream>
#include <set>

#include "juno/cpu.h"

namespace juno::cpu {
namespace {

enum class Sharing : unsigned { own = 2, shared = 3 };

std::optional<std::uint64_t> read_register(const std::filesystem::path& file) {
  std::uint64_t value = 0;
  std::ifstream stream(file);
  if (!(stream >> std::hex >> value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<unsigned> sme_units(const std::filesystem::path& cpus) {
  unsigned own = 0;
  std::set<std::uint64_t> shared;
  for (unsigned core = 0;; ++core) {
    std::error_code ignored;
    const std::filesystem::path folder = cpus / ("cpu" + std::to_string(core));
    if (!std::filesystem::exists(folder, ignored)) break;
    // A core that is offline, or has no SME, has no such file.
    const auto value = read_register(folder / "regs/identification/smidr_el1");
    if (!value) continue;
    switch (static_cast<Sharing>(*value >> 13 & 3)) {
      case Sharing::own: ++own; break;
      case Sharing::shared: shared.insert((*value >> 52 & 0xf) << 12 | (*value & 0xfff)); break;
      default: return std::nullopt;  // the core doesn't tell
    }
  }
  const auto count = own + static_cast<unsigned>(shared.size());
  if (count == 0) return std::nullopt;
  return count;
}

}  // namespace juno::cpu
