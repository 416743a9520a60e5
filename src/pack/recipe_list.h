// SPDX-License-Identifier: Apache-2.0
//
// THE list of (format -> layout) recipes; for a format with several, that of the scalar kernels first.
#pragma once

#include <span>

#include "pack/recipe.h"

namespace juno::pack {

std::span<const Recipe> recipes() noexcept;

/// The preferred recipe for a GGUF tensor type, or nullptr.
const Recipe* find_recipe(std::uint32_t gguf_type) noexcept;

/// The recipe from a GGUF tensor type to the layout with this fingerprint, or nullptr.
const Recipe* find_recipe(std::uint32_t gguf_type, std::uint64_t layout_fingerprint) noexcept;

}  // namespace juno::pack
