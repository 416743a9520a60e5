// SPDX-License-Identifier: Apache-2.0
//
// What is free, read from made-up proc and sys folders.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <limits>

#include "budget/available.h"
#include "support/temporary_folder.h"

namespace juno::budget {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

#if defined(__linux__)

class AvailableMemory : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path, std::ios::binary) << text;
  }
  void meminfo(const std::string& available) const {
    write("proc/meminfo",
          "MemTotal:       16000000 kB\nMemFree:          100 kB\nMemAvailable:" + available + "\nBuffers: 5 kB\n");
  }
  [[nodiscard]] std::optional<std::uint64_t> available(const ProcessLimits& limits = {}) const {
    return available_memory(root_, limits);
  }

  test::TemporaryFolder temporary_;
  fs::path root_ = temporary_.path();
};

TEST_F(AvailableMemory, NothingIsKnownWithoutAnyFile) {
  EXPECT_EQ(available(), std::nullopt);
  write("proc/self/cgroup", "0::/\n");
  EXPECT_EQ(available(), std::nullopt);
}

TEST_F(AvailableMemory, IsWhatTheMachineHas) {
  meminfo("    8192 kB");
  EXPECT_EQ(available(), 8 * kMiB);
  meminfo("0 kB");
  EXPECT_EQ(available(), 0u);
}

TEST_F(AvailableMemory, HostileMemoryInformation) {
  for (const std::string& text : {std::string(), std::string("\0\xff\0\n\n", 5), std::string("MemAvailable:"),
                                  std::string("MemAvailable: max kB\n"), std::string("MemAvailable: -5 kB\n"),
                                  std::string("MemAvailable: 12abc\n"), std::string("XMemAvailable: 5 kB\n"),
                                  std::string(300'000, 'M'), std::string(300'000, '\n')}) {
    write("proc/meminfo", text);
    EXPECT_EQ(available(), std::nullopt) << text.substr(0, 40);
  }
  meminfo(" 18446744073709551615 kB");
  EXPECT_EQ(available(), kMost);
  meminfo(" 99999999999999999999999 kB");
  EXPECT_EQ(available(), kMost);
  fs::remove(root_ / "proc/meminfo");
  fs::create_directories(root_ / "proc/meminfo");
  EXPECT_EQ(available(), std::nullopt) << "a folder";
}

TEST_F(AvailableMemory, EveryGroupUpTheHierarchyCounts) {
  meminfo(" 1000000 kB");
  write("proc/self/cgroup", "0::/user.slice/app.scope\n");
  const std::string group = "sys/fs/cgroup/user.slice/app.scope/";
  write(group + "memory.max", "max\n");
  write(group + "memory.high", "max\n");
  write(group + "memory.current", "1048576\n");
  EXPECT_EQ(available(), 1'000'000u * 1024) << "no limit";
  write(group + "memory.max", "104857600\n");
  EXPECT_EQ(available(), 99 * kMiB);
  write(group + "memory.high", "52428800\n");
  EXPECT_EQ(available(), 49 * kMiB);
  write("sys/fs/cgroup/user.slice/memory.max", "20971520\n");
  write("sys/fs/cgroup/user.slice/memory.current", "10485760\n");
  EXPECT_EQ(available(), 10 * kMiB) << "a parent's";
  write("sys/fs/cgroup/memory.max", "10485760\n");
  write("sys/fs/cgroup/memory.current", "7340032\n");
  EXPECT_EQ(available(), 3 * kMiB) << "the root's, as a container sees it";
  write("sys/fs/cgroup/memory.current", "99999999999\n");
  EXPECT_EQ(available(), 0u) << "more than the limit";
}

TEST_F(AvailableMemory, FileCacheOfAGroupCountsAsFree) {
  meminfo(" 1000000 kB");
  write("proc/self/cgroup", "0::/a\n");
  write("sys/fs/cgroup/a/memory.max", "10485760");
  write("sys/fs/cgroup/a/memory.current", "10485760");
  EXPECT_EQ(available(), 0u);
  write("sys/fs/cgroup/a/memory.stat", "anon 5\nfile 9\ninactive_file 1048576\nactive_file 2097152\n");
  EXPECT_EQ(available(), 3 * kMiB);
  write("sys/fs/cgroup/a/memory.stat", "inactive_file 18446744073709551615\nactive_file 5\n");
  EXPECT_EQ(available(), 10 * kMiB) << "no more than the limit";
}

TEST_F(AvailableMemory, VersionOneOfControlGroups) {
  meminfo(" 1000000 kB");
  write("proc/self/cgroup", "12:pids:/x\n5:cpu,memory:/docker/abc\n1:name=systemd:/x\n0::/\n");
  const std::string group = "sys/fs/cgroup/memory/docker/abc/";
  write(group + "memory.limit_in_bytes", "9223372036854771712\n");
  write(group + "memory.usage_in_bytes", "1048576\n");
  EXPECT_EQ(available(), 1'000'000u * 1024);
  write(group + "memory.limit_in_bytes", "10485760\n");
  EXPECT_EQ(available(), 9 * kMiB);
  write(group + "memory.stat", "inactive_file 1\ntotal_inactive_file 524288\ntotal_active_file 524288\n");
  EXPECT_EQ(available(), 10 * kMiB);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
  EXPECT_EQ(available(), 4 * kMiB) << "a container that does not see the path from outside";
}

TEST_F(AvailableMemory, HostileControlGroups) {
  meminfo(" 1024 kB");
  // A folder that is no group of this process's; its files must not be looked at.
  write("outside/memory.max", "1");
  write("outside/memory.current", "0");
  std::string deep;
  for (int i = 0; i < 20'000; ++i) deep += "/a";
  for (const std::string& groups :
       {std::string(), std::string("\n\n::::\n:\n0:\n0::"), std::string("0::/../../../outside\n"), "0::" + deep + "\n",
        std::string("0::/\0\xff/x\n", 10), "0::/" + std::string(50'000, 'x'), std::string("memory"),
        std::string("0:memory"), std::string(":memory:../../../outside\n"), std::string("0::outside\n")}) {
    write("proc/self/cgroup", groups);
    EXPECT_EQ(available(), kMiB) << groups.substr(0, 40);
  }
  write("proc/self/cgroup", "0::/g\n");
  write("sys/fs/cgroup/g/memory.current", "0");
  for (const std::string& limit : {std::string(), std::string("max"), std::string("\0\0\0", 3), std::string("-1"),
                                   std::string("99999999999999999999999999"), std::string("0x10"),
                                   std::string("12monkeys"), std::string(100'000, '\xee')}) {
    write("sys/fs/cgroup/g/memory.max", limit);
    EXPECT_EQ(available(), kMiB) << limit.substr(0, 40);
  }
  write("sys/fs/cgroup/g/memory.max", "5");
  EXPECT_EQ(available(), 5u) << "an honest one in the same place";
  write("sys/fs/cgroup/g/memory.current", "?");
  EXPECT_EQ(available(), kMiB) << "without usage nobody knows what is left";
}

TEST_F(AvailableMemory, LimitsOfTheProcess) {
  meminfo(" 1000000 kB");
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  write("proc/self/statm", "100 50 20 5 0 30 0\n");
  EXPECT_EQ(available({.address_space = 150 * page, .data = {}}), 50 * page);
  EXPECT_EQ(available({.address_space = {}, .data = 70 * page}), 40 * page);
  EXPECT_EQ(available({.address_space = 110 * page, .data = 70 * page}), 10 * page);
  EXPECT_EQ(available({.address_space = 10 * page, .data = {}}), 0u);
  EXPECT_EQ(available({.address_space = kMost, .data = kMost}), 1'000'000u * 1024);
  for (const std::string& text : {std::string(), std::string("\0\0", 2), std::string("x y z"), std::string("     ")}) {
    write("proc/self/statm", text);
    EXPECT_EQ(available({.address_space = 9, .data = {}}), 9u) << "no usage is none";
  }
  write("proc/self/statm", "99999999999999999999999 1 1 1 1 18446744073709551615 0");
  EXPECT_EQ(available({.address_space = 9, .data = 9}), 0u);
}

#endif

TEST(AvailableMemoryOfThisMachine, IsKnown) {
  const auto available = available_memory();
  ASSERT_TRUE(available.has_value());
  EXPECT_GT(*available, kMiB);
  EXPECT_LT(*available, std::uint64_t{1} << 50);
}

TEST(DefaultBudget, LeavesAReserve) {
  EXPECT_EQ(default_budget(0), 0u);
  EXPECT_EQ(default_budget(512 * kMiB), 0u);
  EXPECT_EQ(default_budget(513 * kMiB), kMiB);
  EXPECT_EQ(default_budget(4096 * kMiB), 3584 * kMiB) << "an eighth and half a gigabyte are the same here";
  EXPECT_EQ(default_budget(8192 * kMiB), 7168 * kMiB);
  EXPECT_EQ(default_budget(kMost), kMost - kMost / 8);
}

}  // namespace
}  // namespace juno::budget
