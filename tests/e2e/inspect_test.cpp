// SPDX-License-Identifier: Apache-2.0
//
// `juno inspect`: what it says, that it says the same as the receipts, and that it needs no more than the header.
#include <sstream>

#include "programs.h"

namespace juno::e2e {
namespace {

const std::vector<std::string> kDocumentKeys = {"cpu", "engine", "juno", "llama_cpp", "schema", "tensors"};
const std::vector<std::string> kTensorKeys = {"bytes_native", "bytes_packed", "columns",  "decision", "detail",
                                              "kernels",      "layout",       "matrices", "name",     "operation",
                                              "pack_ms",      "reason",       "rows",     "type",     "unpacked_calls"};

std::size_t compiled_in(const Json& receipts) {
  std::size_t count = 0;
  for (const Json& tensor : receipts.at("tensors")) count += tensor.at("decision") == "juno" ? 1 : 0;
  return count;
}

TEST(Inspect, TableHasALineForEveryTensor) {
  for (const Model& model : {models()[0], models()[1]}) {
    const Outcome table = juno({"inspect", file_of(model)}, compiling());
    ASSERT_TRUE(succeeds(table));
    EXPECT_EQ(table.err, "");
    const Json json = parse(juno({"inspect", file_of(model), "--json"}, compiling()));
    ASSERT_EQ(json.at("tensors").size(), model.entries);
    std::vector<std::string> lines;
    for (std::istringstream in(table.out); in.good();) std::getline(in, lines.emplace_back());
    ASSERT_GE(lines.size(), model.entries + 3) << table.text();
    EXPECT_TRUE(lines[0].starts_with("name "));
    for (std::size_t i = 0; i < model.entries; ++i) {
      const Json& tensor = json.at("tensors")[i];
      const std::string& line = lines[i + 1];
      EXPECT_TRUE(line.starts_with(tensor.at("name").get<std::string>() + " ")) << line;
      const bool compiled = tensor.at("decision") == "juno";
      const std::string detail = tensor.at("detail").get<std::string>();
      const std::string end =
          compiled ? "juno: " + detail : "native (" + tensor.at("reason").get<std::string>() + "): " + detail;
      EXPECT_TRUE(line.ends_with(end)) << line << "\n" << end;
      for (const char* bytes : {"bytes_native", "bytes_packed"}) {
        if (!compiled && std::string(bytes) == "bytes_packed") continue;
        EXPECT_NE(line.find(" " + tensor.at(bytes).dump() + " "), std::string::npos) << line << "\n" << bytes;
      }
    }
    EXPECT_NE(table.out.find("\n15 of 21 tensors by Juno: "), std::string::npos) << table.text();
  }
}

TEST(Inspect, JsonHasItsKeys) {
  const Outcome outcome = juno({"inspect", file_of(plain_model()), "--json"}, compiling());
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_EQ(outcome.err, "");
  const Json json = parse(outcome);
  EXPECT_EQ(keys(json), kDocumentKeys);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("engine"), "juno");
  EXPECT_EQ(keys(json.at("cpu")), (std::vector<std::string>{"architecture", "features", "streaming_vector_bytes"}));
  ASSERT_EQ(json.at("tensors").size(), plain_model().entries);
  for (const Json& tensor : json.at("tensors")) EXPECT_EQ(keys(tensor), kTensorKeys) << tensor;
  EXPECT_EQ(compiled_in(json), plain_model().compiled);

  const Json query = decisions(json).at("blk.1.attn_q.weight MUL_MAT");
  const Json expected = {{"name", "blk.1.attn_q.weight"},
                         {"type", "IQ4_XS"},
                         {"rows", 256},
                         {"columns", 256},
                         {"matrices", 1},
                         {"operation", "MUL_MAT"},
                         {"decision", "juno"},
                         {"reason", "compiled"},
                         {"detail", layout() + " by " + kernel()},
                         {"layout", layout()},
                         {"bytes_native", 34816},
                         {"bytes_packed", query.at("bytes_packed")}};
  EXPECT_EQ(query, expected);
  // 4 bits a weight, and per 32 of them what a scale needs.
  EXPECT_GE(query.at("bytes_packed").get<double>(), 256 * 256 / 2);
  EXPECT_LE(query.at("bytes_packed").get<double>(), 1.1 * 34816);
}

TEST(Inspect, TiedEmbeddingIsListedForBothUses) {
  const Json uses = decisions(parse(juno({"inspect", file_of(models()[1]), "--json"}, compiling())));
  EXPECT_EQ(uses.at("token_embd.weight GET_ROWS").at("reason"), "operation");
  EXPECT_EQ(uses.at("token_embd.weight MUL_MAT").at("reason"), "compiled");
  EXPECT_FALSE(uses.contains("output.weight MUL_MAT"));
}

/// What an SME2 machine would do, asked on any machine.
TEST(Inspect, TargetSme2IsTheSameEverywhere) {
  const Json json = parse(juno({"inspect", file_of(plain_model()), "--json", "--target", "sme2"}));
  EXPECT_EQ(json.at("cpu").at("streaming_vector_bytes"), 64);
  EXPECT_EQ(compiled_in(json), plain_model().compiled) << json.at("tensors")[2];
  EXPECT_EQ(decisions(json).at("output.weight MUL_MAT").at("detail"), "lut4 by gemv.lut4.sme2");
}

TEST(Inspect, EngineOffIsTheReasonWhenJunoIsOff) {
  expect_engine_off(parse(juno({"inspect", file_of(plain_model()), "--json"}, {{"JUNO_ENGINE", "native"}})));
}

TEST_P(EveryModel, InspectSaysWhatReceiptsSay) {
  std::vector<Environment> machines = {compiling()};
  if (!expects_sme2()) machines.push_back({});  // nothing compiled, for want of a kernel
  for (const Environment& machine : machines) {
    const Json inspected = parse(juno({"inspect", file_of(model()), "--json"}, machine));
    const Outcome ran = juno({"run", file_of(model()), "--prompt", "One", "-n", "2", "--json"}, machine);
    ASSERT_TRUE(succeeds(ran));
    const Json receipts = parse(ran).at("receipts");
    EXPECT_EQ(decisions(inspected), decisions(receipts));
    EXPECT_EQ(inspected.at("tensors").size(), model().entries);
    EXPECT_EQ(compiled_in(inspected), machine == compiling() ? model().compiled : 0);
    EXPECT_EQ(inspected.at("cpu"), receipts.at("cpu"));
    EXPECT_EQ(inspected.at("engine"), receipts.at("engine"));
  }
}

INSTANTIATE_TEST_SUITE_P(Model, EveryModel, every_model(), model_name);

/// The header of a GGUF file, byte by byte.
class Header {
 public:
  template <class T>
  Header& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Header& string(const std::string& text) {
    number(std::uint64_t{text.size()});
    bytes_ += text;
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_ = "GGUF";
};

constexpr std::uint64_t kWidth = 8192;
constexpr std::uint64_t kRows = 8192;
constexpr std::uint64_t kTensorBytes = kRows * kWidth / 256 * 136;  // IQ4_XS
constexpr std::uint64_t kTensors = 3000;                            // together more than 100 GB
constexpr std::uint64_t kTokens = 250'000;

/// A file as large as the largest models, with as many tensors and tokens. All of its weights are one hole.
void write_large_model(const std::filesystem::path& path) {
  constexpr std::uint32_t kString = 8;
  constexpr std::uint32_t kArray = 9;
  constexpr std::uint32_t kIq4Xs = 23;
  Header header;
  header.number(std::uint32_t{3}).number(kTensors).number(std::uint64_t{2});
  header.string("general.architecture").number(kString).string("llama");
  header.string("tokenizer.ggml.tokens").number(kArray).number(kString).number(kTokens);
  for (std::uint64_t i = 0; i < kTokens; ++i) header.string("token" + std::to_string(i));
  for (std::uint64_t i = 0; i < kTensors; ++i) {
    header.string("blk." + std::to_string(i) + ".ffn_up.weight").number(std::uint32_t{2}).number(kWidth).number(kRows);
    header.number(kIq4Xs).number(i * kTensorBytes);
  }
  write_file(path, header.bytes());
  const std::uint64_t start = (header.bytes().size() + 31) / 32 * 32;
  std::filesystem::resize_file(path, start + kTensors * kTensorBytes);
}

TEST(Inspect, HundredGigabytesTakeLessThanASecond) {
  const auto path = new_folder() / "large.gguf";
  write_large_model(path);
  ASSERT_GT(std::filesystem::file_size(path), 100'000'000'000u);
  const Outcome outcome = juno({"inspect", path.string(), "--json"}, compiling());
  ASSERT_TRUE(succeeds(outcome));
  EXPECT_LT(outcome.cpu_seconds, has_runner() ? 10.0 : 1.0) << outcome.command;
  const Json json = parse(outcome);
  ASSERT_EQ(json.at("tensors").size(), kTensors);
  EXPECT_EQ(json.at("tensors")[kTensors - 1].at("bytes_native"), kTensorBytes);
  EXPECT_EQ(compiled_in(json), kTensors);
}

TEST(Inspect, ReadsTheVocabularyFilesOfLlamaCpp) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(llama_sources() / "models")) {
    if (entry.path().extension() != ".gguf") continue;
    ++files;
    const Outcome outcome = juno({"inspect", entry.path().string()});
    EXPECT_TRUE(succeeds(outcome));
    EXPECT_NE(outcome.out.find("0 of 0 tensors by Juno"), std::string::npos) << outcome.text();
    if (files > 1) continue;
    EXPECT_TRUE(fails_with(juno({"run", entry.path().string(), "-p", "x"}), 1, entry.path().string()));
  }
  EXPECT_GE(files, 15u);
}

TEST(Inspect, TotalsAreTheEndOfTheTable) {
  const Outcome all = juno({"inspect", bundled_model()}, compiling());
  const Outcome totals = juno({"inspect", bundled_model(), "--totals"}, compiling());
  ASSERT_TRUE(succeeds(totals));
  EXPECT_TRUE(totals.out.starts_with("type ")) << totals.out;
  EXPECT_TRUE(all.out.ends_with("\n\n" + totals.out)) << all.out << totals.out;
}

TEST(Inspect, NamesHaveNoPowerOverTheTerminal) {
  const std::string name = "evil\n\033]0;title\007";
  Header header;
  header.number(std::uint32_t{3}).number(std::uint64_t{1}).number(std::uint64_t{0});
  header.string(name).number(std::uint32_t{1}).number(std::uint64_t{32}).number(std::uint32_t{0});
  header.number(std::uint64_t{0});
  const auto path = new_folder() / "evil.gguf";
  write_file(path, header.bytes() + std::string(256, '\0'));
  const Outcome table = juno({"inspect", path.string()});
  ASSERT_TRUE(succeeds(table));
  EXPECT_NE(table.out.find("\nevil\\x0a\\x1b]0;title\\x07 "), std::string::npos) << table.out;
  EXPECT_EQ(parse(juno({"inspect", path.string(), "--json"})).at("tensors").at(0).at("name"), name);
}

TEST(Inspect, OutputThatNobodyTakesIsAnError) {
  for (const char* form : {"--json", "--target=auto"}) {
    for (const bool full : {false, true}) {
      if (full && !std::filesystem::exists("/dev/full")) continue;  // not every system has it; the pipe is everywhere
      Command inspect = command("juno", {"inspect", file_of(plain_model()), form}, {});
      inspect.stdout_file = full ? "/dev/full" : "";
      inspect.stdout_closed = !full;
      EXPECT_TRUE(fails_with(run(inspect), 1, ""));
    }
  }
}

std::vector<std::string> names_of(const Json& document) {
  std::vector<std::string> names;
  for (const Json& tensor : document.at("tensors")) names.push_back(tensor.at("name"));
  return names;
}

TEST(Inspect, ShowAndSort) {
  const Json only = parse(juno({"inspect", file_of(plain_model()), "--json", "--show", "attn_[qk]", "--sort", "name"}));
  EXPECT_EQ(names_of(only), (std::vector<std::string>{"blk.0.attn_k.weight", "blk.0.attn_q.weight",
                                                      "blk.1.attn_k.weight", "blk.1.attn_q.weight"}));
  const Json by_size = parse(juno({"inspect", file_of(plain_model()), "--json", "--sort", "size"}));
  std::uint64_t last = UINT64_MAX;
  for (const Json& tensor : by_size.at("tensors")) {
    EXPECT_LE(tensor.at("bytes_native"), last);
    last = tensor.at("bytes_native");
  }
  EXPECT_EQ(by_size.at("tensors").size(), plain_model().entries);
  EXPECT_TRUE(fails_with(juno({"inspect", file_of(plain_model()), "--show", "["}), 2, "--show"));
  EXPECT_TRUE(fails_with(juno({"inspect", file_of(plain_model()), "--sort", "weight"}), 2, "--sort"));
}

TEST(Cpu, SaysWhatIsDetectedBuiltAndSelected) {
  const Json json = parse(juno({"cpu", "--json"}));
  EXPECT_EQ(keys(json), (std::vector<std::string>{"architecture", "caches", "features", "instruction_sets",
                                                  "memory_bytes", "sme_units", "streaming_vector_bytes", "threads"}));
  for (const Json& isa : json.at("instruction_sets")) {
    const std::string name = isa.at("name");
    EXPECT_EQ(isa.at("selected"), name == e2e::isa() && name != "scalar") << isa;
    if (name == "sme2" || name == e2e::isa()) EXPECT_EQ(isa.at("detected"), name == e2e::isa()) << isa;
    EXPECT_FALSE(isa.at("kernels").empty());
    EXPECT_FALSE(isa.at("why").get<std::string>().empty());
  }
  const Json scalar = parse(juno({"cpu", "--json"}, {{"JUNO_ISA", "scalar"}}));
  for (const Json& isa : scalar.at("instruction_sets"))
    EXPECT_EQ(isa.at("selected"), isa.at("name") == "scalar") << isa;
  const Json off = parse(juno({"cpu", "--json"}, {{"JUNO_ENGINE", "native"}}));
  for (const Json& isa : off.at("instruction_sets")) EXPECT_FALSE(isa.at("selected").get<bool>()) << isa;
  EXPECT_TRUE(succeeds(juno({"cpu"})));
}

}  // namespace
}  // namespace juno::e2e
