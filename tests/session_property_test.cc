// SPDX-License-Identifier: Apache-2.0
// What must hold of every session, on random packs and random sequences. BATON_SEED repeats one that failed.
//
// Besides the engine there is a second account here, kept in plain integers: which calls have been committed, and which count.
#include <cstdlib>
#include <map>
#include <random>

#include "session/shown.h"
#include "session_world.h"

namespace baton::session {
namespace {

constexpr unsigned kPacks = 400;
constexpr int kEvents = 60;

unsigned first_seed() {
  const char* given = std::getenv("BATON_SEED");
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 1;
}
unsigned seeds() { return std::getenv("BATON_SEED") != nullptr ? 1 : kPacks; }

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }

 private:
  std::mt19937 engine_;
};

// --- packs --------------------------------------------------------------------------------------------------------------------------------
// Every kind of rule there is; bounds are from above and values are not negative, so that calls beside a call can only take from it.

constexpr int kTools = 5;
std::string tool_name(int i) { return "t" + std::to_string(i); }

std::string tool_rest(Random& random, int i) {
  std::string out;
  if (random.one_in(3)) out += "transitions: {valid_in_phases: [a, b]}\n";
  else if (random.one_in(4)) out += "transitions: {valid_in_phases: [a], advances_to: b}\n";
  if (random.one_in(4)) out += "forbids_after: [" + tool_name(random.below(kTools)) + "]\n";
  if (i > 0 && random.one_in(3))
    out += "preconditions: [{requires_prior_tool: " + tool_name(random.below(i)) +
           (random.one_in(2) ? ", resource: {bind_from: arguments, path: $.id}" : "") +
           (random.one_in(2) ? ", with_output: [{path: $.ok, equals: true}]" : "") + "}]\n";
  if (random.one_in(2)) out += "binds: [{name: slot" + std::to_string(i) + ", path: $.id}]\n";
  if (random.one_in(4)) out += "execution_constraints: {arguments: [{path: $.n, lte: 6}]}\n";
  if (random.one_in(4)) out += "checkpoint: {when: [{path: $.n, gte: 5}], timeout_seconds: 60}\n";
  return out;
}

contract::PackSource random_pack(Random& random) {
  contract::PackSource out;
  for (int i = 0; i < kTools; ++i) {
    contract::SourceFile file =
        contract::tool_file(tool_name(i), tool_rest(random, i), random.one_in(2) ? "read" : "write");
    if (random.one_in(4)) {
      const std::string from = "commit_requirement: acknowledged";
      file.text.replace(file.text.find(from), from.size(), "commit_requirement: none");
    }
    out.contracts.push_back(std::move(file));
  }
  std::string session =
      "risk_defaults: {read: allow, write: " + std::string(random.one_in(6) ? "block" : "allow") +
      "}\n"
      "phases: [{name: a, initial: true}, {name: b}, {name: c, terminal: true}]\ntransitions: {a: [b, c], b: [c]}\n"
      "policy: {label_gates: [{when_label: hot, deny_tools: [t0, t3], reason: hot}]}\n";
  std::string limits;
  if (random.one_in(3)) limits += "max_tool_calls: " + std::to_string(8 + random.below(20)) + ", ";
  if (random.one_in(3)) limits += "max_calls_per_tool: {t1: 3, t2: 4}, ";
  if (random.one_in(2)) limits += "loop_detection: {window: 4, threshold: 3}, ";
  if (random.one_in(3)) limits += "circuit_breaker: {consecutive_blocks: 6, consecutive_errors: 6}, ";
  session += "session_limits: {" + limits + "max_steps: 200}\n";
  session +=
      "aggregates:\n"
      "  - {name: sum, metric: sum, tool: [t0, t1, t2], path: $.n, lte: 70, reason: r}\n"
      "  - {name: count, metric: count, tool: \"*\", lte: 40, reason: r}\n"
      "  - {name: max, metric: max, tool: [t2, t3], path: $.n, lte: 7, reason: r}\n"
      "  - {name: ids, metric: count_distinct, tool: \"*\", path: $.id, lte: 3, reason: r}\n"
      "envelopes:\n"
      "  - {name: falls, constraint: monotonic_decrease, reason: r, stages: [{tool: t0, path: $.n, role: initial}, "
      "{tool: t4, path: $.n, role: constrained}]}\n";
  out.session = contract::session_file(session);
  return out;
}

// --- a sequence ---------------------------------------------------------------------------------------------------------------------------

struct Call {
  std::string tool, id, text;
  int n;
};

class Run {
 public:
  Run(unsigned seed, Mode mode) : random_(seed) {
    rules_ = make_rules(contract::plan_of(random_pack(random_)));
    Opening opening;
    opening.mode = mode;
    opening.gate = random_.of(std::vector<Gate>{Gate::RejectAll, Gate::StripPartial, Gate::StripBlocked});
    state_ = open(*rules_, opening);
  }

  void play() {
    for (int i = 0; i < kEvents && !testing::Test::HasFailure(); ++i) {
      event();
      state_ = reread(*rules_, state_);
      expect_account();
    }
  }

  // Everything that is open is settled as failed: what is left is what was committed, and nothing else.
  void fail_all() {
    while (!state_.open.empty() && !testing::Test::HasFailure()) {
      const OpenCall call = state_.open.front();
      if (call.state == CallState::Awaiting) rule(call.id, Ruling::Denied);
      else settle_as(call.id, Receipt::Error, true);
      expect_account();
    }
    if (testing::Test::HasFailure()) return;
    for (const auto& [id, one] : account_) EXPECT_TRUE(one.is_over) << id;
  }

  const State& state() const { return state_; }

  std::size_t allowed = 0, blocked = 0, held = 0, committed = 0;

 private:
  void event() {
    switch (random_.below(8)) {
      case 0: return begin();
      case 1: return rule_one();
      case 2:
      case 3: return settle_one();
      case 4:
        if (random_.one_in(6)) take_label(state_, "hot");
        else if (random_.one_in(2)) text();
        return;
      default: return propose();
    }
  }

  std::vector<Call> response() {
    std::vector<Call> out;
    const int calls = random_.one_in(3) ? 2 + random_.below(2) : 1;
    for (int i = 0; i < calls; ++i) {
      Call one;
      one.n = random_.below(8);
      one.tool = random_.one_in(12) ? "nowhere" : tool_name(random_.below(kTools));
      one.id = random_.of(std::vector<std::string>{"x", "y", "z", "w"});
      one.text = R"({"n":)" + std::to_string(one.n) + R"(,"id":")" + one.id + "\"}";
      if (random_.one_in(15)) one.text = "[]";
      out.push_back(std::move(one));
    }
    return out;
  }

  static Proposal proposal_of(const std::vector<Call>& asked, std::vector<json::Document>& documents,
                              std::size_t first) {
    Proposal out;
    documents.reserve(asked.size());
    for (const Call& one : asked) {
      documents.push_back(std::move(*json::parse(one.text)));
      out.calls.push_back({std::to_string(first++), one.tool, Values::of_document(documents.back().root()), {}});
    }
    return out;
  }

  std::string answer(const State& state, const Proposal& proposal) const {
    return json::write(session::shown(proposal, decide(*rules_, state, proposal), {}));
  }

  void propose() {
    const std::vector<Call> asked = response();
    std::vector<json::Document> documents;
    const Proposal proposal = proposal_of(asked, documents, next_);
    next_ += asked.size();
    const StepVerdict verdict = decide(*rules_, state_, proposal);
    EXPECT_EQ(answer(state_, proposal), answer(state_, proposal)) << "the same question, another answer";
    expect_the_same_in_shadow(proposal);
    expect_allowed_alone(asked, verdict);
    const bool joins = verdict.calls.size() == 1 && !verdict.calls[0].joins.empty();
    if (joins) return;
    const State before = state_;
    const Effects effects = take_step(*rules_, state_, step_of(proposal, verdict));
    expect_nothing_but_history(before, verdict, effects);
    note(asked, proposal, verdict);
    cancel(effects);
  }

  // Shadow and enforce judge alike, where nothing waits.
  void expect_the_same_in_shadow(const Proposal& proposal) const {
    if (state_.is_paused() || state_.standing != Standing::Open) return;
    State other = state_;
    other.mode = state_.mode == Mode::Enforce ? Mode::Shadow : Mode::Enforce;
    if (other.is_paused()) return;
    // What the host does with it is another matter: in shadow it goes ahead.
    const auto judged = [&](const State& state) {
      StepVerdict verdict = decide(*rules_, state, proposal);
      verdict.outcome = Outcome::Proceed;
      return json::write(shown(proposal, verdict, {}));
    };
    EXPECT_EQ(judged(state_), judged(other));
  }

  // What is allowed beside others is allowed alone, on the same state: others of the response can only take from it.
  void expect_allowed_alone(const std::vector<Call>& asked, const StepVerdict& verdict) const {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (verdict.calls[i].verdict != Verdict::Allow) continue;
      std::vector<json::Document> documents;
      const std::vector<Call> one = {asked[i]};  // the proposal is a view of it
      const Proposal alone = proposal_of(one, documents, 0);
      const StepVerdict again = decide(*rules_, state_, alone);
      EXPECT_EQ(again.calls[0].verdict, Verdict::Allow) << asked[i].tool << asked[i].text << codes_of(again.calls[0]);
    }
  }

  // A response that was blocked as a whole is in the history, and nowhere else.
  void expect_nothing_but_history(const State& before, const StepVerdict& verdict, const Effects& effects) const {
    if (state_.is_letting_through() || effects.killed) return;
    for (const CallVerdict& call : verdict.calls)
      if (call.verdict != Verdict::Block) return;
    const auto without_history = [](const State& state) {
      json::Value out = to_json(state);
      out.erase("loop");
      out.erase("consecutive_blocks");
      return json::write(out);
    };
    EXPECT_EQ(without_history(state_), without_history(before));
  }

  void text() { cancel(take_step(*rules_, state_, {})); }

  void begin() {
    const auto pending = in_state(CallState::Pending);
    if (pending.empty()) return;
    const std::string id = random_.of(pending);
    const StartVerdict verdict = start(*rules_, state_, id, {}, {});
    ASSERT_TRUE(verdict.is_open);
    const Effects effects = take_start(*rules_, state_, {id, !verdict.failures.empty(), verdict.facts, verdict.digest});
    if (!verdict.failures.empty() && !state_.is_letting_through()) account_.erase(id);
    cancel(effects);
  }

  void rule_one() {
    std::vector<std::string> waiting;
    for (const OpenCall& call : state_.open)
      if (call.state == CallState::Awaiting && call.asks && !call.approved) waiting.push_back(call.id);
    if (!waiting.empty())
      rule(random_.of(waiting),
           random_.of(std::vector<Ruling>{Ruling::Approved, Ruling::Approved, Ruling::Denied, Ruling::TimedOut}));
  }

  void rule(std::string id, Ruling ruling) {
    // One that is held is ruled on by way of one that is asked about.
    if (const OpenCall* call = state_.find(id); !call->asks || call->approved)
      for (const OpenCall& other : state_.open)
        if (other.group == call->group && other.asks && !other.approved) id = other.id;
    const auto verdict = rule_on(*rules_, state_, id, ruling);
    ASSERT_TRUE(verdict) << id;
    const Effects effects = take_ruling(*rules_, state_, id, ruling, resolved_of(*verdict));
    for (std::size_t i = 0; i < verdict->calls.size(); ++i) {
      Account& one = account_.at(verdict->call_ids[i]);
      if (verdict->calls[i].verdict == Verdict::Block) account_.erase(verdict->call_ids[i]);
      else if (verdict->calls[i].verdict == Verdict::Allow) one.committed = one.at_once;
    }
    cancel(effects);
  }

  void settle_one() {
    std::vector<std::string> open;
    for (const OpenCall& call : state_.open)
      if (call.state != CallState::Awaiting) open.push_back(call.id);
    if (open.empty()) return;
    settle_as(random_.of(open),
              random_.of(std::vector<Receipt::Kind>{Receipt::Ok, Receipt::Ok, Receipt::Ok, Receipt::Error,
                                                    Receipt::Timeout, Receipt::Lost}),
              !random_.one_in(3));
  }

  void settle_as(const std::string& id, Receipt::Kind kind, bool ok) {
    const auto output = json::parse(ok ? R"({"ok":true})" : R"({"ok":false})");
    Receipt receipt;
    receipt.kind = kind;
    receipt.output = Values::of_document(output->root());
    const SettleVerdict verdict = session::settle(*rules_, state_, id, receipt);
    ASSERT_TRUE(verdict.is_open);
    const Effects effects = take_settlement(*rules_, state_, verdict.settled);
    Account& one = account_.at(id);
    if (verdict.state == CallState::Committed) {
      one.committed = one.is_over = true;
      ++committed;
    } else if (verdict.state == CallState::Failed) {
      one.committed = false;  // what counted at once is taken back from the totals
      one.is_over = true;
    }
    cancel(effects);
  }

  void note(const std::vector<Call>& asked, const Proposal& proposal, const StepVerdict& verdict) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const Verdict judged = verdict.calls[i].verdict;
      ++(judged == Verdict::Allow ? allowed : judged == Verdict::Block ? blocked : held);
      if (judged == Verdict::Block && !state_.is_letting_through()) continue;
      Account one{asked[i], false, false, false};
      one.has_arguments = asked[i].text != "[]";
      if (const auto tool = rules_->plan->find_tool(asked[i].tool))
        one.at_once = rules_->tool(*tool).commit == contract::Commit::None;
      one.committed = one.at_once && (judged == Verdict::Allow || state_.is_letting_through());
      account_.emplace(proposal.calls[i].id, std::move(one));
    }
  }

  void cancel(const Effects& effects) {
    for (const std::string& id : effects.cancelled) {
      Account& one = account_.at(id);
      if (one.at_once && one.committed) one.is_over = true;
      else account_.erase(id);
    }
  }

  // The engine's numbers are those of the second account: totals of what is committed and over, counts of all that went ahead.
  void expect_account() const {
    std::int64_t sum = 0, count = 0;
    std::optional<int> max;
    std::set<std::string> ids;
    std::map<std::string, std::int64_t> calls;
    for (const auto& [id, one] : account_) {
      ++calls[one.asked.tool];
      if (!one.committed || !one.is_over || !rules_->plan->find_tool(one.asked.tool)) continue;
      const std::string& tool = one.asked.tool;
      ++count;
      if (!one.has_arguments) continue;
      ids.insert(one.asked.id);
      if (tool == "t0" || tool == "t1" || tool == "t2") sum += one.asked.n;
      if (tool == "t2" || tool == "t3") max = std::max(max.value_or(0), one.asked.n);
    }
    const auto total = [&](std::string_view name) -> const Total& {
      for (std::size_t i = 0; i < rules_->plan->aggregates.size(); ++i)
        if (rules_->plan->aggregates[i].name == name) return state_.totals[i];
      ADD_FAILURE() << name;
      return state_.totals[0];
    };
    EXPECT_EQ(total("sum").sum, json::Decimal(sum));
    EXPECT_EQ(total("count").count, count);
    EXPECT_EQ(total("max").extreme, max ? std::optional(json::Decimal(*max)) : std::nullopt);
    EXPECT_EQ(total("ids").distinct.size(), ids.size());
    EXPECT_EQ(state_.tool_calls, static_cast<std::int64_t>(account_.size()));
    for (const auto& [tool, max_calls] : rules_->plan->limits.max_calls) {
      const auto counted = state_.calls.find(tool);
      EXPECT_EQ(counted == state_.calls.end() ? 0 : counted->second, calls[rules_->tool(tool).name]);
    }
  }

  std::vector<std::string> in_state(CallState wanted) const {
    std::vector<std::string> out;
    for (const OpenCall& call : state_.open)
      if (call.state == wanted) out.push_back(call.id);
    return out;
  }

  struct Account {
    Call asked;
    bool at_once, committed, is_over;
    bool has_arguments = true;
  };

  Random random_;
  std::shared_ptr<const Rules> rules_;
  State state_;
  std::map<std::string, Account> account_;  // calls that count
  std::size_t next_ = 1;
};

void play_all(Mode mode) {
  std::size_t allowed = 0, blocked = 0, held = 0, committed = 0;
  for (unsigned i = 0; i < seeds(); ++i) {
    const unsigned seed = first_seed() + i;
    SCOPED_TRACE("BATON_SEED=" + std::to_string(seed));
    Run run(seed, mode);
    run.play();
    run.fail_all();
    allowed += run.allowed;
    blocked += run.blocked;
    held += run.held;
    committed += run.committed;
    if (testing::Test::HasFailure()) return;
  }
  if (seeds() == 1) return;
  // Sequences in which next to nothing happens would show nothing.
  EXPECT_GT(allowed, 1000u);
  EXPECT_GT(blocked, 1000u);
  EXPECT_GT(held, 50u);
  EXPECT_GT(committed, 1000u);
}

TEST(Property, OfSessionsThatEnforce) { play_all(Mode::Enforce); }
TEST(Property, OfSessionsInShadow) { play_all(Mode::Shadow); }

}  // namespace
}  // namespace baton::session
