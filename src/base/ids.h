// SPDX-License-Identifier: Apache-2.0
// Ids that Baton mints. Random, so that they say nothing about when or where; the kind is a readable prefix.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"

namespace baton {

// `prefix` + 128 random bits in lower-case hex: mint_id("msg_", random) -> "msg_9f0c...".
std::string mint_id(std::string_view prefix, Random& random);

// A version 4 UUID (RFC 9562) in its usual lower-case form.
std::string mint_uuid(Random& random);

}  // namespace baton
