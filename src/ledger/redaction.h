// SPDX-License-Identifier: Apache-2.0
// What happens to a payload before it becomes part of an entry, because an entry is for ever:
//   - secrets are taken out: `[REDACTED:rule]` stands in their place;
//   - long strings move into blobs beside the ledger, and a reference with their hash stays;
//   - what then still looks like a secret (in a member's name, say) refuses the append: LEDGER_SECRET.
// A value that rules need to compare later, and that is itself a secret, is recorded as a keyed hash: equal values give
// equal hashes, and without the key nothing can be tried out against them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "ledger/key_files.h"

namespace baton::ledger {

// Bytes that lie beside the ledger, by the hash of exactly these bytes.
struct Blob {
  std::string sha256;  // 64 hexadecimal digits
  std::string bytes;
  std::string key = {};  // of an encrypted one (ledger/blob.h)
};

struct Prepared {
  std::string payload;  // exact canonical JSON
  std::vector<Blob> blobs;
};

// `exempt` are JSON Pointers of strings that are known not to be secrets though they look random: public keys, signatures.
Result<Prepared> prepare_payload(const json::Value& payload, std::span<const std::string_view> exempt = {});

// Names are never redacted: a stream or an actor that looks like a secret refuses, LEDGER_SECRET.
Result<void> check_names(std::string_view stream, std::string_view actor);

// {"blob":{"bytes":N,"sha256":"..."}}: what stands in a payload for content that lies in a blob.
json::Value blob_reference(std::string_view sha256, std::size_t bytes);
// The blobs a payload refers to, in order.
std::vector<std::string> blob_references(std::string_view payload);

// Would anything of this value be taken out? `name` is what it is called where it stands.
bool holds_secret(json::Node value, std::string_view name);

// HMAC-SHA-256 over the exact canonical JSON of the value: {"keyed_hash":"hmac-sha256:..."}.
json::Value keyed_hash(const json::Value& value, const RedactionKey& key);

}  // namespace baton::ledger
