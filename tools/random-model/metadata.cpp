// SPDX-License-Identifier: Apache-2.0
#include <ggml.h>
#include <gguf.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "plan.h"

namespace juno::random_model {
namespace {

// Token types of llama.cpp (enum llama_token_type in include/llama.h).
enum class TokenType : int32_t { normal = 1, unknown = 2, control = 3, byte = 6 };

struct Vocabulary {
  std::vector<std::string> texts;
  std::vector<float> scores;
  std::vector<int32_t> types;

  void add(std::string text, float score, TokenType type) {
    texts.push_back(std::move(text));
    scores.push_back(score);
    types.push_back(static_cast<int32_t>(type));
  }
};

// The word with this number: all strings of these letters, shortest first. So the halves of a word are words too, and
// the tokeniser, which joins neighbours step by step, can reach every one of them.
std::string word(uint32_t number) {
  // The first letter is U+2581, SentencePiece's sign for a space; the others are in the order of their use in English.
  constexpr std::string_view kLetters[] = {"\u2581", "e", "t", "a", "o", "i", "n", "s", "h", "r", "d", "l", "c", "u",
                                           "m",      "w", "f", "g", "y", "p", "b", "v", "k", "j", "x", "q", "z"};
  constexpr uint32_t kBase = std::size(kLetters);
  std::string text;
  for (uint32_t rest = number + 1; rest > 0; rest = (rest - 1) / kBase) {
    text.insert(0, kLetters[(rest - 1) % kBase]);
  }
  return text;
}

Vocabulary make_vocabulary(uint32_t size) {
  constexpr char kHex[] = "0123456789ABCDEF";
  Vocabulary vocabulary;
  vocabulary.add("<unk>", 0, TokenType::unknown);
  vocabulary.add("<s>", 0, TokenType::control);
  vocabulary.add("</s>", 0, TokenType::control);
  for (unsigned byte = 0; byte < 256; ++byte) {
    vocabulary.add(std::string("<0x") + kHex[byte >> 4] + kHex[byte & 15] + ">", 0, TokenType::byte);
  }
  // Earlier words have the higher score and are preferred.
  for (uint32_t i = 0; i < size - kSmallestVocabulary; ++i)
    vocabulary.add(word(i), -static_cast<float>(i), TokenType::normal);
  return vocabulary;
}

void set_vocabulary(gguf_context* gguf, const Vocabulary& vocabulary) {
  std::vector<const char*> texts;
  texts.reserve(vocabulary.texts.size());
  for (const std::string& text : vocabulary.texts) texts.push_back(text.c_str());
  gguf_set_val_str(gguf, "tokenizer.ggml.model", "llama");
  gguf_set_arr_str(gguf, "tokenizer.ggml.tokens", texts.data(), texts.size());
  gguf_set_arr_data(gguf, "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, vocabulary.scores.data(), texts.size());
  gguf_set_arr_data(gguf, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, vocabulary.types.data(), texts.size());
  gguf_set_val_u32(gguf, "tokenizer.ggml.unknown_token_id", 0);
  gguf_set_val_u32(gguf, "tokenizer.ggml.bos_token_id", 1);
  gguf_set_val_u32(gguf, "tokenizer.ggml.eos_token_id", 2);
  gguf_set_val_bool(gguf, "tokenizer.ggml.add_bos_token", true);
  gguf_set_val_bool(gguf, "tokenizer.ggml.add_eos_token", false);
}

void set_shape(gguf_context* gguf, const Plan& plan) {
  const std::string architecture(plan.architecture->name);
  gguf_set_val_str(gguf, "general.architecture", architecture.c_str());
  gguf_set_val_str(gguf, "general.name", "random weights");
  gguf_set_val_u32(gguf, "general.quantization_version", GGML_QNT_VERSION);
  for (const std::span<const Key> keys : {common_keys(), plan.architecture->keys}) {
    for (const Key& key : keys) {
      const std::string name = architecture + "." + std::string(key.name);
      if (const auto* number = std::get_if<float>(&key.value)) {
        gguf_set_val_f32(gguf, name.c_str(), *number);
      } else if (const auto* count = std::get_if<uint32_t>(&key.value)) {
        gguf_set_val_u32(gguf, name.c_str(), *count);
      } else if (const uint64_t size = plan.shape[std::get<Size>(key.value)]; size != 0) {
        gguf_set_val_u32(gguf, name.c_str(), static_cast<uint32_t>(size));
      }
    }
  }
}

}  // namespace

Result<Metadata> make_metadata(const Plan& plan) {
  const std::unique_ptr<gguf_context, decltype(&gguf_free)> gguf(gguf_init_empty(), gguf_free);
  const std::unique_ptr<ggml_context, decltype(&ggml_free)> context(
      ggml_init({.mem_size = ggml_tensor_overhead() * plan.tensors.size(), .mem_buffer = nullptr, .no_alloc = true}),
      ggml_free);
  if (gguf == nullptr || context == nullptr) {
    return Error{ErrorCode::out_of_memory, kWhat, "metadata", "not enough memory for the header"};
  }
  set_shape(gguf.get(), plan);
  set_vocabulary(gguf.get(), make_vocabulary(static_cast<uint32_t>(plan.shape[Size::vocabulary])));
  for (const PlannedTensor& planned : plan.tensors) {
    const int dimensions = 1 + static_cast<int>(planned.rows != 0) + static_cast<int>(planned.matrices != 0);
    const std::array<int64_t, 3> shape = {static_cast<int64_t>(planned.width), static_cast<int64_t>(planned.rows),
                                          static_cast<int64_t>(planned.matrices)};
    ggml_tensor* const tensor =
        ggml_new_tensor(context.get(), static_cast<ggml_type>(planned.type), dimensions, shape.data());
    ggml_set_name(tensor, planned.name.c_str());
    gguf_add_tensor(gguf.get(), tensor);
  }
  Metadata metadata;
  metadata.bytes.resize(gguf_get_meta_size(gguf.get()));
  gguf_get_meta_data(gguf.get(), metadata.bytes.data());
  for (int64_t i = 0; i < gguf_get_n_tensors(gguf.get()); ++i) {
    metadata.offsets.push_back(gguf_get_tensor_offset(gguf.get(), i));
  }
  return metadata;
}

}  // namespace juno::random_model
