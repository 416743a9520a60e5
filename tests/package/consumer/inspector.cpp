// SPDX-License-Identifier: Apache-2.0
//
// juno::juno alone: what an SME2 machine would compile of a model.
#include <juno/inspect.h>

#include <cstdio>

int main(int, char** argv) {
  juno::Target target;
  target.machine = juno::cpu::sme2_machine();
  const auto inspection = juno::inspect(argv[1], target);
  if (!inspection) {
    std::fprintf(stderr, "%s\n", inspection.error().message().c_str());
    return 1;
  }
  std::size_t compiled = 0;
  for (const auto& tensor : inspection->tensors) compiled += tensor.reason == juno::Reason::compiled ? 1 : 0;
  std::printf("%zu tensors\n", compiled);
}
