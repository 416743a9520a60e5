// SPDX-License-Identifier: Apache-2.0
//
// `juno run` that is told to end, or whose model goes away: an orderly end, and nothing half is left.
#include <unistd.h>

#include <csignal>

#include "programs.h"

namespace juno::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A program in emulation that lives through signals: QEMU 11.1 itself crashes when one meets SME without SVE.
Environment surviving_signals() {
  return compiling(has_runner() ? Environment{{"JUNO_CPU", "max,sme512=on,sme_fa64=off"}} : Environment{});
}

Command endless(const std::string& model, const std::string& logits, const Environment& environment) {
  return command("juno",
                 {"run", model, "-p", "Once upon a time", "--raw", "-c", "100000", "-n", "99999", "-t", "1", "--logits",
                  logits, "--verbose"},
                 environment);
}

/// Lets it run until its standard output (or standard error) has text.
bool says_something(Process& process, std::string Outcome::* where) {
  while ((process.so_far().*where).empty()) {
    if (!process.pump(milliseconds(20))) return false;
  }
  return true;
}

TEST(Stop, SignalsEndTheGenerationInOrder) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const fs::path folder = new_folder();
    Process process(endless(file_of(plain_model()), (folder / "logits.f32").string(), surviving_signals()));
    ASSERT_TRUE(says_something(process, &Outcome::out)) << process.wait().text();
    process.send(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 128 + signal) << outcome.text();
    EXPECT_NE(outcome.err.find("(stopped)\n"), std::string::npos) << outcome.text();
    EXPECT_NE(outcome.err.find(kernel()), std::string::npos) << outcome.text();
    EXPECT_EQ(names_in(folder), std::vector<std::string>{"logits.f32"});
    const std::uintmax_t step = plain_model().vocabulary * sizeof(float);
    EXPECT_GT(fs::file_size(folder / "logits.f32"), 0u);
    EXPECT_EQ(fs::file_size(folder / "logits.f32") % step, 0u) << "only whole steps";
  }
}

TEST(Stop, SignalsDuringTheLoadLeaveNothingHalf) {
  const std::string model = (new_folder() / "large.gguf").string();
  ASSERT_TRUE(succeeds(run_program("random-model", {model, "--type", "IQ4_XS", "--embedding", "1024", "--heads", "8",
                                                    "--feed-forward", "4096", "--layers", "4"})));
  for (const int signal : {SIGINT, SIGTERM}) {
    const fs::path folder = new_folder();
    Process process(endless(model, (folder / "logits.f32").string(), surviving_signals()));
    ASSERT_TRUE(says_something(process, &Outcome::err)) << process.wait().text();
    process.send(signal);
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.status, 128 + signal) << outcome.text();
    // On a busy machine the signal may come after the load.
    if (outcome.out.empty()) {
      EXPECT_NE(outcome.err.find("stopped"), std::string::npos) << outcome.text();
      EXPECT_EQ(names_in(folder), std::vector<std::string>{});
    } else {
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"logits.f32"});
    }
  }
}

TEST(Stop, KilledItLeavesNothing) {
  const fs::path folder = new_folder();
  Process process(endless(file_of(plain_model()), (folder / "logits.f32").string(), compiling()));
  ASSERT_TRUE(says_something(process, &Outcome::out)) << process.wait().text();
  process.send(SIGKILL);
  process.wait();
#if defined(__linux__)
  EXPECT_EQ(names_in(folder), std::vector<std::string>{});
#endif
}

TEST(Stop, AModelThatShrinksIsOneLine) {
  const fs::path model = new_folder() / "shrinking.gguf";
  fs::copy_file(file_of(plain_model()), model);
  Command run_native = command("juno",
                               {"run", model.string(), "-p", "Once upon a time", "--raw", "-c", "100000", "-n", "99999",
                                "-t", "1", "--engine", "native"},
                               surviving_signals());
  Process process(run_native);
  ASSERT_TRUE(says_something(process, &Outcome::out)) << process.wait().text();
  fs::resize_file(model, 0);
  const Outcome outcome = process.wait();
  EXPECT_TRUE(fails_with(outcome, 1, model.string() + ": the file shrank"));
}

}  // namespace
}  // namespace juno::e2e
