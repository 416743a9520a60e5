// SPDX-License-Identifier: Apache-2.0
//
// Linux: the streaming vector length belongs to each thread and starts at a default that is too short (32 bytes,
// Documentation/arch/arm64/sme.rst), so every computing thread asks for its own.
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "cpu/interpret.h"
#include "cpu/probe.h"

namespace juno::cpu {
namespace {

// From include/uapi/linux/prctl.h; older system headers lack them.
constexpr int kPrSmeSetVl = 63;
constexpr int kPrSmeGetVl = 64;
constexpr unsigned kPrSmeVlLengthMask = 0xffff;

std::optional<unsigned> length_of(int answer) noexcept {
  if (answer < 0) return std::nullopt;
  return static_cast<unsigned>(answer) & kPrSmeVlLengthMask;
}

std::optional<unsigned> request_length(unsigned bytes) noexcept {
  return length_of(prctl(kPrSmeSetVl, bytes, 0, 0, 0));
}

}  // namespace

Facts probe() {
  LinuxAnswers answers{
      .hwcap = getauxval(AT_HWCAP), .hwcap2 = getauxval(AT_HWCAP2), .streaming_bytes_after_request = std::nullopt};
  if (linux_hwcaps_have_sme(answers.hwcap2)) {
    const std::optional<unsigned> before = length_of(prctl(kPrSmeGetVl, 0, 0, 0, 0));
    answers.streaming_bytes_after_request = request_length(kStreamingBytes);
    if (before && before != answers.streaming_bytes_after_request) request_length(*before);
  }
  return interpret_linux_arm(answers);
}

bool prepare_streaming(unsigned bytes) noexcept {
  thread_local unsigned length = 0;
  if (length != bytes) length = request_length(bytes).value_or(0);
  return length == bytes;
}

}  // namespace juno::cpu
