// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

namespace juno {
namespace {

constexpr unsigned char kDelete = 0x7f;
constexpr unsigned char kC1Lead = 0xc2;  // U+0080 to U+009F are C2 80 to C2 9F

void append_hexadecimal(std::string& text, unsigned char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (byte == kC1Lead && next >= 0x80 && next < 0xa0) {
      append_hexadecimal(result, byte);
      append_hexadecimal(result, next);
      ++i;
    } else if (byte < 0x20 || byte == kDelete) {
      append_hexadecimal(result, byte);
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace juno
