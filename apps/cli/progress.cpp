// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <fmt/format.h>

namespace juno::cli {
namespace {

constexpr double kSecondsBetweenUpdates = 0.2;
constexpr double kSecondsBetweenLines = 5;
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

LoadProgress::~LoadProgress() {
  if (!live_ || !written_) return;
  std::fputs(kClearLine, out_);
  std::fflush(out_);
}

void LoadProgress::update(float fraction, double seconds) {
  if (seconds < next_) return;
  next_ = seconds + (live_ ? kSecondsBetweenUpdates : kSecondsBetweenLines);
  written_ = true;
  const std::string text = fmt::format("loading and compiling: {:.0f} %", static_cast<double>(fraction) * 100);
  fmt::print(out_, "{}{}{}", live_ ? kClearLine : "", text, live_ ? "" : "\n");
  std::fflush(out_);
}

}  // namespace juno::cli
