// SPDX-License-Identifier: Apache-2.0
// Who is it, and may they? Finds out who calls from what they present and, on the unix socket, from who they are; and holds each
// action to the kinds of actor that may do it.
//
// - A bearer token names an actor with a kind, scopes and an expiry. On TCP nothing else counts.
// - On the unix socket the caller must be the node's own user (or root). Without a token it is an agent, `local:<user>`.
// - On the agents' socket any user is accepted whom the file's group lets connect, and is always an agent. Tokens of other kinds are
//   refused before their secret is compared (ACCESS_AGENT_SOCKET).
// - A process that carries a session token is an agent whatever else it presents: an operator's credential is worth nothing
//   there (ACCESS_SUPERVISED).
// - A process that descends from a supervised agent is that agent, whatever it presents: it has the actor of the session that the
//   supervised process was registered for, and the scopes and the grant of the token that session was claimed with. Any other token
//   is worth nothing to it; the token of another agent's session is refused (ACCESS_OTHER_AGENT): one of another actor, or one that
//   another process that is alive was registered for. A supervisor below an agent may act for the agent that it supervises.
// - A session's token alone is good for that session and for reading.
//
// Tokens are known from the entries of the ledger alone, never from a table: a row that somebody edited makes no operator.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "diagnostics/diagnostic.h"
#include "runtime/use_cases.h"

namespace baton::runtime {

// What can be asked of a node. One table (access.cc) says which kinds may, and the scope a token needs.
enum class Action {
  Read,  // list, show, events, context, status
  Create,
  Claim,
  Session,  // renew, release, hand off, end: by the session's own token
  ReportCi,
  HandOffAsCi,
  Operate,  // unblock, answer, abort
  Tokens,
  Ledger,    // keys, witnesses, erasing, notes
  Register,  // a process as supervised
  Stop,
};
std::string_view action_name(Action action);
struct Permission {
  Action action;
  std::vector<work::ActorKind> kinds;
  std::string_view scope;
};
const Permission& permission_of(Action action);

struct Presented {
  std::optional<std::string_view> bearer;         // of Authorization
  std::optional<std::string_view> session_token;  // of Baton-Session
  bool local = false;                             // by a unix socket
  bool for_agents = false;                        // local only: by the agents' one
  std::int64_t pid = 0, uid = -1;                 // local only
  std::optional<std::uint64_t> started = {};  // when that process began, as of the connection; nothing: not looked at
  std::string address;                        // TCP only, for the record
};

class Access {
 public:
  // `ancestry` gives the processes above one, itself first; nothing when that could not be found out, which counts as supervised.
  struct Process {
    std::int64_t pid;
    std::uint64_t started;
  };
  using Ancestry = std::function<std::optional<std::vector<Process>>(std::int64_t pid)>;
  using UserName = std::function<std::string(std::int64_t uid)>;

  Access(UseCases& cases, Clock& clock, std::int64_t own_uid, std::string boot_id, Ancestry ancestry,
         UserName user_name);

  // Reads what the ledger says of tokens, and the processes that are registered (at start); or takes in what an entry says: from the
  // feed, or from whoever has just recorded it and wants it to count at once on this node. LEDGER_CONTENT: an entry about tokens was
  // altered.
  Result<void> load();
  void learn(std::string_view type, std::string_view payload);

  // ACCESS_TOKEN (unknown, revoked, expired: one answer for all), ACCESS_NO_TOKEN (TCP without one), ACCESS_USER (the socket, another
  // user), ACCESS_SESSION (a session token that is not genuine, or whose session was claimed with a token that is not valid any more),
  // ACCESS_OTHER_AGENT, ACCESS_AGENT_SOCKET. A token that is not known here is looked for in the store before it is refused; ACCESS_UNAVAILABLE: the store
  // cannot say now, so neither yes nor no is right.
  tl::expected<Caller, Diagnostic> identify(const Presented& presented);
  // Is any token valid now?
  bool has_token() const;
  // Would identify() read the store? Neither this nor recognises() does.
  bool needs_store(const Presented& presented) const;
  // Does it come with what only somebody known here can have? Less than identify(): enough to read on what they send.
  bool recognises(const Presented& presented) const;
  // ACCESS_KIND, ACCESS_SCOPE, ACCESS_SUPERVISED.
  std::optional<Diagnostic> check(const Caller& caller, Action action) const;

  // For what goes on after the answer has begun (event streams, claims that wait): is whoever it was still let in, and until when
  // at the most? Neither asks the store.
  bool is_still_good(const Caller& caller) const;
  std::optional<Time> good_until(const Caller& caller) const;

 private:
  struct Descent {
    enum Kind { Free, Supervised, Unknown } kind = Free;
    std::string session_id = {};  // of the agent above, when supervised
  };
  // Is the session that of an agent that is alive, and neither above the process nor started by it?
  bool is_anothers(const std::string& session_id, const Presented& presented) const;

  // Failures say that the store could not be asked.
  Result<std::optional<Token>> find_token(std::string_view text);
  Result<std::optional<Token>> known_token(const std::string& id);  // after looking in the store if need be
  Result<void> read_new_tokens();
  bool may_ask_store() const;  // with the mutex held
  bool has_agents() const;
  bool is_valid(const Token& token) const;
  // Who opened a session, and with which token; nothing when there is no such session.
  struct Opener {
    std::string actor_id, token_id;
    bool is_welcome = true;                   // that token is still valid, or there was none
    std::vector<std::string> scopes = {"*"};  // that token's
    TokenGrant grant = {};                    // likewise
  };
  Result<std::optional<Opener>> opener_of(const std::string& session_id);
  tl::expected<Caller, Diagnostic> identified(const Presented& presented, std::optional<Failure>& outage);
  Descent descent_of(const Presented& presented) const;
  std::string local_name(std::int64_t uid) const;  // asked once of each user

  UseCases& cases_;
  Clock& clock_;
  const std::int64_t own_uid_;
  const std::string boot_id_;
  const Ancestry ancestry_;
  const UserName user_name_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Token> tokens_;
  std::map<std::pair<std::int64_t, std::uint64_t>, std::string> supervised_;  // of this boot: the session
  std::unordered_map<std::string, Opener> openers_;                           // by session: they never change
  mutable std::map<std::int64_t, std::string> local_names_;                   // of the users that were let in
  std::uint64_t read_to_ = 0;  // the entries up to here were looked at for tokens
  std::optional<std::int64_t>
      asking_since_;  // the span in which the store is asked about unknown tokens at most so often
  int asked_ = 0;
};

}  // namespace baton::runtime
