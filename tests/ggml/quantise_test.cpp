// SPDX-License-Identifier: Apache-2.0
//
// Rounding of activations: each instruction set's way gives ggml's bytes.
#include "quantise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "dispatch/isa_list.h"
#include "dispatch/registry.h"
#include "support/data.h"
#include "support/kernels_ran.h"

namespace juno::test {
namespace {

using layout::ActivationBlock;

constexpr std::size_t kBlock = layout::kSuperBlockWeights;

/// All but the sums of blocks of zeros, which ggml leaves as they were.
void expect_ggmls_bytes(kernel::Quantise quantise, const std::vector<float>& values, const char* what) {
  const std::size_t count = values.size() / kBlock;
  std::vector<ActivationBlock> ours(count);
  std::vector<ActivationBlock> theirs(count);
  std::memset(ours.data(), 0x5a, count * sizeof(ActivationBlock));
  std::memset(theirs.data(), 0x5a, count * sizeof(ActivationBlock));
  quantise(values.data(), ours.data(), count);
  integration::ggml_quantise(values.data(), theirs.data(), count);
  for (std::size_t b = 0; b < count; ++b) {
    ASSERT_EQ(std::memcmp(&ours[b], &theirs[b], sizeof ours[b]), 0)
        << what << ", block " << b << ", d " << ours[b].d << " and " << theirs[b].d;
  }
}

/// Instruction sets of this machine that have a way of their own.
std::vector<const dispatch::Isa*> ways() {
  std::vector<const dispatch::Isa*> found;
  for (const dispatch::Isa& isa : dispatch::kIsas) {
    if (isa.quantise == nullptr || isa.quantise() == nullptr) continue;
    if (dispatch::fit(isa.kernels().front(), cpu::facts()) == Reason::compiled) found.push_back(&isa);
  }
  return found;
}

/// `check(way)` for each of them.
template <class Check>
void for_each_way(Check check) {
  for (const dispatch::Isa* isa : ways()) {
    SCOPED_TRACE(isa->name);
    check(isa->quantise());
  }
}

TEST(WaysToRound, EveryX86MachineWithAvx2HasOne) {
  EXPECT_EQ(ways().empty(), !cpu::facts().features.has(cpu::Feature::avx2));
}

TEST(WaysToRound, GiveGgmlsBytes) {
  for_each_way([](kernel::Quantise quantise) {
    Random random(81);
    std::vector<float> values(64 * kBlock);
    for (const float size : {1.0f, 1e-30f, 1e30f, 1e-38f, 1e38f, 1e-44f}) {
      for (float& value : values) value = random.normal() * size;
      expect_ggmls_bytes(quantise, values, "normal");
    }
    // Multiples of the scale and a half: ties.
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<int>(i * 7919 % 509) - 254) * 0.5f;
    }
    for (std::size_t b = 0; b < values.size() / kBlock; ++b) values[b * kBlock + b % kBlock] = b % 2 == 0 ? 127 : -127;
    expect_ggmls_bytes(quantise, values, "ties");
  });
}

TEST(WaysToRound, TheFirstOfEquallyLargeOnesDecidesTheSign) {
  for_each_way([](kernel::Quantise quantise) {
    for (const std::size_t first : {0u, 1u, 15u, 16u, 100u, 254u}) {
      for (const float sign : {1.0f, -1.0f}) {
        std::vector<float> values(kBlock, 0.25f);
        values[first] = sign * 3.0f;
        values[255] = -sign * 3.0f;
        expect_ggmls_bytes(quantise, values, "equally large");
      }
    }
  });
}

TEST(WaysToRound, WhatIsNoNumberGivesTheSameBytesToo) {
  for_each_way([](kernel::Quantise quantise) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const float odd : {0.0f, -0.0f, infinity, -infinity, nan, std::numeric_limits<float>::denorm_min()}) {
      expect_ggmls_bytes(quantise, std::vector<float>(kBlock, odd), "all of them");
      std::vector<float> values(kBlock, 0.5f);
      values[77] = odd;
      expect_ggmls_bytes(quantise, values, "one of them");
    }
  });
}

/// What the engine uses for kernels of an instruction set is its own way, not ggml's.
TEST(WaysToRound, AreUsed) {
  for (const dispatch::Isa* isa : ways()) {
    EXPECT_EQ(integration::quantiser_for(isa->kernels().front()), isa->quantise()) << isa->name;
  }
}

}  // namespace
}  // namespace juno::test
