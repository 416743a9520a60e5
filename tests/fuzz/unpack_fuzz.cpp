// SPDX-License-Identifier: Apache-2.0
//
// Unpacking bytes that no packer wrote gives unspecified blocks, but touches no other memory. Nothing is compared: the
// sanitizers judge.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "pack/recipe_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace juno;
  FuzzedDataProvider input(data, size);
  const pack::Shape shape = fuzz::any_shape(input);
  const auto bytes = input.ConsumeRemainingBytes<std::byte>();
  for (const pack::Recipe& recipe : pack::recipes()) {
    AlignedBytes packed(fuzz::packed_bytes(recipe, shape));
    const auto repeated = fuzz::repeat(bytes, packed.size());
    std::copy_n(repeated.get(), packed.size(), packed.data());
    for (std::size_t row = 0; row < shape.matrices * shape.rows; ++row) {
      const auto blocks = std::make_unique<std::byte[]>(recipe.row_bytes(shape.width));
      pack::unpack_tensor_row(recipe, shape, packed.data(), row, blocks.get());
    }
  }
  return 0;
}
