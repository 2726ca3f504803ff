// SPDX-License-Identifier: Apache-2.0
// What each event does. A row of the table says what becomes of the session and of the lease, which is the same for many;
// its function does the rest. All work on copies: when a payload turns out not to hold, nothing of it was applied.
#include "work/events.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

using json::Node;

// Reads members of a payload; the first that is not what it should be is remembered, and what is read of it is empty.
class Payload {
 public:
  explicit Payload(Node node) : node_(node) {}

  const std::string& problem() const { return problem_; }
  void refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  bool has(std::string_view name) const { return static_cast<bool>(node_[name]); }

  std::string text(std::string_view name) {
    const Node member = node_[name];
    if (member.is_string()) return std::string(member.string());
    // What is too long for an entry lies beside the ledger, and the payload refers to it.
    if (const Node sha256 = member["blob"]["sha256"]; sha256.is_string())
      return "blob:sha256:" + std::string(sha256.string());
    return missing(name, "text"), "";
  }
  std::string optional_text(std::string_view name) { return has(name) ? text(name) : ""; }

  Time time(std::string_view name) {
    const Node member = node_[name];
    const auto time = member.is_string() ? parse_time(member.string()).time : std::nullopt;
    if (!time) missing(name, "time");
    return time.value_or(Time{});
  }

  template <class T>
  T number(std::string_view name) {
    const Node member = node_[name];
    T value = 0;
    if (member.is_number()) {
      const std::string_view digits = member.number_text();
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      if (error == std::errc() && end == digits.data() + digits.size()) return value;
    }
    return missing(name, "whole number"), T{0};
  }

  Phase phase(std::string_view name) { return named(name, agent_exit::find_phase, Phase::Draft); }
  template <class T>
  T named(std::string_view name, std::optional<T> (*find)(std::string_view), T otherwise) {
    const Node member = node_[name];
    const std::optional<T> found = member.is_string() ? find(member.string()) : std::nullopt;
    if (!found) missing(name, "known name");
    return found.value_or(otherwise);
  }

  std::vector<std::string> list(std::string_view name) {
    const Node member = node_[name];
    std::vector<std::string> out;
    if (!member.is_array()) return missing(name, "list"), out;
    out.reserve(member.size());
    for (const Node element : member.elements()) {
      if (!element.is_string()) return missing(name, "list of texts"), out;
      out.emplace_back(element.string());
    }
    return out;
  }

 private:
  void missing(std::string_view name, std::string_view kind) {
    refuse("its payload has no " + std::string(kind) + " `" + std::string(name) + "`");
  }

  Node node_;
  std::string problem_;
};

void add_sorted(std::vector<std::string>& names, std::string name) {
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  if (at == names.end() || *at != name) names.insert(at, std::move(name));
}

// An event being applied.
struct Change {
  Payload payload;
  Time at;
  Item item;
  Session session;     // the one the event names, when there is one
  Session superseded;  // likewise
  Time ended_at;       // of a session that ends: `at`, unless the event says otherwise
  std::string_view ended_because;

  void enter(Phase phase) {
    if (phase == item.phase) return;
    item.phase = phase;
    item.waiting_since = at;
  }

  void block(std::string because) {
    item.blocked_in = item.phase;
    item.blocked_because = std::move(because);
    enter(Phase::Blocked);
  }

  void ask_nothing() {
    item.waits_for = WaitsFor::Nothing;
    item.question.clear();
  }
  // A session has handed over: what was asked and tried before is done with.
  void begin_afresh() {
    ask_nothing();
    item.answer.clear();
    item.attempts = 0;
  }

  void implemented_by(const std::string& actor) {
    std::erase(item.earlier_implementers, actor);
    if (!item.implementer.empty() && item.implementer != actor && item.earlier_implementers.size() < kImplementersMax)
      add_sorted(item.earlier_implementers, item.implementer);
    item.implementer = actor;
  }

  void forget_checks() {
    item.checks.clear();
    item.checks_sha.clear();
  }

  void set_pull_request(std::string url) {
    if (url.empty()) return;
    const auto pull_request = parse_pull_request(url);
    item.pr_url = std::move(url);
    item.repository = pull_request ? pull_request->repository : "";
    item.pr_number = pull_request ? pull_request->number : 0;
  }

  void set_evidence(std::string ref) {
    if (!ref.empty()) item.evidence_bundle_ref = std::move(ref);
  }
};

// The first text that is not empty.
std::string first_of(std::string first, std::string second) { return first.empty() ? std::move(second) : first; }

// --- one function an event --------------------------------------------------------------------------------------------

void created(Change& change) {
  Payload& payload = change.payload;
  Item& item = change.item;
  item.id = payload.text("work_id");
  item.title = payload.text("title");
  item.text = payload.optional_text("text");
  item.phase = payload.phase("phase");
  item.priority = payload.number<std::int32_t>("priority");
  item.created_at = item.waiting_since = change.at;
  item.created_by = payload.text("created_by");
  item.counts_for = payload.optional_text("counts_for");
  item.depends_on = payload.list("depends_on");
  item.open_dependencies = payload.list("open_dependencies");
  for (std::string& label : payload.list("labels")) add_sorted(item.labels, std::move(label));
  change.set_pull_request(payload.optional_text("pr_url"));
  item.head_sha = payload.optional_text("commit");
}

void claimed(Change& change) {
  Payload& payload = change.payload;
  Item& item = change.item;
  const std::string superseded = payload.optional_text("superseded");
  const std::uint64_t fence = payload.number<std::uint64_t>("fence");
  if (fence <= item.fence) payload.refuse("its fence is not above the item's");
  if (payload.phase("from_phase") != item.phase) payload.refuse("the item is in another phase");
  if ((item.lease ? item.lease->session_id : "") != superseded) payload.refuse("the lease is another session's");

  Session& session = change.session;
  session.work_id = item.id;
  session.actor_id = payload.text("actor_id");
  session.actor_kind = payload.named("actor_kind", agent_exit::find_actor_kind, ActorKind::Agent);
  session.agent_id = payload.text("agent_id");
  session.token_id = payload.optional_text("token_id");
  session.role = payload.text("role");
  session.fence = fence;
  session.opened_at = change.at;

  const std::optional<Lease> was = std::move(item.lease);
  Lease& lease = item.lease.emplace();
  lease.id = payload.text("lease_id");
  lease.session_id = session.id;
  lease.holder = session.actor_id;
  lease.fence = item.fence = fence;
  lease.issued_at = change.at;
  lease.expires_at = payload.time("expires_at");
  lease.ttl = payload.number<std::int64_t>("ttl");
  item.offer.reset();
  // Who takes over from a session that waits for a person waits for the same, and as long.
  if (was && was->parked_until) {
    lease.parked_at = change.at;
    lease.parked_until = was->parked_until;
  }
  ++item.totals.sessions;
  change.enter(payload.phase("phase"));

  if (superseded.empty()) return;
  if (change.superseded.id != superseded) payload.refuse("the session it supersedes is not known");
  change.superseded.state = SessionState::Killed;
  change.superseded.ended_because = "superseded";
  change.superseded.ended_at = change.at;
}

void renewed(Change& change) {
  if (change.item.lease->parked_until) change.payload.refuse("the lease is parked");
  change.item.lease->expires_at = change.payload.time("expires_at");
}

void released(Change& change) {
  if (change.item.lease->parked_until) change.payload.refuse("the lease is parked");
}

// A session ended without a handoff: `phase` is BLOCKED when there were too many.
void count_attempt(Change& change, std::string because) {
  change.item.attempts = change.payload.number<std::uint32_t>("attempts");
  ++change.item.totals.attempts;
  const Phase phase = change.payload.phase("phase");
  if (phase == Phase::Blocked) change.block(std::move(because));
  else if (phase != change.item.phase) change.payload.refuse("the item is in another phase");
}

void expired(Change& change) {
  change.ended_at = change.payload.time("expired_at");
  count_attempt(change, change.payload.optional_text("because"));
}

void abandoned(Change& change) {
  if (change.item.lease->parked_until) change.payload.refuse("the lease is parked");
  count_attempt(change, first_of(change.payload.optional_text("output"),
                                 "the session's process ended without a handoff, and without output"));
}

void failed(Change& change) {
  change.block(first_of(change.payload.optional_text("output"), "the session's handoffs were refused too often"));
  change.ask_nothing();
}

void parked(Change& change) {
  Item& item = change.item;
  item.lease->parked_at = change.at;
  item.lease->parked_until = change.payload.time("until");
  item.waits_for = change.payload.named("waits_for", find_waits_for, WaitsFor::Input);
  item.question = change.payload.text("question");
  item.answer.clear();
}

void answered(Change& change) {
  Item& item = change.item;
  item.lease->expires_at = change.payload.time("expires_at");
  item.lease->parked_at.reset();
  item.lease->parked_until.reset();
  item.waits_for = WaitsFor::Nothing;  // the question stays beside its answer
  item.answer = change.payload.text("text");
}

// `waits_for` and the question stay until it is unblocked: they say what it is blocked by.
void parking_lapsed(Change& change) {
  const std::string because = change.payload.optional_text("because");
  if (because.empty()) change.ended_at = change.item.lease->deadline();
  const std::string waits_for(waits_for_name(change.item.waits_for));
  change.block(because.empty() ? "nobody acted in time on what it waits for (" + waits_for + ")"
                               : "it waits for a person (" + waits_for + "), and " + because);
}

void completed(Change& change) {
  Payload& payload = change.payload;
  Item& item = change.item;
  const Phase phase = payload.phase("phase_completed"), next = payload.phase("next_phase");
  const auto reason = payload.named("exit_reason", agent_exit::find_reason, agent_exit::Reason::Completed);
  const std::string actor = payload.text("actor_id"), notes = payload.optional_text("notes");
  if (phase != item.phase) payload.refuse("the item is in another phase");
  if (agent_exit::next_phase(phase, reason) != next) payload.refuse("the phase does not lead there");

  change.begin_afresh();
  if (phase == Phase::Implementation && reason == agent_exit::Reason::Completed) change.implemented_by(actor);
  change.set_pull_request(payload.optional_text("pr_url"));
  change.set_evidence(payload.optional_text("evidence_bundle_ref"));
  change.ended_because = agent_exit::reason_name(reason);
  if (next != Phase::Blocked) return change.enter(next);
  change.block(first_of(first_of(payload.optional_text("because"), notes),
                        "the session reported `" + std::string(change.ended_because) + "` and did not say why"));
}

void offered(Change& change) {
  change.begin_afresh();
  change.item.offer = Offer{change.payload.text("to"), change.payload.time("until"), change.payload.text("message_id")};
}

void offer_ended(Change& change) {
  if (!change.item.offer || change.item.offer->to != change.payload.text("to"))
    change.payload.refuse("there is no such offer");
  change.item.offer.reset();
}

void postponed(Change& change) {
  Item& item = change.item;
  const auto by = change.payload.number<std::int64_t>("by_ns");
  if (by <= 0) change.payload.refuse("it is not later by anything");
  // While a lease is parked its own clock stands still, and only the person's goes on.
  if (item.lease && item.lease->parked_until) item.lease->parked_until = later(*item.lease->parked_until, by);
  else if (item.lease) item.lease->expires_at = later(item.lease->expires_at, by);
  if (item.offer) item.offer->until = later(item.offer->until, by);
  if (change.payload.time("until").nanoseconds != item.deadline()) change.payload.refuse("it is due at another time");
}

void unblocked(Change& change) {
  Item& item = change.item;
  if (item.phase != Phase::Blocked) change.payload.refuse("the item is not BLOCKED");
  const Phase from = change.payload.phase("from"), phase = change.payload.phase("phase");
  change.begin_afresh();
  change.forget_checks();
  // Implemented again: what comes of it is another commit.
  if (!is_before(Phase::Implementation, phase) && !is_before(from, Phase::Implementation)) item.head_sha.clear();
  item.blocked_in.reset();
  item.blocked_because.clear();
  change.enter(phase);
}

void aborted(Change& change) {
  Item& item = change.item;
  change.payload.text("reason");
  if ((item.lease ? item.lease->session_id : "") != change.session.id)
    change.payload.refuse("the lease is another session's");
  item.aborted = true;
  item.offer.reset();
  change.ask_nothing();
}

void ci_reported(Change& change) {
  Payload& payload = change.payload;
  Item& item = change.item;
  const std::string check = payload.text("check"), conclusion = payload.text("conclusion");
  const std::string commit = payload.optional_text("commit");
  if (item.phase != Phase::CiPending) payload.refuse("the item is not in CI_PENDING");
  if (item.head_sha.empty() && !commit.empty() && item.checks_sha != commit) {
    // Reports for two commits do not add up. Those that named none go with any.
    if (!item.checks_sha.empty()) item.checks.clear();
    item.checks_sha = commit;
  }
  if (!check.empty()) item.checks[check] = conclusion;
  change.set_pull_request(payload.optional_text("pr_url"));
  change.set_evidence(payload.optional_text("evidence_bundle_ref"));
  const Phase next = payload.phase("next_phase");
  if (next != Phase::Blocked) return change.enter(next);
  change.block(first_of(first_of(payload.optional_text("because"), payload.optional_text("notes")),
                        "CI reported `" + conclusion + "`" + (check.empty() ? "" : " for `" + check + "`")));
}

void commit_seen(Change& change) {
  Item& item = change.item;
  item.head_sha = change.payload.text("commit");
  // What was reported for this very commit before it was known to be the head still counts.
  if (item.checks_sha != item.head_sha) item.checks.clear();
  item.checks_sha.clear();
}

void dependency_done(Change& change) { std::erase(change.item.open_dependencies, change.payload.text("dependency")); }

void dependency_aborted(Change& change) {
  Item& item = change.item;
  const std::string dependency = change.payload.text("dependency");
  std::erase(item.open_dependencies, dependency);
  if (item.aborted || is_final(item.phase)) return;  // it is closed, or BLOCKED for a reason of its own
  change.block("`" + dependency + "`, which it depends on, was aborted and will never be COMPLETED");
}

void labelled(Change& change) {
  for (std::string& label : change.payload.list("labels")) add_sorted(change.item.labels, std::move(label));
}

// --- the table --------------------------------------------------------------------------------------------------------

// Which session an event is about.
enum class About {
  Item,           // none
  New,            // the one it opens
  Holder,         // the one that holds the lease, under its fence
  HolderIfNamed,  // the same, when there is one
};

struct Row {
  std::string_view type;
  void (*apply)(Change&);
  About about;
  // What then becomes of the session; when it ends, the lease does too.
  SessionState state = SessionState::Open;
  std::string_view ended_because = "";
};

constexpr bool ends(SessionState state) { return state != SessionState::Open && state != SessionState::Paused; }

constexpr std::array kRows = {
    Row{kCreated, created, About::Item},
    Row{kClaimed, claimed, About::New, SessionState::Open},
    Row{kRenewed, renewed, About::Holder, SessionState::Open},
    Row{kReleased, released, About::Holder, SessionState::Closed, "released"},
    Row{kExpired, expired, About::Holder, SessionState::Killed, "lease_expired"},
    Row{kAbandoned, abandoned, About::Holder, SessionState::Abandoned, "abandoned"},
    Row{kFailed, failed, About::Holder, SessionState::Killed, "handoffs_refused"},
    Row{kParked, parked, About::Holder, SessionState::Paused},
    Row{kAnswered, answered, About::Holder, SessionState::Open},
    Row{kParkingLapsed, parking_lapsed, About::Holder, SessionState::Killed, "parking_lapsed"},
    Row{kCompleted, completed, About::Holder, SessionState::Closed},  // for the reason it gives
    Row{kOffered, offered, About::Holder, SessionState::Closed, "offered"},
    Row{kOfferEnded, offer_ended, About::Item},
    Row{kPostponed, postponed, About::Item},
    Row{kUnblocked, unblocked, About::Item},
    Row{kAborted, aborted, About::HolderIfNamed, SessionState::Killed, "aborted"},
    Row{kCiReported, ci_reported, About::Item},
    Row{kCommitSeen, commit_seen, About::Item},
    Row{kDependencyDone, dependency_done, About::Item},
    Row{kDependencyAborted, dependency_aborted, About::Item},
    Row{kLabelled, labelled, About::Item},
};

const Row* find_row(std::string_view type) {
  const auto row =
      std::find_if(kRows.begin(), kRows.end(), [&](const Row& each) { return same_text(each.type, type); });
  return row == kRows.end() ? nullptr : &*row;
}

// The session the event is about, as it was before.
void begin_session(const Row& row, Change& change, const std::optional<Session>& session) {
  Payload& payload = change.payload;
  const std::string id = payload.text("session_id");
  if (row.about == About::New) {
    if (session) payload.refuse("there is a session of that name already");
    change.session.id = id;
    return;
  }
  if (!session || session->id != id) return payload.refuse("its session is not known");
  change.session = *session;
  const std::optional<Lease>& lease = change.item.lease;
  if (!lease || lease->session_id != id || lease->fence != session->fence)
    return payload.refuse("its session does not hold the lease");
  if (row.about == About::Holder && payload.number<std::uint64_t>("fence") != lease->fence)
    payload.refuse("its fence is not the lease's");
}

void end_session(const Row& row, Change& change) {
  Session& session = change.session;
  session.state = row.about == About::New && change.item.lease->parked_until ? SessionState::Paused : row.state;
  if (!ends(row.state)) return;
  session.ended_because = row.ended_because.empty() ? change.ended_because : row.ended_because;
  session.ended_at = change.ended_at;
  change.item.lease.reset();
}

}  // namespace

bool is_event(std::string_view type) { return find_row(type) != nullptr; }

SessionNames sessions_of(Node payload) {
  const auto text = [&](std::string_view name) {
    const Node member = payload[name];
    return member.is_string() ? std::string(member.string()) : std::string();
  };
  return {text("session_id"), text("superseded")};
}

Result<Effect> apply(std::string_view type, Node payload, const std::optional<Item>& item,
                     const std::optional<Session>& session, const std::optional<Session>& superseded) {
  const auto fail = [&](std::string reason) {
    return failure("folding a " + std::string(type) + " entry", std::move(reason));
  };
  const Row* row = find_row(type);
  if (row == nullptr) return fail("work has no such event");
  if (!payload.is_object()) return fail("its payload is not an object");
  const bool creates = row->type == kCreated;
  if (creates == item.has_value()) return fail(creates ? "there is such an item already" : "there is no such item");

  Change change{Payload(payload), {}, item.value_or(Item{}), {}, superseded.value_or(Session{}), {}, ""};
  change.at = change.ended_at = change.payload.time("at");
  if (!creates && !payload["work_id"].is_text(change.item.id)) return fail("it is about another item");
  const bool has_session =
      row->about != About::Item && (row->about != About::HolderIfNamed || change.payload.has("session_id"));
  if (has_session) begin_session(*row, change, session);
  // The functions below may take for granted that the holder's lease is there.
  if (!change.payload.problem().empty()) return fail(change.payload.problem());

  row->apply(change);
  if (has_session) end_session(*row, change);
  change.item.changed_at = change.at;
  if (!change.payload.problem().empty()) return fail(change.payload.problem());

  Effect effect;
  effect.item = std::move(change.item);
  if (has_session) effect.session = std::move(change.session);
  if (change.payload.has("superseded")) effect.superseded = std::move(change.superseded);
  return effect;
}

}  // namespace baton::work
