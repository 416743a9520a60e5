// SPDX-License-Identifier: Apache-2.0
//
// What every kernel must leave as it found it: callee-saved vector registers, FPSR, the streaming and ZA switches, and
// a caller's dormant ZA contents. This is what streaming code gets wrong, and what no result shows.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "dispatch/registry.h"
#include "layout/layout_list.h"
#include "support/data.h"
#include "support/kernels_ran.h"

extern "C" void juno_test_call_with_canaries(void (*function)(void*), void* argument, std::uint64_t* canaries);

namespace juno::test {
namespace {

enum Slot : std::size_t { slot_d8 = 0, slot_fpsr = 8, slot_svcr = 9, slot_read_svcr = 10, slot_tpidr2 = 11 };
using Canaries = std::array<std::uint64_t, 12>;

struct Call {
  const kernel::KernelInfo* kernel;
  kernel::TileJob job;
};

void run_call(void* argument) {
  const Call& call = *static_cast<Call*>(argument);
  call.kernel->run(call.job);
}

class KernelAbi : public testing::Test {
 protected:
  /// Runs each kernel on one tile of zero weights with these canaries in place.
  void for_each_kernel(const std::function<void(const kernel::KernelInfo&, Canaries&)>& prepare,
                       const std::function<void(const kernel::KernelInfo&, const Canaries&)>& check) {
    const auto kernels = kernels_under_test();
    ASSERT_FALSE(kernels.empty());
    for (const kernel::KernelInfo& kernel : kernels) {
      const layout::Info* layout = layout::find_layout(kernel.layout_fingerprint);
      ASSERT_NE(layout, nullptr);
      alignas(64) static std::array<std::byte, 1 << 16> tile;
      ASSERT_LE(layout->super_block_bytes, tile.size());
      const layout::Constants constants{{}, 1, 1};
      const layout::ActivationBlock activations{.d = 1, .q = {}, .sums = {}};
      std::array<float, 64> out;
      const kernel::Column column{&activations, out.data()};
      Call call{&kernel,
                {.tiles = tile.data(),
                 .first_row = 0,
                 .rows = 1,
                 .super_blocks = 1,
                 .constants = &constants,
                 .columns = &column,
                 .column_count = 1}};
      if (kernel.streaming_vector_bytes != 0) {
        ASSERT_TRUE(cpu::prepare_streaming(kernel.streaming_vector_bytes));
      }
      Canaries canaries{};
      for (std::size_t i = 0; i < 8; ++i) canaries[slot_d8 + i] = 0x0123'4567'89ab'cde0u + i;
      canaries[slot_read_svcr] = kernel.streaming_vector_bytes != 0;
      prepare(kernel, canaries);
      juno_test_call_with_canaries(run_call, &call, canaries.data());
      for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(canaries[slot_d8 + i], 0x0123'4567'89ab'cde0u + i)
            << "d" << 8 + i << " " << dispatch::kernel_id(kernel);
      }
      check(kernel, canaries);
    }
  }
};

constexpr std::uint64_t kInvalidOperation = 1;  // a cumulative flag of FPSR that some earlier code has set

TEST_F(KernelAbi, CalleeSavedRegistersAndFpsrSurvive) {
  for_each_kernel([](const kernel::KernelInfo&, Canaries& canaries) { canaries[slot_fpsr] = kInvalidOperation; },
                  [](const kernel::KernelInfo& kernel, const Canaries& canaries) {
                    if (kernel.streaming_vector_bytes == 0) return;
                    EXPECT_EQ(canaries[slot_fpsr], kInvalidOperation) << dispatch::kernel_id(kernel);
                    EXPECT_EQ(canaries[slot_svcr], 0u) << "streaming mode or ZA left on";
                  });
}

/// AAPCS64 lazy saving: the caller's ZA goes to its buffer, TPIDR2_EL0 becomes 0, and ZA is off.
TEST_F(KernelAbi, ADormantZaIsSavedForItsOwner) {
  struct Block {
    std::byte* buffer;
    std::uint16_t slices;
    std::uint8_t reserved[6];
  };
  std::vector<std::byte> buffer(64 * 64, std::byte{0});
  Block block{buffer.data(), 64, {}};
  static_assert(sizeof(Block) == 16);
  for_each_kernel(
      [&](const kernel::KernelInfo& kernel, Canaries& canaries) {
        if (kernel.streaming_vector_bytes != 0) canaries[slot_tpidr2] = reinterpret_cast<std::uint64_t>(&block);
      },
      [&](const kernel::KernelInfo& kernel, const Canaries& canaries) {
        if (kernel.streaming_vector_bytes == 0) return;
        EXPECT_EQ(canaries[slot_tpidr2], 0u);
        EXPECT_EQ(canaries[slot_svcr], 0u);
        EXPECT_EQ(buffer, std::vector<std::byte>(64 * 64, std::byte{0x5a})) << dispatch::kernel_id(kernel);
      });
}

}  // namespace
}  // namespace juno::test
