// SPDX-License-Identifier: Apache-2.0
//
// THE list of formats that Juno reads. Everything that speaks of all formats is a loop over it.
#pragma once

#include <tuple>

#include "format/iq2_s.h"
#include "format/iq2_xs.h"
#include "format/iq3_s.h"
#include "format/iq3_xxs.h"
#include "format/iq4_xs.h"
#include "format/q2_k.h"

namespace juno::format {

using FormatList = std::tuple<Q2K, Iq2Xs, Iq2S, Iq3Xxs, Iq3S, Iq4Xs>;

}  // namespace juno::format
