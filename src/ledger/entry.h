// SPDX-License-Identifier: Apache-2.0
// An entry of the ledger: what happened, who did it, when, and the hash of the entry before it.
//
// An entry's hash is the RFC 6962 leaf hash of its bytes, and its bytes are a domain tag and the exact canonical JSON of
// every other member. So one hash is both the link of the chain and the leaf of the Merkle tree, and no member, not even
// the time, can be altered without changing it.
// Byte format: docs/formats/ledger.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/result.h"
#include "base/sha256.h"
#include "base/time.h"
#include "store/store.h"

namespace baton::ledger {

enum class ActorKind { Agent, Operator, Ci, Auditor, Node };
std::string_view actor_kind_name(ActorKind kind);  // "agent", "operator", "ci", "auditor", "node"
std::optional<ActorKind> find_actor_kind(std::string_view name);

struct Actor {
  std::string id;
  ActorKind kind = ActorKind::Node;
};

// What is to be recorded, before the ledger gives it its place. `payload` is exact canonical JSON of an object.
struct Draft {
  std::string stream;  // what it is about: "work/W-12", "session/…", "ledger"
  std::string type;    // what happened: "work.claimed"; words of a-z, 0-9 and _, joined by dots
  Actor actor;
  std::string payload;
};

// Why a draft cannot be an entry: LEDGER_DRAFT or LEDGER_TOO_LARGE. Does not look for secrets (ledger/redaction.h).
// A payload that prepare_payload() made is canonical as it is, and parsing it again would cost as much as all the rest.
enum class Payload { Unknown, Prepared };
Result<void> check_draft(const Draft& draft, Payload payload = Payload::Unknown);

// An entry that owns its parts.
struct Entry {
  std::uint64_t sequence = 0;  // 1, 2, 3, ... without gaps
  std::string stream;
  std::string type;
  std::string actor_id;
  std::string actor_kind;
  Time time;
  std::string payload;
  Sha256 previous{};  // hash of the entry before; zero for the first
  Sha256 hash{};

  store::EntryRow row() const;  // views into this entry
};

// The time as entries write it: UTC with always nine digits of fraction, `2026-11-15T04:00:00.000000000Z`.
void append_time(std::string& out, std::int64_t nanoseconds);

// The canonical JSON of every member but the hash, appended to `out`. Takes the row as it is; what is not UTF-8 is written
// as it is, so that a changed row gives other bytes and never the same.
void append_body(std::string& out, const store::EntryRow& row);

// The hash of an entry with that body: SHA-256 over 0x00, the domain tag and the body. `buffer` is scratch space.
inline constexpr std::string_view kEntryTag = "baton.ledger.entry.v1\n";
Sha256 entry_hash(const store::EntryRow& row, std::string& buffer);

// One line of an export and the `entry` of a receipt: {"entry":BODY,"hash":"64 hex digits"}.
void append_exported(std::string& out, const store::EntryRow& row);

// The way back: the body's text as it stands, and its members. Failure LEDGER_MALFORMED when the text is not of that form.
struct ExportedEntry {
  Entry entry;
  std::string_view body;  // of the text given
};
Result<ExportedEntry> parse_exported(std::string_view line);
// The same for whoever knows which entry it should be: what is wrong, in the place of LEDGER_MALFORMED's {problem}.
tl::expected<ExportedEntry, std::string> read_exported(std::string_view line);

}  // namespace baton::ledger
