// SPDX-License-Identifier: Apache-2.0
// Is this answer the node's, to this question? By the public key that the hook was registered with.
#pragma once

#include <string>
#include <string_view>

#include "hook/asking.h"

namespace baton::hook {

// 16 random bytes in hexadecimal; empty: the kernel gives none.
std::string fresh_nonce();

// Did the holder of `key` (64 hexadecimal digits) sign what was heard, as an answer to what was asked? False for anything that cannot be checked.
bool is_signed(const Asked& asked, const Heard& heard, std::string_view key);

}  // namespace baton::hook
