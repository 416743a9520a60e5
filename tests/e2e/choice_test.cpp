// SPDX-License-Identifier: Apache-2.0
//
// --only, --skip and their variables: which tensors Juno may take.
#include <algorithm>

#include "programs.h"

namespace juno::e2e {
namespace {

struct Choice {
  Arguments arguments;
  Environment environment;
  std::size_t compiled;     ///< of the plain model's 15 matrices in products
  std::size_t not_chosen;   ///< of its 21 tensors
  std::string source = {};  ///< what the details name
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> kChoices = {
      {{"--only", "attn_[qk]\\."}, {}, 4, 17, "--only"},
      {{"--skip", "attn_[qk]\\."}, {}, 11, 4, "--skip"},
      {{"--only", "blk\\.0", "--skip", "ffn_(up|gate)"}, {}, 5, 14, "--only"},
      {{}, {{"JUNO_ONLY", "^output"}}, 1, 19, "JUNO_ONLY"},
      {{}, {{"JUNO_SKIP", "."}}, 0, 21, "JUNO_SKIP"},
      {{}, {{"JUNO_SKIP", ""}, {"JUNO_ONLY", ""}}, 15, 0},
      {{"--only", "ffn"}, {{"JUNO_ONLY", "attn"}, {"JUNO_SKIP", "blk.1"}}, 3, 17, "--only"},
      {{"--only", "nothing"}, {}, 0, 21, "--only"},
  };
  return kChoices;
}

void expect_choice(const Choice& choice, const Json& receipts) {
  std::size_t compiled = 0;
  std::size_t not_chosen = 0;
  std::string details;
  for (const Json& tensor : receipts.at("tensors")) {
    compiled += tensor.at("decision") == "juno" ? 1 : 0;
    if (tensor.at("reason") != "not-chosen") continue;
    ++not_chosen;
    details += tensor.at("detail");
    EXPECT_EQ(tensor.at("bytes_packed"), 0);
    EXPECT_TRUE(tensor.at("layout").is_null());
    EXPECT_TRUE(tensor.at("kernels").empty());
  }
  EXPECT_EQ(compiled, choice.compiled);
  EXPECT_EQ(not_chosen, choice.not_chosen);
  EXPECT_NE(details.find(choice.source), std::string::npos) << details;
}

TEST(Choice, RunAndInspectTakeTheSameTensors) {
  for (const Choice& choice : choices()) {
    Arguments inspect = {"inspect", file_of(plain_model()), "--json"};
    inspect.insert(inspect.end(), choice.arguments.begin(), choice.arguments.end());
    const Environment environment = compiling(choice.environment);
    SCOPED_TRACE(juno(inspect, environment).command);
    const Json inspected = parse(juno(inspect, environment));
    expect_choice(choice, inspected);
    Arguments run = {"run", file_of(plain_model()), "--prompt", "One", "-n", "2", "--json"};
    run.insert(run.end(), choice.arguments.begin(), choice.arguments.end());
    const Json ran = parse(juno(run, environment)).at("receipts");
    EXPECT_EQ(decisions(ran), decisions(inspected));
    expect_compiled(ran, choice.compiled);
  }
}

TEST(Choice, HoldsForOtherMachines) {
  const Json json = parse(juno({"inspect", file_of(plain_model()), "--json", "--target", "sme2", "--only", "attn_q"}));
  expect_choice({{}, {}, 2, 19, "--only"}, json);
}

TEST(Choice, ShowHidesWithoutChoosing) {
  const Json json = parse(
      juno({"inspect", file_of(plain_model()), "--json", "--show", "attn_[qk]\\.", "--skip", "attn_k"}, compiling()));
  EXPECT_EQ(json.at("tensors").size(), 4u);
  expect_choice({{}, {}, 2, 2, "--skip"}, json);
}

/// In a program that knows no options of Juno's: the same variables; a pattern that means nothing is one warning, and
/// Juno stays off.
TEST(Choice, VariablesInProgramsOfLlamaCpp) {
  const std::filesystem::path receipts = new_folder() / "receipts.json";
  const auto bench = [&](Environment environment) {
    environment["JUNO_RECEIPTS"] = receipts.string();
    Outcome outcome =
        run_program("llama-bench", {"-m", file_of(plain_model()), "-p", "8", "-n", "2", "-t", "2", "-r", "1", "-v"},
                    compiling(environment));
    EXPECT_TRUE(succeeds(outcome));
    return outcome;
  };
  bench({{"JUNO_ONLY", "ffn_(up|down)"}, {"JUNO_SKIP", "blk\\.1"}});
  expect_choice({{}, {}, 2, 19, "JUNO_ONLY"}, parse_file(receipts));
  const Outcome warned = bench({{"JUNO_ONLY", "ffn_(up"}});
  expect_engine_off(parse_file(receipts));
  const std::string begin = "juno: read the pattern of JUNO_ONLY: 'ffn_(up': ";
  const std::size_t at = warned.err.find(begin);
  ASSERT_NE(at, std::string::npos) << warned.text();
  EXPECT_EQ(warned.err.find("juno: ", at + 1), std::string::npos) << warned.text();
}

}  // namespace
}  // namespace juno::e2e
