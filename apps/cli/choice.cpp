// SPDX-License-Identifier: Apache-2.0
#include "choice.h"

#include "budget/limit.h"
#include "juno/engine.h"

namespace juno::cli {

void ChoiceOptions::add_to(CLI::App& command) {
  only_option_ = command
                     .add_option("--only", only_,
                                 "Compile only tensors whose name this extended regular expression finds; the others "
                                 "stay native")
                     ->type_name("REGEX");
  skip_option_ =
      command.add_option("--skip", skip_, "Compile no tensors whose name this extended regular expression finds")
          ->type_name("REGEX");
  memory_limit_option_ =
      command
          .add_option("--memory-limit", memory_limit_,
                      "Memory for compiled tensors, such as 500M or 4G: those that gain least stay native; default: "
                      "what is free, less a reserve")
          ->type_name("SIZE");
}

Status ChoiceOptions::apply() const {
  if (only_option_->count() != 0) {
    auto only = Pattern::compile(only_, "--only");
    if (!only) return only.error();
    integration::set_only(std::move(only).value());
  }
  if (skip_option_->count() != 0) {
    auto skip = Pattern::compile(skip_, "--skip");
    if (!skip) return skip.error();
    integration::set_skip(std::move(skip).value());
  }
  if (memory_limit_option_->count() != 0) {
    const auto limit = budget::parse_limit(memory_limit_, "--memory-limit");
    if (!limit) return limit.error();
    integration::set_memory_limit(*limit);
  }
  return Done{};
}

}  // namespace juno::cli
