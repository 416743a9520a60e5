// SPDX-License-Identifier: Apache-2.0
#include "process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace juno::e2e {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Pipe {
  int read_end;
  int write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return {ends[0], ends[1]};
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& string : strings) result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

/// A test decides alone which of Juno's switches a program sees.
std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "JUNO_", 5) != 0) result.emplace_back(*variable);
  }
  for (const auto& [name, value] : command.environment) {
    std::erase_if(result, [&](const std::string& entry) { return entry.starts_with(name + "="); });
    result.push_back(name + "=" + value);
  }
  return result;
}

}  // namespace

std::string Outcome::text() const {
  std::string how = "exit status " + std::to_string(status);
  if (signal != 0) how = "ended by signal " + std::to_string(signal);
  if (timed_out) how = "timed out";
  const auto end_of = [](const std::string& all) { return all.size() > 4000 ? all.substr(all.size() - 4000) : all; };
  return command + "\n  " + how + "\n--- stdout\n" + end_of(out) + "\n--- stderr\n" + end_of(err) + "\n---\n";
}

Process::Process(const Command& command) : deadline_(Clock::now() + command.timeout) {
  for (const auto& [name, value] : command.environment) outcome_.command += name + "=" + value + " ";
  for (const std::string& argument : command.argv) outcome_.command += "'" + argument.substr(0, 200) + "' ";
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = environment_of(command);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  Pipe out = make_pipe();
  const Pipe err = make_pipe();
  if (command.stdout_closed) {
    close(out.read_end);
    out.read_end = -1;
  }
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  if (child == 0) {
    const int in = open(command.stdin_file.c_str(), O_RDONLY);
    const int to = command.stdout_file.empty() ? out.write_end : open(command.stdout_file.c_str(), O_WRONLY);
    if (in >= 0 && to >= 0 && dup2(in, 0) == 0 && dup2(to, 1) == 1 && dup2(err.write_end, 2) == 2) {
      execve(argv[0], argv.data(), envp.data());
    }
    const char* why = std::strerror(errno);
    if (write(err.write_end, why, std::strlen(why)) < 0) _exit(126);
    _exit(127);
  }
  running_ = true;
  outcome_.pid = child;
  close(out.write_end);
  close(err.write_end);
  outputs_[0].fd = out.read_end;
  outputs_[1].fd = err.read_end;
}

Process::~Process() {
  if (running_) {
    send(SIGKILL);
    reap(0);
  }
  for (const Output& output : outputs_) {
    if (output.fd >= 0) close(output.fd);
  }
}

void Process::send(int signal) {
  if (running_) kill(outcome_.pid, signal);
}

void Process::read(Output& output) {
  char buffer[1 << 16];
  const ssize_t count = ::read(output.fd, buffer, sizeof buffer);
  if (count > 0) {
    (outcome_.*output.text).append(buffer, static_cast<std::size_t>(count));
  } else if (count == 0 || errno != EINTR) {
    close(output.fd);
    output.fd = -1;
  }
}

bool Process::pump(milliseconds time) {
  const auto until = std::min(Clock::now() + time, deadline_);
  while (outputs_[0].fd >= 0 || outputs_[1].fd >= 0) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (left <= 0) return true;
    pollfd polled[2] = {{outputs_[0].fd, POLLIN, 0}, {outputs_[1].fd, POLLIN, 0}};  // poll() passes over -1
    if (poll(polled, 2, static_cast<int>(left)) <= 0) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      if (outputs_[i].fd >= 0 && polled[i].revents != 0) read(outputs_[i]);
    }
  }
  return false;
}

bool Process::reap(int options) {
  int status = 0;
  rusage usage{};
  pid_t reaped = 0;
  do {
    reaped = wait4(outcome_.pid, &status, options, &usage);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return false;
  running_ = false;
  if (WIFEXITED(status)) outcome_.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
    outcome_.cpu_seconds += static_cast<double>(part.tv_sec) + static_cast<double>(part.tv_usec) / 1e6;
  }
  return true;
}

Outcome Process::wait() {
  while (Clock::now() < deadline_ && pump(milliseconds(1000))) {
  }
  // Its outputs are closed: only now and then does a program live on for a moment.
  while (running_ && !reap(WNOHANG)) {
    if (Clock::now() >= deadline_) {
      outcome_.timed_out = true;
      send(SIGKILL);
      reap(0);
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return outcome_;
}

Outcome run(const Command& command) { return Process(command).wait(); }

}  // namespace juno::e2e
