// SPDX-License-Identifier: Apache-2.0
#include "session/prove.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "base/text.h"
#include "session/judge.h"
#include "session/prove_space.h"
#include "session/rehearse.h"

namespace baton::session {

using contract::Commit;
using contract::Metric;
using contract::Role;

std::string_view name_of(Answer answer) {
  switch (answer) {
    case Answer::Proved: return "proved";
    case Answer::Refuted: return "refuted";
    case Answer::NotDecided: return "not_decided";
  }
  return "";
}

std::string_view name_of(Traced::What what) {
  switch (what) {
    case Traced::What::Called: return "called";
    case Traced::What::Proposed: return "proposed";
    case Traced::What::Begun: return "begun";
    case Traced::What::Committed: return "committed";
    case Traced::What::Lost: return "lost";
    case Traced::What::Unproven: return "unproven";
    case Traced::What::Failed: return "failed";
  }
  return "";
}

namespace {

constexpr std::size_t kTracesMax = 16;   // that are tried before a claim is not decided
constexpr std::size_t kWaysMax = 3'000;  // states of the search for one way to the end
constexpr std::size_t kTrackedMax = 64;  // tools whose calls may be under way: a bit each

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

// --- what is watched for --------------------------------------------------------------------------------------------------------------

struct Watched {
  bool happened = false;    // B
  std::uint32_t begun = 0;  // how often A
};

// True: the claim is violated.
bool begin(const Claim& claim, Watched& watched, ToolId tool, PhaseId phase) {
  if (tool != claim.a) return false;
  switch (claim.kind) {
    case Claim::Kind::Never: return true;
    case Claim::Kind::Without: return !watched.happened;
    case Claim::Kind::After: return watched.happened;
    case Claim::Kind::MoreThan: return ++watched.begun > claim.count;
    case Claim::Kind::InPhase: return phase == claim.phase;
    case Claim::Kind::EndWithout: return false;
  }
  return false;
}

void commit(const Claim& claim, Watched& watched, ToolId tool) {
  watched.happened = watched.happened || (claim.b != kNone && tool == claim.b);
}

bool is_terminal(const Plan& plan, PhaseId phase) { return plan.phases.empty() || plan.phases[phase].terminal; }

bool is_violated_at_end(const Claim& claim, const Watched& watched, const Plan& plan, PhaseId phase) {
  return claim.kind == Claim::Kind::EndWithout && !watched.happened && is_terminal(plan, phase);
}

// --- the exploration --------------------------------------------------------------------------------------------------------------------

enum class Act : std::uint8_t {
  Call,           // proposed, begun, committed
  Propose,        // it waits to begin
  Begin,          // one that waits
  Start,          // proposed and begun, and under way from now on
  Commit,         // one that is under way
  Lose,           // proposed and begun, and nobody knows what became of it
  LeaveUnproven,  // proposed, begun, and answered without evidence
  Fail            // one that is under way
};
struct Event {
  Act act;
  ToolId tool;
};

// A state, and the calls that are under way. Sets, not numbers: of a tool of which one call can be under way any number can, except
// where the claim counts them.
struct Node {
  Space::Id state = 0;
  std::uint64_t under_way = 0;  // by position among the tracked tools
  std::uint32_t waiting = 0;    // calls of A that have not begun
  Watched watched = {};
  std::uint32_t from = 0;
  Event by = {Act::Call, kNone};
};

struct Edge {
  std::uint32_t from, to;
  Event by;
};

class Exploration {
 public:
  Exploration(const std::shared_ptr<const Rules>& rules, const Claim* claim, const ProveBudget& budget)
      : rules_(*rules),
        claim_(claim),
        budget_(budget),
        space_(rules, claim != nullptr && claim->kind == Claim::Kind::MoreThan ? claim->a : kNone, claim != nullptr),
        bit_of_(rules->plan->tools.size(), kNone) {
    if (budget.one_at_a_time) return;
    std::uint32_t bits = 0;
    for (ToolId id = 0; id < bit_of_.size(); ++id) {
      const contract::Tool& tool = rules->tool(id);
      // A commit that only lets more be called is best made at once. One that moves the session or forbids is not, nor one
      // that is watched for.
      if (!tool.advances_to && tool.forbids.empty()) continue;
      if (bits < kTrackedMax) bit_of_[id] = bits++;
      else complete_ = false;
    }
  }

  // Breadth first, so that traces are short. `found` for each node that violates the claim; false ends it.
  void run(const std::function<bool(std::uint32_t)>& found) {
    add({}, false, 0, {Act::Call, kNone}, found);
    for (std::uint32_t at = 0; at < nodes_.size() && !stopped_; ++at) expand(at, found);
  }

  Space& space() { return space_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& edges() const { return edges_; }
  bool is_complete() const { return complete_; }
  void keep_edges() { keeps_edges_ = true; }
  bool is_stopped() const { return stopped_; }

  std::vector<Event> way_to(std::uint32_t node) const {
    std::vector<Event> out;
    for (; node != 0; node = nodes_[node].from) out.push_back(nodes_[node].by);
    std::ranges::reverse(out);
    return out;
  }

 private:
  using Found = std::function<bool(std::uint32_t)>;

  PhaseId phase(const Node& node) const { return space_.state(node.state).phase; }

  void expand(std::uint32_t at, const Found& found) {
    if (violating_[at]) return;  // what comes after it says nothing new
    const Node node = nodes_[at];
    const std::vector<ToolId> allowed = space_.allowed(node.state);
    for (const ToolId tool : allowed) {
      if (is_forbidden_in_flight(node, tool)) continue;
      Node next = node;
      // One that needs no receipt is committed when it is proposed, and begins after that.
      const bool is_at_once = rules_.tool(tool).commit == Commit::None;
      bool violates = !is_at_once && begins(next, tool);
      next.state = space_.called(node.state, tool);
      commits(next, tool);
      violates = violates || (is_at_once && begins(next, tool));
      add(next, violates, at, {Act::Call, tool}, found);
      if (budget_.counts_unproven) leave_unproven(node, at, tool, found);
      if (budget_.one_at_a_time) {
        lose(node, at, tool, found);
        continue;
      }
      if (bit_of_[tool] != kNone && (node.under_way >> bit_of_[tool] & 1) == 0) {
        next = node;
        // One that needs no receipt is under way until all of its response are judged.
        const bool violates_now = !is_at_once && begins(next, tool);
        next.state = space_.held(node.state, tool);
        next.under_way |= std::uint64_t{1} << bit_of_[tool];
        add(next, violates_now, at, {Act::Start, tool}, found);
      }
      if (claim_ != nullptr && tool == claim_->a && may_wait(node)) {
        next = node;
        ++next.waiting;
        next.state = space_.proposed(node.state, tool);
        if (is_at_once) commits(next, tool);
        add(next, false, at, {Act::Propose, tool}, found);
        if (is_at_once) {
          next = node;
          ++next.waiting;
          next.state = space_.held(node.state, tool);
          if (bit_of_[tool] != kNone) next.under_way |= std::uint64_t{1} << bit_of_[tool];
          add(next, false, at, {Act::Propose, tool}, found);
        }
      }
    }
    if (node.waiting > 0 && space_.may_begin(node.state, claim_->a) && !is_forbidden_under_way(node, claim_->a))
      begin_one(node, at, found);
    for (ToolId tool = 0; tool < bit_of_.size(); ++tool) {
      if (bit_of_[tool] == kNone || (node.under_way >> bit_of_[tool] & 1) == 0) continue;
      Node next = node;
      next.state = space_.committed(node.state, tool);
      // Of one that forbids itself there is no other.
      if (forbids(tool, tool)) next.under_way &= ~(std::uint64_t{1} << bit_of_[tool]);
      commits(next, tool);
      add(next, false, at, {Act::Commit, tool}, found);
      // Only where it matters what may still be done: what it forbade is possible again.
      if (keeps_edges_) {
        next = node;
        next.under_way &= ~(std::uint64_t{1} << bit_of_[tool]);
        add(next, false, at, {Act::Fail, tool}, found);
      }
    }
  }

  // A call that is lost does less than one that is committed, but it may have had its effect: that matters where calls are counted.
  void lose(const Node& node, std::uint32_t at, ToolId tool, const Found& found) {
    if (claim_ == nullptr || claim_->kind != Claim::Kind::MoreThan || tool != claim_->a) return;
    if (rules_.tool(tool).commit == Commit::None) return;
    Node next = node;
    const bool violates = begins(next, tool);
    next.state = space_.lost(node.state, tool);
    add(next, violates, at, {Act::Lose, tool}, found);
  }

  // A call whose answer is ok, but lacks the evidence that its contract wants, is failed: what it forbids is allowed again. It may have
  // had its effect all the same.
  void leave_unproven(const Node& node, std::uint32_t at, ToolId tool, const Found& found) {
    if (claim_ == nullptr || claim_->kind != Claim::Kind::MoreThan || tool != claim_->a) return;
    const contract::Tool& rules = rules_.tool(tool);
    if (rules.commit == Commit::None || (rules.evidence == contract::Evidence::Unverifiable && !wants_of_output(rules)))
      return;
    Node next = node;
    const bool violates = begins(next, tool);
    next.state = space_.unproven(node.state, tool);
    add(next, violates, at, {Act::LeaveUnproven, tool}, found);
  }
  static bool wants_of_output(const contract::Tool& tool) {
    return std::ranges::any_of(tool.output_assertions,
                               [](const contract::Invariant& one) { return one.scope == contract::Scope::Call; });
  }

  // A call of A that waited. After it is begun it is under way, if that matters, or else is committed.
  void begin_one(const Node& node, std::uint32_t at, const Found& found) {
    const ToolId tool = claim_->a;
    Node next = node;
    if (claim_->kind == Claim::Kind::MoreThan || forbids(tool, tool)) --next.waiting;
    const bool violates = begins(next, tool);
    if (rules_.tool(tool).commit == Commit::None) {
      // Committed before, or with the rest of its response.
    } else if (bit_of_[tool] != kNone) {
      next.under_way |= std::uint64_t{1} << bit_of_[tool];
    } else {
      next.state = space_.committed(node.state, tool);
      commits(next, tool);
    }
    add(next, violates, at, {Act::Begin, tool}, found);
  }

  bool forbids(ToolId tool, ToolId other) const {
    const auto& list = rules_.tool(tool).forbids;
    return std::ranges::find(list, other) != list.end();
  }

  // What a call in flight forbids ends when it fails. No claim can be violated by that: while it is open it only takes away, so what can
  // be done after its failure can be done had it never been proposed.
  bool is_forbidden_under_way(const Node& node, ToolId tool) const {
    for (ToolId other = 0; other < bit_of_.size(); ++other)
      if (bit_of_[other] != kNone && (node.under_way >> bit_of_[other] & 1) != 0 && forbids(other, tool)) return true;
    return false;
  }
  bool is_forbidden_in_flight(const Node& node, ToolId tool) const {
    return is_forbidden_under_way(node, tool) || (node.waiting > 0 && forbids(claim_->a, tool));
  }

  // Of a claim that counts, no more than can violate it; else there is one or there are any number.
  bool may_wait(const Node& node) const {
    if (claim_->kind == Claim::Kind::MoreThan) return node.waiting + node.watched.begun <= claim_->count;
    return node.waiting == 0;
  }

  bool begins(Node& node, ToolId tool) const {
    return claim_ != nullptr && begin(*claim_, node.watched, tool, phase(node));
  }
  void commits(Node& node, ToolId tool) const {
    if (claim_ != nullptr) commit(*claim_, node.watched, tool);
  }

  void add(Node next, bool violates, std::uint32_t from, Event by, const Found& found) {
    if (stopped_) return;
    if (claim_ != nullptr) violates = violates || is_violated_at_end(*claim_, next.watched, *rules_.plan, phase(next));
    std::string key;
    for (const std::uint64_t part :
         {std::uint64_t{next.state}, next.under_way, std::uint64_t{next.waiting},
          std::uint64_t{next.watched.begun} * 4 + (next.watched.happened ? 2 : 0) + (violates ? 1 : 0)})
      key.append(reinterpret_cast<const char*>(&part), sizeof part);
    // Ways to a violation that end with different calls are different: one of them may go through where another does not.
    if (violates) key.push_back(static_cast<char>(by.act));
    const auto [known, is_new] = seen_.emplace(std::move(key), static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
      if (nodes_.size() >= budget_.states) {
        complete_ = false;
        stopped_ = true;
        return;
      }
      next.from = from;
      next.by = by;
      nodes_.push_back(next);
      violating_.push_back(violates);
      if (violates && !found(known->second)) stopped_ = true;
    }
    if (keeps_edges_ && by.tool != kNone) edges_.push_back({from, known->second, by});
  }

  const Rules& rules_;
  const Claim* claim_;
  const ProveBudget budget_;
  Space space_;
  std::vector<std::uint32_t> bit_of_;
  std::vector<Node> nodes_;
  std::vector<bool> violating_;
  std::vector<Edge> edges_;
  std::unordered_map<std::string, std::uint32_t> seen_;
  bool complete_ = true, stopped_ = false, keeps_edges_ = false;
};

// --- a way, with values -----------------------------------------------------------------------------------------------------------------

std::string phase_name(const Plan& plan, PhaseId phase) {
  return plan.phases.empty() ? std::string() : plan.phases[phase].name;
}

struct Run {
  bool went_through = false, violated = false;
  std::string needs;  // when it did not go through
  std::vector<Traced> trace;
  State state;
};

// Runs events through the engine. What is under way in any number is proposed as often as it is needed later.
class Runner {
 public:
  Runner(const std::shared_ptr<const Rules>& rules, const std::shared_ptr<const MadeUp>& made_up, const Claim* claim)
      : rules_(*rules), claim_(claim), rehearsal_(rules, made_up, opened(*rules, *made_up)) {}

  static State opened(const Rules& rules, const MadeUp& made_up) {
    Opening opening;
    opening.environment = made_up.environment();
    return open(rules, opening);
  }

  Run run(const std::vector<Event>& events) {
    note_end();
    for (std::size_t i = 0; i < events.size(); ++i)
      if (!take(events, i)) {
        out_.needs = quoted(rules_.tool(events[i].tool).name) + " to be allowed in call " + std::to_string(i + 1) +
                     (refused_.code ? ", which the engine refuses with the values that were tried: " +
                                          std::string(info(*refused_.code).name) +
                                          (refused_.detail.empty() ? "" : " (" + refused_.detail + ")")
                                    : ", which cannot be made there");
        out_.state = rehearsal_.state();
        return std::move(out_);
      }
    out_.went_through = true;
    out_.state = rehearsal_.state();
    return std::move(out_);
  }

 private:
  static std::size_t later(const std::vector<Event>& events, std::size_t from, ToolId tool, Act act) {
    std::size_t out = 0;
    for (std::size_t i = from + 1; i < events.size(); ++i)
      out += events[i].tool == tool && events[i].act == act ? 1 : 0;
    return out;
  }

  bool take(const std::vector<Event>& events, std::size_t at) {
    const auto [act, tool] = events[at];
    switch (act) {
      case Act::Call: {
        const std::size_t traced = out_.trace.size();
        const auto call = propose(tool);
        if (!call || !start(*call)) return false;
        if (out_.violated && claim_->kind != Claim::Kind::EndWithout) return true;  // however it ends
        if (!settle(*call)) return false;
        // Three lines that are one.
        Traced whole = out_.trace[traced];
        whole.what = Traced::What::Called;
        whole.output = out_.trace.back().output;
        whole.phase_after = out_.trace.back().phase_after;
        out_.trace.resize(traced);
        out_.trace.push_back(std::move(whole));
        return true;
      }
      case Act::Propose: {
        const bool counts = forbids_itself(tool) || (claim_ != nullptr && claim_->kind == Claim::Kind::MoreThan);
        const std::size_t needed = counts ? 1 : std::max<std::size_t>(1, later(events, at, tool, Act::Begin));
        for (std::size_t i = 0; i < needed; ++i)
          if (!propose(tool)) return false;
        return true;
      }
      case Act::Begin: {
        const auto call = rehearsal_.waiting(tool);
        if (!call || !start(*call)) return false;
        // One whose commit is no event of its own.
        const contract::Tool& rules = rules_.tool(tool);
        if (rules.commit != Commit::None && !rules.advances_to && rules.forbids.empty()) return settle(*call);
        return true;
      }
      case Act::Start: {
        const std::size_t needed =
            forbids_itself(tool)
                ? 1
                : std::max<std::size_t>(1, later(events, at, tool, Act::Commit) + later(events, at, tool, Act::Fail));
        for (std::size_t i = 0; i < needed; ++i) {
          const auto call = propose(tool);
          if (!call || !start(*call)) return false;
        }
        return true;
      }
      case Act::Commit: {
        const auto call = rehearsal_.begun(tool);
        return call && settle(*call);
      }
      case Act::Fail: {
        const auto call = rehearsal_.begun(tool);
        if (!call) return false;
        const PhaseId before = rehearsal_.state().phase;
        rehearsal_.fail(*call);
        trace(*call, Traced::What::Failed, before);
        return true;
      }
      case Act::Lose: {
        const auto call = propose(tool);
        if (!call || !start(*call)) return false;
        const PhaseId before = rehearsal_.state().phase;
        rehearsal_.lose(*call);
        trace(*call, Traced::What::Lost, before);
        return true;
      }
      case Act::LeaveUnproven: {
        const auto call = propose(tool);
        if (!call || !start(*call)) return false;
        const PhaseId before = rehearsal_.state().phase;
        rehearsal_.leave_unproven(*call);
        trace(*call, Traced::What::Unproven, before);
        return true;
      }
    }
    return false;
  }

  bool forbids_itself(ToolId tool) const {
    const auto& list = rules_.tool(tool).forbids;
    return std::ranges::find(list, tool) != list.end();
  }

  std::optional<std::uint32_t> propose(ToolId tool) {
    const PhaseId before = rehearsal_.state().phase;
    const auto call = rehearsal_.propose(tool, refused_);
    if (!call) return std::nullopt;
    if (rules_.tool(tool).commit == Commit::None) happened(tool);
    trace(*call, Traced::What::Proposed, before);
    return call;
  }
  bool start(std::uint32_t call) {
    const PhaseId before = rehearsal_.state().phase;
    if (!rehearsal_.start(call, refused_)) return false;
    if (claim_ != nullptr && begin(*claim_, watched_, rehearsal_.calls()[call].tool, before)) out_.violated = true;
    trace(call, Traced::What::Begun, before);
    return true;
  }
  bool settle(std::uint32_t call) {
    const PhaseId before = rehearsal_.state().phase;
    if (!rehearsal_.settle(call, refused_)) return false;
    happened(rehearsal_.calls()[call].tool);
    trace(call, Traced::What::Committed, before);
    return true;
  }
  void happened(ToolId tool) {
    if (claim_ != nullptr) commit(*claim_, watched_, tool);
    note_end();
  }
  void note_end() {
    if (claim_ != nullptr && is_violated_at_end(*claim_, watched_, *rules_.plan, rehearsal_.state().phase))
      out_.violated = true;
  }
  void trace(std::uint32_t number, Traced::What what, PhaseId before) {
    const Rehearsal::Call& call = rehearsal_.calls()[number];
    Traced one;
    one.what = what;
    one.tool = rules_.tool(call.tool).name;
    one.phase_before = phase_name(*rules_.plan, before);
    one.phase_after = phase_name(*rules_.plan, rehearsal_.state().phase);
    one.approved = call.approved && what == Traced::What::Proposed;
    if (what == Traced::What::Proposed) one.arguments = call.arguments;
    if (what == Traced::What::Committed) one.output = call.output;
    out_.trace.push_back(std::move(one));
  }

  const Rules& rules_;
  const Claim* claim_;
  Rehearsal rehearsal_;
  Rehearsal::Refused refused_;
  Watched watched_;
  Run out_;
};

std::string incomplete_reason(std::size_t states) {
  return "there are more states than the budget of " + std::to_string(states) + " allows to look at";
}

}  // namespace

namespace {

Proof prove_one(const std::shared_ptr<const Rules>& rules, const Claim& claim, const ProveBudget& budget) {
  Exploration exploration(rules, &claim, budget);
  const auto made_up = std::make_shared<const MadeUp>(rules);
  Proof out;
  std::string needs;
  std::size_t tried = 0;
  exploration.run([&](std::uint32_t node) {
    Run run = Runner(rules, made_up, &claim).run(exploration.way_to(node));
    if (run.went_through && run.violated) {
      out.answer = Answer::Refuted;
      out.trace = std::move(run.trace);
      return false;
    }
    if (needs.empty()) needs = run.needs;
    return ++tried < kTracesMax;
  });
  out.states = exploration.nodes().size();
  if (out.answer == Answer::Refuted) out.why = "the engine allows these calls";
  else if (tried > 0)
    out.why = "a way was found that leaves values out, and it could not be gone with values: it needs " + needs;
  else if (!exploration.is_complete()) out.why = incomplete_reason(budget.states);
  else {
    out.answer = Answer::Proved;
    out.why = "no state that a session can come to allows it";
  }
  return out;
}

}  // namespace

Proof prove_never(const std::shared_ptr<const Rules>& rules, const Claim& claim, const ProveBudget& budget) {
  Proof out = prove_one(rules, claim, budget);
  if (out.answer != Answer::Proved || claim.kind != Claim::Kind::MoreThan || budget.counts_unproven) return out;
  ProveBudget counting = budget;
  counting.counts_unproven = true;
  Proof again = prove_one(rules, claim, counting);
  out.unproven = again.answer != Answer::Proved;
  out.unproven_trace = std::move(again.trace);
  return out;
}

// --- the end ----------------------------------------------------------------------------------------------------------------------------

namespace {

struct Spot {
  PhaseId phase;
  std::vector<ToolId> forbidden;
  auto operator<=>(const Spot&) const = default;
};

// Looks for ways to the end that do not depend on what was before: nothing is known, bound or captured, and only what the engine really
// allows counts.
class Ways {
 public:
  explicit Ways(const std::shared_ptr<const Rules>& rules)
      : rules_(rules), made_up_(std::make_shared<const MadeUp>(rules)), sure_(rules->plan->tools.size()) {
    for (ToolId id = 0; id < sure_.size(); ++id) {
      sure_[id] = is_sure(id);
      if (!sure_[id]) unsure_ += (unsure_.empty() ? "" : ", ") + quoted(rules->tool(id).name);
    }
  }

  const std::shared_ptr<const MadeUp>& made_up() const { return made_up_; }
  const std::string& unsure() const { return unsure_; }

  bool is_there_one(const Spot& spot) {
    if (const auto known = known_.find(spot); known != known_.end()) return known->second;
    const bool out = search(spot);
    known_[spot] = out;
    return out;
  }

 private:
  bool search(const Spot& spot) {
    State state = Runner::opened(*rules_, *made_up_);
    state.phase = spot.phase;
    for (const ToolId tool : spot.forbidden) state.forbidden.push_back({tool, tool, 1});
    state.next_number = 2;
    std::deque<Rehearsal> open = {Rehearsal(rules_, made_up_, std::move(state))};
    std::set<std::string> seen;
    while (!open.empty() && seen.size() < kWaysMax) {
      const Rehearsal from = std::move(open.front());
      open.pop_front();
      if (is_terminal(*rules_->plan, from.state().phase)) return true;
      const auto known = known_.find(spot_of(from.state()));
      if (known != known_.end() && known->second) return true;
      for (ToolId tool = 0; tool < sure_.size(); ++tool) {
        if (!sure_[tool]) continue;
        Rehearsal next = from;
        Rehearsal::Refused refused;
        const auto call = next.propose(tool, refused);
        if (!call || !next.start(*call, refused) || !next.settle(*call, refused)) continue;
        if (seen.insert(key_of(next.state())).second) open.push_back(std::move(next));
      }
    }
    return false;
  }

  static Spot spot_of(const State& state) {
    Spot out{state.phase, {}};
    for (const Forbidding& one : state.forbidden) out.forbidden.push_back(one.tool);
    std::ranges::sort(out.forbidden);
    const auto same = std::ranges::unique(out.forbidden);
    out.forbidden.erase(same.begin(), same.end());
    return out;
  }

  static std::string key_of(const State& state) {
    const Spot spot = spot_of(state);
    std::string out = std::to_string(spot.phase);
    for (const ToolId tool : spot.forbidden) out += "," + std::to_string(tool);
    out += "|";
    for (const Record& record : state.records)
      out += record.latest.value_or(false) || !record.by_entity.empty() ? "1" : "0";
    for (const Fact& slot : state.slots) out += is_there(slot) ? "1" : "0";
    return out;
  }

  // Does nothing that was before stand in the way of a call but what a Spot says?
  bool is_sure(ToolId id) const {
    for (const ToolRules::Stage& stage : rules_->tools[id].stages)
      if (rules_->plan->envelopes[stage.envelope].stages[stage.stage].role == Role::Constrained) return false;
    const json::Value arguments = made_up_->arguments(id);
    return std::ranges::all_of(rules_->tool(id).aggregates, [&](std::uint32_t index) {
      const contract::Aggregate& aggregate = rules_->plan->aggregates[index];
      const json::Value* value = aggregate.at ? arguments.find_at(pointer_of(aggregate.at->path)) : nullptr;
      if (aggregate.at && value == nullptr) return aggregate.all_tools || aggregate.metric == Metric::Count;
      return aggregate.metric == Metric::CountDistinct && may_repeat(id, aggregate);
    });
  }

  // A value that was counted before counts no more. It can be given again when nothing else depends on it, and when this tool asks
  // nothing of it that those did not that brought it in.
  bool may_repeat(ToolId id, const contract::Aggregate& aggregate) const {
    const json::Decimal one(1);
    const contract::Bounds& bounds = aggregate.bounds;
    if (!aggregate.when.empty() || (bounds.lte && *bounds.lte < one) || (bounds.gte && *bounds.gte > one)) return false;
    if (made_up_->is_shared(id, *aggregate.at)) return false;
    const auto mine = tests_at(id, *aggregate.at);
    for (ToolId other = 0; other < rules_->plan->tools.size(); ++other) {
      if (!aggregate.all_tools && std::ranges::find(aggregate.tools, other) == aggregate.tools.end()) continue;
      const auto theirs = tests_at(other, *aggregate.at);
      for (const contract::Test* test : mine)
        if (std::ranges::none_of(theirs, [&](const contract::Test* one_of) {
              return one_of->op == test->op && json::equal(one_of->value, test->value);
            }))
          return false;
    }
    return true;
  }

  std::vector<const contract::Test*> tests_at(ToolId id, const contract::PathAt& at) const {
    const contract::Tool& tool = rules_->tool(id);
    std::vector<const contract::Test*> out;
    for (const auto* list : {&tool.arguments, &tool.input_assertions, &tool.execution_constraints})
      for (const contract::Invariant& one : *list)
        if (one.scope == contract::Scope::Call && one.at.path == at.path)
          for (const contract::Test& test : one.tests) out.push_back(&test);
    return out;
  }

  std::shared_ptr<const Rules> rules_;
  std::shared_ptr<const MadeUp> made_up_;
  std::vector<bool> sure_;
  std::string unsure_;
  std::map<Spot, bool> known_;
};

class Finish {
 public:
  Finish(const std::shared_ptr<const Rules>& rules, const ProveBudget& budget)
      : rules_(rules), plan_(*rules->plan), budget_(budget), exploration_(rules, nullptr, budget), ways_(rules) {}

  FinishProof prove() {
    if (plan_.phases.empty()) {
      out_.answer = Answer::Proved;
      out_.why = "the pack has no phases: a session may end whenever it likes";
      return std::move(out_);
    }
    exploration_.keep_edges();
    exploration_.run([](std::uint32_t) { return true; });
    out_.states = exploration_.nodes().size();
    if (!exploration_.is_complete()) {
      out_.why = incomplete_reason(budget_.states);
      return std::move(out_);
    }
    const std::vector<bool> leads = leads_to_end([](const Edge&) { return true; });
    if (find_trap(leads)) return std::move(out_);
    if (out_.why.empty()) find_ways();
    note_limits(leads);
    note_labels(leads);
    note_unknowns();
    return std::move(out_);
  }

 private:
  PhaseId phase(std::uint32_t node) { return exploration_.space().state(exploration_.nodes()[node].state).phase; }

  // From which nodes do edges lead to the end?
  template <class Takes>
  std::vector<bool> leads_to_end(const Takes& takes) {
    const std::size_t count = exploration_.nodes().size();
    std::vector<std::vector<std::uint32_t>> back(count);
    for (const Edge& edge : exploration_.edges())
      if (takes(edge)) back[edge.to].push_back(edge.from);
    std::vector<bool> out(count);
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < count; ++i)
      if (is_terminal(plan_, phase(i))) {
        out[i] = true;
        open.push_back(i);
      }
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t from : back[at])
        if (!out[from]) {
          out[from] = true;
          open.push_back(from);
        }
    }
    return out;
  }

  // More is explored than can happen: where even that leads to no end, there is none.
  bool find_trap(const std::vector<bool>& leads) {
    std::size_t tried = 0;
    for (std::uint32_t i = 0; i < leads.size() && tried < kTracesMax; ++i) {
      if (leads[i]) continue;
      ++tried;
      Run run = Runner(rules_, ways_.made_up(), nullptr).run(exploration_.way_to(i));
      if (run.went_through && run.state.phase == phase(i)) {
        out_.answer = Answer::Refuted;
        out_.why = "from phase " + quoted(phase_name(plan_, phase(i))) + ", after these calls, no call leads to an end";
        out_.trace = std::move(run.trace);
        return true;
      }
      if (out_.why.empty())
        out_.why = "phase " + quoted(phase_name(plan_, phase(i))) +
                   " may be a trap: there is no way to an end from it as it is reached by a way that leaves values "
                   "out, which could "
                   "not be gone with values: it needs " +
                   (run.needs.empty() ? "another phase at the end" : run.needs);
    }
    return false;
  }

  void find_ways() {
    for (std::uint32_t i = 0; i < exploration_.nodes().size(); ++i) {
      if (is_terminal(plan_, phase(i))) continue;
      const Spot spot = spot_of(i);
      if (ways_.is_there_one(spot)) continue;
      out_.why = "from phase " + quoted(phase_name(plan_, spot.phase)) +
                 " no way to an end was found that goes through whatever the values were before";
      if (!ways_.unsure().empty()) out_.why += "; left out, because they depend on such values: " + ways_.unsure();
      return;
    }
    out_.answer = Answer::Proved;
    out_.why =
        "from every state that a session can come to, calls lead to an end while calls, steps and money are left";
  }

  Spot spot_of(std::uint32_t node) {
    const Space::Id state = exploration_.nodes()[node].state;
    return {phase(node), exploration_.space().forbidden(state)};
  }

  void note_limits(const std::vector<bool>& leads) {
    const contract::Limits& limits = plan_.limits;
    if (is_terminal(plan_, phase(0))) return;
    if (limits.max_steps)
      out_.used_up.push_back({"max_steps", std::to_string(*limits.max_steps) + " steps: text alone can use them up"});
    if (limits.max_tool_calls && !exploration_.space().allowed(exploration_.space().first()).empty())
      out_.used_up.push_back(
          {"max_tool_calls", std::to_string(*limits.max_tool_calls) + " calls: calls that fail can use them up"});
    if (limits.max_cost)
      out_.used_up.push_back(
          {"max_cost_per_session", limits.max_cost->text() + ": what the host reports can use it up"});
    for (const auto& [tool, max] : limits.max_calls) {
      const auto without = leads_to_end([&](const Edge& edge) { return edge.by.tool != tool; });
      for (std::uint32_t i = 0; i < leads.size(); ++i) {
        if (without[i] || !leads[i]) continue;
        const auto& allowed = exploration_.space().allowed(exploration_.nodes()[i].state);
        if (std::ranges::find(allowed, tool) == allowed.end()) continue;
        out_.used_up.push_back({"max_calls_per_tool", std::to_string(max) + " of " + quoted(rules_->tool(tool).name) +
                                                          ": calls that fail can use them up, and from phase " +
                                                          quoted(phase_name(plan_, phase(i))) +
                                                          " no other way leads to an end"});
        break;
      }
    }
    if (limits.consecutive_blocks)
      out_.used_up.push_back(
          {"consecutive_blocks", std::to_string(*limits.consecutive_blocks) + " blocks in a row end it"});
    if (limits.consecutive_errors)
      out_.used_up.push_back(
          {"consecutive_errors", std::to_string(*limits.consecutive_errors) + " errors in a row end it"});
  }

  void note_labels(const std::vector<bool>& leads) {
    std::set<std::string> labels;
    for (const contract::LabelGate& gate : plan_.label_gates) labels.insert(gate.label);
    for (const std::string& label : labels) {
      const auto is_open = [&](const Edge& edge) {
        if (edge.by.act == Act::Commit || edge.by.act == Act::Fail) return true;  // it has begun
        return std::ranges::none_of(rules_->tool(edge.by.tool).label_gates,
                                    [&](std::uint32_t index) { return plan_.label_gates[index].label == label; });
      };
      const auto with = leads_to_end(is_open);
      for (std::uint32_t i = 0; i < leads.size(); ++i) {
        if (with[i] || !leads[i]) continue;
        out_.labels.push_back(
            {label, "from phase " + quoted(phase_name(plan_, phase(i))) + " on there is no end any more"});
        break;
      }
    }
  }

  void note_unknowns() {
    std::set<ToolId> told;
    for (std::uint32_t i = 0; i < exploration_.nodes().size(); ++i) {
      const std::vector<ToolId> allowed = exploration_.space().allowed(exploration_.nodes()[i].state);
      for (const ToolId tool : allowed) {
        const contract::Tool& rules = rules_->tool(tool);
        if (rules.forbids.empty() || rules.commit == Commit::None || told.contains(tool)) continue;
        Spot spot = spot_of(i);
        if (is_terminal(plan_, spot.phase) || !ways_.is_there_one(spot)) continue;
        spot.forbidden.insert(spot.forbidden.end(), rules.forbids.begin(), rules.forbids.end());
        std::ranges::sort(spot.forbidden);
        const auto same = std::ranges::unique(spot.forbidden);
        spot.forbidden.erase(same.begin(), same.end());
        if (ways_.is_there_one(spot)) continue;
        told.insert(tool);
        out_.unknowns.push_back({rules.name, "while its outcome is unknown in phase " +
                                                 quoted(phase_name(plan_, spot.phase)) +
                                                 ", what it forbids stands between the session and its end"});
      }
    }
  }

  std::shared_ptr<const Rules> rules_;
  const Plan& plan_;
  ProveBudget budget_;
  Exploration exploration_;
  Ways ways_;
  FinishProof out_;
};

}  // namespace

FinishProof prove_finish(const std::shared_ptr<const Rules>& rules, const ProveBudget& budget) {
  return Finish(rules, budget).prove();
}

// --- what was left out --------------------------------------------------------------------------------------------------------------------

std::vector<std::string> abstracted(const Plan& plan, const ProveBudget& budget) {
  std::vector<std::string> out = {
      "Arguments and outputs are left out: any call is taken to have values that pass, and any tool to succeed or to "
      "fail"};
  const auto any = [&](auto has) { return std::ranges::any_of(plan.tools, has); };
  if (any([](const contract::Tool& tool) { return !tool.preconditions.empty(); }))
    out.emplace_back("An output may be what every precondition asks for, and of some entity it stays so");
  if (!plan.aggregates.empty()) out.emplace_back("Aggregates are taken to be kept");
  if (!plan.envelopes.empty())
    out.emplace_back("Envelopes need their references captured; the values are taken to be within");
  if (plan.needs_principal)
    out.emplace_back("The principal is somebody whom the policy allows every tool that it allows anybody");
  if (!plan.label_gates.empty()) out.emplace_back("No label is in the session; a label only closes tools");
  if (any([](const contract::Tool& tool) { return tool.checkpoint || !tool.checkpoints.empty(); }))
    out.emplace_back("A person who is asked may say yes");
  const contract::Limits& limits = plan.limits;
  if (limits.max_steps || limits.max_tool_calls || limits.max_cost || !limits.max_calls.empty() || limits.loop_window ||
      limits.consecutive_blocks || limits.consecutive_errors)
    out.emplace_back(
        "Limits, loop detection and breakers only stop a session: they are left out, but for the calls of a tool that "
        "a claim counts, "
        "and for max_tool_calls of 12 or less");
  if (!plan.environment.empty()) out.emplace_back("Variables of the environment are set");
  if (any([](const contract::Tool& tool) { return tool.response_format.has_value(); }))
    out.emplace_back("The host shows requests and responses, and they are as the contracts want them");
  out.emplace_back(budget.one_at_a_time ? "The host lets each call end before it proposes the next, and an outcome "
                                          "that is unknown is not resolved later"
                                        : "Any number of calls may be under way at once");
  out.emplace_back("The session is one, and enforces: in shadow mode everything is let through");
  return out;
}

}  // namespace baton::session
