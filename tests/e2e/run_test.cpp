// SPDX-License-Identifier: Apache-2.0
//
// `juno run`: the same results as the native engine, whatever the threads; its outputs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <regex>

#include "programs.h"

namespace juno::e2e {
namespace {

struct Ran {
  Json json;
  std::string logits;  ///< the file's bytes
};

Ran run_model(const Model& model, const Arguments& more, const Environment& environment) {
  const std::string logits = (new_folder() / "logits.f32").string();
  Arguments arguments = {"run", file_of(model), "--prompt", "Once upon a time", "--json", "--logits", logits};
  arguments.insert(arguments.end(), more.begin(), more.end());
  if (std::find(more.begin(), more.end(), "-n") == more.end()) arguments.insert(arguments.end(), {"-n", "5"});
  const Outcome outcome = juno(arguments, environment);
  EXPECT_TRUE(succeeds(outcome));
  if (outcome.status != 0) return {};
  EXPECT_EQ(outcome.err, "") << outcome.command;
  return {parse(outcome), read_file(logits)};
}

std::vector<float> floats(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

/// Within a twentieth of each step's largest logit, for as long as both chose the same tokens. Sums in another order
/// differ in their last bits only; but where activations are rounded to 8 bits next, that can become a hundredth.
void expect_close(const std::string& native, const std::string& ours, std::size_t vocabulary) {
  ASSERT_EQ(native.size(), ours.size());
  const std::vector<float> expected = floats(native);
  const std::vector<float> values = floats(ours);
  for (std::size_t step = 0; step < expected.size(); step += vocabulary) {
    const auto row = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(step),
                                all.begin() + static_cast<std::ptrdiff_t>(step + vocabulary));
    };
    const std::vector<float> a = row(expected);
    const std::vector<float> b = row(values);
    float largest = 0;
    float error = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) {
      largest = std::max(largest, std::fabs(a[i]));
      error = std::max(error, std::isfinite(b[i]) ? std::fabs(a[i] - b[i]) : INFINITY);
    }
    EXPECT_GT(largest, 0);
    EXPECT_LE(error, 0.05f * largest) << "step " << step / vocabulary;
    if (std::max_element(a.begin(), a.end()) - a.begin() != std::max_element(b.begin(), b.end()) - b.begin()) return;
  }
}

class RunModel : public EveryModel {};

TEST_P(RunModel, EnginesAgree) {
  const Ran native = run_model(model(), {"--engine", "native", "-t", "2"}, compiling());
  ASSERT_FALSE(native.json.is_null());
  const std::size_t steps = native.json.at("tokens").size();
  EXPECT_EQ(native.logits.size(), steps * model().vocabulary * sizeof(float));
  expect_engine_off(native.json.at("receipts"));
  std::string first;
  for (const char* threads : {"1", "2", "4"}) {
    SCOPED_TRACE(threads);
    const Ran ours = run_model(model(), {"--engine", "juno", "-t", threads}, compiling());
    ASSERT_FALSE(ours.json.is_null());
    expect_compiled(ours.json.at("receipts"), model().compiled);
    if (expects_sme2()) {
      EXPECT_TRUE(ours.logits == native.logits) << "not the same bytes as the native engine's";
      EXPECT_EQ(ours.json.at("text"), native.json.at("text"));
      EXPECT_EQ(ours.json.at("tokens"), native.json.at("tokens"));
    } else {
      expect_close(native.logits, ours.logits, model().vocabulary);
    }
    if (first.empty()) first = ours.logits;
    EXPECT_TRUE(ours.logits == first) << "not the same bytes as with one thread";
  }
}

INSTANTIATE_TEST_SUITE_P(Model, RunModel, every_model(), model_name);

TEST(Run, WithoutAKernelEverythingStaysNative) {
  // Natively: no kernel for this machine. Where there is one: none of the instruction set that was asked for.
  const Environment none = isa() != "scalar" ? Environment{{"JUNO_ISA", "none"}} : Environment{};
  const Ran native = run_model(plain_model(), {"--engine", "native"}, {});
  const Ran ours = run_model(plain_model(), {"--engine", "juno"}, none);
  ASSERT_FALSE(native.json.is_null());
  ASSERT_FALSE(ours.json.is_null());
  EXPECT_TRUE(ours.logits == native.logits);
  const Json uses = decisions(ours.json.at("receipts"));
  ASSERT_EQ(uses.size(), plain_model().entries);
  std::size_t without_kernel = 0;
  for (const Json& tensor : uses) {
    EXPECT_EQ(tensor.at("decision"), "native") << tensor;
    without_kernel += tensor.at("reason") == "no-kernel" ? 1 : 0;
  }
  EXPECT_EQ(without_kernel, plain_model().compiled);
}

TEST(Run, ReceiptsCountEveryPass) {
  const Json json = run_model(plain_model(), {}, compiling()).json;
  ASSERT_FALSE(json.is_null());
  const std::size_t passes = json.at("tokens").size();
  ASSERT_GT(passes, 1u);
  ASSERT_GT(json.at("prompt_tokens"), 8);
  for (const Json& tensor : json.at("receipts").at("tensors")) {
    if (tensor.at("decision") != "juno") continue;
    EXPECT_EQ(calls_of(tensor), passes) << tensor;
    EXPECT_GT(tensor.at("pack_ms"), 0) << tensor;
    const Json& ran = tensor.at("kernels")[0];
    EXPECT_EQ(keys(ran), (std::vector<std::string>{"calls", "id", "tiles"}));
    EXPECT_EQ(keys(ran.at("calls")), (std::vector<std::string>{"1", "2-8", "9+"}));
    EXPECT_GE(ran.at("tiles").get<std::size_t>(), passes) << tensor;
  }
  // The prompt's columns are multiplied together in the first layer; the output matrix sees the last one only.
  const auto calls = [&](const std::string& name) {
    for (const Json& tensor : json.at("receipts").at("tensors")) {
      if (tensor.at("name") != name) continue;
      Json sum = {{"1", 0}, {"2-8", 0}, {"9+", 0}};
      for (const Json& ran : tensor.at("kernels")) {
        for (const auto& [columns, count] : ran.at("calls").items()) {
          sum[columns] = sum[columns].get<int>() + count.get<int>();
        }
      }
      return sum;
    }
    return Json();
  };
  EXPECT_EQ(calls("blk.0.ffn_up.weight"), (Json{{"1", passes - 1}, {"2-8", 0}, {"9+", 1}}));
  EXPECT_EQ(calls("output.weight"), (Json{{"1", passes}, {"2-8", 0}, {"9+", 0}}));
}

TEST(Run, JsonHasItsKeys) {
  const Json json = run_model(plain_model(), {}, compiling()).json;
  ASSERT_FALSE(json.is_null());
  EXPECT_EQ(keys(json),
            (std::vector<std::string>{"calls", "compile_pays_off_after_tokens", "compile_seconds", "ending",
                                      "generation_tokens_per_second", "load_seconds", "peak_memory_bytes",
                                      "prompt_tokens", "prompt_tokens_per_second", "receipts", "text", "tokens"}));
  EXPECT_EQ(keys(json.at("calls")), (std::vector<std::string>{"generation", "prompt"}));
  EXPECT_GT(json.at("calls").at("prompt").at(kernel_for_many()), 0);
  EXPECT_GT(json.at("calls").at("generation").at(kernel()), 0);
  EXPECT_GT(json.at("peak_memory_bytes"), 1 << 20);
  EXPECT_EQ(keys(json.at("receipts")),
            (std::vector<std::string>{"cpu", "engine", "juno", "llama_cpp", "schema", "tensors"}));
  for (const char* time : {"load_seconds", "prompt_tokens_per_second", "generation_tokens_per_second"}) {
    EXPECT_GT(json.at(time), 0) << time;
  }
  EXPECT_TRUE(json.at("text").is_string());
}

TEST(Run, GeneratesAsManyTokensAsAsked) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
    const Ran run = run_model(plain_model(), {"-n", std::to_string(count)}, compiling());
    ASSERT_FALSE(run.json.is_null());
    EXPECT_EQ(run.json.at("tokens").size(), count);
    EXPECT_EQ(run.logits.size(), count * plain_model().vocabulary * sizeof(float));
    const std::vector<float> logits = floats(run.logits);
    for (std::size_t step = 0; step < count; ++step) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(step * plain_model().vocabulary);
      const auto end = row + static_cast<std::ptrdiff_t>(plain_model().vocabulary);
      EXPECT_EQ(run.json.at("tokens")[step], std::max_element(row, end) - row) << "step " << step;
    }
  }
}

TEST(Run, ReadingTheFileInsteadOfMappingItChangesNothing) {
  for (const char* engine : {"juno", "native"}) {
    const Ran mapped = run_model(plain_model(), {"--engine", engine}, compiling());
    const Ran read = run_model(plain_model(), {"--engine", engine, "--no-mmap"}, compiling());
    ASSERT_FALSE(mapped.json.is_null());
    ASSERT_FALSE(read.json.is_null());
    EXPECT_TRUE(mapped.logits == read.logits) << engine;
    EXPECT_EQ(decisions(mapped.json.at("receipts")), decisions(read.json.at("receipts"))) << engine;
  }
}

std::string calls_line(const std::string& id, int prompt, int generation) {
  return id + "  " + std::to_string(prompt) + " calls for the prompt, " + std::to_string(generation) +
         " for the generation\n";
}

TEST(Run, TextGoesToStandardOutputAndTheSummaryToStandardError) {
  const Json json = run_model(plain_model(), {}, compiling()).json;
  ASSERT_FALSE(json.is_null());
  const Outcome plain = juno({"run", file_of(plain_model()), "--prompt", "Once upon a time", "-n", "5"}, compiling());
  ASSERT_TRUE(succeeds(plain));
  // JSON has room for UTF-8 only; what is not, is replaced in both.
  const Json text = Json::parse(Json(plain.out).dump(-1, ' ', false, Json::error_handler_t::replace));
  EXPECT_EQ(text, json.at("text").get<std::string>() + "\n");
  EXPECT_NE(plain.err.find("compiled 15 of 21 tensors"), std::string::npos) << plain.text();
  // All matrices see the many columns of the prompt, but for the last four: only the last column matters there.
  const bool two = kernel_for_many() != kernel();
  const std::string few = calls_line(kernel(), two ? 4 : 15, 60);
  EXPECT_NE(plain.err.find(few), std::string::npos) << plain.text();
  if (two) EXPECT_NE(plain.err.find(calls_line(kernel_for_many(), 11, 0)), std::string::npos) << plain.text();
}

TEST(Run, ComparingTimesTheNativeEngineAndChangesNothingElse) {
  const Ran alone = run_model(plain_model(), {}, compiling());
  const Ran compared = run_model(plain_model(), {"--compare", "4"}, compiling());
  ASSERT_FALSE(alone.json.is_null());
  ASSERT_FALSE(compared.json.is_null());
  EXPECT_TRUE(compared.logits == alone.logits);
  EXPECT_EQ(compared.json.at("tokens"), alone.json.at("tokens"));
  EXPECT_EQ(compared.json.at("calls"), alone.json.at("calls"));
  EXPECT_EQ(decisions(compared.json.at("receipts")), decisions(alone.json.at("receipts")));
  EXPECT_TRUE(alone.json.at("compile_pays_off_after_tokens").is_null());

  // What is faster here, nobody knows; that both were timed, the summary says.
  const Arguments run = {"run", file_of(plain_model()), "--prompt", "Once upon a time", "-n", "5"};
  Arguments comparing = run;
  comparing.insert(comparing.end(), {"--compare", "4"});
  const Outcome outcome = juno(comparing, compiling());
  ASSERT_TRUE(succeeds(outcome));
  std::smatch found;
  const std::regex line("compared  native ([0-9.]+) tokens/s, juno ([0-9.]+) tokens/s: ([0-9.]+) times\n");
  ASSERT_TRUE(std::regex_search(outcome.err, found, line)) << outcome.text();
  EXPECT_GT(std::stod(found[1]), 0);
  EXPECT_GT(std::stod(found[2]), 0);
  const bool pays = outcome.err.find("compiling pays off after about ") != std::string::npos;
  const bool does_not = outcome.err.find("compiling does not pay off") != std::string::npos;
  EXPECT_NE(pays, does_not) << outcome.text();
  const Outcome without = juno(run, compiling());
  EXPECT_NE(without.err.find("compiling pays off after: not known"), std::string::npos) << without.text();
}

TEST(Run, ComparingWithTheSameEngineIsRefused) {
  const Arguments run = {"run", file_of(plain_model()), "--prompt", "x", "--compare", "4"};
  Arguments native = run;
  native.insert(native.end(), {"--engine", "native"});
  EXPECT_TRUE(fails_with(juno(native), 2, "--compare"));
  EXPECT_TRUE(fails_with(juno(run, {{"JUNO_ENGINE", "native"}}), 2, "--compare"));
}

TEST(Run, EngineOptionOverridesTheEnvironment) {
  const Ran off = run_model(plain_model(), {"--engine", "native"}, compiling({{"JUNO_ENGINE", "juno"}}));
  const Ran on = run_model(plain_model(), {"--engine", "juno"}, compiling({{"JUNO_ENGINE", "native"}}));
  const Ran environment = run_model(plain_model(), {}, compiling({{"JUNO_ENGINE", "native"}}));
  expect_engine_off(off.json.at("receipts"));
  expect_compiled(on.json.at("receipts"), plain_model().compiled);
  expect_engine_off(environment.json.at("receipts"));
}

}  // namespace
}  // namespace juno::e2e
