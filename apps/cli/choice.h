// SPDX-License-Identifier: Apache-2.0
//
// The options that say which tensors Juno may take.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "juno/status.h"

namespace juno::cli {

/// --only, --skip and --memory-limit. Must stay where it is between add_to() and the end of parsing.
class ChoiceOptions {
 public:
  void add_to(CLI::App& command);
  /// Lets the options that were given override their variables in the environment; an error names the option.
  [[nodiscard]] Status apply() const;

 private:
  std::string only_;
  std::string skip_;
  std::string memory_limit_;
  const CLI::Option* only_option_ = nullptr;
  const CLI::Option* skip_option_ = nullptr;
  const CLI::Option* memory_limit_option_ = nullptr;
};

}  // namespace juno::cli
