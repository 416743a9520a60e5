// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>

#include "chat.h"

namespace juno::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// llama.cpp reports failures through its log only; the last error line becomes the reason in ours.
class LastError {
 public:
  void record(ggml_log_level level, const char* text) {
    const std::lock_guard lock(mutex_);
    if (echo) std::fputs(text, stderr);
    if (level != GGML_LOG_LEVEL_ERROR) return;
    std::string line(text);
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) line_ = std::move(line);
  }
  std::string take(std::string_view otherwise) {
    const std::lock_guard lock(mutex_);
    std::string line = line_.empty() ? std::string(otherwise) : line_;
    line_.clear();
    return line;
  }
  bool echo = false;

 private:
  std::mutex mutex_;
  std::string line_;
};

LastError& last_error() {
  static LastError instance;
  return instance;
}

void log_line(ggml_log_level level, const char* text, void*) { last_error().record(level, text); }

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options) {
  last_error().echo = options.log_to_stderr;
  llama_log_set(log_line, nullptr);
  llama_backend_init();

  const auto start = Clock::now();
  ggml_backend_dev_t no_devices[] = {nullptr};
  llama_model_params model_params = llama_model_default_params();
  model_params.devices = no_devices;
  model_params.n_gpu_layers = 0;
  model_params.load_mode = options.memory_map ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
  const std::string path = options.model.string();
  llama_model* model = llama_model_load_from_file(path.c_str(), model_params);
  if (model == nullptr) {
    return Error{ErrorCode::unsupported, "load model", path, last_error().take("llama.cpp refused it")};
  }
  llama_context_params context_params = llama_context_default_params();
  const auto trained = static_cast<std::uint32_t>(llama_model_n_ctx_train(model));
  context_params.n_ctx = options.context != 0 ? options.context : std::min(trained, kDefaultContext);
  context_params.n_threads = options.threads;
  context_params.n_threads_batch = options.threads;
  llama_context* context = llama_init_from_model(model, context_params);
  if (context == nullptr) {
    llama_model_free(model);
    return Error{ErrorCode::out_of_memory, "make a context", path, last_error().take("llama.cpp refused it")};
  }
  std::unique_ptr<Session> session(new Session(path, model, context));
  session->load_seconds_ = seconds_since(start);
  return session;
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
                   last_error().take(fmt::format("llama.cpp says {}", status))};
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
    return Error{ErrorCode::unsupported, "apply the chat template", path_, error.what()};
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

bool is_set(const std::atomic<bool>* flag) { return flag != nullptr && flag->load(std::memory_order_relaxed); }

}  // namespace

Result<Generation> Session::generate(const std::string& prompt, const GenerationOptions& options, const TextSink& text,
                                     const LogitsSink& logits) {
  auto tokens = tokenize(prompt);
  if (!tokens) return tokens.error();
  const std::size_t context = llama_n_ctx(context_.get());
  if (tokens->size() >= context) {
    return Error{ErrorCode::invalid_argument, "generate", path_,
                 fmt::format("the prompt's {} tokens leave no room in a context of {}", tokens->size(), context)};
  }
  const llama_vocab* vocabulary = llama_model_get_vocab(model_.get());
  const auto vocabulary_size = static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary));
  const SamplerPtr sampler = make_sampler(options);
  llama_memory_clear(llama_get_memory(context_.get()), true);
  llama_set_abort_callback(
      context_.get(), [](void* flag) { return is_set(static_cast<const std::atomic<bool>*>(flag)); },
      const_cast<std::atomic<bool>*>(options.stop));

  Generation result{.text = {}, .tokens = {}, .prompt_tokens = tokens->size()};
  std::vector<llama_token> next = std::move(tokens).value();
  auto start = Clock::now();
  while (true) {
    const auto decoded = decode(next);
    if (!decoded) return decoded.error();
    if (!*decoded || is_set(options.stop)) {
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
    if (result.prompt_tokens + result.tokens.size() >= context) {
      result.ending = Ending::context_full;
      return result;
    }
    next = {chosen};
  }
}

}  // namespace juno::cli
