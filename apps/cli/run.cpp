// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "base/output_file.h"
#include "commands.h"
#include "engine.h"
#include "gguf/reader.h"
#include "juno/receipt.h"
#include "session.h"
#include "summary.h"

namespace juno::cli {
namespace {

struct Options {
  std::string model;
  std::string prompt;
  std::string prompt_file;
  std::string system;
  std::string engine;
  std::string logits;
  GenerationOptions generation;
  std::uint32_t context = 0;
  int threads = 2;
  bool raw = false;
  bool json = false;
  bool verbose = false;
  bool no_mmap = false;
};

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");

/// The first Ctrl-C ends the generation; the next one does what it always does.
class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    interrupted = false;
    std::signal(SIGINT, [](int) {
      interrupted = true;
      std::signal(SIGINT, SIG_DFL);
    });
  }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt() { std::signal(SIGINT, SIG_DFL); }
};

/// Raw float32 of each step, in the machine's byte order; the file appears when all steps are in it.
class LogitsFile {
 public:
  explicit LogitsFile(const std::string& path) {
    if (!path.empty()) file_.emplace("write logits", path);
  }
  Status open() { return file_ ? file_->open() : Done{}; }
  /// False once something went wrong; finish() then says what.
  bool write(std::span<const float> logits) {
    if (file_ && status_) status_ = file_->write(std::as_bytes(logits));
    return status_.ok();
  }
  [[nodiscard]] const Status& status() const { return status_; }
  Status finish() {
    if (!file_ || !status_) return status_;
    return file_->finish();
  }

 private:
  std::optional<OutputFile> file_;
  Status status_ = Done{};
};

Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad() || !stream) return Error{ErrorCode::unreadable, "read the prompt", name, "it cannot be read"};
  return text;
}

/// From --prompt, a file, or standard input ("-" or nothing at all, unless that is a terminal).
Result<std::string> read_prompt(const Options& options) {
  std::string text;
  if (!options.prompt_file.empty()) {
    std::ifstream file(options.prompt_file, std::ios::binary);
    auto read = read_stream(file, options.prompt_file);
    if (!read) return read;
    text = std::move(read).value();
  } else if (!options.prompt.empty() && options.prompt != "-") {
    return options.prompt;
  } else if (options.prompt.empty() && isatty(STDIN_FILENO) != 0) {
    return Error{ErrorCode::invalid_argument, "read the prompt", "command line",
                 "give --prompt, --file, or standard input"};
  } else {
    auto read = read_stream(std::cin, "standard input");
    if (!read) return read;
    text = std::move(read).value();
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();  // an editor's, not the writer's
  if (text.empty()) {
    const std::string where = options.prompt_file.empty() ? "standard input" : options.prompt_file;
    return Error{ErrorCode::invalid_argument, "read the prompt", where, "it is empty; give --prompt or --file"};
  }
  return text;
}

Status run_model(const Options& options) {
  if (!options.engine.empty()) integration::set_enabled(options.engine == "juno");
  // Our reader says exactly what is wrong with a bad file; llama.cpp's log would not.
  if (const auto header = gguf::read_header(options.model); !header) return header.error();
  const auto user = read_prompt(options);
  if (!user) return user.error();
  LogitsFile logits(options.logits);
  if (const Status status = logits.open(); !status) return status;

  const auto session = Session::open({.model = options.model,
                                      .threads = options.threads,
                                      .context = options.context,
                                      .memory_map = !options.no_mmap,
                                      .log_to_stderr = options.verbose});
  if (!session) return session.error();
  const bool chat = !options.raw && (*session)->has_chat_template();
  if (!chat && !options.system.empty()) {
    return Error{ErrorCode::invalid_argument, "use --system", options.model, "there is no chat template to put it in"};
  }
  const auto prompt = chat ? (*session)->chat_prompt(options.system, *user) : user;
  if (!prompt) return prompt.error();

  RunReport report{.generation = {},
                   .load_seconds = (*session)->load_seconds(),
                   .after_prompt = {},
                   .at_end = {},
                   .target = integration::target()};
  bool first = true;
  const auto on_logits = [&](std::span<const float> row) {
    if (std::exchange(first, false)) report.after_prompt = receipt::ledger().snapshot();
    return logits.write(row);
  };
  const auto on_text = [&](std::string_view piece) {
    if (options.json) return true;
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() && std::fflush(stdout) == 0;
  };
  {
    const StopOnInterrupt stop;
    GenerationOptions generation = options.generation;
    generation.stop = &interrupted;
    auto result = (*session)->generate(*prompt, generation, on_text, on_logits);
    if (!result) return result.error();
    report.generation = std::move(result).value();
  }
  if (const Status status = flush_output(); !status) return status;
  report.at_end = receipt::ledger().snapshot();
  // Stopped while reading the prompt there are no logits, and an older file is worth more than an empty one.
  const bool any = !report.generation.tokens.empty();
  if (const Status status = any ? logits.finish() : logits.status(); !status) return status;
  if (options.json) {
    fmt::print("{}", summary_json(report));
  } else {
    fmt::print("\n");
    if (const Status status = flush_output(); !status) return status;
    std::fputs(("\n" + summary_text(report)).c_str(), stderr);  // the answer is out: not worth failing for
  }
  return Done{};
}

}  // namespace

Command add_run(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("run", "Answers a prompt with a model");
  command->add_option("FILE", options->model, "GGUF model")->required();
  auto* prompt = command->add_option("-p,--prompt", options->prompt, "The prompt; - reads it from standard input");
  command->add_option("-f,--file", options->prompt_file, "Read the prompt from this file")->excludes(prompt);
  command->add_option("--system", options->system, "System message of the chat");
  command->add_flag("--raw", options->raw, "Continue the prompt as it is, without the model's chat template");
  command->add_option("-n", options->generation.count, "Tokens to generate at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  command->add_option("-t,--threads", options->threads, "Threads")->check(CLI::Range(1, 512))->capture_default_str();
  command->add_option("-c,--context", options->context, "Tokens of context; 0: the model's, at most 4096")
      ->check(CLI::Range(std::uint32_t{0}, std::uint32_t{1} << 24))
      ->capture_default_str();
  command->add_option("--temp", options->generation.temperature, "Temperature; 0: always the likeliest token")
      ->check(CLI::Range(0.0f, 100.0f))
      ->capture_default_str();
  command
      ->add_option("--top-p", options->generation.top_p,
                   "Choose among the likeliest tokens of this probability together")
      ->check(CLI::Range(0.0f, 1.0f))
      ->capture_default_str();
  command->add_option("--seed", options->generation.seed, "Of the random choices, with --temp")->capture_default_str();
  command->add_option("--engine", options->engine, "juno or native; default: JUNO_ENGINE, else juno")
      ->check(CLI::IsMember({"juno", "native"}));
  command->add_option("--logits", options->logits, "Write each step's raw float32 logits to this file");
  command->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command->add_flag("--no-mmap", options->no_mmap, "Read the file instead of mapping it");
  command->add_flag("-v,--verbose", options->verbose, "Show llama.cpp's log");
  return [options] { return run_model(*options); };
}

}  // namespace juno::cli
