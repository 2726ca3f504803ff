// SPDX-License-Identifier: Apache-2.0
// Reading: from the last commit, nothing is locked and nothing settled.
#include <time.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "json/parse.h"
#include "ledger/streams.h"
#include "runtime/data_source.h"
#include "runtime/packs.h"
#include "runtime/session_events.h"
#include "runtime/token_entries.h"
#include "runtime/use_cases/govern.h"
#include "runtime/use_cases/reading.h"
#include "runtime/work_events.h"
#include "store/tables.h"
#include "wording/data.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;
using store::Row;

// Reads every row that a query gives; the first that cannot be read ends it.
template <class Read, class Take>
Result<void> for_each(store::Reader& reader, const store::Query& query, Read read, Take take) {
  std::optional<Failure> problem;
  auto found = reader.find(query, [&](const Row& row) {
    auto value = read(row);
    if (!value) problem = value.error();
    return value && take(std::move(*value));
  });
  if (!found) return found;
  if (problem) return tl::make_unexpected(*problem);
  return {};
}

template <class Read>
auto get(store::Reader& reader, const store::Table& table, std::string_view key, Read read)
    -> Result<std::optional<typename decltype(read(std::declval<const Row&>()))::value_type>> {
  // What no id of ours looks like need not even be text that a store takes.
  if (find_invalid_utf8(key) != key.size() || key.find('\0') != std::string_view::npos) return std::nullopt;
  const auto row = reader.get(table, {std::string(key)});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto value = read(**row);
  if (!value) return tl::make_unexpected(value.error());
  return std::optional(std::move(*value));
}

// What is shown of a labelled item to whom its labels are missing: where it stands; and what its creator wrote, unless that was a
// labelled session. What sessions wrote since is left out.
constexpr std::array<std::string_view, 18> kItemOutline = {
    "id",         "phase",      "state",     "priority",   "depends_on",    "open_dependencies",
    "labels",     "lease",      "fence",     "attempts",   "totals",        "created_at",
    "created_by", "changed_at", "waits_for", "blocked_in", "waiting_since", "implementer"};
constexpr std::array<std::string_view, 6> kItemWords = {"title",      "text",      "pr_url",
                                                        "repository", "pr_number", "head_sha"};

// Labels of the session that created it.
Result<std::vector<std::string>> author_labels_of(store::Reader& reader, const std::string& work_id) {
  std::vector<std::string> out;
  const auto created = find_entry(reader, work_stream(work_id), "work.created", [](std::string_view) { return true; });
  if (!created) return tl::make_unexpected(created.error());
  const auto payload = *created ? json::parse((*created)->payload) : tl::unexpected(json::ParseError{});
  if (!payload) return failure("reading an item", "there is no entry that created it");
  if (payload->root()["author_labels"] && !read_texts(payload->root(), "author_labels", out))
    return failure("reading an item", "the entry that created it is not what this version writes");
  return out;
}

Result<Value> outline_of(store::Reader& reader, const ReadingAs& as, const work::Item& item,
                         const work::ReadDecision& why) {
  const auto author_labels = author_labels_of(reader, item.id);
  if (!author_labels) return tl::make_unexpected(author_labels.error());
  const bool shows_words = work::decide_read(as.clearance, {}, *author_labels).is_whole();
  const Value whole = shown(item);
  Value out = Value::object();
  for (const auto& [name, value] : whole.members())
    if (std::ranges::find(kItemOutline, name) != kItemOutline.end() ||
        (shows_words && std::ranges::find(kItemWords, name) != kItemWords.end()))
      out.set(name, value);
  if (!shows_words) out.set("title", "(withheld)");
  out.set("withheld", shown_withheld(withheld_because("what was written in `" + item.id + "`", why), why.missing));
  return out;
}

}  // namespace

Result<Value> UseCases::list(std::optional<work::Phase> phase, std::string_view after, std::size_t limit) {
  Caller node;
  node.actor = {node_actor().id, work::ActorKind::Node};
  return list(node, phase, after, limit);
}

Result<Value> UseCases::list(const Caller& caller, std::optional<work::Phase> phase, std::string_view after,
                             std::size_t limit) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  // A list is read to choose from: it adds nothing, and shows no more of what is labelled than there is to choose by.
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, false);
  if (!as) return tl::make_unexpected(as.error());
  store::Query query{.table = tables::kWorkItems, .limit = limit == SIZE_MAX ? limit : limit + 2};
  if (phase) {
    query.index = &tables::kWorkItemsByPhase;
    query.equal = {std::string(agent_exit::phase_name(*phase))};
  }
  if (!after.empty() && work::is_work_id(after)) query.from = std::string(after);
  Value items = Value::array();
  bool more = false;
  std::size_t count = 0;
  std::string last;
  std::vector<std::pair<std::size_t, work::Item>> labelled;  // where they belong, and what labels are missing for
  auto read = for_each(**reader, query, read_item, [&](work::Item item) {
    if (item.id == after) return true;
    more = count == limit;
    if (more) return false;
    last = item.id;
    const bool is_shown = as->work_id == item.id || work::decide_read(as->clearance, {}, item.labels).is_whole();
    items.push(is_shown ? shown(item) : Value());
    if (!is_shown) labelled.emplace_back(count, std::move(item));
    ++count;
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  for (const auto& [at, item] : labelled) {
    auto outline = outline_of(**reader, *as, item, work::decide_read(as->clearance, {}, item.labels));
    if (!outline) return outline;
    items.elements()[at] = std::move(*outline);
  }
  Value out = Value::object();
  out.set("items", std::move(items));
  if (more) out.set("next", last);
  return out;
}

Result<std::optional<Value>> UseCases::show(std::string_view work_id) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto item = get(**reader, tables::kWorkItems, work_id, read_item);
  if (!item) return tl::make_unexpected(item.error());
  if (!*item) return std::nullopt;
  Value out = shown(**item);
  flag_item(out);
  return std::optional(std::move(out));
}

Result<ReadAnswer> UseCases::show(const Caller& caller, std::string_view work_id) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  ReadAnswer out;
  const auto item = get(**reader, tables::kWorkItems, work_id, read_item);
  if (!item) return tl::make_unexpected(item.error());
  if (!*item) return out;
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, true);
  if (!as) return tl::make_unexpected(as.error());
  work::ReadDecision decision;
  if (as->work_id != (*item)->id) decision = work::decide_read(as->clearance, {}, (*item)->labels);
  if (decision.outcome == work::ReadDecision::Outcome::Whole) {
    out.value = shown(**item);
    flag_item(*out.value);
  } else {
    auto outline = outline_of(**reader, *as, **item, decision);
    if (!outline) return tl::make_unexpected(outline.error());
    out.value = std::move(*outline);
  }
  out.adds = std::move(decision.adds);
  return out;
}

UseCases::NamedTool UseCases::tool_in_pack(const std::string& session_id, const std::string& server,
                                           const std::string& tool, contract::ServersKnown known) {
  NamedTool out{server + "/" + tool};
  const auto reader = inside_->store.reader();
  if (!reader || !work::is_work_id(session_id)) return out;
  const auto row = (*reader)->get(tables::kSessionStates, {session_id});
  if (!row || !*row) return out;
  const auto rules = rules_in(**reader, pack_in(**row));
  if (!rules || *rules == nullptr) return out;
  const contract::Plan& plan = *(*rules)->plan;
  known.lock = plan.tools_lock.get();
  if (plan.find_tool(out.name)) return out;
  const bool has_bare = tool.find_first_of(":/") == std::string::npos && plan.find_tool(tool).has_value();
  if (!has_bare) return out;
  if (contract::may_be_bare(server, tool, known)) out.name = tool;
  else out.why = contract::why_not_bare(server, tool, known);
  return out;
}

bool UseCases::may_need_approval(const std::string& session_id, std::string_view tool) {
  const auto reader = inside_->store.reader();
  if (!reader || !work::is_work_id(session_id)) return false;
  const auto row = (*reader)->get(tables::kSessionStates, {session_id});
  if (!row || !*row) return false;
  const auto rules = rules_in(**reader, pack_in(**row));
  if (!rules || *rules == nullptr) return false;
  const auto id = (*rules)->plan->find_tool(tool);
  return id && std::ranges::find((*rules)->tool(*id).checks, contract::Check::Checkpoints) !=
                   (*rules)->tool(*id).checks.end();
}

Result<std::optional<Value>> UseCases::mcp_of_session(std::string_view session_id) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto row = work::is_work_id(session_id) ? (*reader)->get(tables::kSessionStates, {std::string(session_id)})
                                                : Result<std::optional<store::Row>>(std::nullopt);
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  const auto rules = rules_in(**reader, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  if (*rules == nullptr) return std::nullopt;
  const contract::Plan& plan = *(*rules)->plan;
  Value contracts = Value::array();
  for (const contract::Tool& tool : plan.tools) contracts.push(tool.name);
  Value out = Value::object();
  out.set("pack", plan.hash);
  out.set("contracts", std::move(contracts));
  out.set("wording_changes", plan.wording_may_change ? "allow" : "refuse");
  out.set("suspicious_text", plan.suspicious_text_is_withheld ? "withhold" : "warn");
  out.set("body_bytes", inside_->config.limits.body_bytes);
  if (plan.tools_lock) out.set("tools_lock", contract::value_of(*plan.tools_lock));
  return std::optional(std::move(out));
}

std::vector<std::string> UseCases::server_tools(const std::string& session_id, const std::string& role) {
  std::vector<std::string> out;
  const auto reader = inside_->store.reader();
  if (!reader) return out;
  const auto row = work::is_work_id(session_id) ? (*reader)->get(tables::kSessionStates, {session_id})
                                                : Result<std::optional<store::Row>>(std::nullopt);
  std::string pack = row && *row ? pack_in(**row) : std::string();
  if (pack.empty()) {
    const auto of_role = (*reader)->get(tables::kPackRoles, {role.empty() ? std::string("agent") : role});
    if (of_role && *of_role) pack = text_at(**of_role, 1);
  }
  const auto rules = pack.empty() ? Result<std::shared_ptr<const session::Rules>>(nullptr) : rules_in(**reader, pack);
  if (!rules || *rules == nullptr) return out;
  for (const contract::Tool& tool : (*rules)->plan->tools)
    if (tool.name.find(':') != std::string::npos) out.push_back(tool.name);
  return out;
}

Result<UseCases::Proposed> UseCases::was_proposed(const std::string& session_id, const Sighting& seen) {
  if (!work::is_work_id(session_id)) return Proposed::Never;
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  // As they stand in an entry: most entries need not be parsed.
  const std::string by_id = json::write(Value(seen.call_id)), by_input = json::write(Value(seen.input_sha256));
  std::set<std::string, std::less<>> begun, over;
  const auto text_of = [](json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); };
  std::optional<Proposed> found;
  const auto is_it = [&](json::Node payload, json::Node call_id) {
    const json::Node own = payload["sighting"];
    if (own.is_object() && !own["input_sha256"].is_text(seen.input_sha256)) return false;
    if (own.is_object() && own["call_id"].is_text(seen.call_id)) return true;
    return seen.call_id.empty() ? own.is_object() : call_id.is_text(seen.call_id);
  };
  // From the newest on: how a call ended is known before what was decided about it.
  const auto take = [&](const store::EntryRow& row) {
    const bool settles = row.type == kCallSettled, starts = row.type == kCallStarted;
    if (!settles && !starts && row.type != kSessionStep) return true;
    const bool may_be = (!seen.call_id.empty() && row.payload.find(by_id) != std::string::npos) ||
                        row.payload.find(by_input) != std::string::npos;
    if (row.type == kSessionStep && !may_be) return true;
    const auto document = json::parse(row.payload);
    if (!document) return true;
    const json::Node root = document->root();
    const std::string call_id = text_of(root["call_id"]);
    if (settles) {
      // Nobody had told of one that timed out: that it ended is told late, not twice.
      if (!root["result"].is_text("timeout")) over.insert(call_id);
      return true;
    }
    if (starts) {
      if (!root["verdict"].is_text("allow")) return true;
      // A call that began when it was proposed: the step says by what it is known.
      if (may_be && root["sighting"].is_object() && is_it(root, root["call_id"])) found = Proposed::Allowed;
      begun.insert(call_id);
      return !found;
    }
    for (const json::Node call : root["calls"].elements()) {
      if (!is_it(root, call["call_id"])) continue;
      const std::string id = text_of(call["call_id"]);
      if (!begun.contains(id)) found = Proposed::Refused;
      // Without an id, what is told after the call has ended is another call of the same.
      else found = seen.call_id.empty() && over.contains(id) ? Proposed::Never : Proposed::Allowed;
      return false;
    }
    return true;
  };
  const auto read = ledger::read_stream_backwards(**reader, session_stream(session_id), take);
  if (!read) return tl::make_unexpected(read.error());
  return found.value_or(Proposed::Never);
}

Result<std::optional<Value>> UseCases::show_session(std::string_view session_id) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto session = get(**reader, tables::kSessions, session_id, read_session);
  if (!session) return tl::make_unexpected(session.error());
  if (!*session) return std::nullopt;
  // Whose session it is decides who somebody is (access.cc).
  if (auto good = inside_->ledger.writer().row_check().check(tables::kSessions, {(*session)->id}); !good)
    return tl::make_unexpected(good.error());
  const auto item = get(**reader, tables::kWorkItems, (*session)->work_id, read_item);
  if (!item) return tl::make_unexpected(item.error());
  Value out = shown(**session, *item);
  auto governed = shown_governed(**reader, (*session)->id);
  if (!governed) return tl::make_unexpected(governed.error());
  if (*governed) out.set("governed", std::move(**governed));
  return std::optional(std::move(out));
}

Result<OwedWords> UseCases::owed_by(std::string_view session_id) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto session = get(**reader, tables::kSessions, session_id, read_session);
  if (!session) return tl::make_unexpected(session.error());
  OwedWords out;
  if (!*session) return out;
  out.agent_id = (*session)->agent_id;
  const auto item = get(**reader, tables::kWorkItems, (*session)->work_id, read_item);
  if (!item) return tl::make_unexpected(item.error());
  const bool has_work = *item && (*item)->lease && (*item)->lease->session_id == (*session)->id;
  out.has_work = has_work;
  const auto row = (*reader)->get(tables::kSessionStates, {(*session)->id});
  if (!row) return tl::make_unexpected(row.error());
  const bool is_held = *row && text_at(**row, 1) == session::name_of(session::Standing::Open);
  // Held to no pack, or no longer: whatever hands over the work it has.
  if (has_work) out.dialect = contract::Owed::Any;
  if (!is_held) return out;
  const auto rules = rules_in(**reader, pack_in(**row));
  if (!rules) return tl::make_unexpected(rules.error());
  if (*rules == nullptr) return out;
  const contract::Plan& plan = *(*rules)->plan;
  // One that had work and has handed it over owes nothing more, whatever its pack asks for.
  const bool owes = has_work || ((*session)->work_id.empty() && plan.owed != contract::Owed::Any);
  out.dialect = owes ? plan.owed : contract::Owed::None;
  out.subagents = plan.owed_by_subagents;
  return out;
}

// Which sections there are, without what is in them.
Result<Value> UseCases::list_context(const Caller& caller) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, false);
  if (!as) return tl::make_unexpected(as.error());
  Value sections = Value::array();
  auto read = for_each(**reader, {.table = tables::kContextSections}, read_section, [&](const ContextSection& section) {
    if (as->clearance.reads(section.section)) sections.push(shown(section, false));
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  Value out = Value::object();
  out.set("sections", std::move(sections));
  return out;
}

Result<ReadAnswer> UseCases::show_context(const Caller& caller, std::string_view section) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, true);
  if (!as) return tl::make_unexpected(as.error());
  ReadAnswer out;
  if (!as->clearance.reads(section)) return out;
  const auto found = get(**reader, tables::kContextSections, section, read_section);
  if (!found) return tl::make_unexpected(found.error());
  if (!*found) return out;
  work::ReadDecision decision = work::decide_read(as->clearance, section, (*found)->labels);
  if (decision.outcome == work::ReadDecision::Outcome::Withheld) {
    out.withheld = withheld_because("the section `" + std::string(section) + "`", decision);
  } else {
    out.value = shown(**found, true);
    const Value source = source_of(**found);
    if (const Value* const suspicious = source.find("suspicious")) out.value->set("suspicious", *suspicious);
    out.value->set("data_notice", wording::kDataNotice);
  }
  out.adds = std::move(decision.adds);
  return out;
}

Result<ReadAnswer> UseCases::context_history(const Caller& caller, std::string_view section, std::size_t limit) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto as = runtime::reading_as(**reader, inside_->config.policy, caller, true);
  if (!as) return tl::make_unexpected(as.error());
  ReadAnswer out;
  Value versions = Value::array();
  if (as->clearance.reads(section) && limit > 0) {
    auto read = ledger::read_stream_backwards(**reader, context_stream(section), [&](const store::EntryRow& row) {
      const auto payload = row.type == kContextUpdated ? json::parse(row.payload) : tl::unexpected(json::ParseError{});
      std::vector<std::string> has;
      if (!payload || !read_texts(payload->root(), "labels", has)) return true;
      Value version = Value::copy(payload->root());
      version.set("sequence", row.sequence);
      const work::ReadDecision decision = work::decide_read(as->clearance, section, has);
      if (decision.outcome == work::ReadDecision::Outcome::Withheld) {
        version.erase("value");
        version.erase("changed");  // names of members are content too
        version.set("withheld", shown_withheld(withheld_because("the section `" + std::string(section) + "`", decision),
                                               decision.missing));
      } else {
        wording::flag(version, Value::copy(payload->root()["value"]), "value");
      }
      for (const std::string& label : decision.adds)
        if (std::ranges::find(out.adds, label) == out.adds.end()) out.adds.push_back(label);
      versions.push(std::move(version));
      return versions.elements().size() < limit;
    });
    if (!read) return tl::make_unexpected(read.error());
  }
  std::ranges::sort(out.adds);
  out.value = Value::object();
  out.value->set("data_notice", wording::kDataNotice);
  out.value->set("versions", std::move(versions));
  return out;
}

Result<std::uint64_t> UseCases::read_token_entries(
    std::uint64_t after, const std::function<void(std::string_view type, std::string_view payload)>& take) {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  return runtime::read_token_entries(**reader, after, take);
}

Result<Value> UseCases::list_tokens() {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  Value list = Value::array();
  auto read = for_each(**reader, {.table = tables::kTokens}, read_token, [&](const Token& token) {
    list.push(shown(token));
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  Value out = Value::object();
  out.set("tokens", std::move(list));
  return out;
}

Result<std::vector<ProcessMark>> UseCases::all_processes() {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  std::vector<ProcessMark> processes;
  auto found = (*reader)->find({.table = tables::kSupervisedProcesses}, [&](const Row& row) {
    processes.push_back(
        {text_at(row, 0), number_at(row, 1), static_cast<std::uint64_t>(number_at(row, 2)), text_at(row, 3)});
    return true;
  });
  if (!found) return tl::make_unexpected(found.error());
  // A row that somebody removed frees nobody: the entries since this machine began tell as well. A day more, for clocks that differ.
  timespec up = {};
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  const std::int64_t since =
      inside_->clock.now().nanoseconds - (std::int64_t{up.tv_sec} + 86'400) * kNanosecondsPerSecond;
  const auto read = ledger::read_stream_backwards(**reader, kProcessesStream, [&](const store::EntryRow& row) {
    if (row.time < since) return false;
    const auto document =
        row.type == kProcessRegistered ? json::parse(row.payload) : tl::unexpected(json::ParseError{});
    ProcessMark mark;
    std::int64_t started = 0;
    if (document && read_text(document->root(), "boot_id", mark.boot_id) &&
        read_number(document->root(), "pid", mark.pid) && read_number(document->root(), "started", started) &&
        read_text(document->root(), "session_id", mark.session_id)) {
      mark.started = static_cast<std::uint64_t>(started);
      const bool is_known = std::ranges::any_of(processes, [&](const ProcessMark& one) {
        return one.boot_id == mark.boot_id && one.pid == mark.pid && one.started == mark.started;
      });
      if (!is_known) processes.push_back(std::move(mark));
    }
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  return processes;
}

namespace {

// Sessions that go on are those that hold a lease; the others are history, and nobody counts them row by row.
Result<Value> count_items(store::Store& store, std::uint64_t& items) {
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  std::array<std::uint64_t, agent_exit::kPhases.size()> by_phase{};
  std::uint64_t open = 0, paused = 0, aborted = 0;
  std::optional<Failure> problem;
  auto found = (*reader)->find({.table = tables::kWorkItems}, [&](const Row& row) {
    const auto phase = agent_exit::find_phase(text_at(row, 5));
    if (phase) ++by_phase[static_cast<std::size_t>(*phase)];
    ++items;
    // Whatever nobody can claim is looked at: it is held, or aborted.
    if (!text_at(row, 1).empty()) return true;
    const auto item = read_item(row);
    if (!item) problem = item.error();
    else if (item->aborted) ++aborted;
    else if (item->lease) ++(item->lease->parked_until ? paused : open);
    return item.has_value();
  });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  Value work = Value::object();
  for (const work::Phase phase : agent_exit::kPhases)
    work.set(agent_exit::phase_name(phase), by_phase[static_cast<std::size_t>(phase)]);
  Value sessions = Value::object();
  sessions.set(work::session_state_name(work::SessionState::Open), open);
  sessions.set(work::session_state_name(work::SessionState::Paused), paused);
  Value out = Value::object();
  out.set("work", std::move(work));
  out.set("aborted", aborted);
  out.set("sessions", std::move(sessions));
  return out;
}

}  // namespace

// Every item is looked at, and whoever wants metrics asks again and again. So what took long is told for a while: counting has at
// most a twentieth of a thread's time. Few items are counted whenever somebody asks.
Result<Value> UseCases::counts() {
  constexpr std::int64_t kShare = 20;
  constexpr std::uint64_t kFew = 1000;
  Inside::Counted& last = inside_->counted;
  const std::lock_guard lock(last.mutex);
  const std::int64_t began = inside_->clock.monotonic_ns();
  if (began < last.until_ns) return last.value;
  std::uint64_t items = 0;
  auto counted = count_items(inside_->store, items);
  if (!counted || items < kFew) return counted;
  const std::int64_t ended = inside_->clock.monotonic_ns();
  last.value = *counted;
  last.until_ns = ended + (ended - began) * kShare;
  return counted;
}

}  // namespace baton::runtime
