// SPDX-License-Identifier: Apache-2.0
// Tokens of actors: made, revoked; and the texts of all tokens.
#include <sodium.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/session_token.h"
#include "base/text.h"
#include "json/canonical.h"
#include "ledger/blob.h"
#include "runtime/session_record.h"
#include "runtime/token_entries.h"
#include "runtime/use_cases/inside.h"
#include "runtime/work_events.h"
#include "secrets/detector.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using json::Value;
using work::ActorKind;

constexpr std::string_view kPrefix = "baton_";
constexpr std::string_view kSessionTag = "baton.session_token.v1\n";
constexpr std::size_t kIdDigits = 32;

struct KindLetter {
  ActorKind kind;
  char letter;
};
constexpr std::array kLetters = {KindLetter{ActorKind::Agent, 'a'}, KindLetter{ActorKind::Operator, 'o'},
                                 KindLetter{ActorKind::Ci, 'c'}, KindLetter{ActorKind::Auditor, 'u'},
                                 KindLetter{ActorKind::Node, 'n'}};

constexpr char kHostLetter = 'h';

char letter_of(const TokenRequest& asked) {
  return asked.is_host ? kHostLetter : std::ranges::find(kLetters, asked.kind, &KindLetter::kind)->letter;
}

std::string base64url(std::span<const std::uint8_t, 32> bytes) {
  std::array<char, kTokenSecretDigits + 1> text;
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  return std::string(text.data(), kTokenSecretDigits);
}

bool is_base64url(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
}

// --- what a token may say -----------------------------------------------------------------------------------------------------

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= limits::kTokenNameBytesMax && is_visible(text);
}

std::vector<Diagnostic> check(const TokenRequest& asked, Time now) {
  std::vector<Diagnostic> out;
  const auto wrong = [&](std::string field, std::string_view problem) {
    out.push_back(report(Code::TOKEN_FIELD, place_named("/" + field), {{"field", field}, {"problem", problem}}));
  };
  if (!is_name(asked.actor_id)) wrong("actor", "is not a name of 1 to 128 visible ASCII characters");
  if (asked.scopes.empty() || asked.scopes.size() > limits::kTokenListMax ||
      !std::ranges::all_of(asked.scopes, is_name))
    wrong("scopes", "is not a list of 1 to 64 names");
  if (asked.names.size() > limits::kTokenListMax || !std::ranges::all_of(asked.names, is_name))
    wrong("names", "is not a list of at most 64 names");
  if (asked.roles.size() > limits::kTokenListMax || !std::ranges::all_of(asked.roles, is_name))
    wrong("roles", "is not a list of at most 64 names");
  if (!asked.roles.empty() && asked.kind != ActorKind::Agent) wrong("roles", "is for tokens of kind agent or host");
  if (asked.principal && asked.kind != ActorKind::Agent) wrong("principal", "is for tokens of kind agent or host");
  if (asked.principal && !asked.principal->is_object()) wrong("principal", "is no JSON object");
  if (std::ranges::any_of(asked.roles, secrets::holds_secret)) wrong("roles", "holds what looks like a secret");
  // They stand in every entry of whoever presents the token, and an entry that holds what looks like a secret is refused.
  constexpr std::string_view kSecret = "holds what looks like a secret";
  if (secrets::holds_secret(asked.actor_id)) wrong("actor", kSecret);
  if (std::ranges::any_of(asked.scopes, secrets::holds_secret)) wrong("scopes", kSecret);
  if (std::ranges::any_of(asked.names, secrets::holds_secret)) wrong("names", kSecret);
  if (asked.expires_at && *asked.expires_at <= now) wrong("expires_at", "is not in the future");
  if (asked.note.size() > limits::kTokenNoteBytesMax || find_invalid_utf8(asked.note) != asked.note.size() ||
      asked.note.find('\0') != std::string::npos)
    wrong("note", "is not a text of at most 500 bytes");
  return out;
}

// Whom its sessions act for, in a blob that can be erased; the entry has its digest.
Result<void> keep_principal(Act& act, const TokenRequest& asked, TokenGrant& grant) {
  if (!asked.principal) return {};
  std::string text;
  if (!json::append_canonical(text, *asked.principal, json::Numbers::Exact) || text.size() > limits::kPrincipalBytesMax)
    return act.refuse(report(Code::TOKEN_FIELD, place_named("/principal"),
                             {{"field", "principal"},
                              {"problem", "is more than " + std::to_string(limits::kPrincipalBytesMax) + " bytes"}})),
           Result<void>();
  const ledger::Blob blob = ledger::encrypted_blob(text, act.engine.random);
  if (auto kept = act.unit.keep(blob); !kept) return kept;
  grant.principal_blob = blob.sha256;
  grant.principal_bytes = static_cast<std::int64_t>(blob.bytes.size());
  grant.principal_sha256 = keyed_digest(act.engine.ledger.redaction_key(), text);
  return {};
}

}  // namespace

void UseCases::create_token(const Mutation& by, TokenRequest asked, Answered done) {
  std::array<std::uint8_t, 32> secret;
  inside_->random.fill(secret);
  const std::string secret_text = base64url(secret);
  const std::string id = mint_id("", inside_->random);
  const std::string text = std::string(kPrefix) + letter_of(asked) + "_" + id + "_" + secret_text;
  // A store without an operator can be put right by nobody: the first one is always made.
  const auto adds = asked.is_first || asked.recovers ? Engine::Adds::Little : Engine::Adds::Work;
  inside_->run(by,
               [asked = std::move(asked), id, text, secret_sha256 = sha256_hex(secret_text)](Act& act) -> Result<void> {
                 if (auto wrong = check(asked, act.now); !wrong.empty())
                   return act.refuse(std::move(wrong)), Result<void>();
                 if (asked.is_first) {
                   const auto reader = act.engine.store.reader();
                   if (!reader) return tl::make_unexpected(reader.error());
                   const auto exists = has_operator_token(**reader);
                   if (!exists) return tl::make_unexpected(exists.error());
                   if (*exists) return act.refuse(report(Code::ACCESS_OPERATOR_EXISTS, {})), Result<void>();
                 }
                 Token made;
                 made.kind = asked.kind;
                 made.grant.is_host = asked.is_host;
                 made.grant.roles = asked.roles;
                 if (auto kept = keep_principal(act, asked, made.grant); !kept || act.refused()) return kept;
                 Value payload = Value::object();
                 payload.set("token_id", id);
                 // The fold counts it, in a row that there is one of: of two nodes that look at the same moment only one gets through.
                 if (asked.is_first) payload.set("first", true);
                 payload.set("actor_id", asked.actor_id);
                 payload.set("kind", kind_name(made));
                 write_grant(payload, made.grant);
                 payload.set("scopes", texts_value(asked.scopes));
                 payload.set("names", texts_value(asked.names));
                 payload.set("secret_sha256", secret_sha256);
                 if (asked.expires_at) payload.set("expires_at", format_time(*asked.expires_at));
                 payload.set("created_by", act.caller().actor.id);
                 if (!asked.note.empty()) payload.set("note", asked.note);
                 payload.set("at", format_time(act.now));
                 if (auto appended = act.append(std::string(kTokensStream), kTokenCreated, std::move(payload),
                                                Act::Is::Main, {"/token_id", "/secret_sha256"});
                     !appended)
                   return appended;
                 if (asked.recovers) {
                   Value recovered = Value::object();
                   recovered.set("token_id", id);
                   recovered.set("actor_id", asked.actor_id);
                   recovered.set("at", format_time(act.now));
                   if (auto appended = act.append(std::string(kTokensStream), kOperatorRecovered, std::move(recovered),
                                                  Act::Is::Beside, {"/token_id"});
                       !appended)
                     return appended;
                 }
                 const auto row = act.unit.get(store::tables::kTokens, {id});
                 if (!row) return tl::make_unexpected(row.error());
                 const auto token = read_token(**row);
                 if (!token) return tl::make_unexpected(token.error());
                 act.answer.created = true;
                 act.answer.body = shown(*token);
                 act.dress_with([text](Answer& answer) { answer.body.set("token", text); });
                 return {};
               },
               std::move(done), {.adds = adds});
}

// --- revoking ---------------------------------------------------------------------------------------------------------------

namespace {

// The sessions that hold an item and were claimed with the token.
Result<std::vector<std::string>> sessions_by(store::Reader& reader, std::string_view token_id,
                                             std::string_view actor_id) {
  namespace tables = store::tables;
  std::vector<std::string> held, out;
  // Whatever is held becomes due some time.
  auto found = reader.find({.table = tables::kWorkItems, .index = &tables::kWorkItemsByDeadline, .below = INT64_MAX},
                           [&](const store::Row& row) {
                             const auto item = read_item(row);
                             if (item && item->lease && item->lease->holder == actor_id)
                               held.push_back(item->lease->session_id);
                             return true;
                           });
  if (!found) return tl::make_unexpected(found.error());
  for (std::string& id : held) {
    const auto row = reader.get(tables::kSessions, {id});
    if (!row) return tl::make_unexpected(row.error());
    const auto session = *row ? read_session(**row) : Result<work::Session>();
    if (session && session->token_id == token_id) out.push_back(std::move(id));
  }
  return out;
}

struct Ending {
  std::vector<std::string> sessions;
  std::size_t at = 0, ended = 0;
  std::size_t ended_now = 0;  // by the last run of the page under way
  Answer answer;              // to whoever revoked
  Answered done;
};

// The session ends as if its agent had gone; an item that waits for a person is BLOCKED with its question, because nobody could go
// on with the answer. By the node: it is what time
// would have done, because nobody can renew the lease.
Result<bool> end_session(Act& act, const std::string& id) {
  auto held = act.holding(id);
  if (!held) return tl::make_unexpected(held.error());
  if (!*held) return false;
  auto& [session, item] = **held;
  if (!item.lease || item.lease->session_id != id) return false;
  constexpr std::string_view kWhy = "the token it was claimed with was revoked";
  return act.record(item.lease->parked_until ? work::give_up_waiting(item, session, kWhy, act.now)
                                             : work::abandon(item, session, kWhy, act.policy(), act.now),
                    item);
}

// Some at a time, so that others get in between.
void end_sessions(Engine& engine, const std::shared_ptr<Ending>& ending) {
  if (ending->at == ending->sessions.size()) {
    ending->answer.body.set("sessions_ended", ending->ended);
    return ending->done(std::move(ending->answer));
  }
  Mutation by;
  by.caller.actor = {node_actor().id, ActorKind::Node};
  const std::size_t last = std::min(ending->at + limits::kSweepItemsMax, ending->sessions.size());
  engine.run(
      by,
      [ending, last](Act& act) -> Result<void> {
        std::size_t ended = 0;
        for (std::size_t at = ending->at; at < last; ++at) {
          const auto done = end_session(act, ending->sessions[at]);
          if (!done) return tl::make_unexpected(done.error());
          if (*done) ++ended;
          act.answer.refused.clear();  // one that ended meanwhile is no reason to keep the others
        }
        ending->ended_now = ended;
        return {};
      },
      [&engine, ending, last](Result<Answer> answer) {
        if (!answer) return ending->done(std::move(answer));
        ending->ended += ending->ended_now;
        ending->at = last;
        end_sessions(engine, ending);
      });
}

}  // namespace

void UseCases::revoke_token(const Mutation& by, std::string token_id, Answered done) {
  Engine& engine = *inside_;
  // What held work by it is found after the commit: whoever claims later is not let in any more.
  const auto then = [&engine, token_id, done = std::move(done)](Result<Answer> answer) {
    if (!answer || !answer->refused.empty()) return done(std::move(answer));
    const auto reader = engine.store.reader();
    if (!reader) return done(tl::make_unexpected(reader.error()));
    auto sessions = sessions_by(**reader, token_id, answer->body.find("actor")->string());
    if (!sessions) return done(tl::make_unexpected(sessions.error()));
    end_sessions(engine, std::make_shared<Ending>(Ending{std::move(*sessions), 0, 0, 0, std::move(*answer), done}));
  };
  engine.run(
      by,
      [token_id = std::move(token_id)](Act& act) -> Result<void> {
        Result<std::optional<store::Row>> row;
        const bool is_id = token_id.size() == kIdDigits && std::ranges::all_of(token_id, is_lower_hex);
        if (is_id) row = act.unit.get(store::tables::kTokens, {token_id});
        if (!row) return tl::make_unexpected(row.error());
        if (!*row) return act.refuse(report(Code::TOKEN_UNKNOWN, {})), Result<void>();
        auto token = read_token(**row);
        if (!token) return tl::make_unexpected(token.error());
        if (!token->revoked_at) {
          Value payload = Value::object();
          payload.set("token_id", token_id);
          payload.set("at", format_time(act.now));
          if (auto done = act.append(std::string(kTokensStream), kTokenRevoked, std::move(payload), Act::Is::Main,
                                     {"/token_id"});
              !done)
            return done;
          token->revoked_at = act.now;
        }
        act.answer.body = shown(*token);
        return {};
      },
      then);
}

std::optional<TokenText> parse_token(std::string_view text) {
  // baton_a_<32 hex>_<43 base64url>
  if (text.size() != kPrefix.size() + 2 + kIdDigits + 1 + kTokenSecretDigits || !text.starts_with(kPrefix))
    return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const bool known =
      text[0] == kHostLetter || std::ranges::find(kLetters, text[0], &KindLetter::letter) != kLetters.end();
  const std::string_view id = text.substr(2, kIdDigits), secret = text.substr(2 + kIdDigits + 1);
  if (!known || text[1] != '_' || text[2 + kIdDigits] != '_' || !std::ranges::all_of(id, is_lower_hex) ||
      !is_base64url(secret))
    return std::nullopt;
  return TokenText{std::string(id), sha256_hex(secret)};
}

std::string Engine::session_token(std::string_view session_id) const {
  static_assert(crypto_auth_hmacsha256_BYTES == 32 && crypto_auth_hmacsha256_KEYBYTES == 32);
  const std::string message = std::string(kSessionTag) + std::string(session_id);
  std::array<std::uint8_t, 32> code;
  crypto_auth_hmacsha256(code.data(), reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                         ledger.redaction_key().data());
  return std::string(kSessionTokenPrefix) + std::string(session_id) + "_" + base64url(code);
}

std::string UseCases::session_token(std::string_view session_id) const { return inside_->session_token(session_id); }

std::optional<std::string> UseCases::session_of_token(std::string_view text) const {
  const std::string_view id = baton::session_of_token(text);
  if (!work::is_work_id(id)) return std::nullopt;
  const auto is_genuine = [&](const std::string& genuine) {
    return genuine.size() == text.size() && sodium_memcmp(genuine.data(), text.data(), text.size()) == 0;
  };
  std::string found(id);
  Inside::GenuineTokens& known = inside_->genuine_tokens;
  {
    const std::lock_guard lock(known.mutex);
    if (const auto one = known.by_session.find(found); one != known.by_session.end())
      return is_genuine(one->second) ? std::optional(std::move(found)) : std::nullopt;
  }
  std::string genuine = inside_->session_token(id);
  if (!is_genuine(genuine)) return std::nullopt;
  const std::lock_guard lock(known.mutex);
  if (known.by_session.size() >= Inside::GenuineTokens::kMax) known.by_session.clear();
  known.by_session.emplace(found, std::move(genuine));
  return found;
}

}  // namespace baton::runtime
