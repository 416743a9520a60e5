// SPDX-License-Identifier: Apache-2.0
//
// THE list of packed layouts.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>

#include "layout/lut4.h"

namespace juno::layout {

using LayoutList = std::tuple<Lut4>;

inline constexpr std::array kLayouts = {info<Lut4>()};
static_assert(kLayouts.size() == std::tuple_size_v<LayoutList>);

/// The layout with this fingerprint, or nullptr.
constexpr const Info* find_layout(std::uint64_t fingerprint) noexcept {
  for (const Info& layout : kLayouts) {
    if (layout.fingerprint == fingerprint) return &layout;
  }
  return nullptr;
}

}  // namespace juno::layout
