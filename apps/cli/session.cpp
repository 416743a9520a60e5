// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "base/printable.h"
#include "chat.h"
#include "exit_status.h"
#include "log.h"

namespace juno::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// llama.cpp reports failures through its log only. The first error line becomes the reason in ours: it is the specific
/// one, later ones say that something failed.
class Log {
 public:
  void begin(bool echo) {
    const std::lock_guard lock(mutex_);
    echo_ = echo;
    error_.clear();
  }
  void record(ggml_log_level level, const char* text) {
    const std::lock_guard lock(mutex_);
    if (echo_) std::fputs(text, stderr);
    if (level != GGML_LOG_LEVEL_ERROR || !error_.empty()) return;
    error_ = text;
    while (error_.ends_with('\n') || error_.ends_with(' ')) error_.pop_back();
  }
  std::string first_error(std::string_view otherwise) {
    const std::lock_guard lock(mutex_);
    return error_.empty() ? std::string(otherwise) : error_;
  }

 private:
  std::mutex mutex_;
  bool echo_ = false;
  std::string error_;
};

Log& llama_log() {
  static Log instance;
  return instance;
}

void record_log(ggml_log_level level, const char* text, void*) { llama_log().record(level, text); }

/// ggml's assertions end the process in any case; this way it is with a line that a user can read.
void on_abort(const char* message) {
  static std::atomic_flag given_up;
  while (given_up.test_and_set()) pause();  // several threads may fail in the same way: one says so
  std::string_view text = message;
  const std::size_t folder = text.substr(0, text.find(':')).rfind('/');
  if (folder != std::string_view::npos) text.remove_prefix(folder + 1);
  std::fprintf(stderr, "juno: llama.cpp cannot go on with this model: %s\n", printable(text).c_str());
  std::_Exit(exit_failure);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options) {
  const auto start = Clock::now();
  llama_log().begin(options.log_to_stderr);
  llama_log_set(record_log, nullptr);
  if (!options.log_to_stderr) common_log_pause(common_log_main());  // the template engine's own way to standard error
  ggml_set_abort_callback(on_abort);
  llama_backend_init();
  std::unique_ptr<Session> session(new Session(options));
  const Status loaded = session->load(options);
  if (session->stopped()) {
    return Error{ErrorCode::interrupted, "load model", session->path_, "stopped by a signal"};
  }
  if (!loaded) return loaded.error();
  session->load_seconds_ = seconds_since(start);
  return session;
}

Status Session::load(const SessionOptions& options) {
  ggml_backend_dev_t no_devices[] = {nullptr};
  llama_model_params model_params = llama_model_default_params();
  model_params.devices = no_devices;
  model_params.n_gpu_layers = 0;
  model_params.load_mode = options.memory_map ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
  const auto on_progress = [this, &options, start = Clock::now()](float fraction) {
    if (options.progress) options.progress(fraction, seconds_since(start));
    return !stopped();
  };
  model_params.progress_callback = [](float fraction, void* call) {
    return (*static_cast<decltype(on_progress)*>(call))(fraction);
  };
  model_params.progress_callback_user_data = const_cast<void*>(static_cast<const void*>(&on_progress));
  model_.reset(llama_model_load_from_file(path_.c_str(), model_params));
  if (model_ == nullptr) {
    return Error{ErrorCode::unsupported, "load model", path_, llama_log().first_error("llama.cpp refused it")};
  }
  if (llama_vocab_type(llama_model_get_vocab(model_.get())) == LLAMA_VOCAB_TYPE_NONE) {
    return Error{ErrorCode::unsupported, "load model", path_, "it has no tokeniser"};
  }
  llama_context_params context_params = llama_context_default_params();
  const auto trained = static_cast<std::uint32_t>(llama_model_n_ctx_train(model_.get()));
  context_params.n_ctx = options.context != 0 ? options.context : std::min(trained, kDefaultContext);
  context_params.n_threads = options.threads;
  context_params.n_threads_batch = options.threads;
  context_.reset(llama_init_from_model(model_.get(), context_params));
  if (context_ == nullptr) {
    return Error{ErrorCode::out_of_memory, "make a context", path_, llama_log().first_error("llama.cpp refused it")};
  }
  context_tokens_ = std::min(llama_n_ctx(context_.get()), context_params.n_ctx);
  return Done{};
}

Result<std::vector<llama_token>> Session::tokenize(const std::string& text) const {
  const llama_vocab* vocabulary = llama_model_get_vocab(model_.get());
  const auto length = static_cast<std::int32_t>(text.size());
  const std::int32_t needed = -llama_tokenize(vocabulary, text.c_str(), length, nullptr, 0, true, true);
  std::vector<llama_token> tokens(static_cast<std::size_t>(std::max(needed, 0)));
  const std::int32_t count =
      llama_tokenize(vocabulary, text.c_str(), length, tokens.data(), std::max(needed, 0), true, true);
  if (count <= 0) return Error{ErrorCode::invalid_argument, "tokenise the prompt", path_, "it has no tokens"};
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

Result<bool> Session::decode(std::span<llama_token> tokens) {
  const std::size_t batch = llama_n_batch(context_.get());
  for (std::size_t at = 0; at < tokens.size(); at += batch) {
    const auto part = tokens.subspan(at, std::min(batch, tokens.size() - at));
    const std::int32_t status =
        llama_decode(context_.get(), llama_batch_get_one(part.data(), static_cast<std::int32_t>(part.size())));
    constexpr std::int32_t kAborted = 2;
    if (status == kAborted) return false;
    if (status != 0) {
      return Error{ErrorCode::unsupported, "compute", path_,
                   llama_log().first_error(fmt::format("llama.cpp says {}", status))};
    }
  }
  return true;
}

std::string Session::piece(llama_token token) const {
  std::string text(64, '\0');
  const llama_vocab* vocabulary = llama_model_get_vocab(model_.get());
  auto length = llama_token_to_piece(vocabulary, token, text.data(), static_cast<std::int32_t>(text.size()), 0, false);
  if (length < 0) {
    text.resize(static_cast<std::size_t>(-length));
    length = llama_token_to_piece(vocabulary, token, text.data(), static_cast<std::int32_t>(text.size()), 0, false);
  }
  text.resize(static_cast<std::size_t>(std::max(length, 0)));
  return text;
}

bool Session::has_chat_template() const noexcept { return llama_model_chat_template(model_.get(), nullptr) != nullptr; }

Result<std::string> Session::chat_prompt(const std::string& system, const std::string& user) const {
  // llama.cpp's template engine reports what it cannot do by throwing.
  try {
    const common_chat_templates_ptr templates = common_chat_templates_init(model_.get(), "");
    common_chat_templates_inputs inputs;
    const auto add = [&](const char* role, const std::string& content) {
      common_chat_msg message;
      message.role = role;
      message.content = content;
      inputs.messages.push_back(std::move(message));
    };
    if (!system.empty()) add("system", system);
    add("user", user);
    return common_chat_templates_apply(templates.get(), inputs).prompt;
  } catch (const std::exception& error) {
    std::string why = error.what();
    if (why == std::exception().what()) why = "llama.cpp cannot use it; --verbose shows why, --raw does without";
    return Error{ErrorCode::unsupported, "apply the chat template", path_, std::move(why)};
  }
}

namespace {

struct FreeSampler {
  void operator()(llama_sampler* sampler) const { llama_sampler_free(sampler); }
};
using SamplerPtr = std::unique_ptr<llama_sampler, FreeSampler>;

SamplerPtr make_sampler(const GenerationOptions& options) {
  SamplerPtr chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  if (options.temperature <= 0) {
    llama_sampler_chain_add(chain.get(), llama_sampler_init_greedy());
    return chain;
  }
  if (options.top_p < 1) llama_sampler_chain_add(chain.get(), llama_sampler_init_top_p(options.top_p, 1));
  llama_sampler_chain_add(chain.get(), llama_sampler_init_temp(options.temperature));
  llama_sampler_chain_add(chain.get(), llama_sampler_init_dist(options.seed));
  return chain;
}

}  // namespace

Result<Generation> Session::generate(const std::string& prompt, const GenerationOptions& options, const TextSink& text,
                                     const LogitsSink& logits) {
  auto tokens = tokenize(prompt);
  if (!tokens) return tokens.error();
  if (tokens->size() >= context_tokens_) {
    return Error{
        ErrorCode::invalid_argument, "generate", path_,
        fmt::format("the prompt's {} tokens leave no room in a context of {}", tokens->size(), context_tokens_)};
  }
  const llama_vocab* vocabulary = llama_model_get_vocab(model_.get());
  const auto vocabulary_size = static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary));
  const SamplerPtr sampler = make_sampler(options);
  llama_memory_clear(llama_get_memory(context_.get()), true);
  llama_set_abort_callback(
      context_.get(), [](void* session) { return static_cast<const Session*>(session)->stopped(); }, this);

  Generation result{.text = {}, .tokens = {}, .prompt_tokens = tokens->size()};
  std::vector<llama_token> next = std::move(tokens).value();
  auto start = Clock::now();
  while (true) {
    const auto decoded = decode(next);
    if (!decoded) return decoded.error();
    if (!*decoded || stopped()) {
      result.ending = Ending::stopped;
      return result;
    }
    if (result.tokens.empty()) {
      result.prompt_seconds = seconds_since(start);
      start = Clock::now();
    } else {
      result.generation_seconds = seconds_since(start);
    }
    const std::span<const float> row(llama_get_logits_ith(context_.get(), -1), vocabulary_size);
    result.ending = Ending::stopped;
    if (logits && !logits(row)) return result;
    const llama_token chosen = llama_sampler_sample(sampler.get(), context_.get(), -1);
    result.tokens.push_back(chosen);
    if (llama_vocab_is_eog(vocabulary, chosen)) {
      result.ending = Ending::end_of_text;
      return result;
    }
    const std::string added = piece(chosen);
    result.text += added;
    if (text && !text(added)) return result;
    if (result.tokens.size() >= options.count) {
      result.ending = Ending::count;
      return result;
    }
    if (result.prompt_tokens + result.tokens.size() >= context_tokens_) {
      result.ending = Ending::context_full;
      return result;
    }
    next = {chosen};
  }
}

}  // namespace juno::cli
