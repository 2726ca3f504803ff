// SPDX-License-Identifier: Apache-2.0
#include "ledger/blob.h"

#include <sodium.h>

#include "base/sha256.h"

namespace baton::ledger {
namespace {

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

Blob encrypted_blob(std::string_view content, Random& random) {
  Blob blob;
  blob.key.resize(crypto_secretbox_KEYBYTES);
  random.fill({bytes_of(blob.key), blob.key.size()});
  blob.bytes.resize(crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES + content.size());
  random.fill({bytes_of(blob.bytes), crypto_secretbox_NONCEBYTES});
  crypto_secretbox_easy(bytes_of(blob.bytes) + crypto_secretbox_NONCEBYTES, bytes_of(content), content.size(),
                        bytes_of(blob.bytes), bytes_of(blob.key));
  blob.sha256 = sha256_hex(blob.bytes);
  return blob;
}

Blob plain_blob(std::string content) {
  std::string hash = sha256_hex(content);
  return {std::move(hash), std::move(content)};
}

Result<std::string> open_blob(std::string_view bytes, std::string_view key) {
  constexpr std::size_t kOverhead = crypto_secretbox_NONCEBYTES + crypto_secretbox_MACBYTES;
  if (bytes.size() < kOverhead || key.size() != crypto_secretbox_KEYBYTES)
    return failure("opening a blob", "it is too short to be one");
  std::string content(bytes.size() - kOverhead, '\0');
  const std::string_view box = bytes.substr(crypto_secretbox_NONCEBYTES);
  if (crypto_secretbox_open_easy(bytes_of(content), bytes_of(box), box.size(), bytes_of(bytes), bytes_of(key)) != 0)
    return failure("opening a blob", "its key did not make it, or it was changed");
  return content;
}

}  // namespace baton::ledger
