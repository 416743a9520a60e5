// SPDX-License-Identifier: Apache-2.0
//
// The one object with a side effect: part of a program (CMake has the linker keep it), it puts Juno at the front of the
// buffer types that ggml's CPU device offers for weights, before main() starts. No line of llama.cpp is changed.
#include <cstdio>
#include <cstdlib>

#include "buffer_type.h"
#include "juno/engine.h"
#include "traits.h"

namespace juno::integration {
namespace {

void write_receipts_at_exit() {
  const auto path = receipts_path();
  if (!path) return;
  const Status status = write_receipts(*path);
  // ggml's log may be gone by now; this object is part of a program, whose place to complain is standard error.
  if (!status) std::fprintf(stderr, "juno: %s\n", status.error().message().c_str());
}

bool register_juno() {
  if (!missing_instructions().empty()) return false;  // ggml's first instruction could end the process, before main()
  auto& types = ggml_backend_cpu_get_extra_buffer_types();
  types.insert(types.begin(), buffer_type());
  std::atexit(write_receipts_at_exit);
  return true;
}

}  // namespace
}  // namespace juno::integration

/// Read by nobody: its name is what the linker is given to look for.
extern "C" {
extern const bool juno_registered;
const bool juno_registered = juno::integration::register_juno();
}
