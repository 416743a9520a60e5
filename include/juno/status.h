// SPDX-License-Identifier: Apache-2.0
//
// How Juno reports what went wrong: a value that names what failed, where, and why. The library never throws for bad
// input, never prints and never ends the process; programs turn an Error into one line and an exit status.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace juno {

enum class ErrorCode {
  not_found,         ///< the named thing does not exist
  unreadable,        ///< it exists but cannot be opened or read
  truncated,         ///< it ends before its own header says it should
  malformed,         ///< its bytes contradict the format
  unsupported,       ///< well-formed, but not something this build can work with
  invalid_argument,  ///< the caller broke a documented precondition
  out_of_memory,     ///< an allocation failed
  write_failed,      ///< output could not be written completely
  interrupted,       ///< the user asked for an end
};

/// A stable lower-case name such as "truncated", for JSON and tests.
std::string_view to_string(ErrorCode code) noexcept;

/// One failure: `what` was attempted, `where` (file, tensor, byte offset), and `why` it failed.
struct Error {
  ErrorCode code;
  std::string what;
  std::string where;
  std::string why;

  /// "what: where: why", one line; control characters, which file names and messages may hold, as \xNN.
  [[nodiscard]] std::string message() const;
};

/// Either a T or an Error. Asking for the side that is not there is a programming error (undefined behaviour).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& value() & noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && noexcept { return std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] const Error& error() const noexcept { return *std::get_if<1>(&state_); }

  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  T& operator*() noexcept { return value(); }
  const T& operator*() const noexcept { return value(); }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace juno
