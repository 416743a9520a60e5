// SPDX-License-Identifier: Apache-2.0
//
// JUNO_RECEIPTS in every program that has Juno linked in.
#include <algorithm>

#include "programs.h"

namespace juno::e2e {
namespace {

namespace fs = std::filesystem;

/// A program, and how to make it use a model for a moment.
struct Use {
  std::string program;
  Arguments (*arguments)(const std::string& model);
};

/// Enough words for two pieces of 64 tokens.
std::string words() {
  const fs::path path = new_folder() / "words.txt";
  std::string text;
  for (int i = 0; i < 60; ++i) text += "The brown fox jumps over " + std::to_string(i) + " lazy dogs. ";
  write_file(path, text);
  return path.string();
}

const std::vector<Use>& uses() {
  static const std::vector<Use> kUses = {
      {"juno", [](const std::string& model) { return Arguments{"run", model, "--prompt", "Hello", "-n", "3"}; }},
      {"llama-bench",
       [](const std::string& model) { return Arguments{"-m", model, "-p", "8", "-n", "4", "-t", "2", "-r", "1"}; }},
      {"llama-perplexity",
       [](const std::string& model) {
         return Arguments{"-m", model, "-f", words(), "-c", "64", "-t", "2", "--chunks", "2"};
       }},
      {"llama-cli",
       [](const std::string& model) {
         return Arguments{"-m", model, "-p", "Hello", "-n", "4", "-t", "2", "--single-turn"};
       }},
  };
  return kUses;
}

class EveryProgram : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static Outcome use(Environment environment) {
    const Use& use = uses()[GetParam()];
    return run_program(use.program, use.arguments(file_of(plain_model())), environment);
  }
};

/// The one file that the folder holds.
Json receipts_of(const Outcome& outcome, const fs::path& folder) {
  EXPECT_TRUE(succeeds(outcome));
  const std::vector<std::string> expected = {"receipts-" + std::to_string(outcome.pid) + ".json"};
  EXPECT_EQ(names_in(folder), expected) << outcome.text();
  return names_in(folder) == expected ? parse_file(folder / expected[0]) : Json();
}

std::string template_in(const fs::path& folder) { return (folder / "receipts-%p.json").string(); }

TEST_P(EveryProgram, WritesReceiptsOfWhatRan) {
  const fs::path folder = new_folder();
  const Json receipts = receipts_of(use(compiling({{"JUNO_RECEIPTS", template_in(folder)}})), folder);
  ASSERT_TRUE(receipts.is_object());
  EXPECT_EQ(keys(receipts), (std::vector<std::string>{"cpu", "engine", "juno", "llama_cpp", "schema", "tensors"}));
  EXPECT_EQ(receipts.at("schema"), 1);
  EXPECT_EQ(receipts.at("llama_cpp"), "v0.4.0");
  expect_compiled(receipts, plain_model().compiled);
  if (expects_sme2()) EXPECT_EQ(receipts.at("cpu").at("streaming_vector_bytes"), 64);
  const Json inspected = parse(juno({"inspect", file_of(plain_model()), "--json"}, compiling()));
  EXPECT_EQ(decisions(receipts), decisions(inspected));
}

TEST_P(EveryProgram, NativeEngineLeavesJunoOut) {
  const fs::path folder = new_folder();
  const Json receipts =
      receipts_of(use(compiling({{"JUNO_RECEIPTS", template_in(folder)}, {"JUNO_ENGINE", "native"}})), folder);
  ASSERT_TRUE(receipts.is_object());
  expect_engine_off(receipts);
}

TEST_P(EveryProgram, ReceiptsThatCannotBeWrittenAreOneLine) {
  const fs::path folder = new_folder();
  std::vector<std::string> paths = {(folder / "missing" / "receipts.json").string(), folder.string()};
  if (fs::exists("/dev/full")) paths.emplace_back("/dev/full");
  for (const std::string& path : paths) {
    const Outcome outcome = use(compiling({{"JUNO_RECEIPTS", path}}));
    EXPECT_TRUE(succeeds(outcome));
    const std::size_t at = outcome.err.find("juno: write receipts: " + path + ": ");
    ASSERT_NE(at, std::string::npos) << outcome.text();
    // The last thing that it says; where it begins is up to the program, which may have left a line of its own unended.
    EXPECT_EQ(outcome.err.find('\n', at), outcome.err.size() - 1) << outcome.text();
    EXPECT_EQ(outcome.err.find("juno: write", at + 1), std::string::npos) << outcome.text();
  }
  EXPECT_EQ(names_in(folder), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Program, EveryProgram, testing::Range(std::size_t{0}, uses().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) {
                           std::string name = uses()[info.param].program;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Receipts, ReplaceAnOlderFile) {
  const fs::path folder = new_folder();
  const fs::path path = folder / "receipts.json";
  write_file(path, std::string(1 << 20, 'x'));
  const Outcome outcome = juno({"run", file_of(plain_model()), "--prompt", "Hello", "-n", "1", "--json"},
                               compiling({{"JUNO_RECEIPTS", path.string()}}));
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(names_in(folder), std::vector<std::string>{"receipts.json"});
  EXPECT_EQ(parse_file(path), parse(outcome).at("receipts"));
}

TEST(Receipts, ReplaceEveryPercentP) {
  const fs::path folder = new_folder();
  const Outcome outcome = juno({"inspect", file_of(plain_model())}, {{"JUNO_RECEIPTS", (folder / "%p-%p").string()}});
  ASSERT_TRUE(succeeds(outcome));
  const std::string id = std::to_string(outcome.pid);
  EXPECT_EQ(names_in(folder), std::vector<std::string>{id + "-" + id});
}

/// llama.cpp's perplexity is a number that every matrix has a part in.
TEST(Receipts, PerplexityIsThatOfTheNativeEngine) {
  const std::string text = words();
  const auto perplexity = [&](const char* engine) {
    // llama.cpp's log is written by a thread of its own, and at the program's end what it has not written yet is lost
    // (common_log_main() in common/log.cpp of v0.4.0 says so): now and then the estimate is.
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Outcome outcome = run_program(
          "llama-perplexity", {"-m", file_of(plain_model()), "-f", text, "-c", "64", "-t", "2", "--chunks", "2"},
          compiling({{"JUNO_ENGINE", engine}}));
      EXPECT_TRUE(succeeds(outcome));
      const std::string all = outcome.out + outcome.err;
      const std::string before = "Final estimate: PPL = ";
      const std::size_t at = all.find(before);
      if (at != std::string::npos) return std::stod(all.substr(at + before.size()));
    }
    ADD_FAILURE() << "llama-perplexity never prints its estimate";
    return 0.0;
  };
  const double native = perplexity("native");
  EXPECT_GT(native, 1);
  EXPECT_NEAR(perplexity("juno"), native, expects_sme2() ? 0 : 1e-2 * native);
}

/// The same switches with logits are in tests/model/placement_test.cpp.
TEST(Receipts, SwitchesOfLlamaCppThatPlaceTensors) {
  struct Case {
    Arguments switches;
    std::size_t compiled;
  };
  const std::vector<Case> cases = {{{"--no-repack"}, 0},
                                   {{"-ot", "blk=CPU"}, plain_model().compiled},
                                   {{"--load-mode", "none"}, plain_model().compiled},
                                   {{"--load-mode", "mmap+mlock"}, plain_model().compiled},
                                   {{"--load-mode", "dio"}, plain_model().compiled}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.switches.back());
    const std::string path = (new_folder() / "receipts.json").string();
    Arguments arguments = uses()[2].arguments(file_of(plain_model()));
    arguments.insert(arguments.end(), c.switches.begin(), c.switches.end());
    ASSERT_TRUE(succeeds(run_program(uses()[2].program, arguments, compiling({{"JUNO_RECEIPTS", path}}))));
    expect_compiled(parse_file(path), c.compiled);
  }
}

TEST(Receipts, QuantiseWritesTheSameModel) {
  const fs::path folder = new_folder();
  std::string files[2];
  for (const bool native : {false, true}) {
    const std::string out = (folder / "out.gguf").string();
    const std::string receipts = (folder / "receipts.json").string();
    const Outcome outcome =
        run_program("llama-quantize", {"--allow-requantize", file_of(plain_model()), out, "Q8_0", "2"},
                    compiling({{"JUNO_RECEIPTS", receipts}, {"JUNO_ENGINE", native ? "native" : "juno"}}));
    ASSERT_TRUE(succeeds(outcome));
    EXPECT_EQ(parse_file(receipts).at("engine"), native ? "native" : "juno");
    for (const Json& tensor : parse_file(receipts).at("tensors")) EXPECT_TRUE(tensor.at("kernels").empty());
    files[native ? 1 : 0] = read_file(out);
  }
  EXPECT_GT(files[0].size(), 1u << 20);
  EXPECT_TRUE(files[0] == files[1]);
}

}  // namespace
}  // namespace juno::e2e
