// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "juno/status.h"

namespace juno::random_model {

/// A file that appears under its name only once it is complete: until finish() succeeds its bytes are in a temporary
/// file in the same folder, which the destructor removes. Every error is write_failed.
class Output {
 public:
  explicit Output(std::filesystem::path target);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Creates the temporary file.
  Status open();

  /// Appends all of `bytes`.
  Status write(std::span<const std::byte> bytes);

  /// Closes the file and gives it its name.
  Status finish();

 private:
  [[nodiscard]] Error failure(std::string why) const;
  [[nodiscard]] Error system_failure() const;

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

}  // namespace juno::random_model
