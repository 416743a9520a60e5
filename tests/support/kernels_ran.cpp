// SPDX-License-Identifier: Apache-2.0
#include "support/kernels_ran.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>

#include "dispatch/registry.h"
#include "juno/receipt.h"

namespace juno::test {
namespace {

std::mutex mutex;
std::set<std::string> ran;

}  // namespace

void run_kernel(const kernel::KernelInfo& kernel, const kernel::TileJob& job) {
  ASSERT_TRUE(kernel.streaming_vector_bytes == 0 || cpu::prepare_streaming(kernel.streaming_vector_bytes));
  kernel.run(job);
  const std::lock_guard lock(mutex);
  ran.insert(dispatch::kernel_id(kernel));
}

std::vector<kernel::KernelInfo> kernels_under_test() {
  const cpu::Facts& machine = cpu::facts();
  std::vector<kernel::KernelInfo> kernels;
  std::set<std::string, std::less<>> isas;
  for (const kernel::KernelInfo& kernel : dispatch::registry()) {
    if (kernel.reference || dispatch::fit(kernel, machine) != Reason::compiled) continue;
    kernels.push_back(kernel);
    isas.insert(std::string(kernel.isa));
  }
  const char* required = std::getenv("JUNO_REQUIRE_ISA");
  std::istringstream names(required != nullptr ? required : "");
  for (std::string name; std::getline(names, name, ',');) {
    EXPECT_TRUE(isas.contains(name)) << "JUNO_REQUIRE_ISA: no kernel of " << name << " can run here";
  }
  return kernels;
}

void write_kernel_log() {
  const char* path = std::getenv("JUNO_KERNEL_LOG");
  if (path == nullptr) return;
  for (const auto& receipt : receipt::ledger().snapshot()) {
    for (const auto& count : receipt.kernels) ran.insert(count.kernel);
  }
  std::ofstream log(path, std::ios::app);
  for (const std::string& id : ran) log << id << '\n';
}

}  // namespace juno::test
