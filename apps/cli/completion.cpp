// SPDX-License-Identifier: Apache-2.0
//
// Completion scripts: the shell sees the same commands, options and values as the parser.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <memory>

#include "commands.h"
#include "reference.h"

namespace juno::cli {
namespace {

using Text = fmt::memory_buffer;

template <class... Values>
void line(Text& text, fmt::format_string<Values...> format, Values&&... values) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Values>(values)...);
  text.push_back('\n');
}

/// In single quotes, for any of the shells.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::vector<std::string> option_names(const CommandReference& command) {
  std::vector<std::string> names;
  for (const OptionReference& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

// --- bash: works with version 3.2, which macOS has -----------------------------------------------------------------

std::string bash_action(const OptionReference& option) {
  if (!option.choices.empty()) return fmt::format("words {}", fmt::join(option.choices, " "));
  switch (option.kind) {
    case ValueKind::file: return "files '*'";
    case ValueKind::model: return "files '*.gguf'";
    default: return "nothing";
  }
}

void bash_command(Text& text, const CommandReference& command) {
  line(text, "    {})", command.name);
  line(text, "      case $previous in");
  std::string positional = "nothing";
  for (const OptionReference& option : command.options) {
    if (option.positional()) {
      positional = bash_action(option);
    } else if (!option.value.empty()) {
      line(text, "        {}) _juno_{}; return ;;", fmt::join(option.names, " | "), bash_action(option));
    }
  }
  line(text, "      esac");
  line(text, "      case $current in");
  line(text, "        -*) _juno_words {} ;;", fmt::join(option_names(command), " "));
  line(text, "        *) _juno_{} ;;", positional);
  line(text, "      esac");
  line(text, "      ;;");
}

constexpr const char* kBashBegin = R"BASH(# bash completion for juno, written by `juno completion bash`.
_juno_words() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -W "$(printf '%s\n' "$@")" -- "$current"))
}
_juno_files() {
  local IFS=$'\n'
  COMPREPLY=($(compgen -d -- "$current") $(compgen -f -X "!$1" -- "$current"))
}
_juno_nothing() { COMPREPLY=(); }
_juno() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
)BASH";

std::string bash(const ProgramReference& reference) {
  Text text;
  fmt::format_to(std::back_inserter(text), "{}", kBashBegin);
  std::vector<std::string> first = option_names(reference.program);
  first.reserve(first.size() + reference.commands.size());
  for (const CommandReference& command : reference.commands) first.push_back(command.name);
  line(text, "  if ((COMP_CWORD == 1)); then");
  line(text, "    _juno_words {}", fmt::join(first, " "));
  line(text, "    return");
  line(text, "  fi");
  line(text, "  case ${{COMP_WORDS[1]}} in");
  for (const CommandReference& command : reference.commands) bash_command(text, command);
  line(text, "  esac");
  line(text, "}}");
  line(text, "complete -o filenames -F _juno juno");
  return fmt::to_string(text);
}

// --- zsh -----------------------------------------------------------------------------------------------------------

std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_action(const OptionReference& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  switch (option.kind) {
    case ValueKind::file: return "_files";
    case ValueKind::model: return "_files -g \"*.gguf\"";
    default: return " ";
  }
}

void zsh_option(Text& text, const OptionReference& option) {
  const std::string value =
      option.value.empty() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
  if (option.positional()) {
    line(text, "        {} \\", quoted("1" + value));
    return;
  }
  for (const std::string& name : option.names) {
    line(text, "        {} \\",
         quoted(fmt::format("({}){}[{}]{}", fmt::join(option.names, " "), name, zsh_text(option.description), value)));
  }
}

std::string zsh(const ProgramReference& reference) {
  Text text;
  line(text, "#compdef juno\n# zsh completion for juno, written by `juno completion zsh`.");
  line(text, "_juno() {{");
  line(text, "  if ((CURRENT == 2)); then");
  line(text, "    local -a commands options");
  line(text, "    commands=(");
  for (const CommandReference& command : reference.commands) {
    line(text, "      {}", quoted(zsh_text(command.name) + ":" + command.description));
  }
  line(text, "    )");
  line(text, "    options=(");
  for (const OptionReference& option : reference.program.options) {
    for (const std::string& name : option.names) line(text, "      {}", quoted(name + ":" + option.description));
  }
  line(text, "    )");
  line(text, "    _describe command commands");
  line(text, "    _describe option options");
  line(text, "    return");
  line(text, "  fi");
  line(text, "  shift words");
  line(text, "  ((CURRENT--))");
  line(text, "  case $words[1] in");
  for (const CommandReference& command : reference.commands) {
    line(text, "    {})", command.name);
    line(text, "      _arguments \\");
    for (const OptionReference& option : command.options) zsh_option(text, option);
    line(text, "        && return");
    line(text, "      ;;");
  }
  line(text, "  esac");
  line(text, "}}");
  line(text, "if [[ $funcstack[1] == _juno ]]; then _juno \"$@\"; else compdef _juno juno; fi");
  return fmt::to_string(text);
}

// --- fish ----------------------------------------------------------------------------------------------------------

std::string fish_value(const OptionReference& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty()) return fmt::format(" -x -a {}", quoted(fmt::to_string(fmt::join(option.choices, " "))));
  switch (option.kind) {
    case ValueKind::file: return " -r -F";
    case ValueKind::model: return " -x -k -a '(__fish_complete_suffix .gguf)'";
    default: return " -x";
  }
}

void fish_option(Text& text, const std::string& condition, const OptionReference& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  line(text, "complete -c juno -n {}{}{} -d {}", quoted(condition), names, fish_value(option),
       quoted(option.description));
}

std::string fish(const ProgramReference& reference) {
  Text text;
  line(text, "# fish completion for juno, written by `juno completion fish`.");
  line(text, "complete -c juno -f");
  for (const CommandReference& command : reference.commands) {
    line(text, "complete -c juno -n __fish_use_subcommand -a {} -d {}", command.name, quoted(command.description));
  }
  for (const OptionReference& option : reference.program.options) fish_option(text, "__fish_use_subcommand", option);
  for (const CommandReference& command : reference.commands) {
    for (const OptionReference& option : command.options) {
      fish_option(text, "__fish_seen_subcommand_from " + command.name, option);
    }
  }
  return fmt::to_string(text);
}

/// The list of shells.
struct Shell {
  const char* name;
  std::string (*script)(const ProgramReference& reference);
};
constexpr Shell kShells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

}  // namespace

Command add_completion(CLI::App& program) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command = program.add_subcommand("completion", "Prints a completion script for a shell");
  std::vector<std::string> names;
  for (const Shell& known : kShells) names.emplace_back(known.name);
  command->add_option("SHELL", *shell, "The shell")->required()->check(CLI::IsMember(names));
  return [shell, &program]() -> Status {
    for (const Shell& known : kShells) {
      if (*shell == known.name) fmt::print("{}", known.script(describe(program)));
    }
    return Done{};
  };
}

}  // namespace juno::cli
