// SPDX-License-Identifier: Apache-2.0
// A session's state: everything its next decision depends on, and nothing else. It changes by what happens alone (session/happenings.h),
// so that the same entries of the ledger give the same state again. No secret is in it (session/facts.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "json/value.h"
#include "session/facts.h"
#include "session/rules.h"

namespace baton::session {

enum class Standing : std::uint8_t { Open, Killed, Closed };
enum class Mode : std::uint8_t { Enforce, Shadow, LogOnly };
enum class Gate : std::uint8_t { RejectAll, StripPartial, StripBlocked };
enum class Verdict : std::uint8_t { Allow, Block, Checkpoint };
enum class CallState : std::uint8_t { Blocked, Awaiting, Pending, Executing, Committed, Failed, Unknown, Cancelled };

std::string_view name_of(Standing standing);
std::string_view name_of(Mode mode);
std::string_view name_of(Gate gate);
std::string_view name_of(Verdict verdict);
std::string_view name_of(CallState state);
std::optional<Mode> mode_named(std::string_view name);
std::optional<Gate> gate_named(std::string_view name);
std::optional<Verdict> verdict_named(std::string_view name);
std::optional<CallState> call_state_named(std::string_view name);

// The first half of the SHA-256 of the canonical arguments: tells calls apart.
using ShortDigest = std::array<std::uint8_t, 16>;

// A call that is not over: awaiting, pending, executing or unknown; and one that counted as done when it was allowed and whose
// outcome has not come yet.
struct OpenCall {
  std::string id;
  ToolId tool = kNone;    // kNone: it has no contract, and was let through all the same (shadow)
  std::string tool_name;  // then
  CallState state = CallState::Pending;
  bool committed = false;         // when it was allowed (`commit_requirement: none`)
  bool asks = false;              // somebody must be asked about this one; else it is held with one that is asked about
  bool approved = false;          // they said yes
  bool allow_on_timeout = false;  // when nobody answers, it goes ahead
  bool refused = false;           // it would have been, and was let through (shadow)
  bool breaks_constraint = false;  // likewise: an execution constraint was among the reasons
  std::uint32_t number = 0;        // of all calls of the session
  std::uint32_t group = 0;         // calls of one response that share one fate; 0: none
  std::string digest;       // SHA-256 of the canonical arguments, 64 hexadecimal digits; empty when nothing needs it
  std::vector<Fact> facts;  // as ToolRules::paths
  std::uint32_t step = 0;   // of the session: calls of one response have the same
  std::optional<json::Decimal> estimate;  // of that step
};

struct Forbidding {
  ToolId tool = 0, by = 0;
  std::uint32_t number = 0;     // of the call that did it
  std::uint32_t index = kNone;  // of one entity: among Tool::forbids_per; kNone: whatever the arguments are
  Fact entity = {};             // then
};

// What a watch knows of the calls it watches: was what it asks for true of the latest one?
struct Record {
  std::optional<bool> latest;           // without a resource
  std::map<Fact, bool> by_entity = {};  // with one
};

struct Total {  // of an aggregate: what has been committed
  json::Decimal sum;
  std::int64_t count = 0;
  std::optional<json::Decimal> extreme;
  std::vector<Fact> distinct;  // sorted
};

struct Held {                                        // of an envelope
  std::vector<std::optional<json::Decimal>> stages;  // what each stage has captured
  std::uint32_t since =
      0;  // number of the call that would be the first of the chain, after the initial value was captured
  std::uint32_t began_by = 0;              // number of the call that gave the initial value: it is not held to it
  std::optional<json::Decimal> strictest;  // of the constrained values committed since the initial one was captured
};

struct LoopStep {
  struct Call {
    ToolId tool;
    ShortDigest digest;
    bool operator==(const Call&) const = default;
  };
  std::vector<Call> calls;
};

struct State {
  Standing standing = Standing::Open;
  std::string ended_because;
  std::string paused_because;  // something happened that a person must look at; empty: nothing did
  Mode mode = Mode::Enforce;
  Gate gate = Gate::RejectAll;
  bool cancel_requested = false;
  PhaseId phase = 0;
  std::int64_t steps = 0, tool_calls = 0;
  json::Decimal cost;
  std::int64_t calls_before = 0;  // of earlier sessions on the same item: ending a session resets no budget
  json::Decimal cost_before;
  std::int64_t consecutive_blocks = 0, consecutive_errors = 0;
  std::uint32_t next_number = 1, next_group = 1;
  std::vector<std::string> labels;       // sorted
  std::vector<ToolId> denied;            // by the policy, which depends on the principal alone; sorted
  std::vector<Fact> environment;         // as Plan::environment: keyed; empty: not set
  std::vector<Fact> slots;               // by SlotId; empty: unbound
  std::map<ToolId, std::int64_t> calls;  // of tools that have a limit
  std::vector<Forbidding> forbidden;     // by what was committed
  std::vector<Record> records;           // as Rules::watches
  std::vector<Total> totals;             // as Plan::aggregates
  std::vector<Held> envelopes;           // as Plan::envelopes
  std::vector<LoopStep> loop;            // the last steps of the window, the newest last
  std::vector<OpenCall> open;

  // Does it wait for a person: to decide on a call, or to resume it?
  bool is_paused() const;
  bool is_letting_through() const { return mode != Mode::Enforce; }
  bool has_label(std::string_view label) const;
  const OpenCall* find(std::string_view call_id) const;
  OpenCall* find(std::string_view call_id);
};

struct Opening {
  Mode mode = Mode::Enforce;
  Gate gate = Gate::RejectAll;
  std::vector<std::string> labels = {};
  std::vector<ToolId> denied = {};     // denied_by_policy()
  std::vector<Fact> environment = {};  // environment_facts()
  std::int64_t calls_before = 0;
  json::Decimal cost_before = {};
};
State open(const Rules& rules, const Opening& opening);

// Which tools the policy denies to this principal (no node: there is none), in order.
std::vector<ToolId> denied_by_policy(const Plan& plan, json::Node principal);
// What is kept of the variables that the pack names. `hiding` null: as they are.
std::vector<Fact> environment_facts(const Plan& plan, const std::map<std::string, std::string>& variables,
                                    const Hiding* hiding);

// What steps under way (awaiting, pending, executing) are expected to cost.
json::Decimal reserved_cost(const State& state);

// Does a call of `by` with these facts forbid calls of `tool` with those? `facts` null: whatever its arguments are.
bool forbids(const Rules& rules, ToolId by, const std::vector<Fact>& by_facts, ToolId tool,
             const std::vector<Fact>* facts);
// Which tool forbids it now, by a call that is committed or unknown, other than the one with the number `but`; kNone: none does.
ToolId forbidden_by(const Rules& rules, const State& state, ToolId tool, const std::vector<Fact>* facts = nullptr,
                    std::uint32_t but = kNone);
// Which call in flight (awaiting approval, pending or executing) forbids it to a call with this number: one that was proposed before,
// or that executes. kNone: a call that is proposed now. Null: none does.
const OpenCall* forbidden_in_flight_by(const Rules& rules, const State& state, ToolId tool,
                                       const std::vector<Fact>* facts, std::uint32_t number = kNone,
                                       std::span<const OpenCall* const> left_out = {});

// The state as it is kept, and back. Nothing when it is none of this plan.
json::Value to_json(const State& state);
std::optional<State> read_state(const Rules& rules, json::Node node);

}  // namespace baton::session
