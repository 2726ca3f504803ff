// SPDX-License-Identifier: Apache-2.0
// Content beside the ledger that can be erased: encrypted under a key of its own, so that erasing the key erases the
// content wherever a copy of the encrypted bytes may lie. The entry holds the hash of the encrypted bytes, so that what the
// content was cannot be guessed from it, and the chain stays whole when it is gone.
#pragma once

#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"
#include "ledger/redaction.h"

namespace baton::ledger {

// Stored bytes: a 24-byte nonce and libsodium's secretbox (XSalsa20-Poly1305) of the content.
Blob encrypted_blob(std::string_view content, Random& random);

// A blob of this content as it is.
Blob plain_blob(std::string content);

// The content. Failure when the bytes are not what the key made.
Result<std::string> open_blob(std::string_view bytes, std::string_view key);

}  // namespace baton::ledger
