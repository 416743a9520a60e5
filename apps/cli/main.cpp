// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>

#include "base/printable.h"
#include "commands.h"
#include "exit_status.h"
#include "juno/engine.h"
#include "signals.h"
#include "version.h"

namespace juno::cli {
namespace {

/// A file opened by this program must not become its standard output because that was closed.
void occupy_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    // Read-only, so that writing to it still fails. The lowest free number is the one that is missing.
    if (open("/dev/null", O_RDONLY) != descriptor) std::_Exit(exit_failure);
  }
}

Error write_error() { return {ErrorCode::write_failed, "write", "standard output", "it is closed or full"}; }

int fail(const std::string& message, int status) {
  std::fputs(("juno: " + printable(message) + "\n").c_str(), stderr);
  return status;
}

int run_program(int argc, char** argv) {
  CLI::App program("Compiles low-bit GGUF weights at load time for fast CPU inference in llama.cpp", "juno");
  program.set_version_flag("--version", version_text(), "Print version, commit, llama.cpp revision and compiler");
  program.require_subcommand(1);
  program.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // as llama.cpp's programs do
  program.footer("Exit status: 0 done, 1 it failed, 2 wrong arguments, 128+N ended by signal N (130: Ctrl-C).");
  const std::map<std::string, Command> commands = {{"inspect", add_inspect(program)},
                                                   {"run", add_run(program)},
                                                   {"cpu", add_cpu(program)},
                                                   {"completion", add_completion(program)},
                                                   {"manual", add_manual(program)}};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
      program.exit(error, std::cout, std::cout);
      std::cout.flush();
      const Status written = std::cout ? flush_output() : write_error();
      return written ? exit_ok : fail(written.error().message(), exit_failure);
    }
    const bool unknown = argc > 1 && argv[1][0] != '-' && !commands.contains(argv[1]);
    const std::string why = unknown ? fmt::format("there is no command {}", argv[1]) : error.what();
    return fail(fmt::format("{} (see juno --help)", why), exit_usage);
  }
  if (const auto error = integration::switch_error()) return fail(error->message(), exit_usage);
  Status status = commands.at(program.get_subcommands().front()->get_name())();
  if (status) status = flush_output();
  const int signal = StopOnSignal::signal();
  const int unless_failed = signal == 0 ? int{exit_ok} : exit_signal + signal;
  if (status) return unless_failed;
  switch (status.error().code) {
    case ErrorCode::interrupted: return fail(status.error().message(), unless_failed);
    case ErrorCode::invalid_argument: return fail(status.error().message(), exit_usage);
    default: return fail(status.error().message(), exit_failure);
  }
}

}  // namespace

Status flush_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return write_error();
  return Done{};
}

}  // namespace juno::cli

int main(int argc, char** argv) {
  using juno::integration::missing_instructions;
  if (!missing_instructions().empty()) {  // llama.cpp must not even be started
    return juno::cli::fail(fmt::format("this build is for {}: it needs a CPU with {} (README, Install and embed)",
                                       juno::kBaseline, missing_instructions()),
                           juno::cli::exit_failure);
  }
  juno::cli::occupy_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error like any other
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that must not grow further
  try {
    return juno::cli::run_program(argc, argv);
  } catch (const std::exception& error) {
    // Memory, mostly: what the library foresees comes back as a Status.
    std::fprintf(stderr, "juno: %s\n", error.what());
    return juno::cli::exit_failure;
  }
}
