// SPDX-License-Identifier: Apache-2.0
//
// The one object with a side effect: linked into a program (whole, or the linker drops it), it puts Juno at the front
// of the buffer types that ggml's CPU device offers for weights, before main() starts. No line of llama.cpp is changed.
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

const bool registered = [] {
  auto& types = ggml_backend_cpu_get_extra_buffer_types();
  types.insert(types.begin(), buffer_type());
  std::atexit(write_receipts_at_exit);
  return true;
}();

}  // namespace
}  // namespace juno::integration
