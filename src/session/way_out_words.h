// SPDX-License-Identifier: Apache-2.0
// Inside the engine: a way out in words, and its options as data.
#pragma once

#include <string>
#include <string_view>

#include "session/way_out.h"

namespace baton::session {

// The place as people call it: `/order/amount` is order.amount.
std::string in_words(std::string_view place);
// "shares at most 500, or call approve_risk_check first"
std::string in_words(const WayOut& way);

json::Value shown(const WayOption& option);

}  // namespace baton::session
