// SPDX-License-Identifier: Apache-2.0
#include "ledger/answer_key.h"

#include <sodium.h>

#include "base/text.h"

namespace baton::ledger {

SigningKey answer_key(const RedactionKey& key) {
  constexpr std::string_view kTag = "baton.hook.answer_key.v1\n";
  std::array<std::uint8_t, crypto_auth_hmacsha256_BYTES> seed;
  static_assert(seed.size() == crypto_sign_SEEDBYTES &&
                std::tuple_size_v<RedactionKey> == crypto_auth_hmacsha256_KEYBYTES);
  crypto_auth_hmacsha256(seed.data(), reinterpret_cast<const unsigned char*>(kTag.data()), kTag.size(), key.data());
  SigningKey out = SigningKey::from_seed("baton-hook-answers", seed);
  sodium_memzero(seed.data(), seed.size());
  return out;
}

std::string answer_key_text(const SigningKey& key) { return hex(key.verifier().bytes); }

}  // namespace baton::ledger
