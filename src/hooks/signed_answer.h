// SPDX-License-Identifier: Apache-2.0
// What the node signs of an answer to a hook, and how that travels. The node and baton-hook build the same text from what each has seen, so
// that a signature is good for one answer to one request alone. Pure.
//
//   Baton-Nonce: 32 lower-case hexadecimal digits          of the request: random, new for each
//   Baton-Signature: 128 lower-case hexadecimal digits     of the answer: Ed25519 over signed_answer_text()
//
// The public key is 64 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <string_view>

namespace baton::hooks {

inline constexpr std::string_view kNonceHeader = "Baton-Nonce";
inline constexpr std::string_view kSignatureHeader = "Baton-Signature";
inline constexpr std::size_t kNonceBytes = 16, kAnswerKeyBytes = 32, kSignatureBytes = 64;

// What the request's digest (SHA-256) is made of: where it goes (client, event and role are in `target`), on behalf of which session, and the
// event itself.
std::string signed_request_text(std::string_view target, std::string_view session_token, std::string_view body);

// `request_sha256` in hexadecimal; `answer`: the body of the answer, which has the exit status and both outputs.
std::string signed_answer_text(std::string_view nonce, std::string_view request_sha256, std::string_view answer);

// Exactly so many bytes in lower-case hexadecimal?
bool is_hex_of(std::string_view text, std::size_t bytes);

}  // namespace baton::hooks
