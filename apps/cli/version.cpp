// SPDX-License-Identifier: Apache-2.0
#include "version.h"

#include <fmt/format.h>

#include "juno_commit.h"  // written by cmake/commit.cmake with each build

namespace juno::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#elif defined(__GNUC__)
constexpr const char* kCompiler = "gcc " __VERSION__;
#else
constexpr const char* kCompiler = "unknown";
#endif

}  // namespace

std::string version_text() {
  return fmt::format("juno {}\ncommit     {}\nllama.cpp  {}\ncompiler   {}\nbuilt for  {}", kVersion, kCommit,
                     kLlamaCpp, kCompiler, kBaseline);
}

}  // namespace juno::cli
