// SPDX-License-Identifier: Apache-2.0
//
// Other processors, under the emulator only: right answers, and the right reasons for them.
#include "programs.h"

namespace juno::e2e {
namespace {

struct Machine {
  std::string name;
  std::string cpu;  ///< the emulator's model
  std::string reason;
  std::string detail;  ///< part of it
  unsigned streaming_vector_bytes;
};

const std::vector<Machine>& machines() {
  static const std::vector<Machine> kMachines = {
      {"sme2", "max,sve=off,sme512=on,sme_fa64=off", "compiled", "gemv.lut4.sme2", 64},
      // Linux starts a thread with 32 bytes where it could have more: Juno has to ask for them, in every thread.
      {"sme2_short_by_default", "max,sve=off", "compiled", "gemv.lut4.sme2", 64},
      {"sme2_with_sve", "max", "compiled", "gemv.lut4.sme2", 64},
      {"sme2_32_bytes_at_most", "max,sve=off,sme256=on,sme_fa64=off", "vector-size", "256 bits", 32},
      {"no_sme", "max,sve=off,sme=off", "no-kernel", "sme", 0},
      {"old", "cortex-a76", "no-kernel", "sme", 0},
  };
  return kMachines;
}

class Machines : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static const Machine& machine() { return machines()[GetParam()]; }
  [[nodiscard]] static Environment environment() { return {{"JUNO_CPU", machine().cpu}}; }
};

TEST_P(Machines, HaveTheNativeEnginesAnswers) {
  for (const Model& model : {models()[0], models()[4]}) {
    const std::filesystem::path folder = new_folder();
    const auto run_engine = [&](const std::string& engine, const std::string& threads, Json& json) {
      const std::string logits = (folder / engine).string();
      const Outcome outcome = juno({"run", file_of(model), "--prompt", "Once upon a time", "-n", "4", "-t", threads,
                                    "--engine", engine, "--logits", logits, "--json"},
                                   environment());
      EXPECT_TRUE(succeeds(outcome));
      json = outcome.status == 0 ? parse(outcome) : Json();
      return read_file(logits);
    };
    Json native;
    const std::string expected = run_engine("native", "2", native);
    ASSERT_TRUE(native.is_object());
    EXPECT_EQ(expected.size(), native.at("tokens").size() * model.vocabulary * sizeof(float));
    for (const char* threads : {"1", "3"}) {
      Json ours;
      EXPECT_TRUE(run_engine("juno", threads, ours) == expected) << machine().cpu << ", " << threads << " threads";
      ASSERT_TRUE(ours.is_object());
      EXPECT_EQ(ours.at("text"), native.at("text"));
      if (machine().reason == "compiled") expect_compiled(ours.at("receipts"), model.compiled);
    }
  }
}

TEST_P(Machines, HaveTheRightReasons) {
  for (const Model& model : {models()[0], models()[4]}) {
    const Outcome ran = juno({"run", file_of(model), "--prompt", "One", "-n", "1", "--json"}, environment());
    ASSERT_TRUE(succeeds(ran));
    const Json receipts = parse(ran).at("receipts");
    EXPECT_EQ(receipts.at("cpu").at("architecture"), "arm64");
    EXPECT_EQ(receipts.at("cpu").at("streaming_vector_bytes"), machine().streaming_vector_bytes);
    std::size_t candidates = 0;
    for (const Json& tensor : receipts.at("tensors")) {
      if (tensor.at("type") != "IQ4_XS" || tensor.at("operation") != "MUL_MAT") {
        EXPECT_EQ(tensor.at("decision"), "native") << tensor;
        continue;
      }
      ++candidates;
      EXPECT_EQ(tensor.at("reason"), machine().reason) << tensor;
      EXPECT_EQ(tensor.at("decision"), machine().reason == "compiled" ? "juno" : "native") << tensor;
      EXPECT_NE(tensor.at("detail").get<std::string>().find(machine().detail), std::string::npos) << tensor;
    }
    EXPECT_EQ(candidates, model.compiled);
    const Json inspected = parse(juno({"inspect", file_of(model), "--json"}, environment()));
    EXPECT_EQ(decisions(inspected), decisions(receipts));
    const Json elsewhere = parse(juno({"inspect", file_of(model), "--json", "--target", "sme2"}, environment()));
    for (const Json& tensor : elsewhere.at("tensors")) {
      if (tensor.at("type") == "IQ4_XS" && tensor.at("operation") == "MUL_MAT") {
        EXPECT_EQ(tensor.at("detail"), "lut4 by gemv.lut4.sme2") << tensor;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Machines, testing::Range(std::size_t{0}, machines().size()),
                         [](const testing::TestParamInfo<std::size_t>& info) { return machines()[info.param].name; });

}  // namespace
}  // namespace juno::e2e
