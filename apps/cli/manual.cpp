// SPDX-License-Identifier: Apache-2.0
//
// The manual page, for man(1). Options come from their definitions; the rest of the text is here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <string_view>

#include "commands.h"
#include "reference.h"
#include "version.h"

namespace juno::cli {
namespace {

/// A paragraph whose first line stands out, as in lists of options.
struct Item {
  std::string_view term;
  std::string_view text;
};

constexpr Item kEnvironment[] = {
    {"JUNO_ENGINE=juno|native", "The engine, in any program with Juno inside; juno if unset."},
    {"JUNO_ISA=NAME", "Only kernels of this instruction set: those that juno cpu lists, or none."},
    {"JUNO_ONLY=REGEX",
     "Compile only tensors whose name this extended regular expression finds; in a program of llama.cpp, which has no "
     "option for it."},
    {"JUNO_SKIP=REGEX", "Compile no tensors whose name this one finds."},
    {"JUNO_MEMORY_LIMIT=SIZE",
     "Memory that compiled tensors of the process may take together, such as 500M or 4G (units of 1024). Those that "
     "gain "
     "least for their bytes stay native. If unset: what the machine, its control groups and the process's limits leave "
     "free, less an eighth of it and at least 512M for everything else."},
    {"JUNO_RECEIPTS=FILE",
     "Write what was decided for each tensor, and what ran, to this file as JSON when the program exits; %p stands for "
     "the process id."},
};

constexpr Item kExitStatus[] = {
    {"0", "Done."},
    {"1", "It failed; one line on standard error says what, where and why."},
    {"2", "Wrong arguments, or a switch in the environment that means nothing."},
    {"128+N", "Ended by signal N, such as 130 after Ctrl-C; what was generated until then has been printed."},
};

constexpr Item kExamples[] = {
    {"juno inspect model.gguf --totals", "What Juno would do with a model on this machine."},
    {"juno inspect model.gguf --target sme2", "The same for a machine with SME2."},
    {"juno run model.gguf -p 'Why is the sky blue?'", "An answer, then what ran."},
    {"juno inspect model.gguf --skip '^output' --show attn",
     "What becomes of the attention's tensors, the output left out."},
    {"juno run model.gguf < question.txt", "The prompt from standard input."},
    {"juno run model.gguf -p Hello --compare 32",
     "Then 32 tokens of the native engine, to say what compiling is worth."},
};

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      result += std::string("\\&") + c;
    } else {
      result += c;
    }
  }
  return result;
}

class Page {
 public:
  explicit Page(const std::string& version) {
    text_ = fmt::format(".TH JUNO 1 \"\" \"juno {}\" \"User Commands\"\n", escaped(version));
  }
  void section(std::string_view name) { text_ += fmt::format(".SH {}\n", name); }
  void subsection(std::string_view name) { text_ += fmt::format(".SS {}\n", escaped(name)); }
  void paragraph(std::string_view text) { text_ += escaped(text) + "\n"; }
  void item(const std::string& bold, const std::string& italic, std::string_view text) {
    text_ += fmt::format(".TP\n\\fB{}\\fR", escaped(bold));
    if (!italic.empty()) text_ += fmt::format(" \\fI{}\\fR", escaped(italic));
    text_ += fmt::format("\n{}\n", escaped(text));
  }
  template <std::size_t N>
  void items(const Item (&list)[N]) {
    for (const Item& entry : list) item(std::string(entry.term), "", entry.text);
  }
  void raw(const std::string& text) { text_ += text; }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_options(Page& page, const CommandReference& command) {
  for (const OptionReference& option : command.options) {
    std::string text = option.description + ".";
    if (!option.choices.empty()) text += fmt::format(" One of {}.", fmt::join(option.choices, ", "));
    if (!option.standard.empty()) text += fmt::format(" Default: {}.", option.standard);
    if (option.positional()) {
      page.item(option.value, "", text);
    } else {
      page.item(fmt::format("{}", fmt::join(option.names, ", ")), option.value, text);
    }
  }
}

std::string manual_page(const ProgramReference& reference, const std::string& version) {
  Page page(version);
  page.section("NAME");
  page.raw("juno \\- runs low\\-bit GGUF models faster, inside llama.cpp\n");
  page.section("SYNOPSIS");
  for (const CommandReference& command : reference.commands) {
    std::string arguments = " [\\fIOPTION\\fR]...";
    for (const OptionReference& option : command.options) {
      if (option.positional()) arguments = fmt::format(" \\fI{}\\fR{}", option.value, arguments);
    }
    page.raw(fmt::format(".PP\n\\fBjuno {}\\fR{}\n", command.name, arguments));
  }
  page.section("DESCRIPTION");
  page.paragraph(reference.program.description +
                 ". When a model loads, Juno looks at every tensor, rewrites the eligible ones into a layout made for "
                 "its matrix kernels, and leaves the rest to llama.cpp's own code.");
  page.section("OPTIONS");
  add_options(page, reference.program);
  page.section("COMMANDS");
  for (const CommandReference& command : reference.commands) {
    page.subsection(command.name);
    page.paragraph(command.description + ".");
    add_options(page, command);
  }
  page.section("ENVIRONMENT");
  page.items(kEnvironment);
  page.section("EXIT STATUS");
  page.items(kExitStatus);
  page.section("EXAMPLES");
  page.items(kExamples);
  return page.text();
}

}  // namespace

Command add_manual(CLI::App& program) {
  program.add_subcommand("manual", "Prints the manual page, for man -l -");
  return [&program]() -> Status {
    fmt::print("{}", manual_page(describe(program), std::string(kVersion)));
    return Done{};
  };
}

}  // namespace juno::cli
