// SPDX-License-Identifier: Apache-2.0
//
// Juno is among ggml's buffer types for weights, and once.
#include <ggml-backend.h>

#include <cstddef>
#include <cstdio>
#include <string_view>

std::size_t first();
std::size_t second();

int main() {
  const ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  const auto extra_types = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_dev_get_extra_bufts"));
  int found = 0;
  for (ggml_backend_buffer_type_t* type = extra_types(cpu); *type != nullptr; ++type) {
    if (std::string_view(ggml_backend_buft_name(*type)) == "JUNO") ++found;
  }
  std::printf("Juno is registered %d times\n", found);
  return found == 1 && first() == second() ? 0 : 1;
}
