// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <sstream>

namespace juno::cli {
namespace {

/// CLI11 adds what validators say to the type, as in "TEXT:{juno,native}" or "INT:INT in [1 - 512]".
std::string type_without_validators(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

/// The members of a CLI::IsMember validator.
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  const std::size_t end = type.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::istringstream list(type.substr(begin + 2, end - begin - 2));
  std::vector<std::string> choices;
  for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
  return choices;
}

/// Which of our type names stand for files.
ValueKind kind_of(const std::string& type) {
  return type == "GGUF" ? ValueKind::model : type == "FILE" ? ValueKind::file : ValueKind::text;
}

OptionReference describe_option(const CLI::Option& option) {
  OptionReference result;
  result.description = option.get_description();
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  if (option.get_items_expected_max() == 0) return result;
  const std::string type = type_without_validators(option);
  result.kind = kind_of(type);
  result.choices = choices_of(option);
  result.value = result.positional() ? option.get_name() : type;
  result.standard = option.get_default_str();
  return result;
}

CommandReference describe_command(const CLI::App& command) {
  CommandReference result{.name = command.get_name(), .description = command.get_description(), .options = {}};
  for (const CLI::Option* option : command.get_options()) result.options.push_back(describe_option(*option));
  return result;
}

}  // namespace

ProgramReference describe(const CLI::App& program) {
  ProgramReference result{.program = describe_command(program), .commands = {}};
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    result.commands.push_back(describe_command(*command));
  }
  return result;
}

}  // namespace juno::cli
