// SPDX-License-Identifier: Apache-2.0
//
// Runs a program and keeps what it said.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace juno::e2e {

using Environment = std::map<std::string, std::string>;

struct Command {
  std::vector<std::string> argv;  ///< argv[0] is a path
  Environment environment{};      ///< on top of this process's, whose own JUNO_ variables the program does not get
  std::string stdin_file{"/dev/null"};
  std::string stdout_file{};   ///< "" to capture standard output
  bool stdout_closed = false;  ///< standard output is a pipe that nobody reads
  std::chrono::seconds timeout{120};
};

struct Outcome {
  int status = -1;  ///< what it exited with; -1 if it did not
  int signal = 0;   ///< what ended it, if a signal did
  bool timed_out = false;
  std::string out;
  std::string err;
  pid_t pid = 0;
  double cpu_seconds = 0;  ///< user and system time
  std::string command;

  /// Everything, for messages of failed tests.
  [[nodiscard]] std::string text() const;
};

/// A running program; ended and reaped at the latest by the destructor.
class Process {
 public:
  explicit Process(const Command& command);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  /// Takes in what the program writes for up to `time`, or until it closes its outputs; false once it has.
  bool pump(std::chrono::milliseconds time);
  [[nodiscard]] const Outcome& so_far() const noexcept { return outcome_; }
  void send(int signal);
  /// Until it has ended, or its timeout is over, when it is killed.
  Outcome wait();

 private:
  struct Output {
    int fd = -1;
    std::string Outcome::* text;
  };
  void read(Output& output);
  bool reap(int options);

  std::chrono::steady_clock::time_point deadline_;
  Output outputs_[2] = {{-1, &Outcome::out}, {-1, &Outcome::err}};
  Outcome outcome_;
  bool running_ = false;
};

/// Starts it and waits for its end.
Outcome run(const Command& command);

}  // namespace juno::e2e
