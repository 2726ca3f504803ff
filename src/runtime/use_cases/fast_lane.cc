// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/fast_lane.h"

#include <algorithm>
#include <chrono>

#include "base/limits.h"
#include "json/canonical.h"
#include "ledger/redaction.h"
#include "runtime/node.h"
#include "runtime/packs.h"
#include "runtime/session_events.h"
#include "runtime/use_cases/govern.h"
#include "runtime/work_events.h"
#include "secrets/detector.h"
#include "session/shown.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

// Half of what a crash may lose is for gathering, the other half for the commit.
constexpr auto kGathering = std::chrono::milliseconds(kFastLaneMilliseconds / 2);

// About what an entry has beside what the caller says: what is charged before the entry is made.
constexpr std::size_t kEntryBytes = 512;

bool names_a_blob(json::Node said) {
  for (const json::Node element : said.elements())
    if (names_a_blob(element)) return true;
  for (const json::Member member : said.members())
    if (member.name() == "blob" || names_a_blob(member.value)) return true;
  return false;
}

// What is said there is recorded as it is: short, no secret in it, nothing that looks like a reference to a blob. Only such a call is
// answered before its entries are made, because then nothing can be wrong with them.
bool is_recorded_as_it_is(json::Node said) {
  if (!said) return true;
  const std::string_view text = said.document()->text();
  if (text.size() > limits::kLedgerInlineBytesMax) return false;
  // The first look sees what stands there, and promises nothing for the further strings of a list.
  const bool shows_all = !said.document()->has_escapes() && text.find('[') == std::string_view::npos;
  if (shows_all && !secrets::may_hold_secret(text) && text.find("\"blob\"") == std::string_view::npos) return true;
  return !names_a_blob(said) && !ledger::holds_secret(said, {});
}

Happening happening(const ledger::Actor& actor, const std::string& session_id, std::string_view type, Value payload) {
  return {session_stream(session_id), std::string(type), actor, std::move(payload)};
}

Value payload_of(std::string_view session_id, Time now) {
  Value out = Value::object();
  out.set("session_id", session_id);
  out.set("at", format_time(now));
  return out;
}

}  // namespace

FastLane::FastLane(Engine& engine) : engine_(engine), thread_([this] { work(); }) {}

FastLane::~FastLane() { close(); }

// --- sessions -----------------------------------------------------------------------------------------------------------------------

// A session's pack never changes, so that tools which do not qualify are told apart without looking at its state.
std::shared_ptr<const session::Rules> FastLane::rules_for(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  if (const auto known = rules_.find(session_id); known != rules_.end()) return known->second;
  const auto reader = engine_.store.reader();
  if (!reader) return nullptr;
  const auto row = (*reader)->get(tables::kSessionStates, {session_id});
  if (!row || !*row) return nullptr;
  auto rules = rules_in(**reader, pack_in(**row));
  if (!rules) return nullptr;
  if (rules_.size() >= kFastLaneSessionsMax) rules_.clear();
  return rules_.emplace(session_id, std::move(*rules)).first->second;
}

std::shared_ptr<FastLane::Session> FastLane::find(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  if (entered_all_ != 0 || entered_.contains(session_id)) return nullptr;
  if (const auto known = sessions_.find(session_id); known != sessions_.end()) return known->second;
  if (sessions_.size() >= kFastLaneSessionsMax) return nullptr;
  // Nobody has anything under way that could touch it, and nothing of it is still to be recorded: what the store has is the newest.
  auto loaded = load(session_id);
  if (loaded) sessions_.emplace(session_id, loaded);
  return loaded;
}

std::shared_ptr<FastLane::Session> FastLane::load(const std::string& session_id) {
  const auto reader = engine_.store.reader();
  if (!reader) return nullptr;
  const auto row = (*reader)->get(tables::kSessionStates, {session_id});
  const auto own = (*reader)->get(tables::kSessions, {session_id});
  if (!row || !*row || !own || !*own) return nullptr;
  RowCheck& check = engine_.ledger.writer().row_check();
  if (!check.check(tables::kSessionStates, {session_id}) || !check.check(tables::kSessions, {session_id}))
    return nullptr;  // the normal path refuses, and says so
  auto rules = rules_in(**reader, pack_in(**row));
  if (!rules) return nullptr;
  auto governed = read_governed(**row, std::move(*rules));
  auto session = read_session(**own);
  if (!governed || !session) return nullptr;
  const session::State& state = governed->state;
  if (state.standing != session::Standing::Open || state.mode != session::Mode::Enforce) return nullptr;
  auto out = std::make_shared<Session>();
  out->governed = std::move(*governed);
  out->session = std::move(*session);
  if (out->session.work_id.empty()) return out;
  const auto item_row = (*reader)->get(tables::kWorkItems, {out->session.work_id});
  if (!item_row || !*item_row || !check.check(tables::kWorkItems, {out->session.work_id})) return nullptr;
  auto item = read_item(**item_row);
  if (!item) return nullptr;
  out->item = std::move(*item);
  return out;
}

// As Act::governed() and the renewal of the lease would have it: where anything would be refused, or recorded beside, not here.
bool FastLane::may_act(const Session& held, const Caller& caller, Time now) const {
  if (!may_act_for(caller, held.session)) return false;
  if (!held.item) return true;
  const auto& lease = held.item->lease;
  return lease && !lease->parked_until && held.session.fence == held.governed.fence &&
         (lease->expires_at.nanoseconds - now.nanoseconds) * 2 > lease->ttl &&
         work::check_lease(*held.item, held.session, now, Code::LEASE_STALE).empty();
}

// --- deciding -----------------------------------------------------------------------------------------------------------------------

std::optional<Answer> FastLane::propose(const Mutation& by, const std::string& session_id,
                                        const std::shared_ptr<const Asking>& asking) {
  const session::Proposal& proposal = asking->read.proposal;
  if (!is_open_ || !asking->starts || proposal.calls.size() != 1 || !by.idempotency_key.empty() ||
      proposal.request.root() || proposal.response.root() || proposal.estimate || is_behind() ||
      !work::is_work_id(session_id))
    return std::nullopt;
  const session::Proposed& call = proposal.calls[0];
  if (!call.arguments.root().is_object() || !is_recorded_as_it_is(call.arguments.root())) return std::nullopt;
  // Whoever there is no room for is refused on the other way.
  if (engine_.need_room(by.caller, Engine::Adds::Work)) return std::nullopt;
  const auto known = rules_for(session_id);
  if (known == nullptr) return std::nullopt;
  const session::Rules& rules = *known;
  if (rules.workflow != nullptr)
    return std::nullopt;  // its budgets are shared with sessions that this one knows nothing of
  const auto tool = rules.plan->find_tool(call.tool);
  if (!tool || !rules.tools[*tool].is_plain_read || lacks_facts(rules, call)) return std::nullopt;
  for (const contract::Resource& resource : rules.plan->resources)
    if (call.arguments.at(resource.at)) return std::nullopt;

  const auto held = find(session_id);
  if (held == nullptr) return std::nullopt;
  const std::lock_guard lock(held->mutex);
  const Time now = engine_.timekeeper.judge(engine_.clock.now());
  if (held->is_closed || !may_act(*held, by.caller, now)) return std::nullopt;
  session::State& state = held->governed.state;
  if (state.find(call.id) != nullptr || state.open.size() >= limits::kOpenCallsMax) return std::nullopt;
  // It may be another door's already.
  if (held->governed.at_other_door(*tool, call.digest) != nullptr) return std::nullopt;
  // That a subagent begins is recorded first.
  const std::string subagent = asking->subagent ? subagent_id_of(session_id, *asking->subagent) : std::string();
  if (!subagent.empty()) {
    const Subagent* seen = held->governed.find_subagent(subagent);
    if (seen == nullptr || !seen->open) return std::nullopt;
  }
  const KeyedHiding hiding(engine_.ledger.redaction_key());
  auto verdict = std::make_shared<session::StepVerdict>(session::decide(rules, state, proposal, &hiding));
  if (verdict->calls[0].verdict != session::Verdict::Allow) return std::nullopt;

  const session::Effects effects = session::take_step(rules, state, session::step_of(proposal, *verdict));
  Value body = session::shown(rules, state, proposal, *verdict, effects, &hiding);
  const session::StartVerdict started = session::start(rules, state, call.id, {}, {}, false, &hiding);
  if (!started.is_open || !started.failures.empty()) {
    // Allowed, and not to be begun in the same moment. What is in memory is ahead of what will be recorded: it is not used again.
    held->is_closed = true;
    return std::nullopt;
  }
  session::take_start(rules, state, {call.id, false, started.facts, started.digest});
  if (asking->sighting) held->governed.sighted[call.id] = {asking->sighting->call_id, asking->sighting->input_sha256};
  add(*held, 2, [known, asking, verdict, session_id, subagent, now, actor = ledger_actor(by.caller.actor), hiding] {
    Value step = payload_of(session_id, now);
    Value decided = step_value(*known, asking->read.proposal, *verdict, {""}, hiding);
    for (auto& [name, value] : decided.members()) step.set(name, std::move(value));
    if (!subagent.empty()) step.set("subagent", subagent);
    set_sighting(step, asking->sighting);
    Value begun = payload_of(session_id, now);
    begun.set("call_id", asking->read.proposal.calls[0].id);
    begun.set("verdict", "allow");
    begun.set("failures", Value::array());
    std::vector<Happening> out;
    out.push_back(happening(actor, session_id, kSessionStep, std::move(step)));
    out.push_back(happening(actor, session_id, kCallStarted, std::move(begun)));
    return out;
  });
  ++reads_;
  engine_.charge(by.caller, kEntryBytes * 2 + call.arguments.root().document()->text().size());
  tell_execution(body, rules, *verdict);
  body.find("calls")->elements()[0].set("started", true);
  body.set("fast_lane", true);
  Answer answer;
  answer.body = std::move(body);
  return answer;
}

std::optional<Answer> FastLane::settle(const Mutation& by, const std::string& session_id,
                                       const std::shared_ptr<const Question>& question,
                                       const std::shared_ptr<const session::ReadReceipt>& read,
                                       const std::optional<Sighting>& seen) {
  const session::Receipt& receipt = read->receipt;
  const json::Node id = question->root()["call_id"], output = receipt.output.root();
  if (!is_open_ || receipt.kind != session::Receipt::Ok || !by.idempotency_key.empty() || (!seen && !id.is_string()) ||
      is_behind() || !work::is_work_id(session_id) || !is_recorded_as_it_is(output) ||
      (output && !json::canonical(output, json::Numbers::Exact)))
    return std::nullopt;
  if (question->root()["confirms"].is_true()) return std::nullopt;
  const auto held = find(session_id);
  if (held == nullptr) return std::nullopt;
  const std::lock_guard lock(held->mutex);
  const Time now = engine_.timekeeper.judge(engine_.clock.now());
  if (held->is_closed || !may_act(*held, by.caller, now)) return std::nullopt;
  const auto rules = held->governed.rules;
  session::State& state = held->governed.state;
  Match match;
  if (seen) match = find_sighted(*rules, state, held->governed.sighted, *seen);
  else match.call = state.find(id.string());
  const session::OpenCall* call = match.call;
  if (call == nullptr || match.is_changed || call->state != session::CallState::Executing ||
      call->tool == session::kNone || !rules->tools[call->tool].is_plain_read)
    return std::nullopt;
  const KeyedHiding hiding(engine_.ledger.redaction_key());
  const session::ToolId tool = call->tool;
  auto verdict = std::make_shared<session::SettleVerdict>(session::settle(*rules, state, call->id, receipt, &hiding));
  if (!verdict->is_open || verdict->state != session::CallState::Committed || !verdict->failures.empty())
    return std::nullopt;
  const session::Effects effects = session::take_settlement(*rules, state, verdict->settled);
  held->governed.prune_sighted();
  add(*held, 1, [rules, question, read, verdict, tool, session_id, now, actor = ledger_actor(by.caller.actor), hiding] {
    Value payload = payload_of(session_id, now);
    set_settlement(payload, *rules, tool, *verdict, *question, read->receipt, hiding);
    std::vector<Happening> out;
    out.push_back(happening(actor, session_id, kCallSettled, std::move(payload)));
    return out;
  });
  engine_.charge(by.caller, kEntryBytes + (output ? output.document()->text().size() : 0));
  Answer answer;
  answer.body = session::shown(*verdict, effects);
  answer.body.set("call_id", verdict->settled.call_id);
  answer.body.set("fast_lane", true);
  return answer;
}

// --- beside the rest ------------------------------------------------------------------------------------------------------------------

// All of it under one lock: whoever enters after us must find what was answered queued before him, not about to be.
void FastLane::enter(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  // Whoever found the session before is either done with it, or finds it closed.
  const auto close_one = [this](Session& held) {
    {
      const std::lock_guard held_lock(held.mutex);
      held.is_closed = true;
    }
    record(held);
  };
  if (session_id.empty()) {
    ++entered_all_;
    for (const auto& [id, held] : sessions_) close_one(*held);
    sessions_.clear();
    return;
  }
  ++entered_[session_id];
  const auto known = sessions_.find(session_id);
  if (known == sessions_.end()) return;
  close_one(*known->second);
  sessions_.erase(known);
}

void FastLane::leave(const std::string& session_id) {
  const std::lock_guard lock(mutex_);
  if (session_id.empty()) {
    --entered_all_;
    return;
  }
  const auto known = entered_.find(session_id);
  if (--known->second == 0) entered_.erase(known);
}

void FastLane::leave_later(const std::string& session_id) {
  ++queued_;
  engine_.ledger.writer().submit_answered([](Unit&) { return Result<void>(); },
                                          [this, session_id](const Result<Acknowledgement>&) {
                                            leave(session_id);
                                            is_recorded();
                                          });
}

// --- recording ------------------------------------------------------------------------------------------------------------------------

bool FastLane::is_behind() const {
  const std::int64_t oldest = oldest_;
  return engine_.ledger.writer().is_barred() || waiting_ >= kFastLaneEntriesMax ||
         (oldest != INT64_MAX && engine_.clock.monotonic_ns() - oldest > kFastLaneMilliseconds * 1'000'000);
}

void FastLane::add(Session& held, std::size_t entries, Pending::Make make) {
  const bool is_first = held.pending.empty();
  waiting_ += entries;
  held.pending.push_back({entries, std::move(make)});
  if (!is_first) return;
  held.since = engine_.clock.monotonic_ns();
  {
    const std::lock_guard lock(clock_mutex_);
    since_.insert(held.since);
    oldest_ = *since_.begin();
    is_due_ = true;
  }
  wake_.notify_one();
}

// One batch of a session after another, and whoever comes second finds the first one queued. Nobody who decides waits for it: the
// entries are made when the session's own lock is free again.
void FastLane::record(Session& held) {
  const std::lock_guard one_at_a_time(held.recording);
  std::vector<Pending> pending;
  std::int64_t since = 0;
  {
    const std::lock_guard lock(held.mutex);
    pending.swap(held.pending);
    since = held.since;
  }
  if (pending.empty()) return;
  std::size_t entries = 0;
  auto made = std::make_shared<std::vector<PreparedHappening>>();
  std::optional<Failure> problem;
  for (const Pending& one : pending) {
    entries += one.entries;
    for (Happening& happening : one.make()) {
      const std::vector<std::string> pointers = id_pointers(happening.payload);
      happening.exempt = {pointers.begin(), pointers.end()};
      auto prepared = prepare(happening);
      if (prepared) made->push_back(std::move(*prepared));
      else problem = prepared.error();
    }
  }
  pending.clear();
  ++queued_;
  engine_.ledger.writer().submit_answered(
      [made, problem](Unit& unit) -> Result<void> {
        if (problem) return tl::make_unexpected(*problem);
        for (const PreparedHappening& one : *made)
          if (auto appended = unit.append(one); !appended) return appended;
        return {};
      },
      [this, entries, since](const Result<Acknowledgement>& recorded) {
        // The store does not take what was answered. No more of that: the lane stays closed, and what is missing is said.
        if (!recorded) {
          is_open_ = false;
          lost_ += entries;
        }
        waiting_ -= entries;
        {
          const std::lock_guard lock(clock_mutex_);
          since_.erase(since_.find(since));
          oldest_ = since_.empty() ? INT64_MAX : *since_.begin();
        }
        is_recorded();
      });
}

// The last thing that a batch does: whoever waits for it may then be gone.
void FastLane::is_recorded() {
  const std::lock_guard lock(clock_mutex_);
  if (--queued_ == 0) recorded_.notify_all();
}

void FastLane::record_all() {
  std::vector<std::shared_ptr<Session>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, held] : sessions_) all.push_back(held);
  }
  for (const auto& held : all) record(*held);
}

void FastLane::work() {
  std::unique_lock lock(clock_mutex_);
  while (true) {
    wake_.wait(lock, [this] { return is_due_ || ending_; });
    if (ending_) return;
    wake_.wait_for(lock, kGathering, [this] { return ending_; });
    is_due_ = false;  // what is added from now on is due anew
    lock.unlock();
    record_all();
    lock.lock();
  }
}

void FastLane::close() {
  is_open_ = false;
  {
    const std::lock_guard lock(clock_mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  enter({});  // closes all sessions, with what is still to be recorded of them
  {
    std::unique_lock lock(clock_mutex_);
    recorded_.wait(lock, [this] { return queued_ == 0; });
  }
  leave({});
  if (const std::size_t lost = lost_.exchange(0); lost != 0)
    static_cast<void>(engine_.ledger.writer().run([&](Unit& unit) { return unit.append(unflushed(lost)); }));
}

// --- what may be missing --------------------------------------------------------------------------------------------------------------

Happening unflushed(std::size_t entries) {
  Happening out{std::string(kNodeStream), std::string(kUnflushedReads), node_actor()};
  out.payload.set("within_ms", kFastLaneMilliseconds);
  if (entries != 0) out.payload.set("entries", entries);
  return out;
}

}  // namespace baton::runtime
