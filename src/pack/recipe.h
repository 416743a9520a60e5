// SPDX-License-Identifier: Apache-2.0
//
// A recipe turns one format's blocks into one layout's values and back. It knows no addresses: the drivers below write
// and read through the layout. Packing loses nothing: unpacking gives back every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "layout/layout.h"

namespace juno::pack {

/// No row: what pack_tile returns if all is well.
inline constexpr std::size_t kNoRow = SIZE_MAX;

/// A recipe as a value. `blocks` are the format's own bytes, row after row without gaps; `packed` is a matrix in
/// `layout`, aligned to kLineBytes. All functions are free of side effects and may run on several threads for different
/// tiles.
struct Recipe {
  std::string_view format;
  std::uint32_t gguf_type;
  std::size_t block_bytes;  ///< of 256 weights
  layout::Info layout;
  layout::Constants constants;

  /// Writes tile `tile` of the packed matrix, rows beyond `rows` as zeros. Returns the first row of the matrix in this
  /// tile that has an infinite or NaN block scale, which no kernel promises anything for; kNoRow if there is none.
  std::size_t (*pack_tile)(const std::byte* blocks, std::size_t rows, std::size_t width, std::size_t tile,
                           std::byte* packed);
  /// Writes row `row` in the format's own bytes (width / 256 * block_bytes) to `blocks`.
  void (*unpack_row)(const std::byte* packed, std::size_t width, std::size_t row, std::byte* blocks);
  /// Decodes `count` blocks to 256 * count floats.
  void (*decode)(const std::byte* blocks, std::size_t count, float* out);

  [[nodiscard]] std::size_t row_bytes(std::size_t width) const noexcept {
    return width / layout::kSuperBlockWeights * block_bytes;
  }
};

}  // namespace juno::pack
