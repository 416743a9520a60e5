// SPDX-License-Identifier: Apache-2.0
//
// The sub-commands of `juno`. Each adds its options to the program and returns what to run if it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "juno/status.h"

namespace juno::cli {

/// What main() exits with.
enum ExitStatus : int { exit_ok = 0, exit_failure = 1, exit_usage = 2 };

using Command = std::function<Status()>;

Command add_cpu(CLI::App& program);
Command add_inspect(CLI::App& program);
Command add_run(CLI::App& program);

/// What went wrong with standard output, if anything (a full disk, a closed pipe); call before exiting.
Status flush_output();

}  // namespace juno::cli
