// SPDX-License-Identifier: Apache-2.0
#include "cli/sealed_token.h"

#include <sodium.h>

#include <array>
#include <charconv>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "ledger/note.h"

namespace baton::cli {
namespace {

constexpr std::string_view kPrefix = "baton-sealed-token+1+";
// RFC 9106, section 4, the second recommended option as far as libsodium has it: some tenths of a second.
constexpr std::uint64_t kOperations = 3, kMemoryBytes = 64u << 20;

using Key = std::array<std::uint8_t, crypto_secretbox_KEYBYTES>;

bool derive(Key& key, std::string_view passphrase, const std::uint8_t* salt, std::uint64_t operations,
            std::uint64_t memory) {
  return crypto_pwhash(key.data(), key.size(), passphrase.data(), passphrase.size(), salt, operations, memory,
                       crypto_pwhash_ALG_ARGON2ID13) == 0;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tl::unexpected<Failure> not_of_the_form() { return failure("opening the sealed token", "it is damaged"); }

}  // namespace

bool is_sealed_token(std::string_view text) { return text.starts_with(kPrefix); }

Result<std::string> seal_token(std::string_view token, std::string_view passphrase, Random& random) {
  CHECK(sodium_init() >= 0);
  std::array<std::uint8_t, crypto_pwhash_SALTBYTES> salt;
  std::vector<std::uint8_t> box(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + token.size());
  random.fill(salt);
  random.fill(std::span(box).first(crypto_secretbox_NONCEBYTES));
  Key key;
  if (!derive(key, passphrase, salt.data(), kOperations, kMemoryBytes))
    return failure("sealing the token", "there is not enough memory for the passphrase's hash");
  crypto_secretbox_easy(box.data() + crypto_secretbox_NONCEBYTES, reinterpret_cast<const std::uint8_t*>(token.data()),
                        token.size(), box.data(), key.data());
  sodium_memzero(key.data(), key.size());
  return std::string(kPrefix) + std::to_string(kOperations) + "+" + std::to_string(kMemoryBytes) + "+" +
         ledger::base64(salt) + "+" + ledger::base64(box);
}

Result<std::optional<std::string>> open_token(std::string_view sealed, std::string_view passphrase) {
  CHECK(sodium_init() >= 0);
  if (!is_sealed_token(sealed)) return not_of_the_form();
  // `+` is also a digit of base64: the two numbers end at the first two, the salt after its padded length.
  std::string_view rest = sealed.substr(kPrefix.size());
  const std::size_t first = rest.find('+');
  const std::size_t second = first == std::string_view::npos ? first : rest.find('+', first + 1);
  if (second == std::string_view::npos) return not_of_the_form();
  const auto operations = number_of(rest.substr(0, first));
  const auto memory = number_of(rest.substr(first + 1, second - first - 1));
  rest.remove_prefix(second + 1);
  constexpr std::size_t kSaltDigits = (crypto_pwhash_SALTBYTES + 2) / 3 * 4;
  if (rest.size() <= kSaltDigits || rest[kSaltDigits] != '+') return not_of_the_form();
  const auto salt = ledger::parse_base64(rest.substr(0, kSaltDigits));
  const auto box = ledger::parse_base64(rest.substr(kSaltDigits + 1));
  if (!operations || *operations < crypto_pwhash_OPSLIMIT_MIN || *operations > limits::kSealedTokenOperationsMax ||
      !memory || *memory < crypto_pwhash_MEMLIMIT_MIN || *memory > limits::kSealedTokenMemoryMax || !salt ||
      salt->size() != crypto_pwhash_SALTBYTES || !box ||
      box->size() <= crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES)
    return not_of_the_form();
  Key key;
  if (!derive(key, passphrase, salt->data(), *operations, *memory))
    return failure("opening the sealed token", "there is not enough memory for the passphrase's hash");
  std::string token(box->size() - crypto_secretbox_NONCEBYTES - crypto_secretbox_MACBYTES, '\0');
  const int opened = crypto_secretbox_open_easy(reinterpret_cast<std::uint8_t*>(token.data()),
                                                box->data() + crypto_secretbox_NONCEBYTES,
                                                box->size() - crypto_secretbox_NONCEBYTES, box->data(), key.data());
  sodium_memzero(key.data(), key.size());
  if (opened != 0) return std::nullopt;
  return token;
}

void wipe(std::string& text) {
  sodium_memzero(text.data(), text.size());
  text.clear();
}

}  // namespace baton::cli
