// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "exit_status.h"

namespace juno::cli {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<int> stop_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "set from a signal handler");

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};

/// Read by a signal handler, so never destroyed.
std::string& bus_error_line() {
  static std::string& line = *new std::string;
  return line;
}

void set_handlers(void (*handler)(int)) {
  for (const int number : kStopSignals) {
    if (std::signal(number, handler) == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

void on_stop(int number) {
  stop_signal = number;
  stop_requested = true;
  set_handlers(SIG_DFL);
}

void on_bus_error(int) {
  const std::string& line = bus_error_line();
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, line.data(), line.size());
  _exit(exit_failure);
}

}  // namespace

StopOnSignal::StopOnSignal() {
  stop_signal = 0;
  stop_requested = false;
  set_handlers(on_stop);
}

StopOnSignal::~StopOnSignal() { set_handlers(SIG_DFL); }

const std::atomic<bool>& StopOnSignal::requested() noexcept { return stop_requested; }

int StopOnSignal::signal() noexcept { return stop_signal; }

void explain_bus_errors(const std::string& message) {
  bus_error_line() = "juno: " + message + "\n";
  std::signal(SIGBUS, on_bus_error);
}

}  // namespace juno::cli
