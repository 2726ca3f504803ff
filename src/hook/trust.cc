// SPDX-License-Identifier: Apache-2.0
#include "hook/trust.h"

#include <sodium/crypto_hash_sha256.h>
#include <sodium/crypto_sign_ed25519.h>
#include <sys/random.h>

#include <array>
#include <span>

#include "hooks/signed_answer.h"

namespace baton::hook {
namespace {

std::string hex_of(std::span<const unsigned char> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) (out += kDigits[byte >> 4]) += kDigits[byte & 15];
  return out;
}

template <std::size_t N>
bool read_hex(std::string_view text, std::array<unsigned char, N>& out) {
  if (!hooks::is_hex_of(text, N)) return false;
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < N; ++i)
    out[i] = static_cast<unsigned char>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  return true;
}

const unsigned char* bytes_of(const std::string& text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

std::string fresh_nonce() {
  std::array<unsigned char, hooks::kNonceBytes> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  return hex_of(bytes);
}

// libsodium needs no initialisation for these two: neither asks the processor anything nor draws random numbers.
bool is_signed(const Asked& asked, const Heard& heard, std::string_view key) {
  static_assert(hooks::kAnswerKeyBytes == crypto_sign_ed25519_PUBLICKEYBYTES &&
                hooks::kSignatureBytes == crypto_sign_ed25519_BYTES);
  std::array<unsigned char, hooks::kAnswerKeyBytes> public_key;
  std::array<unsigned char, hooks::kSignatureBytes> signature;
  if (asked.nonce.empty() || !read_hex(key, public_key) || !read_hex(heard.signature, signature)) return false;
  const std::string request = hooks::signed_request_text(asked.target, asked.session_token, asked.body);
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest;
  crypto_hash_sha256(digest.data(), bytes_of(request), request.size());
  const std::string text = hooks::signed_answer_text(asked.nonce, hex_of(digest), heard.body);
  return crypto_sign_ed25519_verify_detached(signature.data(), bytes_of(text), text.size(), public_key.data()) == 0;
}

}  // namespace baton::hook
