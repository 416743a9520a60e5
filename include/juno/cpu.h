// SPDX-License-Identifier: Apache-2.0
//
// What this machine can run, as far as Juno's kernels care.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace juno::cpu {

enum class Feature : unsigned {
  dotprod,
  i8mm,
  sve,
  sme,
  sme2,
  sme_fa64,
  avx2,
  fma,
  f16c,
  avxvnni,
  avx512f,
  avx512bw,
  avx512vl,
  avx512vnni
};

/// All features with the name that people see, in the order of the enum.
struct FeatureName {
  Feature feature;
  std::string_view name;
};
inline constexpr FeatureName kFeatureNames[] = {
    {Feature::dotprod, "dotprod"},   {Feature::i8mm, "i8mm"},
    {Feature::sve, "sve"},           {Feature::sme, "sme"},
    {Feature::sme2, "sme2"},         {Feature::sme_fa64, "sme_fa64"},
    {Feature::avx2, "avx2"},         {Feature::fma, "fma"},
    {Feature::f16c, "f16c"},         {Feature::avxvnni, "avxvnni"},
    {Feature::avx512f, "avx512f"},   {Feature::avx512bw, "avx512bw"},
    {Feature::avx512vl, "avx512vl"}, {Feature::avx512vnni, "avx512vnni"},
};

class FeatureSet {
 public:
  constexpr FeatureSet() = default;
  constexpr FeatureSet(std::initializer_list<Feature> features) {
    for (const Feature feature : features) add(feature);
  }
  constexpr FeatureSet& add(Feature feature) noexcept {
    bits_ |= bit(feature);
    return *this;
  }
  [[nodiscard]] constexpr bool has(Feature feature) const noexcept { return (bits_ & bit(feature)) != 0; }
  /// The first feature of `wanted` that is not in this set, or "" if none is missing.
  [[nodiscard]] std::string_view first_missing(FeatureSet wanted) const noexcept;
  /// Names of all features in the set, in the order of the enum.
  [[nodiscard]] std::vector<std::string_view> names() const;

  friend constexpr bool operator==(FeatureSet, FeatureSet) = default;

 private:
  static constexpr std::uint32_t bit(Feature feature) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(feature);
  }

  std::uint32_t bits_ = 0;
};

struct Facts {
  std::string architecture;  ///< "arm64", "x86-64" or "other"
  FeatureSet features{};
  /// Length of a streaming vector that a thread of this process can have, in bytes; 0 without SME.
  unsigned streaming_vector_bytes = 0;

  friend bool operator==(const Facts&, const Facts&) = default;
};

/// The facts of this machine, probed once per process. Thread-safe. Leaves no state of the calling thread changed.
const Facts& facts();

/// The machine that Juno's SME2 kernels are written for: SME2 with 64-byte streaming vectors, no SVE, no FA64 (Apple
/// M4).
Facts sme2_machine();

/// How many SME units the machine has, as far as the operating system tells: nothing if it doesn't. Cores that share a
/// unit compute at its speed together, so this is about how many threads gain from SME. `cpus` is Linux' folder of
/// processors; the registers in it are SMIDR_EL1 of each (Documentation/arch/arm64/cpu-feature-registers.rst).
std::optional<unsigned> sme_units(const std::filesystem::path& cpus = "/sys/devices/system/cpu");

/// Gives the calling thread streaming vectors of `bytes`, where the operating system leaves that to the thread (Linux).
/// Returns false if they cannot be had. Cheap after a thread's first call; must not be called in streaming mode.
bool prepare_streaming(unsigned bytes) noexcept;

}  // namespace juno::cpu
