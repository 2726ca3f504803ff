// SPDX-License-Identifier: Apache-2.0
#include "runtime/token_entries.h"

#include <optional>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/entry.h"
#include "ledger/redaction.h"
#include "ledger/streams.h"
#include "runtime/work_events.h"
#include "runtime/work_rows.h"

namespace baton::runtime {
namespace {

constexpr std::string_view kHostKind = "host";

}  // namespace

Result<std::uint64_t> read_token_entries(store::Reader& reader, std::uint64_t after, const TakeTokenEntry& take) {
  const auto head = reader.head();
  if (!head) return tl::make_unexpected(head.error());
  struct Said {
    std::string type, payload;
  };
  std::vector<Said> newest_first;
  std::optional<std::uint64_t> altered;
  std::string buffer;
  if (head->size > after) {
    auto read = ledger::read_stream_backwards(reader, kTokensStream, [&](const store::EntryRow& row) {
      if (row.sequence <= after) return false;
      const Sha256 hash = ledger::entry_hash(row, buffer);
      const bool is_whole = row.hash == std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size());
      if (!is_whole) altered = row.sequence;
      newest_first.push_back({std::string(row.type), std::string(row.payload)});
      return is_whole;
    });
    if (!read) return tl::make_unexpected(read.error());
  }
  if (altered)
    return failure_of(Code::LEDGER_CONTENT, "reading the entries about tokens",
                      {{"sequence", std::to_string(*altered)}});
  for (auto said = newest_first.rbegin(); said != newest_first.rend(); ++said) take(said->type, said->payload);
  return head->size;
}

std::string_view kind_name(const Token& token) {
  return token.grant.is_host ? kHostKind : agent_exit::actor_kind_name(token.kind);
}

bool read_kind_and_grant(json::Node object, Token& token) {
  std::string kind;
  if (!read_text(object, "kind", kind)) return false;
  token.grant = {};
  token.grant.is_host = kind == kHostKind;
  const auto known = token.grant.is_host ? std::optional(work::ActorKind::Agent) : agent_exit::find_actor_kind(kind);
  if (!known) return false;
  token.kind = *known;
  if (object["roles"] && !read_texts(object, "roles", token.grant.roles)) return false;
  const json::Node principal = object["principal"];
  if (!principal) return true;
  return read_text(principal["blob"], "sha256", token.grant.principal_blob) &&
         read_number(principal["blob"], "bytes", token.grant.principal_bytes) &&
         read_text(object, "principal_sha256", token.grant.principal_sha256);
}

void write_grant(json::Value& object, const TokenGrant& grant) {
  if (!grant.roles.empty()) object.set("roles", texts_value(grant.roles));
  if (grant.principal_blob.empty()) return;
  object.set("principal",
             ledger::blob_reference(grant.principal_blob, static_cast<std::size_t>(grant.principal_bytes)));
  object.set("principal_sha256", grant.principal_sha256);
}

Result<bool> has_operator_token(store::Reader& reader) {
  bool exists = false;
  const auto read = read_token_entries(reader, 0, [&](std::string_view type, std::string_view payload) {
    const auto document = type == kTokenCreated ? json::parse(payload) : tl::unexpected(json::ParseError{});
    exists = exists || (document && document->root()["kind"].is_text("operator"));
  });
  if (!read) return tl::make_unexpected(read.error());
  return exists;
}

}  // namespace baton::runtime
