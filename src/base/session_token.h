// SPDX-License-Identifier: Apache-2.0
// How the token of a session is written: `baton_s_<session id>_<43 digits of base64url>`. The digits may hold `_`, so that the id is
// what stands before the last 44 characters. Whether a token is genuine is known to the node alone.
#pragma once

#include <string_view>

namespace baton {

inline constexpr std::string_view kSessionTokenPrefix = "baton_s_";
inline constexpr std::size_t kTokenSecretDigits = 43;  // 32 bytes in base64url

// The id of the session; empty: the text is not written like a token.
inline std::string_view session_of_token(std::string_view token) {
  if (!token.starts_with(kSessionTokenPrefix)) return {};
  token.remove_prefix(kSessionTokenPrefix.size());
  if (token.size() < kTokenSecretDigits + 2 || token[token.size() - kTokenSecretDigits - 1] != '_') return {};
  return token.substr(0, token.size() - kTokenSecretDigits - 1);
}

}  // namespace baton
