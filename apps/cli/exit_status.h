// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace juno::cli {

/// What the program exits with. Stopped by a signal it is 128 and the signal's number, as shells say it (130: Ctrl-C).
enum ExitStatus : int { exit_ok = 0, exit_failure = 1, exit_usage = 2, exit_signal = 128 };

}  // namespace juno::cli
