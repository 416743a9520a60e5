// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "commands.h"
#include "engine.h"
#include "gguf/reader.h"
#include "juno/receipt.h"
#include "session.h"

namespace juno::cli {
namespace {

struct Options {
  std::string file;
  std::string prompt;
  std::string engine;
  std::string logits;
  unsigned count = 64;
  int threads = 2;
  bool json = false;
  bool verbose = false;
  bool no_mmap = false;
};

double rate(double count, double seconds) { return seconds > 0 ? count / seconds : 0.0; }

/// Calls of each kernel over all tensors.
std::map<std::string, std::uint64_t> kernel_calls(const std::vector<receipt::TensorReceipt>& receipts) {
  std::map<std::string, std::uint64_t> calls;
  for (const auto& receipt : receipts) {
    for (const auto& count : receipt.kernels) calls[count.kernel] += count.total_calls();
  }
  return calls;
}

void print_summary(const Generation& generation, double load_seconds) {
  const auto receipts = receipt::ledger().snapshot();
  const auto generated = static_cast<double>(generation.tokens.size());
  fmt::print(stderr, "\nload {:.2f} s; prompt {} tokens, {:.1f} tokens/s; generation {} tokens, {:.1f} tokens/s\n",
             load_seconds, generation.prompt_tokens,
             rate(static_cast<double>(generation.prompt_tokens), generation.prompt_seconds), generation.tokens.size(),
             rate(generated - 1, generation.generation_seconds));
  std::map<std::string, unsigned> native;
  unsigned compiled = 0;
  for (const auto& receipt : receipts) {
    if (receipt.reason == Reason::compiled) {
      ++compiled;
    } else {
      ++native[fmt::format("{}: {}", to_string(receipt.reason), receipt.detail)];
    }
  }
  fmt::print(stderr, "Juno compiled {} of {} tensors\n", compiled, receipts.size());
  for (const auto& [reason, count] : native) fmt::print(stderr, "  {} native, {}\n", count, reason);
  for (const auto& [kernel, calls] : kernel_calls(receipts)) fmt::print(stderr, "  {} calls of {}\n", calls, kernel);
}

void print_json(const Generation& generation, double load_seconds) {
  using Json = nlohmann::ordered_json;
  const Target target = integration::target();
  const Json document = {
      {"text", generation.text},
      {"tokens", generation.tokens},
      {"prompt_tokens", generation.prompt_tokens},
      {"load_seconds", load_seconds},
      {"prompt_tokens_per_second", rate(static_cast<double>(generation.prompt_tokens), generation.prompt_seconds)},
      {"generation_tokens_per_second",
       rate(static_cast<double>(generation.tokens.size()) - 1, generation.generation_seconds)},
      {"receipts", Json::parse(receipt::to_json(receipt::ledger().snapshot(), target))}};
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// Raw float32 of each step, in the machine's byte order.
class LogitsFile {
 public:
  explicit LogitsFile(std::string path) : path_(std::move(path)) {
    if (!path_.empty()) file_.open(path_, std::ios::binary | std::ios::trunc);
  }
  [[nodiscard]] Status status() const {
    if (!path_.empty() && !file_) return Error{ErrorCode::write_failed, "write logits", path_, "cannot be written"};
    return Done{};
  }
  bool write(std::span<const float> logits) {
    if (path_.empty()) return true;
    file_.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(logits.size_bytes()));
    return static_cast<bool>(file_);
  }
  Status close() {
    if (!path_.empty()) file_.flush();
    return status();
  }

 private:
  std::string path_;
  std::ofstream file_;
};

Status run_model(const Options& options) {
  if (const auto error = integration::switch_error()) return *error;
  if (!options.engine.empty()) integration::set_enabled(options.engine == "juno");
  // Our reader says exactly what is wrong with a bad file; llama.cpp's log would not.
  if (const auto header = gguf::read_header(options.file); !header) return header.error();
  LogitsFile logits(options.logits);
  if (const Status status = logits.status(); !status) return status;

  const auto session = Session::open({.model = options.file,
                                      .threads = options.threads,
                                      .context = 0,
                                      .memory_map = !options.no_mmap,
                                      .log_to_stderr = options.verbose});
  if (!session) return session.error();
  const auto print_piece = [&](std::string_view piece) {
    if (options.json) return true;
    fmt::print("{}", piece);
    return std::fflush(stdout) == 0;
  };
  const auto generation = (*session)->generate(options.prompt, options.count, print_piece,
                                               [&](std::span<const float> row) { return logits.write(row); });
  if (!generation) return generation.error();
  if (const Status status = logits.close(); !status) return status;
  if (options.json) {
    print_json(*generation, (*session)->load_seconds());
  } else {
    fmt::print("\n");
    if (const Status status = flush_output(); !status) return status;
    print_summary(*generation, (*session)->load_seconds());
  }
  return Done{};
}

}  // namespace

Command add_run(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("run", "Continues a prompt with a model, greedily");
  command->add_option("FILE", options->file, "GGUF model")->required();
  command->add_option("--prompt", options->prompt, "Text to continue")->required();
  command->add_option("-n", options->count, "Tokens to generate")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  command->add_option("-t,--threads", options->threads, "Threads")->check(CLI::Range(1, 512))->capture_default_str();
  command->add_option("--engine", options->engine, "juno or native; default: JUNO_ENGINE, else juno")
      ->check(CLI::IsMember({"juno", "native"}));
  command->add_option("--logits", options->logits, "Write each step's raw float32 logits to this file");
  command->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command->add_flag("--no-mmap", options->no_mmap, "Read the file instead of mapping it");
  command->add_flag("-v,--verbose", options->verbose, "Show llama.cpp's log");
  return [options] { return run_model(*options); };
}

}  // namespace juno::cli
