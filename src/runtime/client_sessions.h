// SPDX-License-Identifier: Apache-2.0
// The id of the governed session that belongs to one of a coding agent's own (docs/decisions/0049): worked out, so that it is found again
// by whoever knows the key, on every node and for ever.
#pragma once

#include <string>
#include <string_view>

#include "base/sha256.h"

namespace baton::runtime {

// `key` says whose it is, of which client, and what the client calls it.
inline std::string client_session_id(std::string_view key) {
  return "ses_" + sha256_hex("client\n" + std::string(key)).substr(0, 32);
}

}  // namespace baton::runtime
