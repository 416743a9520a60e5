// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "juno/version.h"

namespace juno::cli {

/// What `juno --version` prints: version and commit, the pinned llama.cpp, the compiler, the
/// processors that it is for.
std::string version_text();

}  // namespace juno::cli
