// SPDX-License-Identifier: Apache-2.0
//
// What this machine reads from memory when it does nothing else: the bound of every product with one column.
#pragma once

#include <cstddef>

namespace juno::bench {

/// More than any cache holds.
inline constexpr std::size_t kMemoryBytes = std::size_t{192} << 20;

/// Bytes per second that so many threads read together: the best of several passes, with and without asking for what
/// comes next, as the kernels do. Measured once.
double read_bandwidth(unsigned threads);

}  // namespace juno::bench
