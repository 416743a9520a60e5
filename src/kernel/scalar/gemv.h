// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/kernel.h"

namespace juno::kernel::scalar {

void gemv_lut4(const TileJob& job) noexcept;
void gemv_lut4s16(const TileJob& job) noexcept;
void gemv_lut4w(const TileJob& job) noexcept;
void gemv_lut4s16w(const TileJob& job) noexcept;
void gemv_lut3w(const TileJob& job) noexcept;
void gemv_lin2w(const TileJob& job) noexcept;
void gemv_lin2(const TileJob& job) noexcept;

}  // namespace juno::kernel::scalar
