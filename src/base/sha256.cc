// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <openssl/evp.h>

#include <memory>

#include "base/check.h"
#include "base/text.h"

namespace baton {
namespace {

// EVP_sha256() makes OpenSSL look the implementation up on every digest; a fetched one is found once (it halves the cost
// of a small digest).
struct Hasher {
  std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> algorithm{EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free};
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

}  // namespace

Sha256 sha256(std::string_view bytes) {
  thread_local Hasher hasher;
  Sha256 out;
  CHECK(hasher.algorithm && hasher.context);
  CHECK(EVP_DigestInit_ex2(hasher.context.get(), hasher.algorithm.get(), nullptr) == 1);
  CHECK(EVP_DigestUpdate(hasher.context.get(), bytes.data(), bytes.size()) == 1);
  unsigned length = 0;
  CHECK(EVP_DigestFinal_ex(hasher.context.get(), out.data(), &length) == 1 && length == out.size());
  return out;
}

std::string sha256_hex(std::string_view bytes) { return hex(sha256(bytes)); }

}  // namespace baton
