// SPDX-License-Identifier: Apache-2.0
//
// --memory-limit and JUNO_MEMORY_LIMIT: what does not fit stays native, and the answer is the same.
#include "programs.h"

namespace juno::e2e {
namespace {

struct Count {
  std::size_t compiled = 0;
  std::size_t over_budget = 0;
  std::uint64_t packed_bytes = 0;
};

Count count(const Json& receipts) {
  Count result;
  for (const Json& tensor : receipts.at("tensors")) {
    result.compiled += tensor.at("decision") == "juno" ? 1 : 0;
    result.over_budget += tensor.at("reason") == "budget" ? 1 : 0;
    result.packed_bytes += tensor.at("bytes_packed").get<std::uint64_t>();
  }
  return result;
}

Json inspect(const Arguments& more, const Environment& environment = {}) {
  Arguments arguments = {"inspect", file_of(plain_model()), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return parse(juno(arguments, compiling(environment)));
}

Json run_model(const Arguments& more, const Environment& environment = {}) {
  Arguments arguments = {"run", file_of(plain_model()), "--prompt", "One", "-n", "4", "-t", "2", "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return parse(juno(arguments, compiling(environment)));
}

TEST(MemoryLimit, IsKeptAndForeseenByInspect) {
  const std::uint64_t all = count(inspect({})).packed_bytes;
  ASSERT_GT(all, 0u);
  std::size_t last = 0;
  for (const std::uint64_t limit : {std::uint64_t{0}, all / 3, all - 1, all, 10 * all}) {
    SCOPED_TRACE(limit);
    const Json inspected = inspect({"--memory-limit", std::to_string(limit)});
    const Json receipts = run_model({"--memory-limit", std::to_string(limit)}).at("receipts");
    EXPECT_EQ(decisions(receipts), decisions(inspected));
    const Count here = count(receipts);
    expect_compiled(receipts, here.compiled);
    EXPECT_LE(here.packed_bytes, limit);
    EXPECT_EQ(here.compiled + here.over_budget, plain_model().compiled);
    EXPECT_GE(here.compiled, last);
    EXPECT_EQ(here.compiled == plain_model().compiled, limit >= all);
    EXPECT_EQ(here.compiled == 0, limit == 0);
    last = here.compiled;
  }
}

TEST(MemoryLimit, WithoutMemoryEverythingIsTheNativeEngines) {
  std::string bytes[2];
  for (const bool native : {false, true}) {
    for (const bool mapped : {true, false}) {
      const std::string logits = (new_folder() / "logits.f32").string();
      Arguments arguments = {"--logits", logits};
      if (native) {
        arguments.insert(arguments.end(), {"--engine", "native"});
      } else {
        arguments.insert(arguments.end(), {"--memory-limit", "0"});
      }
      if (!mapped) arguments.emplace_back("--no-mmap");
      run_model(arguments);
      std::string& expected = bytes[native ? 1 : 0];
      if (mapped) expected = read_file(logits);
      EXPECT_TRUE(read_file(logits) == expected) << (native ? "native" : "juno") << ", read instead of mapped";
    }
  }
  EXPECT_GT(bytes[0].size(), 0u);
  EXPECT_TRUE(bytes[0] == bytes[1]);
}

TEST(MemoryLimit, TheSummarySaysHowManyStayedNative) {
  const auto summary = [](const char* limit) {
    Outcome outcome =
        juno({"run", file_of(plain_model()), "--prompt", "One", "-n", "2", "--memory-limit", limit}, compiling());
    EXPECT_TRUE(succeeds(outcome));
    return outcome.err;
  };
  const std::string none = summary("0k");
  EXPECT_NE(none.find("\n  native    15 (budget: no memory left to compile "), std::string::npos) << none;
  EXPECT_EQ(summary("1G").find("budget"), std::string::npos);
}

TEST(MemoryLimit, TheVariableDoesTheSameAndTheOptionOverridesIt) {
  const Json by_option = run_model({"--memory-limit", "100k"}).at("receipts");
  EXPECT_GT(count(by_option).over_budget, 0u);
  EXPECT_GT(count(by_option).compiled, 0u);
  EXPECT_EQ(decisions(run_model({}, {{"JUNO_MEMORY_LIMIT", "100k"}}).at("receipts")), decisions(by_option));
  EXPECT_EQ(count(run_model({"--memory-limit", "1G"}, {{"JUNO_MEMORY_LIMIT", "0"}}).at("receipts")).over_budget, 0u);
  EXPECT_EQ(count(run_model({}, {{"JUNO_MEMORY_LIMIT", ""}}).at("receipts")).over_budget, 0u);

  // In a program of llama.cpp, which tries how the model fits before it loads it.
  const std::filesystem::path receipts = new_folder() / "receipts.json";
  const Outcome outcome =
      run_program("llama-cli", {"-m", file_of(plain_model()), "-p", "Hello", "-n", "2", "-t", "2", "--single-turn"},
                  compiling({{"JUNO_MEMORY_LIMIT", "100k"}, {"JUNO_RECEIPTS", receipts.string()}}));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(decisions(parse_file(receipts)), decisions(by_option));
}

TEST(MemoryLimit, BadSizes) {
  const std::string model = file_of(plain_model());
  for (const std::string& size : {std::string("much"), std::string("-1"), std::string("1.5G"),
                                  std::string("99999999999G"), std::string("4\033[31mG"), std::string(100'000, '9')}) {
    EXPECT_TRUE(fails_with(juno({"run", model, "--prompt", "x", "--memory-limit=" + size}), 2, "--memory-limit="));
    EXPECT_TRUE(fails_with(juno({"inspect", model, "--memory-limit=" + size}), 2, "--memory-limit="));
    EXPECT_TRUE(
        fails_with(juno({"run", model, "--prompt", "x"}, {{"JUNO_MEMORY_LIMIT", size}}), 2, "JUNO_MEMORY_LIMIT="));
  }
  EXPECT_TRUE(fails_with(juno({"run", model, "--prompt", "x", "--memory-limit", ""}), 2, "--memory-limit="));
}

}  // namespace
}  // namespace juno::e2e
