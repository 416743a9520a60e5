// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "random_model.h"

namespace {

int run(int argc, char** argv) {
  juno::random_model::Options options;
  std::string path;
  std::vector<std::string> rules;

  CLI::App app("Writes a GGUF model with random weights.");
  app.option_defaults()->always_capture_default();
  app.add_option("OUT", path, "File to write")->required();
  app.add_option("--architecture", options.architecture,
                 fmt::format("Model architecture: {}", fmt::join(juno::random_model::architecture_names(), ", ")));
  app.add_option("--layers", options.layers, "Number of layers");
  app.add_option("--embedding", options.embedding, "Width of the hidden state");
  app.add_option("--feed-forward", options.feed_forward, "Width inside the feed-forward network");
  app.add_option("--heads", options.heads, "Attention heads");
  app.add_option("--kv-heads", options.kv_heads, "Key and value heads");
  app.add_option("--head-dimension", options.head_dimension,
                 "Width of a head; 0: the hidden state's, divided by --heads");
  app.add_option("--experts", options.experts, "Experts of a mixture (qwen3moe); 0: 8");
  app.add_option("--experts-used", options.experts_used, "Experts that each token goes through; 0: 2");
  app.add_option("--expert-feed-forward", options.expert_feed_forward, "Width inside an expert; 0: --feed-forward");
  app.add_option("--context", options.context, "Context length that the model claims, in tokens");
  app.add_option("--vocabulary", options.vocabulary, "Number of tokens, at least 259");
  app.add_option("--type", options.default_type, "Weight type of every matrix, such as IQ4_XS");
  app.add_option("--type-for", rules, "REGEX=TYPE: weight type of the tensors whose name matches; the first match wins")
      ->allow_extra_args(false);
  app.add_option("--seed", options.seed, "Seed of the random weights");
  app.add_flag("--tied", options.tied, "Use the token embedding as output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "random-model: {}\n", error.what());
    return EXIT_FAILURE;
  }

  for (const std::string& rule : rules) {
    const std::size_t split = rule.rfind('=');
    if (split == std::string::npos) {
      fmt::print(stderr, "random-model: --type-for: '{}' is not REGEX=TYPE\n", rule);
      return EXIT_FAILURE;
    }
    options.types.emplace_back(rule.substr(0, split), rule.substr(split + 1));
  }
  const juno::Status status = juno::random_model::write_random_model(path, options);
  if (!status.ok()) {
    fmt::print(stderr, "random-model: {}\n", status.error().message());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (...) {
    // Only the option parser can get here, and only without memory; formatting a message might fail again.
    (void)std::fputs("random-model: not enough memory\n", stderr);
    return EXIT_FAILURE;
  }
}
