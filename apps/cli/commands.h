// SPDX-License-Identifier: Apache-2.0
//
// The sub-commands of `juno`. Each adds its options to the program and returns what to run if it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "juno/status.h"

namespace juno::cli {

using Command = std::function<Status()>;

Command add_completion(CLI::App& program);
Command add_cpu(CLI::App& program);
Command add_inspect(CLI::App& program);
Command add_manual(CLI::App& program);
Command add_run(CLI::App& program);

/// What went wrong with standard output, if anything (a full disk, a closed pipe); call before exiting.
Status flush_output();

}  // namespace juno::cli
