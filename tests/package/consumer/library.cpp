// SPDX-License-Identifier: Apache-2.0
#include <llama.h>

#include <cstddef>

std::size_t NAME() { return llama_max_devices(); }
