// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace juno {
namespace {

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// A file in `folder` that has no name yet, so that nothing is left of it however the process ends; -1 where the system
/// or the file system has none, or could not name it later.
int open_nameless([[maybe_unused]] const std::filesystem::path& folder) {
#ifdef O_TMPFILE
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor < 0 || ::access(path_of(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);
#endif
  return -1;
}

}  // namespace

OutputFile::OutputFile(std::string what, std::filesystem::path target)
    : what_(std::move(what)), target_(std::move(target)) {}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status OutputFile::open() {
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(target_, ignored).type();
  // Found out now rather than by the rename at the end.
  if (type == std::filesystem::file_type::directory) return failure("it is a directory");
  const bool replaceable = type == std::filesystem::file_type::not_found || type == std::filesystem::file_type::regular;
  if (!replaceable || std::filesystem::is_symlink(target_, ignored)) {
    // A pipe, a device, or a link such as /dev/stdout, which a rename would replace instead of following. Not waiting
    // for a reader: a pipe without one is an error.
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) return system_failure();
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
    return Done{};
  }
  descriptor_ = open_nameless(target_.parent_path());
  nameless_ = descriptor_ >= 0;
  if (nameless_) return Done{};
  return with_temporary_name([&] {
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return descriptor_ >= 0;
  });
}

template <class Create>
Status OutputFile::with_temporary_name(const Create& create) {
  static std::atomic<unsigned> count = 0;
  bool created = false;
  do {  // a process of the same number may have been killed here once
    temporary_ = target_;
    temporary_ += ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    created = create();
  } while (!created && errno == EEXIST);
  if (created) return Done{};
  const Error error = system_failure();
  temporary_.clear();
  return error;
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return Done{};
}

Status OutputFile::finish() {
  if (std::exchange(nameless_, false)) {
    const std::string file = path_of(descriptor_);
    const Status named = with_temporary_name(
        [&] { return ::linkat(AT_FDCWD, file.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) == 0; });
    if (!named) return named;
  }
  // Some file systems report a full disk only here.
  if (::close(std::exchange(descriptor_, -1)) != 0) return system_failure();
  if (temporary_.empty()) return Done{};
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) return system_failure();
  temporary_.clear();
  return Done{};
}

Error OutputFile::failure(std::string why) const {
  return {ErrorCode::write_failed, what_, target_.string(), std::move(why)};
}

Error OutputFile::system_failure() const { return failure(std::generic_category().message(errno)); }

}  // namespace juno
