// SPDX-License-Identifier: Apache-2.0
//
// Packing loses nothing and finds the first bad row, whatever the bytes, the shape and the number of threads.
#include <cstring>

#include "fuzz/fuzz.h"
#include "pack/recipe_list.h"

namespace juno::fuzz {
namespace {

void pack_and_unpack(const pack::Recipe& recipe, const pack::Shape& shape, const std::byte* blocks, unsigned threads) {
  AlignedBytes packed(packed_bytes(recipe, shape));
  std::memset(packed.data(), 0xa5, packed.size());
  const auto bad = pack::pack_tensor(recipe, shape, blocks, packed.data(), threads);
  const auto expected = first_bad_row(recipe, shape, blocks);
  if (bad.has_value() != expected.has_value()) finding(recipe, shape, bad ? "no row is bad" : "a bad row is missed");
  if (bad) {
    if (bad->row >= shape.rows || bad->matrix * shape.rows + bad->row != *expected) {
      finding(recipe, shape, "not the first bad row");
    }
    return;
  }
  const std::size_t row_bytes = recipe.row_bytes(shape.width);
  for (std::size_t row = 0; row < shape.matrices * shape.rows; ++row) {
    const auto unpacked = std::make_unique<std::byte[]>(row_bytes);
    pack::unpack_tensor_row(recipe, shape, packed.data(), row, unpacked.get());
    if (std::memcmp(unpacked.get(), blocks + row * row_bytes, row_bytes) != 0) {
      finding(recipe, shape, "unpacking does not give back the bytes");
    }
  }
}

}  // namespace
}  // namespace juno::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace juno;
  FuzzedDataProvider input(data, size);
  pack::Shape shape = fuzz::any_shape(input);
  // Now and then so large that pack_tensor() takes a second thread; then for one recipe, to take no longer than others.
  const std::size_t lucky = input.ConsumeIntegral<std::uint8_t>();
  const bool large = lucky >= 0x100 - pack::recipes().size();
  if (large) shape = {.rows = 514, .width = 512, .matrices = 1};
  const auto threads = input.ConsumeIntegralInRange<unsigned>(0, 5);
  const auto sound_rows = input.ConsumeIntegralInRange<std::size_t>(0, shape.matrices * shape.rows);
  const auto bytes = input.ConsumeRemainingBytes<std::byte>();
  for (const pack::Recipe& recipe : pack::recipes()) {
    if (large && &recipe != &pack::recipes()[0xff - lucky]) continue;
    const auto blocks = fuzz::tensor(recipe, shape, bytes, sound_rows);
    fuzz::pack_and_unpack(recipe, shape, blocks.get(), threads);
  }
  return 0;
}
