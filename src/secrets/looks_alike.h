// SPDX-License-Identifier: Apache-2.0
// Inside the detector: telling a secret from what only looks like one, such as a UUID, a digest, a path, a name made of
// words or the placeholder of a password.
//
// Pure functions over the candidate alone. Where it begins and ends, and what stands beside it, is the caller's part.
#pragma once

#include <cstddef>
#include <string_view>

namespace baton::secrets {

// Shannon entropy in bits per character.
double entropy(std::string_view text);

// The value of `keyword = value`, which must be all of `value`.
bool is_secret_value(std::string_view value);

// The same for a value with punctuation that no token has: `P@ss-w0rd!`. `quoted`: it fills a pair of quotes, or is a member's value.
bool is_secret_punctuated(std::string_view value, bool quoted);

// `user:password` in base64, as in `Authorization: Basic ...`.
bool is_encoded_userinfo(std::string_view base64);

// A whole run of the characters in kRun.
bool is_secret_run(std::string_view run);

// A random run that everybody may see: a digest of a lock file (`sha512-...`, `h1:...`), a fingerprint or public key of ssh, a picture
// in base64. `before` is the text in front of it.
bool is_public_run(std::string_view before, std::string_view run);

// What the pattern of a rule cannot say: `token` matched that of `rule`, a RuleId, and is no secret all the same.
bool is_exempt(std::size_t rule, std::string_view token);

}  // namespace baton::secrets
