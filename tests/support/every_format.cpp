// SPDX-License-Identifier: Apache-2.0
//
// The one instantiation of EveryFormat for all files of a test program.
#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "dispatch/registry.h"
#include "support/recipes.h"

namespace juno::test {

const pack::Recipe& EveryFormat::recipe() const {
  const char* isa = std::getenv("JUNO_ISA");
  const dispatch::Choice choice = dispatch::choose_kernel(GetParam(), cpu::facts(), isa == nullptr ? "" : isa);
  if (choice.recipe == nullptr) throw std::runtime_error(choice.detail);  // GoogleTest makes a failure of it
  return *choice.recipe;
}

std::vector<std::uint32_t> formats() {
  std::vector<std::uint32_t> types;
  for (const pack::Recipe& recipe : pack::recipes()) {
    if (std::find(types.begin(), types.end(), recipe.gguf_type) == types.end()) types.push_back(recipe.gguf_type);
  }
  return types;
}

std::string format_name(const testing::TestParamInfo<std::uint32_t>& info) {
  return std::string(pack::find_recipe(info.param)->format);
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryFormat, testing::ValuesIn(formats()), format_name);

}  // namespace juno::test
