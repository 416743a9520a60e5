// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace juno {

/// `text` on one line and without power over a terminal: control characters (C0, DEL, and C1 in UTF-8) become \xNN.
/// All else, also bytes that are not UTF-8, stays as it is.
std::string printable(std::string_view text);

}  // namespace juno
