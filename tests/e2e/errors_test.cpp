// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong is one line on standard error and a status, and nothing half done.
#include <unistd.h>

#include <cmath>

#include "programs.h"

namespace juno::e2e {
namespace {

namespace fs = std::filesystem;

struct BadFile {
  std::string name;
  std::string part;  ///< of the message
  std::string (*make)(const fs::path& folder);
};

std::string with_content(const fs::path& folder, const std::string& content) {
  const fs::path path = folder / "bad.gguf";
  write_file(path, content);
  return path.string();
}

std::string cut(const fs::path& folder, double share) {
  const std::string whole = read_file(file_of(plain_model()));
  return with_content(folder, whole.substr(0, static_cast<std::size_t>(static_cast<double>(whole.size()) * share)));
}

std::string in_file(const fs::path& folder) { return with_content(folder, "a file, no folder") + "/model.gguf"; }

const std::vector<BadFile>& bad_files() {
  static const std::vector<BadFile> kBadFiles = {
      {"missing", "no such file", [](const fs::path& folder) { return (folder / "bad.gguf").string(); }},
      {"directory", "is a directory", [](const fs::path& folder) { return folder.string(); }},
      {"empty", "empty", [](const fs::path& folder) { return with_content(folder, ""); }},
      {"four_bytes", "ends", [](const fs::path& folder) { return with_content(folder, "GGUF"); }},
      {"text", "not a GGUF file",
       [](const fs::path& folder) { return with_content(folder, "This is no model, but a sentence.\n"); }},
      {"cut_in_header", "ends", [](const fs::path& folder) { return cut(folder, 0.002); }},
      {"cut_in_data", "beyond", [](const fs::path& folder) { return cut(folder, 0.6); }},
      {"last_bytes_missing", "beyond",
       [](const fs::path& folder) {
         const std::string whole = read_file(file_of(plain_model()));
         return with_content(folder, whole.substr(0, whole.size() - 32));  // of which up to 31 fill up
       }},
      {"not_readable", "",
       [](const fs::path& folder) {
         if (geteuid() == 0) return in_file(folder);  // nothing is forbidden to root, but this is impossible
         std::string path = with_content(folder, read_file(file_of(plain_model())));
         fs::permissions(path, fs::perms::none);
         return path;
       }},
  };
  return kBadFiles;
}

class BadFiles : public testing::TestWithParam<std::size_t> {};

TEST_P(BadFiles, AreOneLineThatNamesThem) {
  const BadFile& bad = bad_files()[GetParam()];
  const fs::path folder = new_folder();
  const std::string path = bad.make(folder);
  const std::vector<std::string> before = names_in(folder);
  const std::string logits = (folder / "logits.f32").string();
  const Arguments commands[] = {{"inspect", path},
                                {"inspect", path, "--json"},
                                {"run", path, "--prompt", "x", "--logits", logits},
                                {"run", path, "--prompt", "x", "--engine", "native", "--json"}};
  for (const Arguments& arguments : commands) {
    const Outcome outcome = juno(arguments);
    EXPECT_TRUE(fails_with(outcome, 1, bad.part));
    EXPECT_NE(outcome.err.find(path), std::string::npos) << outcome.text();
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(names_in(folder), before);
}

INSTANTIATE_TEST_SUITE_P(File, BadFiles, testing::Range(std::size_t{0}, bad_files().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) { return bad_files()[info.param].name; });

TEST(Errors, WrongArgumentsAreStatusTwo) {
  const std::string model = file_of(plain_model());
  struct Case {
    Arguments arguments;
    std::string part;
  };
  const Case cases[] = {
      {{}, ""},
      {{"compile", model}, "compile"},
      {{"run", model, "--prompt", "x", "--logits", model}, "it is the model"},
      {{"run", model, "--prompt", "x", "--raw", "--system", "y"}, "--raw"},
      {{"inspect", model, "--show", std::string(40000, '(')}, "1000 characters"},
      {{"inspect", model, "--only", std::string(100'000, 'a')}, "--only"},
      {{"inspect", model, "--skip", "((((a{99}){99}){99}){99})"}, "--skip"},
      {{"run", model, "--prompt", "x", "--only", "["}, "--only"},
      {{"run", model, "--prompt", "x", "--only", ""}, "empty"},
      {{"run", model, "--prompt", "x", "--skip", "a{2,1}"}, "--skip"},
      {{"inspect"}, "MODEL"},
      {{"inspect", model, "--target", "sme9"}, "--target"},
      {{"inspect", model, "--nothing"}, "--nothing"},
      {{"run", model}, "--prompt"},
      {{"run", "--prompt", "x"}, "MODEL"},
      {{"run", model, "--prompt", "x", "--nothing"}, "--nothing"},
      {{"run", model, "--prompt", "x", "-n", "0"}, "--predict"},
      {{"run", model, "--prompt", "x", "-n", "-1"}, "--predict"},
      {{"run", model, "--prompt", "x", "-n", "many"}, "--predict"},
      {{"run", model, "--prompt", "x", "-t", "0"}, "--threads"},
      {{"run", model, "--prompt", "x", "-t", "x"}, "--threads"},
      {{"run", model, "--prompt", "x", "--engine", "steam"}, "--engine"},
      {{"run", model, "--prompt", "x", "--temp", "nan"}, "--temp"},
      {{"run", model, "--prompt", "x", "--temp", "-1"}, "--temp"},
      {{"run", model, "--prompt", "x", "--top-p", "1.5"}, "--top-p"},
      {{"run", model, "--prompt", "x", "--seed", "-3"}, "--seed"},
      {{"run", model, "--prompt", "x", "-c", "-8"}, "--ctx-size"},
      {{"run", model, "--prompt", "x", "--file", "y"}, "--file"},
      {{"run", model, "--file", "/dev/zero"}, "64 MiB"},
      {{"run", model, "--file", "/dev/null"}, "empty"},
      {{"run", model, "--prompt", "x", "--no\n\033[31mthing"}, "\\x0a\\x1b[31mthing"},
      {{"inspect", model, model}, model},
      {{"inspect", model, "--only", "("}, "--only"},
      {{"inspect", model, "--show", "("}, "--show"},
      {{"completion"}, "SHELL"},
      {{"completion", "dos"}, "SHELL"},
  };
  for (const Case& wrong : cases) {
    const Outcome outcome = juno(wrong.arguments);
    EXPECT_TRUE(fails_with(outcome, 2, wrong.part));
    EXPECT_EQ(outcome.out, "") << outcome.command;
  }
}

TEST(Errors, WrongSwitchesAreStatusTwo) {
  const std::string model = file_of(plain_model());
  for (const char* name : {"JUNO_ENGINE", "JUNO_ISA"}) {
    const Environment wrong = {{name, "steam"}};
    const std::string part = std::string(name) + "=steam";
    EXPECT_TRUE(fails_with(juno({"run", model, "--prompt", "x"}, wrong), 2, part));
    EXPECT_TRUE(fails_with(juno({"inspect", model}, wrong), 2, part));
    EXPECT_TRUE(fails_with(juno({"cpu"}, wrong), 2, part));
  }
  for (const char* name : {"JUNO_ONLY", "JUNO_SKIP"}) {
    for (const std::string& pattern : {std::string("attn_[qk"), std::string(100'000, '(')}) {
      EXPECT_TRUE(fails_with(juno({"run", model, "--prompt", "x"}, {{name, pattern}}), 2, name));
      EXPECT_TRUE(fails_with(juno({"inspect", model}, {{name, pattern}}), 2, name));
    }
  }
}

TEST(Errors, ADamagedChatTemplateIsOneLine) {
  std::string content = read_file(bundled_model());
  const std::size_t at = content.find("add_generation_prompt");
  ASSERT_NE(at, std::string::npos);
  content[at - 8] = '\033';
  const std::string path = with_content(new_folder(), content);
  EXPECT_TRUE(fails_with(juno({"run", path, "--prompt", "x", "-t", "1", "-n", "2"}), 1, "chat template"));
  EXPECT_TRUE(succeeds(juno({"run", path, "--prompt", "x", "-t", "1", "-n", "2", "--raw"})));
}

TEST(Errors, StandardOutputAsAFileIsAppendedTo) {
  const std::string out = (new_folder() / "out").string();
  write_file(out, "");
  Command run_model = command(
      "juno",
      {"run", file_of(plain_model()), "--prompt", "x", "-n", "2", "-t", "1", "--json", "--logits", "/dev/stdout"}, {});
  run_model.stdout_file = out;
  ASSERT_TRUE(succeeds(run(run_model)));
  const std::string all = read_file(out);
  const std::size_t logits = 2 * plain_model().vocabulary * sizeof(float);
  ASSERT_GT(all.size(), logits);
  EXPECT_FALSE(Json::parse(all.substr(logits), nullptr, false).is_discarded()) << "logits, then all of the JSON";
}

TEST(Errors, PromptFilesThatCannotBeRead) {
  const fs::path folder = new_folder();
  const std::string model = file_of(plain_model());
  EXPECT_TRUE(fails_with(juno({"run", model, "--file", folder.string()}), 1, "is a directory"));
  const std::string missing = (folder / "missing").string();
  EXPECT_TRUE(fails_with(juno({"run", model, "--file", missing}), 1, missing + ": No such file"));
}

/// A model whose header is in order, but for one value that only llama.cpp looks at.
struct Patch {
  std::string name;
  std::string key;
  std::string value;  ///< as it is in the file
};

std::string patched(const fs::path& folder, const Patch& patch) {
  constexpr std::size_t kTypeBytes = 4;
  std::string content = read_file(file_of(plain_model()));
  const std::size_t at = content.find(patch.key);
  EXPECT_NE(at, std::string::npos) << patch.key;
  content.replace(at + patch.key.size() + kTypeBytes, patch.value.size(), patch.value);
  return with_content(folder, content);
}

TEST(Errors, ModelsThatLlamaCppGivesUpOnAreOneLine) {
  const auto number = [](auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const std::string zero = number(std::uint32_t{0});
  const Patch patches[] = {
      {"tokeniser", "tokenizer.ggml.model", number(std::uint64_t{5}) + "steam"},
      {"no tokeniser", "tokenizer.ggml.model", number(std::uint64_t{5}) + "no_vo"},
      {"no layers", "llama.block_count", zero},
      {"no heads", "llama.attention.head_count", zero},
      {"no context", "llama.context_length", zero},
      {"epsilon", "llama.attention.layer_norm_rms_epsilon", number(std::nanf(""))},
      {"huge width", "llama.embedding_length", number(std::uint32_t{0xffffffff})},
      {"narrow", "llama.feed_forward_length", number(std::uint32_t{768})},
      {"architecture", "general.architecture", number(std::uint64_t{5}) + "steam"},
  };
  for (const Patch& patch : patches) {
    SCOPED_TRACE(patch.name);
    const fs::path folder = new_folder();
    const std::string path = patched(folder, patch);
    for (const char* engine : {"native", "juno"}) {
      const Outcome outcome = juno(
          {"run", path, "--prompt", "x", "-n", "2", "--engine", engine, "--logits", (folder / "logits.f32").string()},
          compiling());
      EXPECT_TRUE(fails_with(outcome, 1, ""));
      EXPECT_EQ(names_in(folder), std::vector<std::string>{"bad.gguf"});
    }
  }
}

TEST(Errors, PromptThatDoesNotFitLeavesNoLogits) {
  const fs::path folder = new_folder();
  const Outcome outcome = juno({"run", file_of(plain_model()), "--prompt", std::string(3000, 'a'), "--logits",
                                (folder / "logits.f32").string()});
  EXPECT_NE(outcome.status, 0);
  EXPECT_TRUE(fails_with(outcome, outcome.status, "context of 512"));
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(names_in(folder), std::vector<std::string>{});
}

TEST(Errors, ContextIsUsedToItsEnd) {
  // The longest prompt that fits, found from the number of tokens the model sees in one.
  const Arguments arguments = {"run", file_of(plain_model()), "--json", "-n", "1", "--prompt"};
  const auto with_prompt = [&](std::size_t length) {
    Arguments all = arguments;
    all.emplace_back(length, '~');
    return juno(all, compiling());
  };
  const Json one = parse(with_prompt(1));
  const Json two = parse(with_prompt(101));
  const std::size_t first = one.at("prompt_tokens").get<std::size_t>();
  const std::size_t each = (two.at("prompt_tokens").get<std::size_t>() - first) / 100;
  ASSERT_EQ(each, 1u) << "a character that is a token of its own";
  const std::size_t fits = 512 - 1 - first + 1;
  EXPECT_TRUE(succeeds(with_prompt(fits)));
  EXPECT_NE(with_prompt(fits + 1).status, 0);
}

TEST(Errors, LogitsThatCannotBeWritten) {
  const fs::path folder = new_folder();
  std::vector<std::string> paths = {(folder / "missing" / "logits.f32").string(), folder.string()};
  if (fs::exists("/dev/full")) paths.emplace_back("/dev/full");
  for (const std::string& path : paths) {
    const Outcome outcome =
        juno({"run", file_of(plain_model()), "--prompt", "x", "-n", "2", "--json", "--logits", path});
    EXPECT_TRUE(fails_with(outcome, 1, path));
    EXPECT_EQ(outcome.out, "") << outcome.command;
  }
  EXPECT_EQ(names_in(folder), std::vector<std::string>{});
}

TEST(Errors, TextThatNobodyTakes) {
  for (const Arguments& form : {Arguments{}, Arguments{"--json"}}) {
    for (const bool full : {false, true}) {
      if (full && !fs::exists("/dev/full")) continue;  // not every system has it; the pipe is everywhere
      Arguments arguments = {"run", file_of(plain_model()), "--prompt", "x", "-n", "2"};
      arguments.insert(arguments.end(), form.begin(), form.end());
      Command run_model = command("juno", arguments, {});
      run_model.stdout_file = full ? "/dev/full" : "";
      run_model.stdout_closed = !full;
      EXPECT_TRUE(fails_with(run(run_model), 1, ""));
    }
  }
}

}  // namespace
}  // namespace juno::e2e
