// SPDX-License-Identifier: Apache-2.0
#include "runtime/replay.h"

#include <set>

#include "json/parse.h"
#include "runtime/packs.h"
#include "runtime/recheck.h"
#include "runtime/session_events.h"
#include "runtime/session_record.h"
#include "runtime/work_rows.h"
#include "session/happenings.h"

namespace baton::runtime {
namespace {

std::string text_in(json::Node node, std::string_view name) {
  return node[name].is_string() ? std::string(node[name].string()) : std::string();
}

struct Played {
  std::shared_ptr<const session::Rules> rules;
  session::State state;
  std::set<std::string> approved;  // calls that a person said yes to
};

class Replaying {
 public:
  Replaying(store::Reader& reader, const ReplayOptions& options) : reader_(reader), options_(options) {}

  Result<void> take(const store::EntryRow& row) {
    const bool of_session = row.stream.starts_with("session/");
    if (!of_session) return {};
    const auto document = json::parse(row.payload);
    if (!document) return {};
    const json::Node payload = document->root();
    if (row.type == kSessionOpened) return open(payload);
    const auto found = sessions_.find(text_in(payload, "session_id"));
    if (found == sessions_.end()) return {};
    Played& played = found->second;
    if (row.type == kSessionRuled && text_in(payload, "ruling") == "approved")
      played.approved.insert(text_in(payload, "call_id"));
    if (const auto again = redecide(row.type, payload, *played.rules, played.state))
      tell(row, found->first, played, *again);
    go_on(row.type, payload, played);
    return {};
  }

  Replayed out;

 private:
  Result<void> open(json::Node payload) {
    if (!options_.role.empty() && text_in(payload, "role") != options_.role) return {};
    Played played;
    played.rules = options_.rules;
    if (played.rules == nullptr) {
      auto rules = rules_in(reader_, text_in(payload, "pack"));
      if (!rules) return tl::make_unexpected(rules.error());
      if (*rules == nullptr) return {};
      played.rules = std::move(*rules);
    }
    session::Opening opening;
    opening.mode = session::mode_named(text_in(payload, "mode")).value_or(session::Mode::Enforce);
    opening.gate = session::gate_named(text_in(payload, "gate")).value_or(session::Gate::RejectAll);
    read_texts(payload, "labels", opening.labels);
    // Who it was is not kept here: what the policy said then is taken for what it would say.
    for (const json::Node tool : payload["denied"].elements())
      if (const auto id = tool.is_string() ? played.rules->plan->find_tool(tool.string()) : std::nullopt)
        opening.denied.push_back(*id);
    std::ranges::sort(opening.denied);
    for (const std::string& name : played.rules->plan->environment) {
      const json::Node value = payload["environment"][name];
      opening.environment.emplace_back(value.is_object() ? json::write(json::Value::copy(value)) : "");
    }
    read_number(payload, "calls_before", opening.calls_before);
    played.state = session::open(*played.rules, opening);
    sessions_.insert_or_assign(text_in(payload, "session_id"), std::move(played));
    ++out.sessions;
    return {};
  }

  // The primary reason is what a decision is known by.
  static std::string in_short(const std::string& verdict) {
    std::string_view text = verdict;
    text = text.substr(0, text.find('('));
    const auto first = text.find(':');
    if (first == std::string_view::npos) return std::string(text);
    const auto second = text.find(':', first + 1);
    return std::string(text.substr(0, second));
  }

  void tell(const store::EntryRow& row, const std::string& session_id, const Played& played, const Redecided& again) {
    if (row.time < options_.since.nanoseconds) return;
    for (const Redecided::Call& call : again.calls) {
      ++out.decisions;
      const std::string recorded = in_short(call.recorded), now = in_short(call.now);
      if (recorded == now) continue;
      if (!again.is_replayable) {
        ++out.not_replayable;
        continue;
      }
      ++out.changed;
      const auto colon = now.find(':');
      ++out.by_reason[colon == std::string::npos ? now : now.substr(colon + 1)];
      if (out.changes.size() < options_.changes_max)
        out.changes.push_back({row.sequence, Time{row.time}, session_id, call.call_id, call.tool, recorded, now,
                               played.approved.contains(call.call_id)});
    }
  }

  // As it really was, whatever the rules say: the state follows what happened.
  static void go_on(std::string_view type, json::Node payload, Played& played) {
    const session::Rules& rules = *played.rules;
    if (type == kSessionStep) {
      if (const auto step = read_step(rules, payload)) session::take_step(rules, played.state, *step);
    } else if (type == kSessionRuled) {
      const auto resolved = read_resolved(payload);
      const auto ruling = ruling_named(text_in(payload, "ruling"));
      if (resolved && ruling)
        session::take_ruling(rules, played.state, text_in(payload, "call_id"), *ruling, *resolved);
    } else if (type == kCallStarted) {
      if (const auto begun = read_begun(rules, played.state, payload)) session::take_start(rules, played.state, *begun);
    } else if (type == kCallSettled) {
      settle(payload, played);
    } else if (type == kSessionLabelled) {
      session::take_label(played.state, text_in(payload, "label"));
    } else if (type == kSessionCost && payload["cost"].is_number()) {
      session::take_cost(played.state, json::Decimal::from_number(payload["cost"].number_text()));
    } else if (type == kSessionPaused) {
      session::take_pause(played.state, text_in(payload, "because"));
    } else if (type == kSessionResumed) {
      session::take_resumption(played.state);
    } else if (type == kSessionReopened) {
      session::take_reopening(played.state);
    } else if (type == kSessionEnded) {
      session::take_end(rules, played.state,
                        text_in(payload, "to") == "killed" ? session::Standing::Killed : session::Standing::Closed,
                        text_in(payload, "because"));
    }
  }

  // What its output means to these rules is theirs to say; how it ended is what happened.
  static void settle(json::Node payload, Played& played) {
    const auto recorded = read_settled(payload);
    if (!recorded) return;
    session::SettleVerdict verdict =
        session::settle(*played.rules, played.state, recorded->call_id, recorded_receipt(payload));
    if (!verdict.is_open) return;
    if (recorded->to == session::CallState::Committed && verdict.settled.to != session::CallState::Committed) {
      // Another contract would have refused its output: what it would have told is not known.
      const session::OpenCall* call = played.state.find(recorded->call_id);
      const session::ToolRules* tool = call->tool == session::kNone ? nullptr : &played.rules->tools[call->tool];
      verdict.settled.told.assign(tool == nullptr ? 0 : tool->told.size(), false);
      verdict.settled.binds.clear();
      verdict.settled.captures.clear();
      if (tool != nullptr) {
        for (const std::uint32_t fact : tool->binds)
          if (fact == session::kNone) verdict.settled.binds.emplace_back();
        for (const auto& stage : tool->stages)
          if (stage.fact == session::kNone) verdict.settled.captures.emplace_back();
      }
    }
    verdict.settled.to = recorded->to;
    verdict.settled.counts_as_error = recorded->counts_as_error;
    session::take_settlement(*played.rules, played.state, verdict.settled);
  }

  store::Reader& reader_;
  const ReplayOptions& options_;
  std::map<std::string, Played> sessions_;
};

}  // namespace

Result<Replayed> replay(store::Reader& reader, const ReplayOptions& options,
                        const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const auto head = reader.head();
  if (!head) return tl::make_unexpected(head.error());
  Replaying replaying(reader, options);
  constexpr std::uint64_t kPage = 4096;
  for (std::uint64_t first = 1; first <= head->size; first += kPage) {
    // Rows are copied out: deciding reads packs, and a reader does one thing at a time.
    struct Kept {
      std::uint64_t sequence;
      std::int64_t time;
      std::string stream, type, payload;
    };
    std::vector<Kept> page;
    auto read = reader.entries(first, std::min(head->size, first + kPage - 1), [&](const store::EntryRow& row) {
      if (row.stream.starts_with("session/"))
        page.push_back(
            {row.sequence, row.time, std::string(row.stream), std::string(row.type), std::string(row.payload)});
      return true;
    });
    if (!read) return tl::make_unexpected(read.error());
    for (const Kept& kept : page) {
      store::EntryRow row{};
      row.sequence = kept.sequence;
      row.time = kept.time;
      row.stream = kept.stream;
      row.type = kept.type;
      row.payload = kept.payload;
      if (auto done = replaying.take(row); !done) return tl::make_unexpected(done.error());
    }
    if (progress) progress(std::min(head->size, first + kPage - 1), head->size);
  }
  return std::move(replaying.out);
}

}  // namespace baton::runtime
