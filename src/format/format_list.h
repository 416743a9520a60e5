// SPDX-License-Identifier: Apache-2.0
//
// THE list of formats that Juno reads. Everything that speaks of all formats is a loop over it.
#pragma once

#include <tuple>

#include "format/iq4_xs.h"

namespace juno::format {

using FormatList = std::tuple<Iq4Xs>;

}  // namespace juno::format
