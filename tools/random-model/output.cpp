// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "plan.h"

namespace juno::random_model {

Output::Output(std::filesystem::path target) : target_(std::move(target)) {}

Output::~Output() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status Output::open() {
  // Found out now rather than by the rename at the end.
  std::error_code ignored;
  if (std::filesystem::is_directory(target_, ignored)) return failure("it is a directory");

  static std::atomic<unsigned> count = 0;
  std::filesystem::path temporary = target_;
  temporary += ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  descriptor_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) return system_failure();
  temporary_ = std::move(temporary);
  return Done{};
}

Status Output::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return Done{};
}

Status Output::finish() {
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_failure();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return system_failure();
  temporary_.clear();
  return Done{};
}

Error Output::failure(std::string why) const {
  return {ErrorCode::write_failed, kWhat, target_.string(), std::move(why)};
}

Error Output::system_failure() const { return failure(std::generic_category().message(errno)); }

}  // namespace juno::random_model
