// SPDX-License-Identifier: Apache-2.0
//
// The programs and models that the tests are about.
//
// The tests themselves always run on this machine. Where the programs are, and what runs them, comes from outside:
//   JUNO_PROGRAMS=FOLDER   juno, random-model and llama.cpp's programs with Juno linked in
//   JUNO_RUNNER=PROGRAM    what runs them, such as scripts/emulate; empty or unset: nothing
//   JUNO_SOURCES=FOLDER    the repository
//   JUNO_LLAMA=FOLDER      llama.cpp's source tree
//   JUNO_REQUIRE_ISA=sme2  kernels for SME2 must run
// Without the last one Juno's SME2 kernels cannot run, so tests that need Juno to do something choose its reference
// kernels (JUNO_ISA=scalar); every test is the same for both but for the name of the kernel.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "process.h"

namespace juno::e2e {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

/// The folders that JUNO_SOURCES and JUNO_LLAMA name.
std::filesystem::path sources();
std::filesystem::path llama_sources();

bool expects_sme2();
bool has_runner();

/// Instruction sets that this machine has kernels for, the best first; "scalar" alone if there are none.
std::vector<std::string> isas();

/// The switches with which Juno compiles tensors here; the instruction set that is then chosen, the layout of IQ4_XS
/// tensors, and the kernels that multiply them with few columns and with many (maybe the same).
Environment compiling(Environment more = {});
std::string isa();
std::string layout();
std::string kernel();
std::string kernel_for_many();

Command command(const std::string& program, const Arguments& arguments, const Environment& environment);
Outcome run_program(const std::string& program, const Arguments& arguments, const Environment& environment = {});
/// run_program("juno", ...)
Outcome juno(const Arguments& arguments, const Environment& environment = {});

/// A new empty folder; removed at the end.
std::filesystem::path new_folder();

struct Model {
  std::string name;
  Arguments options;  ///< of random-model
  std::uint64_t vocabulary;
  std::size_t entries;   ///< tensors, a tied output counted like one of its own
  std::size_t compiled;  ///< of those
};

/// Small models of various shapes; the first is IQ4_XS with an output matrix of its own.
const std::vector<Model>& models();
inline const Model& plain_model() { return models().front(); }

/// The model's file, written at first use.
std::string file_of(const Model& model);

/// The repository's own model (models/README.md).
std::string bundled_model();

/// Runs a suite's tests for every model.
class EveryModel : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] const Model& model() const { return models()[GetParam()]; }
};
inline std::string model_name(const testing::TestParamInfo<std::size_t>& info) { return models()[info.param].name; }
inline auto every_model() { return testing::Range(std::size_t{0}, models().size()); }

/// What a program printed, or a file holds, as JSON; fails the test if it is none.
Json parse(const Outcome& outcome);
Json parse_file(const std::filesystem::path& path);
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);

/// Names in `folder`, sorted.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// The keys of an object, sorted.
std::vector<std::string> keys(const Json& object);

/// What is said of each tensor and use, without what is counted or measured while running.
Json decisions(const Json& receipts);

/// Calls of `kernel` in one tensor's receipt; 0 if it did not run.
std::uint64_t calls_of(const Json& tensor);

/// Receipts in which `compiled` tensors were packed, each ran on kernel() at least once, and nothing was unpacked.
void expect_compiled(const Json& receipts, std::size_t compiled);
/// Receipts in which Juno did nothing, because it was switched off.
void expect_engine_off(const Json& receipts);

/// Succeeds if the program ended by itself with `status`, and explained itself in exactly one line that begins with
/// "juno: " and contains `part`.
testing::AssertionResult fails_with(const Outcome& outcome, int status, const std::string& part);
testing::AssertionResult succeeds(const Outcome& outcome);

}  // namespace juno::e2e
