// SPDX-License-Identifier: Apache-2.0
#include "runtime/use_cases/engine.h"

#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
#include "ledger/streams.h"
#include "runtime/use_cases/fast_lane.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

constexpr std::int64_t kAnswerKeptSeconds = 24 * 3600;  // stated

// 1 to 128 visible ASCII characters.
bool is_idempotency_key(std::string_view key) {
  return key.size() <= limits::kIdempotencyKeyBytesMax &&
         std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// What the ledger does not take is the caller's to mend: it looked like a secret, was too much, or was of a form that means
// something else there.
std::optional<Diagnostic> refusal_of(const Failure& failure) {
  for (const Code code : {Code::LEDGER_SECRET, Code::LEDGER_TOO_LARGE, Code::LEDGER_DRAFT}) {
    const CodeInfo& row = info(code);
    if (failure.code != row.name) continue;
    Diagnostic diagnostic{};
    diagnostic.code = code;
    diagnostic.severity = row.severity;
    diagnostic.message = failure.reason;
    diagnostic.help = row.help;
    return diagnostic;
  }
  return std::nullopt;
}

// The answer as it is kept. What the item was like is left out when it is much: whoever asks again reads it.
Value kept(const Answer& answer, const EntryMark& mark) {
  Value body = answer.body;
  if (json::write(body).size() > limits::kAnswerKeptBytesMax)
    if (Value* work = body.find("work"); work != nullptr && work->is_object()) {
      Value shorter = Value::object();
      for (const std::string_view member : {"id", "phase", "state"})
        if (const Value* there = work->find(member)) shorter.set(member, *there);
      *work = std::move(shorter);
    }
  Value out = Value::object();
  out.set("body", std::move(body));
  out.set("created", answer.created);
  out.set("entry", mark.to_json());
  return out;
}

}  // namespace

// --- small things -------------------------------------------------------------------------------------------------------------

std::vector<Read> reads_of_session(const std::string& session_id) {
  if (!work::is_work_id(session_id)) return {};  // ids of sessions have that form too
  return {{&tables::kSessions, {session_id}, &tables::kWorkItems, 1}};
}

std::vector<Read> reads_of_item(const std::string& work_id) {
  if (!work::is_work_id(work_id)) return {};
  return {{&tables::kWorkItems, {work_id}}};
}

std::string short_hash(std::string_view text) { return sha256_hex(text).substr(0, 32); }

bool is_exempt(const Caller& caller) {
  if (caller.actor.kind == work::ActorKind::Node) return true;
  return caller.actor.kind == work::ActorKind::Operator && caller.session_id.empty() && !caller.supervised;
}

ledger::Actor ledger_actor(const work::Actor& actor) {
  const auto kind = ledger::find_actor_kind(agent_exit::actor_kind_name(actor.kind));
  return {actor.id, kind.value_or(ledger::ActorKind::Agent)};
}

ledger::Actor node_actor() { return {"node", ledger::ActorKind::Node}; }

Value EntryMark::to_json() const {
  Value out = Value::object();
  out.set("stream", stream);
  out.set("type", type);
  out.set("payload_sha256", payload_sha256);
  return out;
}

std::optional<EntryMark> EntryMark::read(json::Node node) {
  EntryMark mark;
  if (!read_text(node, "stream", mark.stream) || !read_text(node, "type", mark.type) ||
      !read_text(node, "payload_sha256", mark.payload_sha256))
    return std::nullopt;
  return mark;
}

Result<std::optional<PlacedEntry>> find_entry(store::Reader& reader, std::string_view stream, std::string_view type,
                                              const std::function<bool(std::string_view payload)>& is_it) {
  std::optional<PlacedEntry> found;
  auto read = ledger::read_stream_backwards(reader, stream, [&](const store::EntryRow& row) {
    if (row.type != type || row.hash.size() != sizeof(Sha256) || !is_it(row.payload)) return true;
    found.emplace();
    found->place.sequence = row.sequence;
    std::copy(row.hash.begin(), row.hash.end(), found->place.hash.begin());
    found->payload = row.payload;
    return false;
  });
  if (!read) return tl::make_unexpected(read.error());
  return found;
}

// --- the engine ---------------------------------------------------------------------------------------------------------------

// One call, from the asking to the telling. The writer may run it several times; each begins anew.
struct Engine::Running {
  Mutation by;
  Body body;
  Answered done;
  Manner manner;

  Answer answer = {};
  std::size_t bytes = 0;  // that it adds to the store
  std::optional<std::size_t> main = {};
  std::optional<EntryMark> replayed = {};  // the entry the first answer had
  Dress dress = {};
  Finish finish = {};

  void begin() {
    answer = {};
    bytes = 0;
    main.reset();
    replayed.reset();
    dress = {};
    finish = {};
  }
};

void Engine::run(const Mutation& by, Body body, Answered done, Manner manner) {
  if (!is_idempotency_key(by.idempotency_key)) {
    const std::string max = std::to_string(limits::kIdempotencyKeyBytesMax);
    return refuse(by, {report(Code::IDEMPOTENCY_KEY, {}, {{"max", max}})}, done);
  }
  const auto running = std::make_shared<Running>(Running{by, std::move(body), std::move(done), std::move(manner)});
  std::vector<Read> reads = std::move(running->manner.reads);
  if (!by.idempotency_key.empty())
    reads.push_back({&tables::kAnswers, {short_hash(by.idempotency_key), by.caller.actor.id}});
  under_way_->fetch_add(1);
  if (lane) lane->enter(running->manner.touches);
  const auto is_told = [under_way = under_way_] {
    if (under_way->fetch_sub(1) == 1) under_way->notify_all();
  };
  const bool taken = ledger.writer().submit([this, running](Unit& unit) { return conduct(*running, unit); },
                                            [this, running, is_told](Result<Acknowledgement> acknowledgement) {
                                              if (lane) lane->leave(running->manner.touches);
                                              tell(*running, std::move(acknowledgement));
                                              is_told();
                                            },
                                            std::move(reads));
  if (taken) return;
  if (lane) lane->leave_later(running->manner.touches);
  running->done(failure_of(Code::STORE_BUSY, "recording", {{"count", std::to_string(limits::kWriterQueueMax)}}));
  is_told();
}

Engine::Engine(store::Store& store, Ledger& ledger, Clock& clock, Random& random, const workspace::Config& config)
    : store(store),
      ledger(ledger),
      clock(clock),
      random(random),
      config(config),
      refusals(ledger, clock),
      timekeeper(clock),
      bytes(config.limits.per_actor.bytes_per_hour, 3600 * kNanosecondsPerSecond) {
  // A store that cannot be read now can do nothing else either; what is not known of the past is then as on a first start.
  if (const auto reader = store.reader()) (void)timekeeper.begin(**reader);
}

Engine::~Engine() {
  for (std::size_t left; (left = under_way_->load()) != 0;) under_way_->wait(left);
}

std::optional<Engine::NoRoom> Engine::need_room(const Caller& caller, Adds adds) {
  if (adds == Adds::Work && disk && disk->is_low())
    return NoRoom{
        report(Code::STORE_DISK_LOW, {},
               {{"free", std::to_string(disk->free().value_or(0))}, {"floor", std::to_string(disk->floor())}})};
  if (adds == Adds::Little || is_exempt(caller)) return std::nullopt;
  const auto wait = bytes.wait_for(caller.actor.id, clock.monotonic_ns(), adds == Adds::Handoff ? 2 : 1);
  if (!wait) return std::nullopt;
  const std::int64_t seconds = *wait / kNanosecondsPerSecond + 1;
  return NoRoom{
      report(
          Code::ACTOR_BYTES, {},
          {{"actor", caller.actor.id}, {"max", std::to_string(bytes.limit())}, {"seconds", std::to_string(seconds)}}),
      seconds};
}

void Engine::charge(const Caller& caller, std::size_t added) {
  if (added != 0 && !is_exempt(caller)) bytes.charge(caller.actor.id, added, clock.monotonic_ns());
}

void Engine::refuse(const Mutation& by, std::vector<Diagnostic> refused, const Answered& done,
                    const std::string& signal, std::int64_t retry_seconds) {
  if (!signal.empty()) {
    std::vector<std::string> codes;
    for (const Diagnostic& one : refused) codes.emplace_back(info(one.code).name);
    refusals.note(
        {std::string(kSignalRefused), ledger_actor(by.caller.actor), by.caller.session_id, signal, std::move(codes)});
  }
  Answer answer;
  answer.refused = std::move(refused);
  answer.retry_seconds = retry_seconds;
  done(std::move(answer));
}

namespace {

// Was the key answered since it was looked up? Another node may have been asked with it too: then what this use case waited for, and says
// no to now, is what that one did. Rows that are waited for are never remembered, so that this one is asked for anew.
Result<bool> is_answered_meanwhile(Act& act, const std::string& key, const std::string& actor_id) {
  bool answered = false;
  auto found = act.unit.find({.table = tables::kAnswers, .equal = {key, actor_id}}, store::Lock::Wait,
                             [&](const store::Row& row) {
                               answered = number_at(row, 2) > act.now.nanoseconds;
                               return false;
                             });
  if (!found) return tl::make_unexpected(found.error());
  return answered;
}

}  // namespace

Result<void> Engine::conduct(Running& running, Unit& unit) {
  running.begin();
  const auto now = unit.now();
  if (!now) return tl::make_unexpected(now.error());
  Act act(*this, unit, running.by, running.answer, *now);
  const bool has_key = !running.by.idempotency_key.empty();
  const std::string key = has_key ? short_hash(running.by.idempotency_key) : std::string();
  if (has_key) {
    const auto known = replay(running, act, key);
    if (!known) return tl::make_unexpected(known.error());
    if (*known) return {};
  }
  // An answer that is known is given again whatever there is room for.
  if (auto none = need_room(running.by.caller, running.manner.adds)) {
    running.answer.retry_seconds = none->retry_seconds;
    act.refuse(std::move(none->why));
    return {};
  }
  if (auto done = running.body(act); !done) return done;
  if (has_key && (act.refused() || !act.main_)) {
    const auto answered = is_answered_meanwhile(act, key, running.by.caller.actor.id);
    if (!answered) return tl::make_unexpected(answered.error());
    if (*answered)
      return failure_of(Code::STORE_CONFLICT, "answering a request");  // it is run again, and knows the answer
  }
  if (act.refused()) return {};
  running.main = act.main_;
  running.dress = std::move(act.dress_);
  running.finish = std::move(act.finish_);
  // Where nothing was recorded there is nothing that a second time could do twice.
  if (has_key && act.main_ && act.answers_key_)
    if (auto kept = keep_answer(running, act, key); !kept) return kept;
  running.bytes = unit.bytes_added();
  return {};
}

// True: the key is known, and the answer is made.
Result<bool> Engine::replay(Running& running, Act& act, const std::string& key) {
  const auto row = act.unit.get(tables::kAnswers, {key, running.by.caller.actor.id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row || number_at(**row, 2) <= act.now.nanoseconds) return false;
  if (text_at(**row, 3) != running.by.request_sha256) {
    act.refuse(report(Code::IDEMPOTENCY_CONFLICT, {}));
    return true;
  }
  const auto document = json::parse(text_at(**row, 4));
  if (!document) return failure("reading answers", "a row is not what this version writes");
  const json::Node root = document->root();
  running.answer.body = Value::copy(root["body"]);
  running.answer.created = root["created"].is_true();
  running.answer.replayed = true;
  running.replayed = EntryMark::read(root["entry"]);
  running.finish = running.manner.finish_replay;
  return true;
}

Result<void> Engine::keep_answer(Running& running, Act& act, const std::string& key) {
  Value payload = Value::object();
  payload.set("actor_id", running.by.caller.actor.id);
  payload.set("key", key);
  payload.set("request_sha256", running.by.request_sha256);
  payload.set("answer", kept(running.answer, act.main_mark_));
  payload.set("expires_at", format_time(act.now + kAnswerKeptSeconds));
  payload.set("at", format_time(act.now));
  return act.append(std::string(kApiStream), kApiAnswered, std::move(payload), Act::Is::Beside,
                    {"/key", "/request_sha256", "/answer/entry/payload_sha256"});
}

void Engine::tell(Running& running, Result<Acknowledgement> acknowledgement) {
  Answer& answer = running.answer;
  if (!acknowledgement) {
    const auto refusal = refusal_of(acknowledgement.error());
    if (!refusal) return running.done(tl::make_unexpected(acknowledgement.error()));
    return refuse(running.by, {*refusal}, running.done, running.manner.signal);
  }
  if (!answer.refused.empty())
    return refuse(running.by, std::move(answer.refused), running.done, running.manner.signal, answer.retry_seconds);
  charge(running.by.caller, running.bytes);
  if (running.main) answer.entry = acknowledgement->entries[*running.main];
  if (running.dress) running.dress(answer);
  if (running.replayed || running.finish) {
    const auto reader = store.reader();
    if (!reader) return running.done(tl::make_unexpected(reader.error()));
    if (running.replayed) {
      const EntryMark& mark = *running.replayed;
      const auto found = find_entry(**reader, mark.stream, mark.type, [&](std::string_view payload) {
        return sha256_hex(payload) == mark.payload_sha256;
      });
      if (!found) return running.done(tl::make_unexpected(found.error()));
      if (*found) answer.entry = (*found)->place;
    }
    if (running.finish)
      if (auto finished = running.finish(**reader, answer); !finished)
        return running.done(tl::make_unexpected(finished.error()));
    // What was read showed that it is to be refused after all: nothing but what time does was recorded.
    if (!answer.refused.empty())
      return refuse(running.by, std::move(answer.refused), running.done, running.manner.signal);
  }
  running.done(std::move(answer));
}

// --- one run ------------------------------------------------------------------------------------------------------------------

Result<std::optional<work::Item>> Act::item(const std::string& work_id) {
  const auto row = unit.get(tables::kWorkItems, {work_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto read = read_item(**row);
  if (!read) return tl::make_unexpected(read.error());
  return std::optional(std::move(*read));
}

Result<std::optional<work::Session>> Act::session(const std::string& session_id) {
  const auto row = unit.get(tables::kSessions, {session_id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto read = read_session(**row);
  if (!read) return tl::make_unexpected(read.error());
  return std::optional(std::move(*read));
}

Result<void> Act::settle(work::Item& item) {
  const work::Ruling moved = work::postpone(item, engine.timekeeper.skipped_since(item.changed_at), now);
  for (const work::Event& event : moved.events)
    if (auto done = record_as(node_actor(), event, item, Is::Beside); !done) return done;
  // One event may leave another due: a lease that is over and an offer that is.
  for (int more = 0; more < 2; ++more) {
    const work::Ruling due = work::settle(item, policy(), now);
    if (due.events.empty()) return {};
    for (const work::Event& event : due.events)
      if (auto done = record_as(node_actor(), event, item, Is::Beside); !done) return done;
  }
  return {};
}

Result<std::optional<work::Item>> Act::settled_item(const std::string& work_id) {
  // What is no id can have no row, and need not be text that a store takes.
  Result<std::optional<work::Item>> found;
  if (work::is_work_id(work_id)) found = item(work_id);
  if (!found) return found;
  if (!*found) {
    refuse(report(Code::WORK_UNKNOWN, {}, {{"work", work_id}}));
    return std::nullopt;
  }
  if (auto done = settle(**found); !done) return tl::make_unexpected(done.error());
  return found;
}

Result<std::optional<Act::Holding>> Act::holding(const std::string& session_id) {
  Result<std::optional<work::Session>> found;
  if (work::is_work_id(session_id)) found = session(session_id);  // ids of sessions have that form too
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) {
    refuse(report(Code::SESSION_UNKNOWN, {}, {{"session", session_id}}));
    return std::nullopt;
  }
  const Caller& who = caller();
  const bool by_token = !who.session_id.empty();
  const bool stands_above = who.actor.kind == work::ActorKind::Operator || who.actor.kind == work::ActorKind::Node;
  const bool own = by_token ? who.session_id == session_id : stands_above || who.actor.id == (*found)->actor_id;
  if (!own) {
    refuse(report(Code::SESSION_NOT_YOURS, {}, {{"session", session_id}}));
    return std::nullopt;
  }
  Holding out{std::move(**found), {}};
  auto item_there = item(out.session.work_id);
  if (!item_there) return tl::make_unexpected(item_there.error());
  if (!*item_there) return failure("reading a session", "its work item is not there");
  out.item = std::move(**item_there);
  if (auto done = settle(out.item); !done) return tl::make_unexpected(done.error());
  // Settling may have ended it.
  auto again = session(session_id);
  if (!again) return tl::make_unexpected(again.error());
  out.session = std::move(**again);
  return std::optional(std::move(out));
}

Result<void> Act::append_as(const ledger::Actor& actor, std::string stream, std::string_view type, Value payload, Is is,
                            std::vector<std::string_view> exempt) {
  const auto prepared = prepare({std::move(stream), std::string(type), actor, std::move(payload), std::move(exempt)});
  if (!prepared) return tl::make_unexpected(prepared.error());
  if (auto done = unit.append(*prepared); !done) return done;
  if (is == Is::Main && !main_) {
    main_ = appended_;
    // Only a kept answer needs it.
    if (!by.idempotency_key.empty())
      main_mark_ = {prepared->draft->stream, prepared->draft->type, sha256_hex(prepared->draft->payload)};
  }
  ++appended_;
  return {};
}

Result<void> Act::append(std::string stream, std::string_view type, Value payload, Is is,
                         std::vector<std::string_view> exempt) {
  return append_as(ledger_actor(caller().actor), std::move(stream), type, std::move(payload), is, std::move(exempt));
}

Result<void> Act::record_as(const ledger::Actor& actor, const work::Event& event, work::Item& item, Is is) {
  const bool was_completed = item.phase == work::Phase::Completed;
  std::string work_id = event.type == work::kCreated ? event.payload.find("work_id")->string() : item.id;
  auto done = append_as(actor, work_stream(work_id), event.type, event.payload, is,
                        {"/session_id", "/lease_id", "/agent_id", "/event_id", "/superseded", "/commit", "/token_id"});
  if (!done) return done;
  if (auto ended = end_governed_by(event); !ended) return ended;
  auto changed = this->item(work_id);
  if (!changed) return tl::make_unexpected(changed.error());
  item = std::move(**changed);
  if (event.type == work::kAborted) return tell_dependents(item.id, work::kDependencyAborted);
  if (was_completed || item.phase != work::Phase::Completed) return {};
  return tell_dependents(item.id, work::kDependencyDone);
}

// A leased session that ends takes what governs it along.
Result<void> Act::end_governed_by(const work::Event& event) {
  if (event.type == work::kCreated || event.type == work::kRenewed || event.type == work::kAnswered ||
      event.type == work::kParked)
    return {};
  for (const std::string_view member : {"session_id", "superseded"}) {
    const Value* id = event.payload.find(member);
    if (id == nullptr || !id->is_string() || (event.type == work::kClaimed && member == "session_id")) continue;
    const auto session = this->session(id->string());
    if (!session) return tl::make_unexpected(session.error());
    if (!*session || (*session)->state == work::SessionState::Open || (*session)->state == work::SessionState::Paused)
      continue;
    const auto to =
        (*session)->state == work::SessionState::Closed ? session::Standing::Closed : session::Standing::Killed;
    if (auto done = end_governed(id->string(), to, (*session)->ended_because); !done) return done;
  }
  return {};
}

Result<void> Act::record(const work::Event& event, work::Item& item, Is is) {
  return record_as(ledger_actor(caller().actor), event, item, is);
}

Result<bool> Act::record(const work::Ruling& ruling, work::Item& item) {
  if (!ruling.allowed()) {
    refuse(ruling.refused);
    return false;
  }
  for (const work::Event& event : ruling.events)
    if (auto done = record(event, item, Is::Main); !done) return tl::make_unexpected(done.error());
  return true;
}

// Whoever waited for this item need not wait for it any more.
Result<void> Act::tell_dependents(const std::string& work_id, std::string_view type) {
  std::vector<std::string> waiting;
  auto found = unit.find({.table = tables::kWorkDependencies, .equal = {work_id}}, store::Lock::Wait,
                         [&](const store::Row& row) {
                           waiting.push_back(text_at(row, 1));
                           return true;
                         });
  if (!found) return found;
  for (const std::string& id : waiting) {
    auto dependent = item(id);
    if (!dependent) return tl::make_unexpected(dependent.error());
    if (!*dependent) continue;
    work::Event event{std::string(type)};
    event.payload.set("work_id", id);
    event.payload.set("dependency", work_id);
    event.payload.set("at", format_time(now));
    if (auto done = record_as(node_actor(), event, **dependent, Is::Beside); !done) return done;
  }
  return {};
}

Result<GivenContext> Act::context_for(const std::string& role_name, std::vector<std::string>& labels) {
  GivenContext out;
  const work::Role* role = policy().find_role(role_name);
  if (role == nullptr) return out;
  std::size_t bytes = 0;
  std::optional<Failure> problem;
  auto found = unit.find({.table = tables::kContextSections}, store::Lock::None, [&](const store::Row& row) {
    if (!role->reads(text_at(row, 0))) return true;
    bytes += text_at(row, 2).size();
    if (bytes > limits::kContextAnswerBytesMax) return false;  // the rest is there for whoever asks
    auto section = read_section(row);
    if (!section) {
      problem = section.error();
      return false;
    }
    std::vector<std::string> with;
    std::ranges::set_union(labels, section->labels, std::back_inserter(with));
    if (with.size() > limits::kWorkLabelsMax) return true;
    labels = std::move(with);
    out.add(std::move(*section));
    return true;
  });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  return out;
}

}  // namespace baton::runtime
