// SPDX-License-Identifier: Apache-2.0
//
// Choosing tensors by their names, with POSIX extended regular expressions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "juno/status.h"

namespace juno {

/// A compiled expression, and the switch that it came from. Copies share what was compiled. Thread-safe.
class Pattern {
 public:
  /// Finds nothing; see empty().
  Pattern() = default;

  /// Compiles `text` (at most 1000 characters), which `source` ("--only", say) gave. An expression that is empty, that
  /// the system does not understand, or whose repetitions would take much memory is an error that names `source`.
  static Result<Pattern> compile(std::string_view text, std::string_view source);

  /// True if there is no expression.
  [[nodiscard]] bool empty() const noexcept { return compiled_ == nullptr; }
  /// True if the expression matches anywhere in `name`, as far as its first zero byte: ggml's names end there.
  [[nodiscard]] bool finds(std::string_view name) const;
  /// What compile() was told.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
  std::string source_;
};

}  // namespace juno
