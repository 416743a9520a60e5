// SPDX-License-Identifier: Apache-2.0
//
// A model loaded in llama.cpp, with Juno linked in, and greedy generation from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "juno/status.h"
#include "llama.h"

namespace juno::cli {

struct SessionOptions {
  std::filesystem::path model;
  int threads = 2;
  std::uint32_t context = 0;  ///< tokens; 0: the model's own
  bool memory_map = true;
  bool log_to_stderr = false;  ///< llama.cpp's log; its last error ends up in Error::why anyway
};

struct Generation {
  std::string text;
  std::vector<llama_token> tokens;
  std::size_t prompt_tokens = 0;
  double prompt_seconds = 0;
  double generation_seconds = 0;  ///< of all generated tokens but the first, which the prompt's pass gives
};

/// Called after each pass with the logits of its last position (as many as the vocabulary has tokens); false stops.
using LogitsSink = std::function<bool(std::span<const float> logits)>;
/// Called with each piece of text as it comes; false stops.
using TextSink = std::function<bool(std::string_view piece)>;

class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);

  /// Greedy continuation of `prompt` by up to `count` tokens; ends early at an end-of-generation token.
  /// Generates at least one token. Starts from an empty context each time.
  Result<Generation> generate(std::string_view prompt, std::size_t count, const TextSink& text,
                              const LogitsSink& logits);

  [[nodiscard]] double load_seconds() const noexcept { return load_seconds_; }

 private:
  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_context* context) const { llama_free(context); }
  };

  Session(std::string path, llama_model* model, llama_context* context)
      : path_(std::move(path)), model_(model), context_(context) {}
  Result<std::vector<llama_token>> tokenize(std::string_view text) const;
  Status decode(std::span<llama_token> tokens);
  [[nodiscard]] std::string piece(llama_token token) const;

  std::string path_;
  std::unique_ptr<llama_model, Free> model_;
  std::unique_ptr<llama_context, Free> context_;
  double load_seconds_ = 0;
};

}  // namespace juno::cli
