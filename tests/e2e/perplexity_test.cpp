// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp's own judge of quality: perplexity, and how far the probabilities of one run are from those of another
// (Kullback-Leibler divergence). On x86 ggml sums in another order for few columns, so engines differ by roundings; the
// measure for "by roundings" is how far the native engine is from itself with another batch size.
#include <regex>

#include "programs.h"

namespace juno::e2e {
namespace {

namespace fs = std::filesystem;

class Perplexity : public testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (const auto& file : fs::directory_iterator(sources() / "tools" / "mini-model" / "corpus")) {
      if (file.path().extension() == ".txt") text += read_file(file.path());
    }
    ASSERT_GT(text.size(), 10000u);
    write_file(folder_ / "text.txt", text);
  }

  /// What llama-perplexity prints for `model`; "" if it fails.
  [[nodiscard]] std::string measure(const std::string& model, const Arguments& more, const Environment& environment) {
    Arguments arguments = {"-m", model, "-f", (folder_ / "text.txt").string(), "-t", "1", "-c", "128", "--chunks", "8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    // llama.cpp writes its log from a thread of its own, and what that has not written when the program ends is lost
    // (common/log.cpp says so): again, then.
    for (int attempt = 0; attempt < 20; ++attempt) {
      const Outcome outcome = run_program("llama-perplexity", arguments, environment);
      EXPECT_TRUE(succeeds(outcome));
      std::string printed = outcome.out + outcome.err;
      if (more.size() < 3 || printed.find("\nSame top p:") != std::string::npos) return printed;
    }
    ADD_FAILURE() << "the end of the log was lost each time";
    return {};
  }

  /// The number behind `label` in what was printed.
  static double figure(const std::string& printed, const std::string& label) {
    std::smatch match;
    if (std::regex_search(printed, match, std::regex(label + "\\s*[:=]\\s*(-?[0-9.]+)"))) return std::stod(match[1]);
    ADD_FAILURE() << "no '" << label << "' in:\n" << printed;
    return 0;
  }

  void compare(const std::string& model) {
    const Environment native = {{"JUNO_ENGINE", "native"}};
    const std::string base = (folder_ / "base.kld").string();
    (void)measure(model, {"--kl-divergence-base", base}, native);
    const Arguments against = {"--kl-divergence-base", base, "--kl-divergence"};
    Arguments small_batches = against;
    small_batches.insert(small_batches.end(), {"-b", "7", "-ub", "7"});
    const double own = figure(measure(model, small_batches, native), "Mean    KLD");

    std::string first;
    for (const std::string& isa : isas()) {
      const std::string receipts = (folder_ / "receipts.json").string();
      const std::string printed = measure(model, against, {{"JUNO_ISA", isa}, {"JUNO_RECEIPTS", receipts}});
      std::size_t ran = 0;
      const Json written = parse_file(receipts);
      for (const Json& tensor : written.at("tensors")) ran += tensor.at("kernels").empty() ? 0 : 1;
      EXPECT_GT(ran, 0u) << isa;
      EXPECT_LE(figure(printed, "Mean    KLD"), own) << isa;
      // The same bits of every product on every instruction set: the same figures, down to the last digit.
      const std::size_t begin = printed.find("Mean PPL(Q)");
      const std::size_t end = printed.find("Same top p:", begin);
      ASSERT_NE(end, std::string::npos) << printed;
      const std::string figures = printed.substr(begin, printed.find('\n', end) - begin);
      if (first.empty()) first = figures;
      EXPECT_EQ(figures, first) << isa;
    }
  }

  fs::path folder_ = new_folder();
};

TEST_F(Perplexity, BundledModel) { compare((sources() / "models" / "juno-mini.gguf").string()); }
TEST_F(Perplexity, RandomModel) { compare(file_of(models()[2])); }

}  // namespace
}  // namespace juno::e2e
