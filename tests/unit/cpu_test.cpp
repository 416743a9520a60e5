// SPDX-License-Identifier: Apache-2.0
//
// Answers of machines that are not here. The hwcap words come from arch/arm64/include/uapi/asm/hwcap.h; the sysctl
// names and values of an M4 from public listings (see src/cpu/interpret.cpp).
#include "juno/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "cpu/interpret.h"
#include "support/temporary_folder.h"

namespace juno::cpu {
namespace {

constexpr std::uint64_t bit(unsigned n) { return std::uint64_t{1} << n; }
constexpr std::uint64_t kDotprod = bit(20);
constexpr std::uint64_t kSve = bit(22);
constexpr std::uint64_t kI8mm = bit(13);
constexpr std::uint64_t kSme = bit(23);
constexpr std::uint64_t kFa64 = bit(30);
constexpr std::uint64_t kSme2 = bit(37);

TEST(LinuxArm, RaspberryPi5HasDotprodOnly) {
  const Facts facts = interpret_linux_arm({kDotprod, 0, std::nullopt});
  EXPECT_EQ(facts.features, (FeatureSet{Feature::dotprod}));
  EXPECT_EQ(facts.streaming_vector_bytes, 0u);
}

TEST(LinuxArm, PhoneWithSme2) {
  const Facts facts = interpret_linux_arm({kDotprod | kSve, kI8mm | kSme | kSme2, 64});
  EXPECT_EQ(facts.features, (FeatureSet{Feature::dotprod, Feature::sve, Feature::i8mm, Feature::sme, Feature::sme2}));
  EXPECT_EQ(facts.streaming_vector_bytes, 64u);
}

TEST(LinuxArm, PhoneWithSmeButNotSme2) {
  const Facts facts = interpret_linux_arm({kDotprod | kSve, kI8mm | kSme, 64});
  EXPECT_TRUE(facts.features.has(Feature::sme));
  EXPECT_FALSE(facts.features.has(Feature::sme2));
}

TEST(LinuxArm, ShortVectorsAreReported) {
  EXPECT_EQ(interpret_linux_arm({kDotprod, kSme | kSme2 | kFa64, 32}).streaming_vector_bytes, 32u);
}

TEST(LinuxArm, RefusedLengthRequestMeansNone) {
  EXPECT_EQ(interpret_linux_arm({kDotprod, kSme | kSme2, std::nullopt}).streaming_vector_bytes, 0u);
}

TEST(LinuxArm, LengthWithoutSmeIsIgnored) {
  EXPECT_EQ(interpret_linux_arm({kDotprod, 0, 64}).streaming_vector_bytes, 0u);
}

SysctlAnswers answers(std::map<std::string, std::int64_t, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

TEST(DarwinArm, M4) {
  const Facts facts = interpret_darwin_arm(answers({{"hw.optional.arm.FEAT_DotProd", 1},
                                                    {"hw.optional.arm.FEAT_I8MM", 1},
                                                    {"hw.optional.arm.FEAT_SME", 1},
                                                    {"hw.optional.arm.FEAT_SME2", 1},
                                                    {"hw.optional.arm.FEAT_SVE", 0},
                                                    {"hw.optional.arm.sme_max_svl_b", 64}}));
  EXPECT_EQ(facts, sme2_machine());
}

TEST(DarwinArm, M1KnowsNoSmeNames) {
  const Facts facts = interpret_darwin_arm(answers({{"hw.optional.arm.FEAT_DotProd", 1}}));
  EXPECT_EQ(facts.features, (FeatureSet{Feature::dotprod}));
  EXPECT_EQ(facts.streaming_vector_bytes, 0u);
}

TEST(FeatureSet, FirstMissing) {
  const FeatureSet some{Feature::sme};
  EXPECT_EQ(some.first_missing({Feature::sme}), "");
  EXPECT_EQ(some.first_missing({Feature::sme, Feature::sme2}), "sme2");
  EXPECT_EQ(FeatureSet{}.first_missing({Feature::sme, Feature::sme2}), "sme");
}

TEST(FeatureSet, EveryFeatureHasAName) {
  FeatureSet all;
  for (unsigned i = 0; i < std::size(kFeatureNames); ++i) {
    EXPECT_EQ(static_cast<unsigned>(kFeatureNames[i].feature), i);
    all.add(kFeatureNames[i].feature);
  }
  EXPECT_EQ(all.names().size(), std::size(kFeatureNames));
}

TEST(ThisMachine, StreamingVectorsMatchWhatThreadsGet) {
  const Facts& facts = cpu::facts();
  if (facts.streaming_vector_bytes != 0) {
    EXPECT_TRUE(prepare_streaming(facts.streaming_vector_bytes));
  }
  EXPECT_FALSE(prepare_streaming(24));  // no machine has it
}

/// A tree as Linux has it, with these values of SMIDR_EL1; an empty one stands for a core without the register.
class SmeUnits : public test::TemporaryFolder {
 public:
  explicit SmeUnits(const std::vector<std::string>& registers) {
    for (std::size_t core = 0; core < registers.size(); ++core) {
      const auto folder = path() / ("cpu" + std::to_string(core)) / "regs/identification";
      std::filesystem::create_directories(folder);
      if (!registers[core].empty()) std::ofstream(folder / "smidr_el1") << registers[core] << "\n";
    }
  }
  [[nodiscard]] std::optional<unsigned> count() const { return sme_units(path()); }
};

TEST(SmeUnitsTest, AreCountedByTheRegisterOfEachCore) {
  EXPECT_EQ(SmeUnits({"0x0000000000006000", "0x0000000000006000", "0x0000000000006001"}).count(), 2u) << "two, shared";
  EXPECT_EQ(SmeUnits({"0x0000000000004000", "0x0000000000004000"}).count(), 2u) << "one for each core";
  EXPECT_EQ(SmeUnits({"0x0010000000006000", "0x0000000000006000"}).count(), 2u) << "AFFINITY2 counts";
  EXPECT_EQ(SmeUnits({"", "0x0000000041006000", "0x0000000041006000"}).count(), 1u) << "a core without";
  EXPECT_EQ(SmeUnits({"0x0000000000000000"}).count(), std::nullopt) << "a core that doesn't tell";
  EXPECT_EQ(SmeUnits({"nonsense"}).count(), std::nullopt);
  EXPECT_EQ(SmeUnits({"", ""}).count(), std::nullopt);
  EXPECT_EQ(SmeUnits({}).count(), std::nullopt);
}

}  // namespace
}  // namespace juno::cpu
