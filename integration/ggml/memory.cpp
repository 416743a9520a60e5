// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include "base/bytes.h"

namespace juno::integration {
namespace {

constexpr std::size_t kLargePageBytes = std::size_t{2} << 20;

/// mmap aligns to small pages only, so a large page more is mapped and the start moved up; the size below is what
/// munmap needs, and the distance moved is kept in front of the memory handed out.
std::size_t mapped_bytes(std::size_t bytes) noexcept { return round_up(bytes, kLargePageBytes) + kLargePageBytes; }

#if defined(__linux__)
/// True if [begin, end) lies in one mapping of /proc/self/maps that is shared, readable, not writable, and of a file: a
/// private one may have been written before it was made read-only.
bool is_read_only_file_mapping(std::uintptr_t begin, std::uintptr_t end) noexcept {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  bool found = false;
  char line[512];
  while (!found && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char permissions[5] = {};
    std::uint64_t inode = 0;
    // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion): the kernel writes these numbers
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64, &from, &to, permissions, &inode) != 4) {
      continue;
    }
    found = from <= begin && end <= to && permissions[0] == 'r' && permissions[1] == '-' && permissions[3] == 's' &&
            inode != 0;
  }
  std::fclose(maps);
  return found;
}
#endif

}  // namespace

std::byte* allocate_pages(std::size_t bytes) noexcept {
  void* mapping = mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  // At least one small page lies in front of the first large-page boundary after the start, room for the distance.
  auto* start = static_cast<std::byte*>(mapping);
  const std::size_t distance = kLargePageBytes - reinterpret_cast<std::uintptr_t>(start) % kLargePageBytes;
  std::byte* pages = start + distance;
#if defined(MADV_HUGEPAGE)
  if (bytes >= kLargePageBytes) madvise(pages, round_up(bytes, kLargePageBytes), MADV_HUGEPAGE);
#endif
  store(pages - sizeof distance, distance);
  return pages;
}

void free_pages(std::byte* pages, std::size_t bytes) noexcept {
  if (pages == nullptr) return;
  munmap(pages - load<std::size_t>(pages - sizeof(std::size_t)), mapped_bytes(bytes));
}

std::size_t release_file_pages(const void* data, std::size_t bytes) noexcept {
#if defined(__linux__)
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = round_up(start, page);
  const std::uintptr_t end = (start + bytes) / page * page;
  if (begin >= end || !is_read_only_file_mapping(begin, end)) return 0;
  // madvise wants a pointer to what it may change; these pages are read-only. Fails for locked pages (--mlock), which
  // is what their owner wants.
  auto* pages = static_cast<std::byte*>(const_cast<void*>(data)) + (begin - start);
  return madvise(pages, end - begin, MADV_DONTNEED) == 0 ? end - begin : 0;
#else
  // Darwin's MADV_DONTNEED is only a hint, and the mapping cannot be proved cheaply: leave the pages to the system.
  (void)data;
  (void)bytes;
  return 0;
#endif
}

}  // namespace juno::integration
