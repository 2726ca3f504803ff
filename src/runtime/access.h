// SPDX-License-Identifier: Apache-2.0
// Who is it, and may they? Finds out who calls from what they present and, on the unix socket, from who they are; and holds each
// action to the kinds of actor that may do it.
//
// - A bearer token names an actor with a kind, scopes and an expiry. On TCP nothing else counts.
// - On the unix socket the caller must be the node's own user (or root). Without a token it is an agent, `local:<user>`.
// - A process that descends from a supervised agent, or that carries a session token, is an agent whatever else it presents:
//   its operator's credential is worth nothing (ACCESS_SUPERVISED). Without a token it is the agent of the session that the
//   supervised process was registered for.
// - A session's token alone is good for that session and for reading.
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
  bool local = false;                             // by the unix socket
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

  // Reads all tokens and processes again (at start), or takes in what an entry says: from the feed, or from whoever has just
  // recorded it and wants it to count at once on this node.
  Result<void> load();
  void learn(std::string_view type, std::string_view payload);

  // ACCESS_TOKEN (unknown, revoked, expired: one answer for all), ACCESS_NO_TOKEN (TCP without one), ACCESS_USER (the socket, another
  // user), ACCESS_SESSION (a session token that is not genuine, or whose session was claimed with a token that is not valid any more).
  tl::expected<Caller, Diagnostic> identify(const Presented& presented);
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

  std::optional<Token> find_token(std::string_view text);
  bool may_reload() const;  // with the mutex held
  bool has_agents() const;
  // A token that is known, after looking it up if need be.
  std::optional<Token> known_token(const std::string& id);
  bool is_valid(const Token& token) const;
  // Who opened a session, and with which token; nothing when there is none or the store cannot say.
  struct Opener {
    std::string actor_id, token_id;
    bool is_welcome = true;  // that token is still valid, or there was none
  };
  std::optional<Opener> opener_of(const std::string& session_id);
  Descent descent_of(const Presented& presented) const;
  std::string local_name(std::int64_t uid) const;  // asked once of each user: there are two that may come

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
  std::optional<std::int64_t> reloaded_at_;  // when load() was last called for an unknown token
};

}  // namespace baton::runtime
