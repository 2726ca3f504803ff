// SPDX-License-Identifier: Apache-2.0
#include "runtime/access.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/limits.h"
#include "base/session_token.h"
#include "base/text.h"
#include "json/parse.h"
#include "runtime/token_entries.h"
#include "runtime/webhook_secret.h"
#include "runtime/work_events.h"
#include "runtime/work_rows.h"
#include "workspace/config.h"

namespace baton::runtime {
namespace {

using work::ActorKind;
using enum work::ActorKind;

struct ActionRow {
  Permission permission;
  std::string_view name;
};

// Who may do what, and the scope a token needs for it.
const std::array kActions = {
    ActionRow{{Action::Read, {Agent, Operator, Ci, Auditor, Node}, "read"}, "read"},
    ActionRow{{Action::Create, {Agent, Operator}, "work.create"}, "create"},
    ActionRow{{Action::Claim, {Agent, Operator}, "work.claim"}, "claim"},
    ActionRow{{Action::Session, {Agent, Operator, Ci}, "session"}, "session"},
    ActionRow{{Action::ReportCi, {Ci, Operator}, "ci"}, "report_ci"},
    ActionRow{{Action::HandOffAsCi, {Ci}, "ci"}, "hand_off_as_ci"},
    ActionRow{{Action::Operate, {Operator}, "operate"}, "operate"},
    ActionRow{{Action::Tokens, {Operator}, "tokens"}, "tokens"},
    ActionRow{{Action::Ledger, {Operator}, "ledger"}, "ledger"},
    ActionRow{{Action::Register, {Agent, Operator, Node}, "register"}, "register"},
    ActionRow{{Action::Stop, {Operator}, "stop"}, "stop"},
};

const ActionRow& action_row(Action action) {
  const ActionRow& row = kActions[static_cast<std::size_t>(action)];
  CHECK(row.permission.action == action);
  return row;
}

// What an unknown token is compared with, so that it takes as long as a known one.
const std::string kNoSecret(64, '0');

// How often the store is asked about tokens that are not known here: one that was made on another node a moment ago counts at once,
// and strangers must not make the store work.
constexpr std::int64_t kAskingSpanNanoseconds = 100'000'000;
constexpr int kAskedInSpanMax = 200;

std::optional<Token> token_in(json::Node payload) {
  Token token;
  if (!read_text(payload, "token_id", token.id) || !read_text(payload, "actor_id", token.actor_id) ||
      !read_texts(payload, "scopes", token.scopes) || !read_texts(payload, "names", token.names) ||
      !read_text(payload, "secret_sha256", token.secret_sha256) ||
      !read_optional_time(payload, "expires_at", token.expires_at) || !read_kind_and_grant(payload, token))
    return std::nullopt;
  return token;
}

}  // namespace

std::string_view action_name(Action action) { return action_row(action).name; }
const Permission& permission_of(Action action) { return action_row(action).permission; }

Access::Access(UseCases& cases, Clock& clock, std::int64_t own_uid, std::string boot_id, Ancestry ancestry,
               UserName user_name)
    : cases_(cases),
      clock_(clock),
      own_uid_(own_uid),
      boot_id_(std::move(boot_id)),
      ancestry_(std::move(ancestry)),
      user_name_(std::move(user_name)) {}

// --- what is known ------------------------------------------------------------------------------------------------------

Result<void> Access::read_new_tokens() {
  std::uint64_t from = 0;
  {
    const std::lock_guard lock(mutex_);
    from = read_to_;
  }
  const auto size = cases_.read_token_entries(
      from, [this](std::string_view type, std::string_view payload) { learn(type, payload); });
  if (!size) return tl::make_unexpected(size.error());
  const std::lock_guard lock(mutex_);
  read_to_ = std::max(read_to_, *size);
  return {};
}

Result<void> Access::load() {
  if (auto read = read_new_tokens(); !read) return read;
  const auto processes = cases_.all_processes();
  if (!processes) return tl::make_unexpected(processes.error());
  const std::lock_guard lock(mutex_);
  for (const ProcessMark& process : *processes)
    if (process.boot_id == boot_id_) supervised_.insert_or_assign({process.pid, process.started}, process.session_id);
  return {};
}

void Access::learn(std::string_view type, std::string_view payload) {
  if (type != kTokenCreated && type != kTokenRevoked && type != kProcessRegistered) return;
  const auto document = json::parse(payload);
  if (!document) return;
  const json::Node root = document->root();
  const std::lock_guard lock(mutex_);
  if (type == kTokenCreated) {
    if (auto token = token_in(root)) tokens_.try_emplace(token->id, std::move(*token));
  } else if (type == kTokenRevoked) {
    std::string id;
    const auto token = read_text(root, "token_id", id) ? tokens_.find(id) : tokens_.end();
    if (token != tokens_.end()) token->second.revoked_at = clock_.now();
  } else {
    std::string boot_id, session_id;
    std::int64_t pid = 0, started = 0;
    if (read_text(root, "boot_id", boot_id) && read_number(root, "pid", pid) && read_number(root, "started", started) &&
        read_text(root, "session_id", session_id) && boot_id == boot_id_)
      supervised_.insert_or_assign({pid, static_cast<std::uint64_t>(started)}, session_id);
  }
}

// --- who is it ------------------------------------------------------------------------------------------------------------

bool Access::may_ask_store() const {
  return !asking_since_ || clock_.monotonic_ns() - *asking_since_ >= kAskingSpanNanoseconds || asked_ < kAskedInSpanMax;
}

bool Access::has_agents() const {
  const std::lock_guard lock(mutex_);
  return !supervised_.empty();
}

Result<std::optional<Token>> Access::known_token(const std::string& id) {
  const auto known = [&]() -> std::optional<Token> {
    const std::lock_guard lock(mutex_);
    const auto found = tokens_.find(id);
    return found == tokens_.end() ? std::nullopt : std::optional(found->second);
  };
  if (std::optional<Token> token = known()) return token;
  {
    const std::lock_guard lock(mutex_);
    if (!may_ask_store()) return failure("looking for a token", "too many unknown ones were shown");
    const std::int64_t now = clock_.monotonic_ns();
    if (!asking_since_ || now - *asking_since_ >= kAskingSpanNanoseconds) asking_since_ = now, asked_ = 0;
    ++asked_;
  }
  if (auto read = read_new_tokens(); !read) return tl::make_unexpected(read.error());
  return known();
}

bool Access::has_token() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(tokens_, [&](const auto& one) { return is_valid(one.second); });
}

bool Access::is_valid(const Token& token) const {
  return !token.revoked_at && (!token.expires_at || clock_.now() < *token.expires_at);
}

Result<std::optional<Token>> Access::find_token(std::string_view text) {
  const auto presented = parse_token(text);
  if (!presented) return std::nullopt;
  auto token = known_token(presented->id);
  if (!token) return token;
  const bool same =
      same_in_constant_time(*token ? std::string_view((*token)->secret_sha256) : kNoSecret, presented->secret_sha256);
  if (!*token || !same || !is_valid(**token)) return std::nullopt;
  return token;
}

bool Access::is_still_good(const Caller& caller) const {
  if (caller.token_id.empty()) return true;
  const std::lock_guard lock(mutex_);
  const auto token = tokens_.find(caller.token_id);
  return token != tokens_.end() && is_valid(token->second);
}

std::optional<Time> Access::good_until(const Caller& caller) const {
  const std::lock_guard lock(mutex_);
  const auto token = tokens_.find(caller.token_id);
  return token == tokens_.end() ? std::nullopt : token->second.expires_at;
}

Result<std::optional<Access::Opener>> Access::opener_of(const std::string& session_id) {
  std::optional<Opener> opener;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = openers_.find(session_id); known != openers_.end()) opener = known->second;
  }
  if (!opener) {
    const auto session = cases_.show_session(session_id);
    if (!session) return tl::make_unexpected(session.error());
    if (!*session) return std::nullopt;
    const json::Value *actor = (*session)->find("actor_id"), *token = (*session)->find("token_id");
    if (actor == nullptr || !actor->is_string()) return std::nullopt;
    opener = Opener{actor->string(), token != nullptr && token->is_string() ? token->string() : std::string()};
    const std::lock_guard lock(mutex_);
    if (openers_.size() >= limits::kSessionActorsMax) openers_.clear();
    openers_.emplace(session_id, *opener);
  }
  if (opener->token_id.empty()) return opener;
  const auto token = known_token(opener->token_id);
  if (!token) return tl::make_unexpected(token.error());
  opener->is_welcome = *token && is_valid(**token);
  if (!*token) return opener;
  opener->scopes = (*token)->scopes;
  opener->grant = (*token)->grant;
  opener->grant.is_host = false;  // the session's agent is no host, whoever opened it
  // What a host may choose from is no list of what its agents may: they have the role that it chose.
  if ((*token)->grant.is_host) opener->grant.roles.clear();
  return opener;
}

bool Access::is_anothers(const std::string& session_id, const Presented& presented) const {
  std::vector<Process> registered;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [process, session] : supervised_)
      if (session == session_id) registered.push_back({process.first, process.second});
  }
  bool is_alive = false;
  for (const Process& process : registered) {
    const auto above = ancestry_(process.pid);
    if (!above || above->empty() || above->front().started != process.started) continue;
    is_alive = true;
    if (std::ranges::find(*above, presented.pid, &Process::pid) != above->end()) return false;
  }
  return is_alive;
}

Access::Descent Access::descent_of(const Presented& presented) const {
  if (!presented.local) return {};
  const auto processes = ancestry_(presented.pid);
  if (!processes || processes->empty()) return {Descent::Unknown};
  // The process that connected has ended, and its id is another's now.
  if (presented.started && processes->front().started != *presented.started) return {Descent::Unknown};
  const std::lock_guard lock(mutex_);
  for (const Process& process : *processes)
    if (const auto agent = supervised_.find({process.pid, process.started}); agent != supervised_.end())
      return {Descent::Supervised, agent->second};
  return {};
}

std::string Access::local_name(std::int64_t uid) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = local_names_.find(uid); known != local_names_.end()) return known->second;
  }
  std::string name = "local:" + user_name_(uid);
  const std::lock_guard lock(mutex_);
  return local_names_.emplace(uid, std::move(name)).first->second;
}

bool Access::needs_store(const Presented& presented) const {
  const bool is_session = presented.bearer && presented.bearer->starts_with(kSessionTokenPrefix);
  const auto session_text = is_session ? presented.bearer : presented.session_token;
  const std::string shown = session_text ? cases_.session_of_token(*session_text).value_or("") : "";
  const std::string above = presented.local && has_agents() ? descent_of(presented).session_id : "";
  const auto token = presented.bearer && !is_session ? parse_token(*presented.bearer) : std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto is_unknown = [&](const std::string& id) {
    return !id.empty() && !tokens_.contains(id) && may_ask_store();
  };
  for (const std::string& session_id : {shown, above}) {
    if (session_id.empty()) continue;
    const auto opener = openers_.find(session_id);
    if (opener == openers_.end() || is_unknown(opener->second.token_id)) return true;
  }
  return token && is_unknown(token->id);
}

bool Access::recognises(const Presented& presented) const {
  if (presented.local) return presented.for_agents || presented.uid == own_uid_ || presented.uid == 0;
  for (const auto& text : {presented.session_token, presented.bearer})
    if (text && cases_.session_of_token(*text)) return true;
  const auto shown = presented.bearer ? parse_token(*presented.bearer) : std::nullopt;
  if (!shown) return false;
  const std::lock_guard lock(mutex_);
  const auto known = tokens_.find(shown->id);
  return known != tokens_.end() && same_in_constant_time(known->second.secret_sha256, shown->secret_sha256) &&
         !known->second.revoked_at;
}

tl::expected<Caller, Diagnostic> Access::identify(const Presented& presented) {
  std::optional<Failure> outage;
  auto caller = identified(presented, outage);
  // Refusing would say that it is nobody, which is not known.
  if (outage) return tl::make_unexpected(report(Code::ACCESS_UNAVAILABLE, {}));
  return caller;
}

tl::expected<Caller, Diagnostic> Access::identified(const Presented& presented, std::optional<Failure>& outage) {
  const auto refuse = [](Code code) { return tl::make_unexpected(report(code, {})); };
  const auto answer = [&](auto asked) -> typename decltype(asked)::value_type {
    if (asked) return std::move(*asked);
    outage = asked.error();
    return std::nullopt;
  };
  if (presented.local && !presented.for_agents && presented.uid != own_uid_ && presented.uid != 0)
    return refuse(Code::ACCESS_USER);

  // A session's token is one wherever it is presented.
  std::optional<std::string_view> session_text = presented.session_token, bearer = presented.bearer;
  if (bearer && bearer->starts_with(kSessionTokenPrefix)) {
    if (session_text && *session_text != *bearer) return refuse(Code::ACCESS_SESSION);
    session_text = bearer;
    bearer.reset();
  }

  Caller caller;
  std::optional<Opener> opener;  // of the session that is presented
  if (session_text) {
    const auto session_id = cases_.session_of_token(*session_text);
    if (session_id) opener = answer(opener_of(*session_id));
    if (!opener || !opener->is_welcome) return refuse(Code::ACCESS_SESSION);
    caller.session_id = *session_id;
  }
  std::optional<Token> token;
  if (bearer) {
    // By its id alone: nobody learns here whether the secret of an operator's token is right.
    const auto shown = presented.for_agents ? parse_token(*bearer) : std::nullopt;
    if (const auto named = shown ? answer(known_token(shown->id)) : std::nullopt; named && named->kind != Agent)
      return refuse(Code::ACCESS_AGENT_SOCKET);
    token = answer(find_token(*bearer));
    if (!token) return refuse(Code::ACCESS_TOKEN);
  } else if (!session_text && !presented.local) {
    return refuse(Code::ACCESS_NO_TOKEN);
  }

  // Whose ancestors cannot be found out may be anybody's child; who shows a session's token is an agent wherever it comes from.
  const Descent descent = caller.session_id.empty() || has_agents() ? descent_of(presented) : Descent();
  std::optional<Opener> above;
  if (!descent.session_id.empty()) {
    above = answer(opener_of(descent.session_id));
    // Also where the session is not there: then it is not known which agent it is.
    if (outage || !above || !above->is_welcome) return refuse(Code::ACCESS_SESSION);
    if (above && opener && caller.session_id != descent.session_id &&
        (opener->actor_id != above->actor_id || is_anothers(caller.session_id, presented)))
      return refuse(Code::ACCESS_OTHER_AGENT);
    if (above && token && token->id != above->token_id) token.reset();
  }
  caller.supervised = !caller.session_id.empty() || descent.kind != Descent::Free;
  if (caller.session_id.empty()) caller.agent_session = descent.session_id;
  const bool is_agents = token && token->kind == Agent && !token->grant.is_host;
  // The session of one agent is not another's to act in. One that an operator or a host opened is for the agent that it was given to.
  if (is_agents && opener && token->actor_id != opener->actor_id && !opener->token_id.empty()) {
    const auto opened_with = answer(known_token(opener->token_id));
    if (!opened_with || (opened_with->kind == Agent && !opened_with->grant.is_host))
      return refuse(Code::ACCESS_OTHER_AGENT);
  }
  if (token && (is_agents || !caller.supervised)) {
    caller.actor = {.id = token->actor_id, .kind = token->kind, .names = token->names};
    caller.token_id = token->id;
    caller.scopes = token->scopes;
    caller.grant = token->grant;
  } else if (opener) {
    caller.actor = {.id = opener->actor_id};
    caller.token_id = opener->token_id;
    caller.grant = opener->grant;
    // A session's token stands for that session, not for everything its actor may do.
    if (!presented.local || caller.actor.id != local_name(presented.uid))
      caller.scopes = {"read", "session", "register"};
  } else if (above) {
    // As if it had shown the token that it was started with, whatever it shows.
    caller.actor = {.id = above->actor_id, .kind = Agent};
    caller.token_id = above->token_id;
    caller.scopes = above->scopes;
    caller.grant = above->grant;
  } else {
    caller.actor = {.id = local_name(presented.uid), .kind = Agent};
  }
  return caller;
}

// --- and may they -----------------------------------------------------------------------------------------------------------

std::optional<Diagnostic> Access::check(const Caller& caller, Action action) const {
  const Permission& permission = permission_of(action);
  const std::string_view name = action_name(action);
  if (std::ranges::find(permission.kinds, caller.actor.kind) == permission.kinds.end()) {
    if (caller.supervised) return report(Code::ACCESS_SUPERVISED, {}, {{"action", name}});
    std::vector<std::string> kinds;
    for (const ActorKind kind : permission.kinds) kinds.emplace_back(agent_exit::actor_kind_name(kind));
    const std::string listed = join(kinds, " or ");
    return report(Code::ACCESS_KIND, {},
                  {{"action", name}, {"kind", agent_exit::actor_kind_name(caller.actor.kind)}, {"kinds", listed}});
  }
  const bool in_scope = std::ranges::any_of(
      caller.scopes, [&](const std::string& scope) { return workspace::matches(scope, permission.scope); });
  if (!in_scope) return report(Code::ACCESS_SCOPE, {}, {{"action", name}, {"scope", permission.scope}});
  return std::nullopt;
}

}  // namespace baton::runtime
