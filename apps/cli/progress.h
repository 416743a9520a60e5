// SPDX-License-Identifier: Apache-2.0
//
// How far a long load has come, for people who wait: a line that is rewritten on a terminal, a few plain ones
// elsewhere.
#pragma once

#include <cstdio>
#include <string>

namespace juno::cli {

class LoadProgress {
 public:
  /// Writes to `out`; `live` if that is a terminal. Nothing is written before the load has taken a second.
  LoadProgress(std::FILE* out, bool live) : out_(out), live_(live) {}
  LoadProgress(const LoadProgress&) = delete;
  LoadProgress& operator=(const LoadProgress&) = delete;
  /// Clears the line on a terminal.
  ~LoadProgress();

  /// `fraction` (0 to 1) of the model's bytes are there after `seconds`.
  void update(float fraction, double seconds);

 private:
  std::FILE* out_;
  bool live_;
  double next_ = 1;  ///< seconds after which the next line is due
  bool written_ = false;
};

}  // namespace juno::cli
