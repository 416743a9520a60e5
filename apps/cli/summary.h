// SPDX-License-Identifier: Apache-2.0
//
// What `juno run` says after the text: speed, time, memory, and which kernels ran in which phase.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "juno/decision.h"
#include "juno/receipt.h"
#include "session.h"

namespace juno::cli {

struct RunReport {
  Generation generation;
  double load_seconds = 0;
  std::vector<receipt::TensorReceipt> after_prompt;  ///< receipts when the prompt had been read
  std::vector<receipt::TensorReceipt> at_end;
  Target target;
  std::optional<double> native_rate;  ///< tokens a second of llama.cpp's own code, with --compare; 0: none to time
};

/// A few lines for people.
std::string summary_text(const RunReport& report);

/// One JSON document (docs/json.md), with a final newline.
std::string summary_json(const RunReport& report);

}  // namespace juno::cli
