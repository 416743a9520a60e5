// SPDX-License-Identifier: Apache-2.0
#include "cpu/interpret.h"

namespace juno::cpu {
namespace {

struct HwcapBit {
  Feature feature;
  bool second_word;
  unsigned bit;
};

// The system headers of older distributions do not know SME2 yet, hence numbers.
constexpr HwcapBit kHwcapBits[] = {
    {Feature::dotprod, false, 20}, {Feature::sve, false, 22}, {Feature::i8mm, true, 13},
    {Feature::sme, true, 23},      {Feature::sme2, true, 37}, {Feature::sme_fa64, true, 30},
};

struct SysctlName {
  Feature feature;
  std::string_view name;
};

constexpr SysctlName kSysctlNames[] = {
    {Feature::dotprod, "hw.optional.arm.FEAT_DotProd"}, {Feature::i8mm, "hw.optional.arm.FEAT_I8MM"},
    {Feature::sve, "hw.optional.arm.FEAT_SVE"},         {Feature::sme, "hw.optional.arm.FEAT_SME"},
    {Feature::sme2, "hw.optional.arm.FEAT_SME2"},       {Feature::sme_fa64, "hw.optional.arm.FEAT_SME_FA64"},
};

}  // namespace

bool linux_hwcaps_have_sme(std::uint64_t hwcap2) noexcept { return (hwcap2 >> 23 & 1) != 0; }

Facts interpret_linux_arm(const LinuxAnswers& answers) {
  Facts facts;
  facts.architecture = "arm64";
  for (const HwcapBit& entry : kHwcapBits) {
    const std::uint64_t word = entry.second_word ? answers.hwcap2 : answers.hwcap;
    if ((word >> entry.bit & 1) != 0) facts.features.add(entry.feature);
  }
  if (facts.features.has(Feature::sme))
    facts.streaming_vector_bytes = answers.streaming_bytes_after_request.value_or(0);
  return facts;
}

Facts interpret_darwin_arm(const SysctlAnswers& answers) {
  Facts facts;
  facts.architecture = "arm64";
  for (const SysctlName& entry : kSysctlNames) {
    if (answers(entry.name).value_or(0) == 1) facts.features.add(entry.feature);
  }
  if (facts.features.has(Feature::sme)) {
    // Darwin gives every thread the largest length; it cannot be changed.
    facts.streaming_vector_bytes = static_cast<unsigned>(answers("hw.optional.arm.sme_max_svl_b").value_or(0));
  }
  return facts;
}

}  // namespace juno::cpu
