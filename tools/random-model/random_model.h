// SPDX-License-Identifier: Apache-2.0
//
// Writes GGUF models with random weights that llama.cpp loads and runs: for tests and measurements that need the shape
// and the weight formats of a real model, but not its knowledge.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "juno/status.h"

namespace juno::random_model {

/// What Options::architecture may be: "llama", "qwen3", "gemma3", the mixture of experts "qwen3moe", "phi3" with its
/// fused matrices and "gemma-embedding". Models of each can be made with all other options left alone.
std::vector<std::string_view> architecture_names();

/// The shape of the model. The file is a pure function of these values: the same options give the same bytes on every
/// machine.
struct Options {
  std::string architecture = "llama";
  uint32_t layers = 2;          ///< 1 to 512
  uint32_t embedding = 256;     ///< width of the hidden state
  uint32_t feed_forward = 512;  ///< width inside the feed-forward network
  uint32_t heads = 4;
  uint32_t kv_heads = 2;  ///< divides `heads`
  /// Width of a head, an even number. 0 shares `embedding` out among the heads, and must give an even number too.
  uint32_t head_dimension = 0;
  uint32_t experts = 0;              ///< 1 to 1024, or 0: 8. These three must be 0 without a mixture of experts.
  uint32_t experts_used = 0;         ///< of them for each token; 0: 2, or 1 if there is no second
  uint32_t expert_feed_forward = 0;  ///< `feed_forward` of each expert; 0: the same as `feed_forward`
  uint32_t context = 512;
  uint32_t vocabulary = 1003;        ///< number of tokens, at least 259
  std::string default_type = "F16";  ///< name of the type of every matrix that no entry of `types` matches
  /// (regular expression searched for in the tensor's name, type name); the first match decides. Norms and the
  /// routers of mixtures of experts are always F32.
  std::vector<std::pair<std::string, std::string>> types = {};
  uint64_t seed = 1;
  bool tied = false;  ///< no output.weight; the token embedding serves as output
};

/// Writes the model to `path`, replacing a file that is there. The data goes to a temporary file beside `path` first,
/// so that nothing is left behind or replaced on failure. Needs a few MB of memory beyond the vocabulary, whatever the
/// size of the model. Codes: invalid_argument (impossible options; Error.where names the option or the tensor),
/// unsupported (a type or architecture this tool cannot make), write_failed, out_of_memory.
Status write_random_model(const std::filesystem::path& path, const Options& options);

}  // namespace juno::random_model
