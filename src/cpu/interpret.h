// SPDX-License-Identifier: Apache-2.0
//
// What operating systems answer, and what the answers mean. Asking (probe_*.cpp) and interpreting are apart, so that
// the recorded answers of machines that are not here can be tested everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "juno/cpu.h"

namespace juno::cpu {

/// The streaming vector length that Juno's SME2 kernels need.
inline constexpr unsigned kStreamingBytes = 64;

/// Linux on Arm: getauxval(AT_HWCAP), getauxval(AT_HWCAP2), and what prctl(PR_SME_SET_VL, 64) left as the thread's
/// length in bytes (absent if the call failed or was not made). Bits: arch/arm64/include/uapi/asm/hwcap.h of Linux.
struct LinuxAnswers {
  std::uint64_t hwcap = 0;
  std::uint64_t hwcap2 = 0;
  std::optional<unsigned> streaming_bytes_after_request;
};
Facts interpret_linux_arm(const LinuxAnswers& answers);

/// macOS on Arm: the value of each named sysctl, absent if there is no such name.
using SysctlAnswers = std::function<std::optional<std::int64_t>(std::string_view name)>;
Facts interpret_darwin_arm(const SysctlAnswers& answers);

/// True if the hwcaps say that asking for a streaming vector length makes sense.
bool linux_hwcaps_have_sme(std::uint64_t hwcap2) noexcept;

}  // namespace juno::cpu
