// SPDX-License-Identifier: Apache-2.0
// A token that is kept under a passphrase. One line of text:
//
//   baton-sealed-token+1+OPERATIONS+MEMORY+SALT+BOX
//
// The key is Argon2id (version 1.3) of the passphrase with that salt, that many passes and that many bytes of memory;
// BOX is the nonce and the XSalsa20-Poly1305 box of the token (libsodium's secretbox); salt and box in base64. The
// cost stands in the file, so that it can rise later; what is read is bounded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"

namespace baton::cli {

bool is_sealed_token(std::string_view text);

// Failure when there is not enough memory for the passphrase's hash.
Result<std::string> seal_token(std::string_view token, std::string_view passphrase, Random& random);

// Nothing when the passphrase is not the one it was sealed with. Failure when the text is none of the form above.
Result<std::optional<std::string>> open_token(std::string_view sealed, std::string_view passphrase);

// Overwrites what a text held, so that it is not left in memory.
void wipe(std::string& text);

}  // namespace baton::cli
