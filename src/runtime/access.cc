// SPDX-License-Identifier: Apache-2.0
#include "runtime/access.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
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

constexpr std::string_view kSessionTokenPrefix = "baton_s_";

// How often tokens are read again because somebody presented one that is not known: what was made a moment ago may not
// have come by the feed yet, and strangers must not make the store work.
constexpr std::int64_t kReloadNanoseconds = 100'000'000;

std::optional<Token> token_in(json::Node payload) {
  Token token;
  std::string kind;
  if (!read_text(payload, "token_id", token.id) || !read_text(payload, "actor_id", token.actor_id) ||
      !read_text(payload, "kind", kind) || !read_texts(payload, "scopes", token.scopes) ||
      !read_texts(payload, "names", token.names) || !read_text(payload, "secret_sha256", token.secret_sha256) ||
      !read_optional_time(payload, "expires_at", token.expires_at))
    return std::nullopt;
  const auto known = agent_exit::find_actor_kind(kind);
  if (!known) return std::nullopt;
  token.kind = *known;
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

Result<void> Access::load() {
  auto tokens = cases_.all_tokens();
  if (!tokens) return tl::make_unexpected(tokens.error());
  const auto processes = cases_.all_processes();
  if (!processes) return tl::make_unexpected(processes.error());
  const std::lock_guard lock(mutex_);
  for (Token& token : *tokens) {
    // What was learned meanwhile may be newer than what was read; nothing ever undoes a revocation.
    const auto known = tokens_.find(token.id);
    if (known != tokens_.end() && known->second.revoked_at) continue;
    std::string id = token.id;
    tokens_.insert_or_assign(std::move(id), std::move(token));
  }
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

bool Access::may_reload() const { return !reloaded_at_ || clock_.monotonic_ns() - *reloaded_at_ >= kReloadNanoseconds; }

bool Access::has_agents() const {
  const std::lock_guard lock(mutex_);
  return !supervised_.empty();
}

std::optional<Token> Access::find_token(std::string_view text) {
  const auto presented = parse_token(text);
  if (!presented) return std::nullopt;
  const auto known = [&]() -> std::optional<Token> {
    const std::lock_guard lock(mutex_);
    const auto found = tokens_.find(presented->id);
    return found == tokens_.end() ? std::nullopt : std::optional(found->second);
  };
  std::optional<Token> token = known();
  if (!token) {
    bool reloads = false;
    {
      const std::lock_guard lock(mutex_);
      reloads = may_reload();
      if (reloads) reloaded_at_ = clock_.monotonic_ns();
    }
    if (reloads && load()) token = known();
  }
  const bool same =
      same_in_constant_time(token ? std::string_view(token->secret_sha256) : kNoSecret, presented->secret_sha256);
  if (!token || !same || token->revoked_at) return std::nullopt;
  if (token->expires_at && clock_.now() >= *token->expires_at) return std::nullopt;
  return token;
}

std::optional<work::Actor> Access::actor_of_session(const std::string& session_id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = session_actors_.find(session_id); known != session_actors_.end())
      return work::Actor{.id = known->second};
  }
  const auto session = cases_.show_session(session_id);
  if (!session || !*session) return std::nullopt;
  const json::Value* actor = (*session)->find("actor_id");
  if (actor == nullptr || !actor->is_string()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  if (session_actors_.size() >= limits::kSessionActorsMax) session_actors_.clear();
  session_actors_.emplace(session_id, actor->string());
  return work::Actor{.id = actor->string()};
}

Access::Descent Access::descent_of(const Presented& presented) const {
  if (!presented.local) return {};
  const auto processes = ancestry_(presented.pid);
  if (!processes || processes->empty()) return {Descent::Unknown};
  const std::lock_guard lock(mutex_);
  for (const Process& process : *processes)
    if (const auto agent = supervised_.find({process.pid, process.started}); agent != supervised_.end())
      return {Descent::Supervised, agent->second};
  return {};
}

std::string Access::local_name(std::int64_t uid) const { return "local:" + user_name_(uid); }

bool Access::needs_store(const Presented& presented) const {
  const bool is_session = presented.bearer && presented.bearer->starts_with(kSessionTokenPrefix);
  const auto session_text = is_session ? presented.bearer : presented.session_token;
  std::string session_id;
  if (session_text) session_id = cases_.session_of_token(*session_text).value_or("");
  else if (presented.local && has_agents()) session_id = descent_of(presented).session_id;
  const auto token = presented.bearer && !is_session ? parse_token(*presented.bearer) : std::nullopt;
  const std::lock_guard lock(mutex_);
  if (!session_id.empty() && !session_actors_.contains(session_id)) return true;
  return token && !tokens_.contains(token->id) && may_reload();
}

bool Access::recognises(const Presented& presented) const {
  if (presented.local) return presented.uid == own_uid_ || presented.uid == 0;
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
  const auto refuse = [](Code code) { return tl::make_unexpected(report(code, {})); };
  if (presented.local && presented.uid != own_uid_ && presented.uid != 0) return refuse(Code::ACCESS_USER);

  // A session's token is one wherever it is presented.
  std::optional<std::string_view> session_text = presented.session_token, bearer = presented.bearer;
  if (bearer && bearer->starts_with(kSessionTokenPrefix)) {
    if (session_text && *session_text != *bearer) return refuse(Code::ACCESS_SESSION);
    session_text = bearer;
    bearer.reset();
  }

  Caller caller;
  std::optional<work::Actor> session_actor;
  if (session_text) {
    const auto session_id = cases_.session_of_token(*session_text);
    if (session_id) session_actor = actor_of_session(*session_id);
    if (!session_actor) return refuse(Code::ACCESS_SESSION);
    caller.session_id = *session_id;
  }
  std::optional<Token> token;
  if (bearer) {
    token = find_token(*bearer);
    if (!token) return refuse(Code::ACCESS_TOKEN);
    caller.token_id = token->id;
    caller.scopes = token->scopes;
  } else if (!session_text && !presented.local) {
    return refuse(Code::ACCESS_NO_TOKEN);
  }

  const Descent descent = descent_of(presented);
  // Whose ancestors cannot be found out may be anybody's child.
  caller.supervised = !caller.session_id.empty() || descent.kind != Descent::Free;
  if (token && (token->kind == Agent || !caller.supervised)) {
    caller.actor = {.id = token->actor_id, .kind = token->kind, .names = token->names};
  } else if (session_actor) {
    caller.actor = *session_actor;
    // A session's token stands for that session, not for everything its actor may do.
    if (!presented.local || caller.actor.id != local_name(presented.uid))
      caller.scopes = {"read", "session", "register"};
  } else {
    // Below a supervised agent one is that agent, also without its token.
    const auto agent = descent.session_id.empty() ? std::nullopt : actor_of_session(descent.session_id);
    caller.actor = agent.value_or(work::Actor{.id = local_name(presented.uid), .kind = Agent});
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
