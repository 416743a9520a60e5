// SPDX-License-Identifier: Apache-2.0
#include "programs.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "support/temporary_folder.h"

namespace juno::e2e {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::optional<test::TemporaryFolder>& temporary() {
  static std::optional<test::TemporaryFolder> folder;
  return folder;
}

/// Everything that the tests write is under one folder, which goes at the end.
class OneFolder : public testing::Environment {
 public:
  void SetUp() override {
    ASSERT_FALSE(variable("JUNO_PROGRAMS").empty()) << "JUNO_PROGRAMS does not say where the programs are";
    temporary().emplace();
    ASSERT_TRUE(fs::exists(temporary()->path()));
  }
  void TearDown() override { temporary().reset(); }
};

const auto* const kOneFolder = testing::AddGlobalTestEnvironment(new OneFolder);

}  // namespace

fs::path sources() { return variable("JUNO_SOURCES"); }
fs::path llama_sources() { return variable("JUNO_LLAMA"); }

bool expects_sme2() { return variable("JUNO_REQUIRE_ISA").find("sme2") != std::string::npos; }
bool has_runner() { return !variable("JUNO_RUNNER").empty(); }

std::vector<std::string> isas() {
  std::vector<std::string> all;
  std::istringstream names(variable("JUNO_REQUIRE_ISA"));
  for (std::string name; std::getline(names, name, ',');) all.push_back(name);
  if (all.empty()) all.emplace_back("scalar");
  return all;
}

std::string isa() { return isas().front(); }

Environment compiling(Environment more) {
  if (isa() == "scalar") more["JUNO_ISA"] = "scalar";  // never chosen by itself
  return more;
}

std::string layout() { return isa() == "sme2" || isa() == "scalar" ? "lut4" : "lut4w"; }
std::string kernel() { return "gemv." + layout() + "." + isa(); }
std::string kernel_for_many() { return layout() == "lut4" ? kernel() : "gemm." + layout() + "." + isa(); }

Command command(const std::string& program, const Arguments& arguments, const Environment& environment) {
  Command result{.argv = {}, .environment = environment};
  if (has_runner()) result.argv.push_back(variable("JUNO_RUNNER"));
  result.argv.push_back((fs::path(variable("JUNO_PROGRAMS")) / program).string());
  result.argv.insert(result.argv.end(), arguments.begin(), arguments.end());
  return result;
}

Outcome run_program(const std::string& program, const Arguments& arguments, const Environment& environment) {
  return run(command(program, arguments, environment));
}

Outcome juno(const Arguments& arguments, const Environment& environment) {
  return run_program("juno", arguments, environment);
}

fs::path new_folder() {
  static int count = 0;
  fs::path path = temporary().value().path() / std::to_string(++count);
  fs::create_directory(path);
  return path;
}

const std::vector<Model>& models() {
  // In each of two layers 7 matrices and 2 norms; beside them the token embedding, a norm and the output matrix.
  static const std::vector<Model> kModels = {
      {"iq4_xs", {"--type", "IQ4_XS"}, 1003, 21, 15},
      {"iq4_xs_tied", {"--type", "IQ4_XS", "--tied", "--vocabulary", "259"}, 259, 21, 15},
      {"wide", {"--type", "IQ4_XS", "--embedding", "512", "--feed-forward", "768", "--heads", "8"}, 1003, 21, 15},
      {"mixed",
       {"--type", "IQ4_XS", "--type-for", "ffn_down=Q6_K", "--type-for", "attn_v=Q8_0", "--type-for", "attn_output=F16",
        "--type-for", "token_embd=Q8_0", "--embedding", "512", "--feed-forward", "512"},
       1003,
       21,
       9},
      {"mixed_tied",
       {"--type", "Q8_0", "--type-for", "token_embd=IQ4_XS", "--type-for", "ffn_=IQ4_XS", "--tied", "--vocabulary",
        "261"},
       261,
       21,
       7},
      {"six_bit_tied", {"--type", "IQ4_XS", "--type-for", "token_embd=Q6_K", "--tied"}, 1003, 21, 14},
      {"halves", {"--type", "F16", "--vocabulary", "259"}, 259, 21, 0},
  };
  return kModels;
}

std::string file_of(const Model& model) {
  const fs::path path = temporary().value().path() / (model.name + ".gguf");
  if (!fs::exists(path)) {
    Arguments arguments = model.options;
    arguments.push_back(path.string());
    const Outcome outcome = run_program("random-model", arguments);
    if (outcome.status != 0) throw std::runtime_error(outcome.text());
  }
  return path.string();
}

std::string bundled_model() { return (sources() / "models/juno-mini.gguf").string(); }

Json parse(const Outcome& outcome) {
  Json json = Json::parse(outcome.out, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << outcome.text();
  return json;
}

Json parse_file(const fs::path& path) {
  const std::string text = read_file(path);
  Json json = Json::parse(text, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << path << ":\n" << text;
  return json;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content << std::flush;
  EXPECT_TRUE(file) << path;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& entry : object.items()) names.push_back(entry.key());
  std::sort(names.begin(), names.end());
  return names;
}

Json decisions(const Json& receipts) {
  Json result = Json::object();
  for (Json tensor : receipts.at("tensors")) {
    for (const char* counted : {"pack_ms", "kernels", "unpacked_calls"}) tensor.erase(counted);
    const std::string key = tensor.at("name").get<std::string>() + " " + tensor.at("operation").get<std::string>();
    EXPECT_FALSE(result.contains(key)) << key << " is there twice";
    result[key] = tensor;
  }
  return result;
}

std::uint64_t calls_of(const Json& tensor) {
  std::uint64_t calls = 0;
  for (const Json& entry : tensor.at("kernels")) {
    if (entry.at("id") != kernel() && entry.at("id") != kernel_for_many()) continue;
    for (const Json& count : entry.at("calls")) calls += count.get<std::uint64_t>();
  }
  return calls;
}

void expect_compiled(const Json& receipts, std::size_t compiled) {
  EXPECT_EQ(receipts.at("engine"), "juno");
  std::size_t count = 0;
  for (const Json& tensor : receipts.at("tensors")) {
    EXPECT_EQ(tensor.at("unpacked_calls"), 0) << tensor;
    if (tensor.at("decision") != "juno") {
      EXPECT_TRUE(tensor.at("kernels").empty()) << tensor;
      continue;
    }
    ++count;
    EXPECT_EQ(tensor.at("reason"), "compiled") << tensor;
    EXPECT_GT(calls_of(tensor), 0u) << tensor;
    for (const Json& entry : tensor.at("kernels")) {
      EXPECT_TRUE(entry.at("id") == kernel() || entry.at("id") == kernel_for_many()) << tensor;
    }
  }
  EXPECT_EQ(count, compiled);
}

void expect_engine_off(const Json& receipts) {
  EXPECT_EQ(receipts.at("engine"), "native");
  EXPECT_FALSE(receipts.at("tensors").empty());
  for (const Json& tensor : receipts.at("tensors")) {
    EXPECT_EQ(tensor.at("decision"), "native") << tensor;
    EXPECT_EQ(tensor.at("reason"), "engine-off") << tensor;
    EXPECT_TRUE(tensor.at("kernels").empty()) << tensor;
  }
}

testing::AssertionResult fails_with(const Outcome& outcome, int status, const std::string& part) {
  const bool one_line = outcome.err.starts_with("juno: ") && outcome.err.ends_with('\n') &&
                        std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1;
  if (outcome.status == status && one_line && outcome.err.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "expected exit status " << status << " and one line that begins with 'juno: ' "
                                     << "and contains '" << part << "':\n"
                                     << outcome.text();
}

testing::AssertionResult succeeds(const Outcome& outcome) {
  if (outcome.status == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << outcome.text();
}

}  // namespace juno::e2e
