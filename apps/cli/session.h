// SPDX-License-Identifier: Apache-2.0
//
// A model loaded in llama.cpp, with Juno linked in, and generation from it.
#pragma once

#include <atomic>
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

/// A long context costs memory for every token it could hold, so more than this is taken only when asked for.
inline constexpr std::uint32_t kDefaultContext = 4096;

struct SessionOptions {
  std::filesystem::path model;
  int threads = 2;
  std::uint32_t context = 0;  ///< tokens; 0: what the model was trained with, but at most kDefaultContext
  bool memory_map = true;
  bool log_to_stderr = false;  ///< llama.cpp's log; its first error ends up in Error::why anyway
  /// Set from anywhere, also a signal handler: loading and generating end as soon as they can. May be null.
  const std::atomic<bool>* stop = nullptr;
  /// Called now and then while the model loads: the fraction of its bytes that are there, and seconds since the start.
  std::function<void(float fraction, double seconds)> progress = {};
};

struct GenerationOptions {
  std::size_t count = 256;  ///< tokens at most; at least one is generated
  float temperature = 0;    ///< 0: greedy
  float top_p = 1;          ///< smallest set of tokens with at least this probability; 1: all
  std::uint32_t seed = 1;   ///< of the random choice, if temperature is not 0
};

enum class Ending { end_of_text, count, context_full, stopped };

struct Generation {
  std::string text;
  std::vector<llama_token> tokens;
  std::size_t prompt_tokens = 0;
  double prompt_seconds = 0;
  double generation_seconds = 0;  ///< of all generated tokens but the first, which the prompt's pass gives
  Ending ending = Ending::count;
};

/// Called after each pass with the logits of its last position (as many as the vocabulary has tokens); false stops.
using LogitsSink = std::function<bool(std::span<const float> logits)>;
/// Called with each piece of text as it comes; false stops.
using TextSink = std::function<bool(std::string_view piece)>;

class Session {
 public:
  /// Loads the model. Where llama.cpp itself gives up (an assertion), the program ends with one line and status 1.
  static Result<std::unique_ptr<Session>> open(const SessionOptions& options);

  /// Whether the model brings a chat template.
  [[nodiscard]] bool has_chat_template() const noexcept;

  /// `user` (and `system`, unless empty) in the model's chat format, up to where the answer begins.
  Result<std::string> chat_prompt(const std::string& system, const std::string& user) const;

  /// Continues `prompt`. Starts from an empty context each time.
  Result<Generation> generate(const std::string& prompt, const GenerationOptions& options, const TextSink& text,
                              const LogitsSink& logits);

  [[nodiscard]] double load_seconds() const noexcept { return load_seconds_; }

 private:
  struct Free {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_context* context) const { llama_free(context); }
  };

  explicit Session(const SessionOptions& options) : path_(options.model.string()), stop_(options.stop) {}
  [[nodiscard]] bool stopped() const noexcept { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  Status load(const SessionOptions& options);
  Result<std::vector<llama_token>> tokenize(const std::string& text) const;
  /// False if it was stopped.
  Result<bool> decode(std::span<llama_token> tokens);
  [[nodiscard]] std::string piece(llama_token token) const;

  std::string path_;
  const std::atomic<bool>* stop_;
  std::unique_ptr<llama_model, Free> model_;
  std::unique_ptr<llama_context, Free> context_;
  std::size_t context_tokens_ = 0;  ///< as asked for; llama.cpp rounds up
  double load_seconds_ = 0;
};

}  // namespace juno::cli
