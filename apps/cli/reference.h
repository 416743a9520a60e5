// SPDX-License-Identifier: Apache-2.0
//
// The commands and options of `juno` as data, read from the definitions that the parser uses, for everything that
// describes them: shell completions and the manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace juno::cli {

/// What an option's value is, as far as a shell can help with it.
enum class ValueKind { text, file, model };

struct OptionReference {
  std::vector<std::string> names;  ///< with their dashes; empty for a positional argument
  std::string value;               ///< placeholder, such as "FILE"; "" for a flag
  ValueKind kind = ValueKind::text;
  std::vector<std::string> choices;  ///< the only possible values; empty if there are others
  std::string description;
  std::string standard;  ///< the value if none is given; "" for none
  [[nodiscard]] bool positional() const noexcept { return names.empty(); }
};

struct CommandReference {
  std::string name;
  std::string description;
  std::vector<OptionReference> options;
};

struct ProgramReference {
  CommandReference program;
  std::vector<CommandReference> commands;
};

ProgramReference describe(const CLI::App& program);

}  // namespace juno::cli
