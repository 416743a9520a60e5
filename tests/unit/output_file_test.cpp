// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include "support/temporary_folder.h"

namespace juno::test {
namespace {

namespace fs = std::filesystem;

class OutputFiles : public testing::Test {
 protected:
  static Status write(const fs::path& path, std::string_view text) {
    OutputFile file("write a test", path);
    if (const Status opened = file.open(); !opened) return opened;
    if (const Status written = file.write(text); !written) return written;
    return file.finish();
  }
  static std::string read(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  TemporaryFolder temporary_;
  fs::path folder_ = temporary_.path();
};

TEST_F(OutputFiles, AppearWhenTheyAreComplete) {
  const fs::path path = folder_ / "a";
  ASSERT_TRUE(write(path, "old").ok());
  {
    OutputFile file("write a test", path);
    ASSERT_TRUE(file.open().ok());
    ASSERT_TRUE(file.write("new").ok());
    EXPECT_EQ(read(path), "old");
  }
  EXPECT_EQ(read(path), "old") << "never finished";
  EXPECT_EQ(entries(), 1u) << "nothing is left over";
  ASSERT_TRUE(write(path, "new").ok());
  EXPECT_EQ(read(path), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputFiles, ALeftOverOfAKilledProcessIsNoObstacle) {
  const fs::path path = folder_ / "a";
  // Names that this process would choose next.
  for (int i = 0; i < 100; ++i) {
    std::ofstream(folder_ / (".juno-" + std::to_string(getpid()) + "-" + std::to_string(i) + ".partial"));
  }
  ASSERT_TRUE(write(path, "new").ok());
  EXPECT_EQ(read(path), "new");
}

TEST_F(OutputFiles, ALinkIsFollowedAndNotReplaced) {
  const fs::path target = folder_ / "target";
  const fs::path link = folder_ / "link";
  ASSERT_TRUE(write(target, "something longer").ok());
  fs::create_symlink(target, link);
  ASSERT_TRUE(write(link, "short").ok());
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read(target), "short");
}

TEST_F(OutputFiles, APipeWithoutAReaderIsAnError) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(write(pipe, "text").ok());
}

TEST_F(OutputFiles, FoldersAreErrors) {
  const Status status = write(folder_, "text");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::write_failed);
  EXPECT_FALSE(write(folder_ / "missing" / "a", "text").ok());
}

TEST_F(OutputFiles, KeepWhatALinkLeadsToUntilTheyAreComplete) {
  ASSERT_TRUE(write(folder_ / "a", "old").ok());
  fs::create_symlink("a", folder_ / "link");
  {
    OutputFile file("write a test", folder_ / "link");
    ASSERT_TRUE(file.open().ok());
    ASSERT_TRUE(file.write("new").ok());
  }
  EXPECT_EQ(read(folder_ / "a"), "old");
  ASSERT_TRUE(write(folder_ / "link", "new").ok());
  EXPECT_EQ(read(folder_ / "a"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  fs::create_symlink("later", folder_ / "dangling");
  ASSERT_TRUE(write(folder_ / "dangling", "new").ok());
  EXPECT_EQ(read(folder_ / "later"), "new");
}

TEST_F(OutputFiles, KeepTheModeAndTakeTheLongestNames) {
  const fs::path path = folder_ / std::string(255, 'n');
  ASSERT_TRUE(write(path, "old").ok());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(write(path, "new").ok());
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

#if defined(__linux__)
TEST_F(OutputFiles, NothingIsLeftOfAProcessThatWasKilled) {
  const fs::path path = folder_ / "killed";
  const pid_t child = fork();
  if (child == 0) {
    OutputFile file("write", path);
    if (file.open() && file.write("half")) raise(SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(entries(), 0u);
}
#endif

}  // namespace
}  // namespace juno::test
