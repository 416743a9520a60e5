// SPDX-License-Identifier: Apache-2.0
//
// Pages: memory for packed tensors, and giving back the pages they were read from.
#pragma once

#include <cstddef>

namespace juno::integration {

/// Zeroed memory of its own pages, aligned to a large page and backed by large pages where the system offers them;
/// nullptr if there is none. Physical memory is taken as it is touched.
std::byte* allocate_pages(std::size_t bytes) noexcept;
void free_pages(std::byte* pages, std::size_t bytes) noexcept;

/// Tells the system that the whole pages inside [data, data + bytes) are not needed for now, if and only if they belong
/// to a read-only mapping of a file, where they can be read again; anything else (a heap buffer that the loader still
/// validates, say) is left alone. Returns the number of bytes given back.
std::size_t release_file_pages(const void* data, std::size_t bytes) noexcept;

}  // namespace juno::integration
