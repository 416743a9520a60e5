// SPDX-License-Identifier: Apache-2.0
//
// Runs a model with llama.h, and says what Juno had to do with it. Nothing here turns Juno on: linking juno::llama
// does.
#include <juno/engine.h>
#include <juno/receipt.h>
#include <llama-cpp.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kTokens = 16;

int fail(const std::string& message) {
  std::fprintf(stderr, "embed: %s\n", message.c_str());
  return 1;
}

/// What really ran, as Juno counted it.
void print_receipts() {
  std::size_t compiled = 0;
  std::uint64_t calls = 0;
  for (const juno::receipt::TensorReceipt& tensor : juno::receipt::ledger().snapshot()) {
    if (tensor.reason == juno::Reason::compiled) ++compiled;
    for (const juno::receipt::KernelCount& kernel : tensor.kernels) calls += kernel.total_calls();
  }
  std::printf("Juno compiled %zu tensors; its kernels ran %llu times\n", compiled,
              static_cast<unsigned long long>(calls));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return fail("usage: embed MODEL.gguf");
  const std::string_view missing = juno::integration::missing_instructions();
  if (!missing.empty()) return fail("this CPU has no " + std::string(missing));

  const auto errors_only = [](ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::fputs(text, stderr);
  };
  llama_log_set(errors_only, nullptr);
  const llama_model_ptr model(llama_model_load_from_file(argv[1], llama_model_default_params()));
  if (!model) return fail(std::string("cannot load ") + argv[1]);
  llama_context_params parameters = llama_context_default_params();
  parameters.n_ctx = 256;
  const llama_context_ptr context(llama_init_from_model(model.get(), parameters));
  if (!context) return fail("cannot make a context");
  const llama_sampler_ptr sampler(llama_sampler_init_greedy());

  const llama_vocab* vocabulary = llama_model_get_vocab(model.get());
  const std::string prompt = "What is";
  std::vector<llama_token> tokens(prompt.size() + 2);  // never more than its bytes, a begin and an end
  const int count = llama_tokenize(vocabulary, prompt.data(), static_cast<int>(prompt.size()), tokens.data(),
                                   static_cast<int>(tokens.size()), true, true);
  if (count <= 0) return fail("cannot tokenise the prompt");
  tokens.resize(static_cast<std::size_t>(count));

  std::printf("%s", prompt.c_str());
  for (int i = 0; i < kTokens; ++i) {
    if (llama_decode(context.get(), llama_batch_get_one(tokens.data(), static_cast<int>(tokens.size()))) != 0) {
      return fail("llama_decode failed");
    }
    const llama_token next = llama_sampler_sample(sampler.get(), context.get(), -1);
    if (llama_vocab_is_eog(vocabulary, next)) break;
    char piece[64];
    const int length = llama_token_to_piece(vocabulary, next, piece, sizeof piece, 0, false);
    if (length > 0) std::printf("%.*s", length, piece);
    tokens = {next};
  }
  std::printf("\n");
  print_receipts();
}
