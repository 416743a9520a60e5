// SPDX-License-Identifier: Apache-2.0
#include "choice.h"

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
  return Done{};
}

}  // namespace juno::cli
