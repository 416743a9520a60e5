// SPDX-License-Identifier: Apache-2.0
#include "cpu/probe.h"
#include "juno/cpu.h"

namespace juno::cpu {

std::string_view FeatureSet::first_missing(FeatureSet wanted) const noexcept {
  for (const FeatureName& entry : kFeatureNames) {
    if (wanted.has(entry.feature) && !has(entry.feature)) return entry.name;
  }
  return {};
}

std::vector<std::string_view> FeatureSet::names() const {
  std::vector<std::string_view> names;
  for (const FeatureName& entry : kFeatureNames) {
    if (has(entry.feature)) names.push_back(entry.name);
  }
  return names;
}

const Facts& facts() {
  static const Facts& probed = *new Facts(probe());  // never destroyed: exit handlers still read it
  return probed;
}

Facts sme2_machine() {
  return {.architecture = "arm64",
          .features = {Feature::dotprod, Feature::i8mm, Feature::sme, Feature::sme2},
          .streaming_vector_bytes = 64};
}

}  // namespace juno::cpu
