// SPDX-License-Identifier: Apache-2.0
#include "workflow/follow.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace baton::workflow {
namespace {

using contract::SharedMode;
using session::CallState;
using session::Hold;
using session::SharedCall;
using session::SharedKey;
using Touch = Footprint::Touch;

// The keys of calls that execute one at a time, as they are acquired.
std::vector<SharedKey> in_order(const contract::WorkflowPlan& plan, std::vector<SharedKey> keys) {
  std::erase_if(keys, [&](const SharedKey& key) { return plan.shared[key.resource].mode != SharedMode::SerialOnly; });
  std::ranges::sort(keys, [&](const SharedKey& left, const SharedKey& right) {
    return std::tie(plan.shared[left.resource].alias, left.value) <
           std::tie(plan.shared[right.resource].alias, right.value);
  });
  return keys;
}

bool goes_ahead(const Touch* call) { return call != nullptr && call->state != CallState::Awaiting; }
bool is_under_way(const Touch* call) {
  return call != nullptr && (call->state == CallState::Executing || call->state == CallState::Unknown);
}

void set_member(std::vector<SharedCall>& list, const SharedCall& call, bool wanted) {
  const auto at = std::ranges::find(list, call);
  if (wanted && at == list.end()) list.push_back(call);
  if (!wanted && at != list.end()) list.erase(at);
}

// One call and one key: `was` and `is` null where it does not name the key.
struct Change {
  enum Gone : std::uint8_t { Cancelled, Failed, Committed };
  SharedCall call;
  const Touch* was;
  const Touch* is;
  bool session_open;
  Gone gone;  // how, when it is
};

// Calls that are not over keep others away. What counts as done is over, unless nobody knows.
void exclusive_pending(Hold& hold, const Change& change) {
  const bool counts = change.is != nullptr && (!change.is->counts_as_done || change.is->state == CallState::Unknown);
  set_member(hold.open, change.call, counts);
}

// The first mutating call that goes ahead takes the key. It is given back when the only one there was has failed, and when all were
// cancelled.
void single_writer(Hold& hold, const Change& change) {
  const Touch* any = change.is != nullptr ? change.is : change.was;
  if (!any->mutating) return;
  if (goes_ahead(change.is) && !goes_ahead(change.was) && !hold.owner) hold.owner = {change.call.session, {}, 0, false};
  set_member(hold.writing, change.call, is_under_way(change.is));
  if (!hold.owner || hold.owner->session != change.call.session) return;
  std::vector<std::string>& calls = hold.owner->calls;
  if (goes_ahead(change.is) && !goes_ahead(change.was)) calls.push_back(change.call.call);
  if (change.is != nullptr || std::erase(calls, change.call.call) == 0) return;
  if (change.gone == Change::Committed) hold.owner->for_good = true;
  if (change.gone == Change::Failed) ++hold.owner->failed;
  if (calls.empty() && hold.owner->failed <= 1 && !hold.owner->for_good) hold.owner.reset();
}

// One call executes at a time; those that were told to wait have their turns in order.
void serial_only(Hold& hold, const Change& change) {
  const bool executes = change.is != nullptr && change.is->state == CallState::Executing && change.session_open;
  if (executes && !hold.token) hold.token = change.call;
  if (!executes && hold.token == change.call) hold.token.reset();
  const bool may_wait = change.is != nullptr && change.is->state == CallState::Pending && change.session_open;
  if (!may_wait) set_member(hold.waiting, change.call, false);
}

// A call that was told to wait: it stands in the queues of its keys in order, up to the first whose turn is not its own. Who has the turn
// of a key keeps it while it waits for the next.
void queue(const contract::WorkflowPlan& plan, Holds& holds, const SharedCall& call, const Touch& touch) {
  for (const SharedKey& key : in_order(plan, touch.keys)) {
    Hold hold = holds.get(key);
    if (!hold.token || *hold.token != call) set_member(hold.waiting, call, true);
    holds.put(key, hold);
    if (!hold.is_turn_of(call)) return;
  }
}

const Touch* find(const Footprint& in, const std::string& call) {
  const auto at = std::ranges::find(in.calls, call, &Touch::call);
  return at == in.calls.end() ? nullptr : &*at;
}

bool names(const Touch* call, const SharedKey& key) {
  return call != nullptr && std::ranges::find(call->keys, key) != call->keys.end();
}

bool is_same(const Touch& left, const Touch& right) {
  return left.state == right.state && left.counts_as_done == right.counts_as_done && left.keys == right.keys;
}

}  // namespace

Footprint footprint_of(const session::Rules& rules, const session::State& state) {
  Footprint out;
  out.steps = state.steps;
  out.cost = state.cost;
  out.reserved = session::reserved_cost(state);
  out.open = state.standing == session::Standing::Open;
  for (const session::OpenCall& call : state.open) {
    if (call.tool == session::kNone || rules.tools[call.tool].shared.empty()) continue;
    Touch touch{call.id, call.state, contract::is_mutating(rules.tool(call.tool).side_effect), call.committed, {}};
    for (const session::ToolRules::Shared& one : rules.tools[call.tool].shared) {
      const session::Fact& value = call.facts[one.fact];
      if (session::is_scalar(value) && !session::is_null(value)) touch.keys.push_back({one.resource, value});
    }
    if (!touch.keys.empty()) out.calls.push_back(std::move(touch));
  }
  return out;
}

void follow(const contract::WorkflowPlan& plan, Holds& holds, const std::string& session, const Footprint& before,
            const Footprint& after, const Turn& turn) {
  std::set<std::string> calls;
  for (const Touch& call : before.calls) calls.insert(call.call);
  for (const Touch& call : after.calls) calls.insert(call.call);
  for (const std::string& id : calls) {
    const Touch* was = find(before, id);
    const Touch* is = find(after, id);
    if (was != nullptr && is != nullptr && is_same(*was, *is) && before.open == after.open) continue;
    std::set<SharedKey> keys;
    if (was != nullptr) keys.insert(was->keys.begin(), was->keys.end());
    if (is != nullptr) keys.insert(is->keys.begin(), is->keys.end());
    for (const SharedKey& key : keys) {
      const Hold old = holds.get(key);
      Hold hold = old;
      const auto gone = turn.committed == id ? Change::Committed
                        : turn.failed == id  ? Change::Failed
                                             : Change::Cancelled;
      const Change change{
          {session, id}, names(was, key) ? was : nullptr, names(is, key) ? is : nullptr, after.open, gone};
      switch (plan.shared[key.resource].mode) {
        case SharedMode::ExclusivePending: exclusive_pending(hold, change); break;
        case SharedMode::SingleWriter:
          single_writer(hold, change);
          // A session that has ended keeps what nobody knows the state of, and no more.
          if (!after.open && hold.owner && hold.owner->session == session && hold.writing.empty()) hold.owner.reset();
          break;
        case SharedMode::SerialOnly: serial_only(hold, change); break;
      }
      if (!(hold == old)) holds.put(key, hold);
    }
  }
  if (const Touch* told = turn.waits.empty() ? nullptr : find(after, turn.waits))
    queue(plan, holds, {session, turn.waits}, *told);
  if (!before.open || after.open) return;
  for (const SharedKey& key : holds.owned_by(session)) {
    Hold hold = holds.get(key);
    if (!hold.owner || hold.owner->session != session || !hold.writing.empty()) continue;
    hold.owner.reset();
    holds.put(key, hold);
  }
}

void hand_over(Holds& holds, const std::string& parent, const std::string& child,
               const std::vector<std::uint32_t>& resources) {
  for (const SharedKey& key : holds.owned_by(parent)) {
    Hold hold = holds.get(key);
    const bool named = std::ranges::find(resources, key.resource) != resources.end();
    if (!named || !hold.owner || !hold.owner->calls.empty() || !hold.writing.empty()) continue;
    hold.owner = Hold::Owner{child, {}, 0, true};
    holds.put(key, hold);
  }
}

void add(session::Spent& spent, const Footprint& before, const Footprint& after) {
  spent.steps += after.steps - before.steps;
  spent.cost = spent.cost + (after.cost - before.cost);
  spent.reserved = spent.reserved + (after.reserved - before.reserved);
}

}  // namespace baton::workflow
