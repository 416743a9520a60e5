// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "juno/status.h"

namespace juno {

/// A file that appears under its name only once it is complete: until finish() succeeds its bytes are in a file without
/// a name, or, where there is no such thing, in a temporary one in the same folder, which the destructor removes. A
/// link is followed, and the mode of a file that was there is kept. Pipes, devices, and what this process has as
/// standard output or error are written directly. Every error is write_failed.
class OutputFile {
 public:
  /// `what` says in errors what is being written, such as "write receipts".
  OutputFile(std::string what, std::filesystem::path target);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Creates the temporary file.
  Status open();
  /// Appends all of `bytes`.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }
  /// Closes the file and gives it its name.
  Status finish();

 private:
  /// Chooses names until `create` makes a file of that name, or fails for another reason than that there is one.
  template <class Create>
  Status with_temporary_name(const Create& create);
  [[nodiscard]] Error failure(std::string why) const;
  [[nodiscard]] Error system_failure() const;

  std::string what_;
  std::filesystem::path target_;
  std::filesystem::path temporary_;  ///< empty while there is none
  int descriptor_ = -1;
  bool nameless_ = false;  ///< the file has no name yet
};

}  // namespace juno
