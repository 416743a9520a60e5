// SPDX-License-Identifier: Apache-2.0
//
// The bundled model, as a newcomer meets it. That it answers the questions of its corpus is tested by
// tools/mini-model/check; with one thread, as of several those that wait take the time of those that work.
#include <set>

#include "programs.h"

namespace juno::e2e {
namespace {

const std::string kQuestion = "Explain why local inference is useful.";

struct Answer {
  Json json;
  std::string logits;
};

Answer ask(const std::string& engine, const std::string& prompt, const Arguments& more = {}) {
  const std::string logits = (new_folder() / "logits.f32").string();
  Arguments arguments = {"run", bundled_model(), "-p",     prompt,     "--engine", engine, "-t", "1",
                         "-n",  "120",           "--json", "--logits", logits};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = juno(arguments, compiling());
  EXPECT_TRUE(succeeds(outcome));
  if (outcome.status != 0) return {};
  return {parse(outcome), read_file(logits)};
}

TEST(MiniModel, HoldsAllFormatsThatJunoIsFor) {
  EXPECT_LE(std::filesystem::file_size(bundled_model()), 4'000'000u);
  const Json json = parse(juno({"inspect", bundled_model(), "--json"}));
  std::set<std::string> types;
  for (const Json& tensor : json.at("tensors")) types.insert(tensor.at("type").get<std::string>());
  for (const char* type : {"Q2_K", "IQ2_S", "IQ2_XS", "IQ3_XXS", "IQ3_S", "IQ4_XS", "Q6_K"}) {
    EXPECT_TRUE(types.contains(type)) << type;
  }
  for (const Json& tensor : json.at("tensors")) {
    if (tensor.at("name") == "output.weight") EXPECT_NE(tensor.at("rows").get<int>() % 64, 0);
  }
}

TEST(MiniModel, ExplainsWhyLocalInferenceIsUseful) {
  const Answer native = ask("native", kQuestion);
  const Answer ours = ask("juno", kQuestion);
  ASSERT_FALSE(native.json.is_null());
  ASSERT_FALSE(ours.json.is_null());
  const std::string text = ours.json.at("text");
  for (const char* words : {"on your own machine", "without a network"})
    EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_EQ(ours.json.at("ending"), "end-of-text");
  EXPECT_EQ(text, native.json.at("text").get<std::string>());
  if (expects_sme2()) EXPECT_TRUE(ours.logits == native.logits) << "not the same bytes as the native engine's";
  std::size_t ran = 0;
  for (const Json& tensor : ours.json.at("receipts").at("tensors")) {
    if (tensor.at("type") == "IQ4_XS") ran += calls_of(tensor) > 0 ? 1 : 0;
  }
  EXPECT_GE(ran, 10u);
}

TEST(MiniModel, PromptsComeFromFilesAndStandardInput) {
  const std::string file = (new_folder() / "question.txt").string();
  write_file(file, kQuestion + "\n");
  const Arguments common = {"run", bundled_model(), "-t", "1", "-n", "8", "--json"};
  const auto tokens_of = [&](const Arguments& more, const std::string& stdin_file) {
    Arguments arguments = common;
    arguments.insert(arguments.end(), more.begin(), more.end());
    Command run_model = command("juno", arguments, compiling());
    run_model.stdin_file = stdin_file;
    const Outcome outcome = run(run_model);
    EXPECT_TRUE(succeeds(outcome));
    return outcome.status == 0 ? parse(outcome).at("tokens") : Json();
  };
  const Json expected = tokens_of({"-p", kQuestion}, "/dev/null");
  ASSERT_EQ(expected.size(), 8u);
  EXPECT_EQ(tokens_of({"-f", file}, "/dev/null"), expected);
  EXPECT_EQ(tokens_of({}, file), expected);
  EXPECT_EQ(tokens_of({"-p", "-"}, file), expected);
}

TEST(MiniModel, TheSystemMessageAndTheTemplateAreSeen) {
  const auto prompt_tokens = [](const Answer& answer) { return answer.json.at("prompt_tokens").get<int>(); };
  const Answer plain = ask("native", kQuestion);
  const Answer with_system = ask("native", kQuestion, {"--system", "You are brief."});
  const Answer raw = ask("native", kQuestion, {"--raw", "-n", "1"});
  EXPECT_GT(prompt_tokens(with_system), prompt_tokens(plain) + 2);
  EXPECT_LT(prompt_tokens(raw), prompt_tokens(plain) - 2);
}

TEST(MiniModel, SamplingFollowsItsOptions) {
  const auto tokens = [](const Arguments& more) { return ask("native", "Tell me", more).json.at("tokens"); };
  const Arguments hot = {"--raw", "--temp", "3", "-n", "24", "--seed"};
  const auto with = [&](Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tokens(arguments);
  };
  const Json first = with(hot, {"7"});
  EXPECT_EQ(with(hot, {"7"}), first) << "the same seed";
  EXPECT_NE(with(hot, {"8"}), first) << "another seed";
  EXPECT_EQ(with(hot, {"7", "--top-p", "0"}), tokens({"--raw", "-n", "24"})) << "only the likeliest token is left";
}

TEST(MiniModel, TheContextIsAsLongAsAskedFor) {
  const Json json = ask("native", "Tell me", {"--raw", "-c", "20"}).json;
  EXPECT_EQ(json.at("ending"), "context-full");
  EXPECT_EQ(json.at("prompt_tokens").get<std::size_t>() + json.at("tokens").size(), 20u);
}

}  // namespace
}  // namespace juno::e2e
