// SPDX-License-Identifier: Apache-2.0
//
// The checks behind read_header(), for any source of bytes.
#pragma once

#include <cstdint>
#include <string>

#include "gguf/reader.h"
#include "gguf/source.h"

namespace juno::gguf {

inline constexpr const char* kReadHeader = "read GGUF header";

/// Parses and checks one header. `name` stands for the file in errors; `file_bytes` is the size of the whole file, of
/// which `source` may hold only the beginning. Errors as read_header(); may throw std::bad_alloc.
Result<Header> parse_header(Source& source, uint64_t file_bytes, const std::string& name);

}  // namespace juno::gguf
