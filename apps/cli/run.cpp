// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <system_error>

#include "base/output_file.h"
#include "choice.h"
#include "commands.h"
#include "comparison.h"
#include "gguf/reader.h"
#include "juno/engine.h"
#include "juno/receipt.h"
#include "progress.h"
#include "session.h"
#include "signals.h"
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
  ChoiceOptions choice;
  std::size_t compare = 0;
  std::uint32_t context = 0;
  int threads = 2;
  bool raw = false;
  bool json = false;
  bool verbose = false;
  bool no_mmap = false;
};

/// More text than any context holds; a device such as /dev/zero never ends.
constexpr std::size_t kLongestPrompt = std::size_t{64} << 20;

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
  const auto failure = [&](ErrorCode code, const char* why) { return Error{code, "read the prompt", name, why}; };
  std::string text;
  std::array<char, 4096> part{};
  while (stream && text.size() <= kLongestPrompt) {
    stream.read(part.data(), part.size());
    text.append(part.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (stream.bad()) return failure(ErrorCode::unreadable, "it cannot be read");
  if (text.size() > kLongestPrompt) return failure(ErrorCode::invalid_argument, "it is longer than 64 MiB");
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();  // an editor's, not the writer's
  if (text.empty()) return failure(ErrorCode::invalid_argument, "it is empty; give --prompt or --file");
  return text;
}

Result<std::string> read_prompt_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{ErrorCode::unreadable, "read the prompt", path, "it is a directory"};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::unreadable, "read the prompt", path, std::generic_category().message(errno)};
  return read_stream(file, path);
}

/// From --prompt, a file, or standard input ("-" or nothing at all, unless that is a terminal).
Result<std::string> read_prompt(const Options& options) {
  if (!options.prompt_file.empty()) return read_prompt_file(options.prompt_file);
  if (!options.prompt.empty() && options.prompt != "-") return options.prompt;
  if (options.prompt.empty() && isatty(STDIN_FILENO) != 0) {
    return Error{ErrorCode::invalid_argument, "read the prompt", "command line",
                 "give --prompt, --file, or standard input"};
  }
  return read_stream(std::cin, "standard input");
}

/// Tokens a second of llama.cpp's own code; 0 if it was stopped, or its text had ended before there was anything to
/// time.
Result<double> native_rate(const SessionOptions& options, const std::string& prompt, GenerationOptions generation,
                           std::size_t count) {
  generation.count = count;
  integration::set_enabled(false);
  const auto session = Session::open(options);
  integration::set_enabled(true);
  if (!session && session.error().code == ErrorCode::interrupted) return 0.0;
  if (!session) return session.error();
  const auto result = (*session)->generate(prompt, generation, {}, {});
  if (!result) return result.error();
  return generation_rate(*result);
}

Status run_model(const Options& options) {
  if (!options.engine.empty()) integration::set_enabled(options.engine == "juno");
  if (options.compare != 0 && !integration::target().enabled) {
    return Error{ErrorCode::invalid_argument, "use --compare", "the engine", "it is native already"};
  }
  if (const Status applied = options.choice.apply(); !applied) return applied;
  // Our reader says exactly what is wrong with a bad file; llama.cpp's log would not.
  if (const auto header = gguf::read_header(options.model); !header) return header.error();
  const auto user = read_prompt(options);
  if (!user) return user.error();
  const StopOnSignal stop;  // a terminal's Ctrl-C while the prompt is typed ends the program at once
  explain_bus_errors(Error{ErrorCode::unreadable, "read model", options.model,
                           "the file shrank or its disk failed while it was in use"}
                         .message());
  std::error_code ignored;
  if (!options.logits.empty() && std::filesystem::equivalent(options.logits, options.model, ignored)) {
    return Error{ErrorCode::invalid_argument, "write logits", options.logits, "it is the model"};
  }
  LogitsFile logits(options.logits);
  if (const Status status = logits.open(); !status) return status;

  std::optional<LoadProgress> progress(std::in_place, stderr, isatty(STDERR_FILENO) != 0);
  SessionOptions session_options{
      .model = options.model,
      .threads = options.threads,
      .context = options.context,
      .memory_map = !options.no_mmap,
      .log_to_stderr = options.verbose,
      .stop = &StopOnSignal::requested(),
      .progress = [&](float fraction, double seconds) { progress->update(fraction, seconds); }};
  auto session = Session::open(session_options);
  progress.reset();
  session_options.progress = {};
  if (!session) return session.error();
  const bool chat = !options.raw && (*session)->has_chat_template();
  if (!chat && !options.system.empty()) {
    return Error{ErrorCode::invalid_argument, "use --system", options.model,
                 options.raw ? "--raw leaves no chat template to put it in" : "there is no chat template to put it in"};
  }
  const auto prompt = chat ? (*session)->chat_prompt(options.system, *user) : user;
  if (!prompt) return prompt.error();

  RunReport report{.generation = {},
                   .load_seconds = (*session)->load_seconds(),
                   .after_prompt = {},
                   .at_end = {},
                   .target = integration::target(),
                   .native_rate = {}};
  bool first = true;
  const auto on_logits = [&](std::span<const float> row) {
    if (std::exchange(first, false)) report.after_prompt = receipt::ledger().snapshot();
    return logits.write(row);
  };
  const auto on_text = [&](std::string_view piece) {
    if (options.json) return true;
    return std::fwrite(piece.data(), 1, piece.size(), stdout) == piece.size() && std::fflush(stdout) == 0;
  };
  auto result = (*session)->generate(*prompt, options.generation, on_text, on_logits);
  if (!result) return result.error();
  report.generation = std::move(result).value();
  if (const Status status = flush_output(); !status) return status;
  report.at_end = receipt::ledger().snapshot();
  // Stopped while reading the prompt there are no logits, and an older file is worth more than an empty one.
  const bool any = !report.generation.tokens.empty();
  if (const Status status = any ? logits.finish() : logits.status(); !status) return status;
  if (!options.json) {
    fmt::print("\n");
    if (const Status status = flush_output(); !status) return status;
  }
  if (options.compare != 0 && !StopOnSignal::requested()) {
    (*session).reset();  // two of them might not fit into memory
    const auto rate = native_rate(session_options, *prompt, options.generation, options.compare);
    if (!rate) return rate.error();
    if (!StopOnSignal::requested()) report.native_rate = *rate;
  }
  if (options.json) {
    fmt::print("{}", summary_json(report));
  } else {
    std::fputs(("\n" + summary_text(report)).c_str(), stderr);  // the answer is out: not worth failing for
  }
  return Done{};
}

}  // namespace

Command add_run(CLI::App& program) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand("run", "Answers a prompt with a model");
  command->add_option("MODEL", options->model, "GGUF file")->required()->type_name("GGUF");
  auto* prompt = command->add_option("-p,--prompt", options->prompt, "The prompt; - reads it from standard input");
  command->add_option("-f,--file", options->prompt_file, "Read the prompt from this file")
      ->type_name("FILE")
      ->excludes(prompt);
  command->add_option("--system", options->system, "System message of the chat");
  command->add_flag("--raw", options->raw, "Continue the prompt as it is, without the model's chat template");
  command->add_option("-n,--predict", options->generation.count, "Tokens to generate at most")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  command->add_option("-t,--threads", options->threads, "Threads")->check(CLI::Range(1, 512))->capture_default_str();
  command->add_option("-c,--ctx-size", options->context, "Tokens of context; 0: the model's, at most 4096")
      ->check(CLI::Range(std::uint32_t{0}, std::uint32_t{1} << 24))
      ->capture_default_str();
  const CLI::Validator number(
      [](std::string& text) { return std::isnan(std::strtof(text.c_str(), nullptr)) ? text + " is no number" : ""; },
      "");
  command->add_option("--temp", options->generation.temperature, "Temperature; 0: always the likeliest token")
      ->check(CLI::Range(0.0f, 100.0f))
      ->check(number)  // a range holds nan
      ->capture_default_str();
  command
      ->add_option("--top-p", options->generation.top_p,
                   "Choose among the likeliest tokens of this probability together")
      ->check(CLI::Range(0.0f, 1.0f))
      ->check(number)
      ->capture_default_str();
  command->add_option("-s,--seed", options->generation.seed, "Of the random choices, with --temp")
      ->capture_default_str();
  command->add_option("--engine", options->engine, "juno or native; default: JUNO_ENGINE, else juno")
      ->check(CLI::IsMember({"juno", "native"}));
  options->choice.add_to(*command);
  command
      ->add_option("--compare", options->compare,
                   "Then time so many tokens of the native engine, to say what compiling is worth")
      ->check(CLI::Range(std::size_t{2}, std::size_t{1} << 20))
      ->type_name("TOKENS");
  command->add_option("--logits", options->logits, "Write each step's raw float32 logits to this file")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command->add_flag("--no-mmap", options->no_mmap, "Read the file instead of mapping it");
  command->add_flag("-v,--verbose", options->verbose, "Show llama.cpp's log");
  return [options] { return run_model(*options); };
}

}  // namespace juno::cli
