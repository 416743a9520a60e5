// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

namespace juno {
namespace {

namespace fs = std::filesystem;

/// A copy of standard output's or standard error's descriptor if `path` is the same file; -1 if not.
int standard_stream(const fs::path& path) {
  struct stat named{};
  if (::stat(path.c_str(), &named) != 0) return -1;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat open{};
    if (::fstat(stream, &open) == 0 && open.st_dev == named.st_dev && open.st_ino == named.st_ino) {
      return ::fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    }
  }
  return -1;
}

/// What the links at the end of `path` lead to, whether it exists or not.
fs::path without_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as Linux has it; one more will be an error when the file is opened
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

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
  // Opened by name once more (/dev/stdout), a standard stream that is a file would be written from its beginning.
  descriptor_ = standard_stream(target_);
  if (descriptor_ >= 0) return Done{};
  target_ = without_links(target_);  // a rename would replace the link
  std::error_code ignored;
  const fs::file_status status = fs::status(target_, ignored);
  // Found out now rather than by the rename at the end.
  if (status.type() == fs::file_type::directory) return failure("it is a directory");
  if (status.type() != fs::file_type::not_found && status.type() != fs::file_type::regular) {
    // A pipe or a device. Not waiting for a reader: a pipe without one is an error.
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) return system_failure();
    ::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
    return Done{};
  }
  descriptor_ = open_nameless(target_.parent_path());
  nameless_ = descriptor_ >= 0;
  if (!nameless_) {
    const Status named = with_temporary_name([&] {
      descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      return descriptor_ >= 0;
    });
    if (!named) return named;
  }
  if (status.type() == fs::file_type::regular) {  // who may read the old file, may read the new one, and nobody else
    const auto mode = static_cast<mode_t>(status.permissions()) & 0777;
    if (::fchmod(descriptor_, mode) != 0) return system_failure();
  }
  return Done{};
}

template <class Create>
Status OutputFile::with_temporary_name(const Create& create) {
  static std::atomic<unsigned> count = 0;
  bool created = false;
  do {  // a process of the same number may have been killed here once
    // Not from the target's name, which may be as long as names can be.
    temporary_ =
        target_.parent_path() / (".juno-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".partial");
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
