// SPDX-License-Identifier: Apache-2.0
//
// What describes the `juno` command: --version, --help, completions and the manual page. The scripts are tried in the
// shells that they are for, as far as those are installed (scripts/setup installs them).
#include <map>
#include <regex>
#include <sstream>

#include "programs.h"

namespace juno::e2e {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kCommands = {"inspect", "run", "cpu", "completion", "manual"};

std::string path_of(const std::string& program) {
  std::istringstream path(std::getenv("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (fs::exists(fs::path(folder) / program)) return (fs::path(folder) / program).string();
  }
  return {};
}

/// Standard output of a program of this machine.
std::string output_of(const Arguments& argv) {
  const Outcome outcome = run({.argv = argv});
  EXPECT_TRUE(succeeds(outcome));
  EXPECT_EQ(outcome.err, "") << outcome.command;
  return outcome.out;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A file with what `juno ARGUMENTS` prints.
std::string printed_to_file(const Arguments& arguments) {
  const Outcome outcome = juno(arguments);
  EXPECT_TRUE(succeeds(outcome));
  const std::string path = (new_folder() / "juno").string();
  write_file(path, outcome.out);
  return path;
}

TEST(Reference, VersionNamesCommitLlamaCppAndCompiler) {
  const Outcome outcome = juno({"--version"});
  ASSERT_TRUE(succeeds(outcome));
  const std::regex expected(
      "juno \\d+\\.\\d+\\.\\d+\ncommit +([0-9a-f]{7,40}(-dirty)?|unknown)\nllama\\.cpp +v0\\.4\\.0\ncompiler +\\S+ "
      "\\d+\\..*\n"
      "(.*\n)*");
  EXPECT_TRUE(std::regex_match(outcome.out, expected)) << outcome.out;
}

TEST(Reference, HelpNamesEveryCommandAndTheExitStatus) {
  const Outcome outcome = juno({"--help"});
  ASSERT_TRUE(succeeds(outcome));
  for (const std::string& command : kCommands) EXPECT_NE(outcome.out.find("\n  " + command), std::string::npos);
  EXPECT_NE(outcome.out.find("Exit status: 0"), std::string::npos);
}

TEST(Reference, BashCompletes) {
  const std::string script = printed_to_file({"completion", "bash"});
  const fs::path folder = new_folder();
  write_file(folder / "a model.gguf", "");
  write_file(folder / "notes.txt", "");
  const auto complete = [&](const std::string& words) {
    return output_of(
        {path_of("bash"), "-c",
         "cd '" + folder.string() + "' && source '" + script + "' && eval \"COMP_WORDS=(" + words +
             ")\" && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && _juno && printf '%s\\n' \"${COMPREPLY[@]}\""});
  };
  EXPECT_EQ(complete("juno ru"), "run\n");
  EXPECT_TRUE(holds(words_of(complete("juno ''")), "inspect"));
  EXPECT_TRUE(holds(words_of(complete("juno --v")), "--version"));
  EXPECT_EQ(complete("juno run --engine ''"), "juno\nnative\n");
  EXPECT_EQ(complete("juno run --eng"), "--engine\n");
  EXPECT_EQ(complete("juno inspect ''"), "a model.gguf\n");
  EXPECT_EQ(complete("juno run x.gguf --file no"), "notes.txt\n");
  EXPECT_EQ(complete("juno completion ''"), "bash\nzsh\nfish\n");
  EXPECT_EQ(complete("juno run --threads ''"), "\n") << "nothing to propose for a number";
}

TEST(Reference, FishCompletes) {
  const std::string fish = path_of("fish");
  if (fish.empty()) GTEST_SKIP() << "no fish here";
  const std::string script = printed_to_file({"completion", "fish"});
  const fs::path folder = new_folder();
  write_file(folder / "model.gguf", "");
  write_file(folder / "notes.txt", "");
  const auto complete = [&](const std::string& line) {
    return words_of(output_of(
        {fish, "--no-config", "-c", "cd " + folder.string() + "; source " + script + "; complete -C '" + line + "'"}));
  };
  EXPECT_TRUE(holds(complete("juno ru"), "run"));
  EXPECT_TRUE(holds(complete("juno run --engine "), "native"));
  EXPECT_TRUE(holds(complete("juno run --eng"), "--engine"));
  EXPECT_FALSE(holds(complete("juno cpu --eng"), "--engine"));
  EXPECT_EQ(complete("juno inspect ").front(), "model.gguf") << "before other files";
  EXPECT_TRUE(holds(complete("juno run model.gguf --file "), "notes.txt"));
}

TEST(Reference, ZshCompletes) {
  const std::string zsh = path_of("zsh");
  if (zsh.empty()) GTEST_SKIP() << "no zsh here";
  const std::string script = printed_to_file({"completion", "zsh"});
  const fs::path folder = new_folder();
  write_file(folder / "model.gguf", "");
  // zsh completes in its line editor only, so one runs in a terminal of its own.
  const std::string setting_up = "autoload -Uz compinit; compinit -u -d " + (folder / "dump").string() + "; source " +
                                 script + "; cd " + folder.string() + "; echo rea''dy";
  const std::string with_terminal = R"(
    zmodload zsh/zpty
    zpty terminal TERM=dumb zsh -f -i
    zpty -w terminal $1
    zpty -r terminal shown '*ready*'
    zpty -n -w terminal $2$'\t\t'
    sleep 1
    while zpty -r -t terminal shown; do print -rn -- $shown; done
    zpty -d terminal)";
  const auto complete = [&](const std::string& line) {
    const std::string shown = output_of({zsh, "-f", "-c", with_terminal, "zsh", setting_up, line});
    return std::regex_replace(shown, std::regex("\x1b\\[[0-9;?]*[a-zA-Z]|[\\x00-\\x1f]"), "");
  };
  for (const auto& [line, completed] : std::map<std::string, std::string>{{"juno insp", "inspect"},
                                                                          {"juno run --engine na", "native"},
                                                                          {"juno inspect mod", "model.gguf"},
                                                                          {"juno run --top", "--top-p"}}) {
    const std::string shown = complete(line);
    EXPECT_NE(shown.find(completed), std::string::npos) << line << "\n" << shown;
  }
}

TEST(Reference, ManualIsSoundAndNamesEveryOption) {
  const std::string page = printed_to_file({"manual"});
  const std::string text = read_file(page);
  for (const std::string& command : kCommands) {
    EXPECT_NE(text.find(".SS " + command + "\n"), std::string::npos) << command;
    const std::string help = juno({command, "--help"}).out;
    const std::regex option("(^|[ ,])(--?[a-z][a-z-]*)");
    for (std::sregex_iterator it(help.begin(), help.end(), option); it != std::sregex_iterator(); ++it) {
      const std::string name = std::regex_replace((*it)[2].str(), std::regex("-"), "\\-");
      EXPECT_NE(text.find(name), std::string::npos) << command << " " << name;
    }
  }
  const std::string mandoc = path_of("mandoc");
  if (mandoc.empty()) GTEST_SKIP() << "no mandoc here";
  output_of({mandoc, "-T", "lint", "-W", "error", page});
  EXPECT_NE(output_of({mandoc, "-T", "html", page}).find("EXIT_STATUS"), std::string::npos);
}

}  // namespace
}  // namespace juno::e2e
