// SPDX-License-Identifier: Apache-2.0
#include "budget/available.h"

#include <sys/resource.h>

#include <algorithm>
#if defined(__APPLE__)
#include <mach/mach.h>
#else
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#endif

namespace juno::budget {
namespace {

std::optional<std::uint64_t> limit_of(int resource) noexcept {
  rlimit limit{};
  // The resource's type is an enumeration in glibc and an int elsewhere.
  if (getrlimit(static_cast<decltype(RLIMIT_AS)>(resource), &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

using Bytes = std::optional<std::uint64_t>;

void lower(Bytes& least, Bytes other) {
  if (other) least = std::min(least.value_or(*other), *other);
}

#if !defined(__APPLE__)

namespace fs = std::filesystem;

constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

/// Anything that a limit is not less than is none.
std::uint64_t minus(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : 0; }
std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept { return b != 0 && a > kEndless / b ? kEndless : a * b; }

/// The start of a file: none of these is long. "" if it cannot be read.
std::string text_of(const fs::path& path) {
  constexpr std::size_t kMost = std::size_t{64} * 1024;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(file.bad() ? 0 : static_cast<std::size_t>(file.gcount()));
  return text;
}

/// The number that `text` begins with, after blanks. Too large a one counts as endless; anything else ("max") is none.
Bytes number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::result_out_of_range) return kEndless;
  if (code != std::errc{}) return {};
  const bool whole = end == text.data() + text.size() || *end == '\n' || *end == ' ' || *end == '\t';
  return whole ? Bytes(number) : std::nullopt;
}

/// The number that follows `key` at the start of a line.
Bytes number_after(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(key)) return number_at(line.substr(key.size()));
    at += line.size() + 1;
  }
  return {};
}

/// Pages of files, which the system drops before it lets a group run out of memory.
std::uint64_t file_cache(const fs::path& folder, std::string_view prefix) {
  const std::string stat = text_of(folder / "memory.stat");
  std::uint64_t sum = 0;
  for (const char* kind : {"inactive_file ", "active_file "}) {
    const std::uint64_t bytes = number_after(stat, std::string(prefix) + kind).value_or(0);
    sum = bytes > kEndless - sum ? kEndless : sum + bytes;
  }
  return sum;
}

/// The names of the files of a control group's memory, which the two versions of control groups write alike.
struct GroupFiles {
  std::initializer_list<const char*> limits;
  const char* usage;
  const char* stat_prefix;
};

Bytes left_in(const fs::path& folder, const GroupFiles& files) {
  Bytes limit;
  for (const char* name : files.limits) lower(limit, number_at(text_of(folder / name)));
  const Bytes usage = number_at(text_of(folder / files.usage));
  if (!limit || !usage) return {};
  return minus(*limit, minus(*usage, file_cache(folder, files.stat_prefix)));
}

/// From a group up to the root of its hierarchy, which in a container is the container's own group.
Bytes left_up_from(const fs::path& root, std::string_view group, const GroupFiles& files) {
  constexpr std::size_t kDeepest = 64;
  Bytes least = left_in(root, files);
  // A path with ".." is that of a group outside of this namespace: there is nothing to see of it.
  fs::path relative = fs::path(group).relative_path();
  if (std::find(relative.begin(), relative.end(), "..") != relative.end()) return least;
  for (std::size_t depth = 0; !relative.empty() && depth < kDeepest; ++depth, relative = relative.parent_path()) {
    lower(least, left_in(root / relative, files));
  }
  return least;
}

Bytes left_in_groups(const fs::path& root) {
  const fs::path mount = root / "sys/fs/cgroup";
  const std::string groups = text_of(root / "proc/self/cgroup");
  Bytes least;
  for (std::size_t at = 0; at < groups.size();) {
    // number:controllers:path; version 2 has the number 0 and no controllers
    const std::string_view line = std::string_view(groups).substr(at, groups.find('\n', at) - at);
    at += line.size() + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers = "," + std::string(line.substr(first + 1, second - first - 1)) + ",";
    const std::string_view path = line.substr(second + 1);
    if (controllers == ",,") {
      const GroupFiles files = {{"memory.max", "memory.high"}, "memory.current", ""};
      lower(least, left_up_from(mount, path, files));
      lower(least, left_up_from(mount / "unified", path, files));
    } else if (controllers.find(",memory,") != std::string::npos) {
      lower(least,
            left_up_from(mount / "memory", path, {{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_"}));
    }
  }
  return least;
}

/// What limits of the process leave; sizes are pages in the order of proc_pid_statm(5).
Bytes left_in_process(const fs::path& root, const ProcessLimits& limits) {
  const std::string text = text_of(root / "proc/self/statm");
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::string_view rest = text;
  const auto next = [&]() -> std::uint64_t {
    const std::uint64_t pages = number_at(rest).value_or(0);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
    return times(pages, page);
  };
  constexpr std::size_t kData = 5;
  const std::uint64_t size = next();
  std::uint64_t data = 0;
  for (std::size_t i = 1; i <= kData; ++i) data = next();
  Bytes least;
  if (limits.address_space) lower(least, minus(*limits.address_space, size));
  if (limits.data) lower(least, minus(*limits.data, data));
  return least;
}

#endif

}  // namespace

ProcessLimits process_limits() noexcept { return {limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA)}; }

#if defined(__APPLE__)
std::optional<std::uint64_t> available_memory(const std::filesystem::path&, const ProcessLimits&) {
  // Free pages, and those that the system takes back without writing them anywhere. Its limits of address space and
  // data are not enforced.
  vm_statistics64_data_t statistics{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  vm_size_t page = 0;
  const mach_port_t host = mach_host_self();
  const bool known =
      host_page_size(host, &page) == KERN_SUCCESS &&
      host_statistics64(host, HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&statistics), &count) == KERN_SUCCESS;
  mach_port_deallocate(mach_task_self(), host);
  if (!known) return std::nullopt;
  const std::uint64_t pages =
      std::uint64_t{statistics.free_count} + statistics.inactive_count + statistics.purgeable_count;
  return pages * page;
}
#else
std::optional<std::uint64_t> available_memory(const std::filesystem::path& root, const ProcessLimits& limits) {
  Bytes least;
  const std::string machine = text_of(root / "proc/meminfo");
  if (const Bytes kibibytes = number_after(machine, "MemAvailable:")) least = times(*kibibytes, 1024);
  lower(least, left_in_groups(root));
  lower(least, left_in_process(root, limits));
  return least;
}
#endif

std::uint64_t default_budget(std::uint64_t available) noexcept {
  constexpr std::uint64_t kLeastReserve = std::uint64_t{512} << 20;
  const std::uint64_t reserve = std::max(kLeastReserve, available / 8);
  return available > reserve ? available - reserve : 0;
}

}  // namespace juno::budget
