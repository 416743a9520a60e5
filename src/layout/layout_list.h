// SPDX-License-Identifier: Apache-2.0
//
// THE list of packed layouts.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "layout/lin2.h"
#include "layout/lin2w.h"
#include "layout/lut3w.h"
#include "layout/lut4.h"
#include "layout/lut4w.h"

namespace juno::layout {

using LayoutList = std::tuple<Lut4, Lut4S16, Lin2, Lut4W, Lut4S16W, Lut3W, Lin2W>;

inline constexpr auto kLayouts = []<class... Layout>(std::type_identity<std::tuple<Layout...>>) {
  return std::array{info<Layout>()...};
}(std::type_identity<LayoutList>{});

/// The layout with this fingerprint, or nullptr.
constexpr const Info* find_layout(std::uint64_t fingerprint) noexcept {
  for (const Info& layout : kLayouts) {
    if (layout.fingerprint == fingerprint) return &layout;
  }
  return nullptr;
}

}  // namespace juno::layout
