// SPDX-License-Identifier: Apache-2.0
#include "hooks/signed_answer.h"

#include <algorithm>

namespace baton::hooks {

// No part before the last can hold a line feed: not a target, not a token that travels in a header, not hexadecimal digits.
std::string signed_request_text(std::string_view target, std::string_view session_token, std::string_view body) {
  std::string out;
  out.reserve(target.size() + session_token.size() + body.size() + 2);
  ((out += target) += '\n') += session_token;
  (out += '\n') += body;
  return out;
}

std::string signed_answer_text(std::string_view nonce, std::string_view request_sha256, std::string_view answer) {
  std::string out = "baton.hook.answer.v1\n";
  ((out += nonce) += '\n') += request_sha256;
  (out += '\n') += answer;
  return out;
}

bool is_hex_of(std::string_view text, std::size_t bytes) {
  return text.size() == 2 * bytes &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace baton::hooks
