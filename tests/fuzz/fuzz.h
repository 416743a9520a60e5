// SPDX-License-Identifier: Apache-2.0
//
// What the programs for libFuzzer share: how an input becomes a tensor, and how a property that does not hold ends the
// program. Memory has exactly the size that the library asks for, so that the address sanitizer sees the first byte
// beyond it.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/aligned.h"
#include "pack/pack.h"
#include "pack/recipe.h"

namespace juno::fuzz {

/// What libFuzzer recognises as a finding: one line, and abort().
[[noreturn]] void finding(const pack::Recipe& recipe, const pack::Shape& shape, const char* what);

/// Up to two tiles and a bit high, or more super-blocks wide than are packed at a time, or up to three matrices.
pack::Shape any_shape(FuzzedDataProvider& input);

/// The input's bytes, over and over, up to `size`: a short input says something about every block of a tensor. No
/// bytes at all are zeros.
std::unique_ptr<std::byte[]> repeat(const std::vector<std::byte>& bytes, std::size_t size);

/// A tensor in a recipe's format. Random scales are NaN or infinite once in 32 times, so that a tensor without a bad
/// row would hardly ever occur; in the first `sound_rows` rows of all matrices they are made finite.
std::unique_ptr<std::byte[]> tensor(const pack::Recipe& recipe, const pack::Shape& shape,
                                    const std::vector<std::byte>& bytes, std::size_t sound_rows);

/// The first row, through all matrices, that decodes to something infinite or NaN.
std::optional<std::size_t> first_bad_row(const pack::Recipe& recipe, const pack::Shape& shape, const std::byte* blocks);

/// Bytes of all matrices, packed.
std::size_t packed_bytes(const pack::Recipe& recipe, const pack::Shape& shape);

}  // namespace juno::fuzz
