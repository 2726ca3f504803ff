// SPDX-License-Identifier: Apache-2.0
// What becomes of entries about tokens and about answers to idempotency keys.
#include "runtime/fold_parts.h"
#include "runtime/token_entries.h"
#include "runtime/work_rows.h"
#include "store/tables.h"

namespace baton::runtime {

namespace tables = store::tables;

Result<void> fold_token_created(const Event& event, json::Node payload, store::Transaction& transaction) {
  Token token;
  const bool read = read_text(payload, "token_id", token.id) && read_text(payload, "actor_id", token.actor_id) &&
                    read_kind_and_grant(payload, token) && read_texts(payload, "scopes", token.scopes) &&
                    read_texts(payload, "names", token.names) &&
                    read_text(payload, "secret_sha256", token.secret_sha256) &&
                    read_text(payload, "created_by", token.created_by) && read_time(payload, "at", token.created_at) &&
                    read_optional_time(payload, "expires_at", token.expires_at);
  if (!read) return malformed(event, "complete token");
  if (payload["note"].is_string()) token.note = payload["note"].string();
  // Two of them would be two of one row, and the second is refused.
  if (payload["first"].is_true())
    if (auto counted = transaction.insert(tables::kCounters, {std::string("first_operator"), std::int64_t{1}});
        !counted)
      return counted;
  return transaction.insert(tables::kTokens, row_of(token));
}

Result<void> fold_token_revoked(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string id;
  Time at;
  if (!read_text(payload, "token_id", id) || !read_time(payload, "at", at)) return malformed(event, "token_id and at");
  const auto row = transaction.get(tables::kTokens, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return malformed(event, "token that is known");
  auto token = read_token(**row);
  if (!token) return tl::make_unexpected(token.error());
  token->revoked_at = at;
  return transaction.update(tables::kTokens, row_of(*token));
}

Result<void> fold_answered(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string actor_id, key, request_sha256;
  Time expires_at;
  if (!read_text(payload, "actor_id", actor_id) || !read_text(payload, "key", key) ||
      !read_text(payload, "request_sha256", request_sha256) || !read_time(payload, "expires_at", expires_at) ||
      !payload["answer"].is_object())
    return malformed(event, "complete answer");
  return put(transaction, tables::kAnswers,
             {key, actor_id, expires_at.nanoseconds, request_sha256, json::write(payload["answer"])});
}

Result<void> fold_forgotten(const Event& event, json::Node payload, store::Transaction& transaction) {
  if (!payload["answers"].is_array() || !payload["messages"].is_array() || !payload["deliveries"].is_array())
    return malformed(event, "answers, messages and deliveries");
  for (const auto& [member, table] : {std::pair{"answers", &tables::kAnswers}, {"messages", &tables::kUaixMessages}})
    for (const json::Node pair : payload[member].elements()) {
      const json::Node key = pair.element(0), owner = pair.element(1);
      if (!key.is_string() || !owner.is_string()) return malformed(event, "keys that are text");
      auto erased = transaction.erase(*table, {std::string(key.string()), std::string(owner.string())});
      if (!erased) return erased;
    }
  for (const json::Node id : payload["deliveries"].elements()) {
    if (!id.is_string()) return malformed(event, "deliveries that are text");
    if (auto erased = transaction.erase(tables::kDeliveries, {std::string(id.string())}); !erased) return erased;
  }
  return {};
}

}  // namespace baton::runtime
