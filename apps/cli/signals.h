// SPDX-License-Identifier: Apache-2.0
//
// Signals while a model is at work: an orderly end for those that ask for one, a line of text for what would otherwise
// be a crash.
#pragma once

#include <atomic>
#include <string>

namespace juno::cli {

/// While one lives, the first SIGINT (Ctrl-C), SIGTERM or SIGHUP only sets requested(); the next one does what it
/// always does. A signal that the parent had us ignore (nohup) stays ignored. One at a time.
class StopOnSignal {
 public:
  StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;
  ~StopOnSignal();

  /// Set once the program has been asked to end.
  [[nodiscard]] static const std::atomic<bool>& requested() noexcept;
  /// Which signal asked; 0 for none. Stays after the object has gone.
  [[nodiscard]] static int signal() noexcept;
};

/// From here on, a mapped file that shrinks or cannot be read any more (SIGBUS) ends the program with one line,
/// this message, and status 1.
void explain_bus_errors(const std::string& message);

}  // namespace juno::cli
