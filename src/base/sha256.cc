// SPDX-License-Identifier: Apache-2.0
// OpenSSL's own SHA-256 functions, the ones its EVP interface ends up in: EVP costs a digest of a few hundred bytes nearly as
// much again as the digest itself, and most digests here are of that size.
#define OPENSSL_SUPPRESS_DEPRECATED  // OpenSSL 3 would have everybody use EVP
#include "base/sha256.h"

#include <openssl/sha.h>

#include "base/check.h"
#include "base/text.h"

namespace baton {

Sha256 sha256(std::string_view bytes) {
  SHA256_CTX state;
  Sha256 out;
  CHECK(SHA256_Init(&state) == 1 && SHA256_Update(&state, bytes.data(), bytes.size()) == 1 &&
        SHA256_Final(out.data(), &state) == 1);
  return out;
}

std::string sha256_hex(std::string_view bytes) { return hex(sha256(bytes)); }

}  // namespace baton
