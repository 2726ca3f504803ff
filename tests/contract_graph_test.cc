// SPDX-License-Identifier: Apache-2.0
// The checks of the whole pack: sequences of calls are shortest (compared with trying everything on small random packs),
// suppressions, and the budget.
#include <chrono>
#include <deque>
#include <map>
#include <random>

#include "contract_world.h"

namespace baton::contract {
namespace {

// --- everything that can happen in a small pack -----------------------------------------------------------------------------------

// A pack as the test made it up; nothing of the compiler is in it.
struct Small {
  struct Tool {
    std::vector<int> phases;  // none: all
    int advances_to = -1;
    std::vector<int> priors, forbids;
    bool blocked = false;
  };
  int phases = 0;
  std::vector<std::vector<int>> next;
  std::vector<Tool> tools;
};

std::string tool_name(int tool) { return "t" + std::to_string(tool); }
std::string phase_name(int phase) { return "p" + std::to_string(phase); }

std::string list_of(const std::vector<int>& items, std::string (*name)(int)) {
  std::string out = "[";
  for (const int item : items) out += (out.size() > 1 ? ", " : "") + name(item);
  return out + "]";
}

// Every tool is financial, so that each that can be called is reported with the calls that lead to it.
PackSource source_of(const Small& small) {
  PackSource out;
  std::string session = "session_limits: {max_tool_calls: 1}\nphases:\n";
  for (int phase = 0; phase < small.phases; ++phase)
    session += "  - {name: " + phase_name(phase) + (phase == 0 ? ", initial: true" : "") +
               (phase == small.phases - 1 ? ", terminal: true" : "") + "}\n";
  session += "transitions:\n";
  for (int phase = 0; phase < small.phases; ++phase)
    session +=
        "  " + phase_name(phase) + ": " + list_of(small.next[static_cast<std::size_t>(phase)], phase_name) + "\n";
  out.session = session_file(session);
  for (std::size_t i = 0; i < small.tools.size(); ++i) {
    const Small::Tool& tool = small.tools[i];
    std::string rest = tool.blocked ? "gate: block\n" : "gate: allow\n";
    if (!tool.phases.empty() || tool.advances_to >= 0) {
      rest += "transitions: {x-is: there";
      if (!tool.phases.empty()) rest += ", valid_in_phases: " + list_of(tool.phases, phase_name);
      if (tool.advances_to >= 0) rest += ", advances_to: " + phase_name(tool.advances_to);
      rest += "}\n";
    }
    if (!tool.priors.empty()) rest += "preconditions:\n";
    for (const int prior : tool.priors) rest += "  - requires_prior_tool: " + tool_name(prior) + "\n";
    if (!tool.forbids.empty()) rest += "forbids_after: " + list_of(tool.forbids, tool_name) + "\n";
    out.contracts.push_back(tool_file(tool_name(static_cast<int>(i)), rest, "financial"));
  }
  return out;
}

// A session: the phase, and which tools were called.
using State = std::pair<int, unsigned>;

bool has(const std::vector<int>& list, int item) { return std::ranges::find(list, item) != list.end(); }

// The state after a call; nothing when it cannot be made.
std::optional<State> call(const Small& small, const State& state, int id, bool with_forbids) {
  const Small::Tool& tool = small.tools[static_cast<std::size_t>(id)];
  if (tool.blocked || (!tool.phases.empty() && !has(tool.phases, state.first))) return std::nullopt;
  const int to = tool.advances_to < 0 ? state.first : tool.advances_to;
  if (to != state.first && !has(small.next[static_cast<std::size_t>(state.first)], to)) return std::nullopt;
  for (const int prior : tool.priors)
    if ((state.second >> prior & 1) == 0) return std::nullopt;
  for (std::size_t by = 0; by < small.tools.size() && with_forbids; ++by)
    if ((state.second >> by & 1) != 0 && has(small.tools[by].forbids, id)) return std::nullopt;
  return State{to, state.second | 1u << id};
}

// How many calls it takes at least to each call and to each phase; absent: it cannot be done.
struct Tried {
  std::map<int, std::size_t> to_call, to_phase;
  std::optional<std::size_t> to_dead_end;  // a state that is no end, from which nothing leads to another one
};

Tried try_everything(const Small& small, bool with_forbids) {
  Tried out;
  std::map<State, std::size_t> seen = {{{0, 0}, 0}};
  std::deque<State> open = {{0, 0}};
  while (!open.empty()) {
    const State state = open.front();
    open.pop_front();
    const std::size_t calls = seen.at(state);
    out.to_phase.emplace(state.first, calls);
    bool leads_on = false;
    for (int id = 0; id < static_cast<int>(small.tools.size()); ++id) {
      const auto next = call(small, state, id, with_forbids);
      if (!next) continue;
      out.to_call.emplace(id, calls + 1);
      // A first call that nothing depends on changes nothing that matters.
      const bool matters =
          !small.tools[static_cast<std::size_t>(id)].forbids.empty() ||
          std::ranges::any_of(small.tools, [&](const Small::Tool& one) { return has(one.priors, id); });
      leads_on = leads_on || next->first != state.first || (matters && *next != state);
      if (seen.emplace(*next, calls + 1).second) open.push_back(*next);
    }
    if (!leads_on && state.first != small.phases - 1 && (!out.to_dead_end || calls < *out.to_dead_end))
      out.to_dead_end = calls;
  }
  return out;
}

// Makes the calls, one after another; false when one of them cannot be made.
bool can_make(const Small& small, const std::vector<std::string>& calls, State& state) {
  for (const std::string& name : calls) {
    const auto next = call(small, state, std::stoi(name.substr(1)), true);
    if (!next) return false;
    state = *next;
  }
  return true;
}

Small random_pack(std::mt19937& random) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  Small out;
  out.phases = 1 + up_to(3);
  out.next.resize(static_cast<std::size_t>(out.phases));
  for (int from = 0; from < out.phases; ++from) {
    // Every phase can be reached and left, as far as transitions go: otherwise the pack does not compile.
    if (from + 1 < out.phases) out.next[static_cast<std::size_t>(from)].push_back(from + 1);
    for (int to = 0; to < out.phases; ++to)
      if (from + 1 < out.phases && to != from + 1 && up_to(3) == 0)
        out.next[static_cast<std::size_t>(from)].push_back(to);
  }
  const int tools = 2 + up_to(5);
  for (int id = 0; id < tools; ++id) {
    Small::Tool tool;
    tool.blocked = up_to(9) == 0;
    const int from = up_to(out.phases - 1);
    if (up_to(2) != 0) tool.phases.push_back(from);
    if (up_to(2) == 0 && from + 1 < out.phases && !tool.phases.empty()) tool.phases.push_back(from + 1);
    const auto& next = out.next[static_cast<std::size_t>(from)];
    if (up_to(3) != 0 && !next.empty()) tool.advances_to = next[random() % next.size()];
    for (int other = 0; other < tools; ++other) {
      if (other != id && up_to(5) == 0) tool.priors.push_back(other);
      if (up_to(7) == 0) tool.forbids.push_back(other);
    }
    out.tools.push_back(std::move(tool));
  }
  return out;
}

TEST(Graph, AgreesWithTryingEverything) {
  std::mt19937 random(20260);
  std::map<std::string, int> met;
  for (int round = 0; round < 3000; ++round) {
    const Small small = random_pack(random);
    const PackSource source = source_of(small);
    const Compiled compiled = compile(source);
    ASSERT_TRUE(compiled.plan) << shown(compiled.findings);
    const Tried tried = try_everything(small, true), free = try_everything(small, false);
    const int end = small.phases - 1;
    const std::vector<Finding> findings = analyse(*compiled.plan).findings;
    const std::string shown_pack = source.session->text + shown(findings);
    for (const Finding& finding : findings) {
      State state{0, 0};
      const std::string code(info(finding.diagnostic.code).name);
      ++met[code];
      switch (finding.diagnostic.code) {
        case Code::dead_tool:
          EXPECT_FALSE(tried.to_call.contains(std::stoi(finding.tool.substr(1)))) << finding.tool << "\n" << shown_pack;
          break;
        case Code::unreachable_phase:
          EXPECT_FALSE(tried.to_phase.contains(std::stoi(finding.phase.substr(1)))) << finding.phase << "\n"
                                                                                    << shown_pack;
          break;
        case Code::missing_checkpoint_high_risk: {  // what can be called, with a shortest way to the call
          const int id = std::stoi(finding.tool.substr(1));
          if (finding.calls.empty()) {
            EXPECT_FALSE(tried.to_call.contains(id)) << finding.tool << "\n" << shown_pack;
            break;
          }
          EXPECT_TRUE(can_make(small, finding.calls, state)) << finding.tool << "\n" << shown_pack;
          EXPECT_EQ(finding.calls.back(), finding.tool);
          ASSERT_TRUE(tried.to_call.contains(id));
          EXPECT_EQ(finding.calls.size(), tried.to_call.at(id)) << finding.tool << "\n" << shown_pack;
          break;
        }
        case Code::phase_no_exit: {
          const int phase = std::stoi(finding.phase.substr(1));
          if (!tried.to_phase.contains(phase)) break;
          EXPECT_TRUE(can_make(small, finding.calls, state)) << shown_pack;
          EXPECT_EQ(state.first, phase) << shown_pack;
          EXPECT_EQ(finding.calls.size(), tried.to_phase.at(phase)) << shown_pack;
          break;
        }
        case Code::limit_conflict:  // max_tool_calls is 1
          EXPECT_TRUE(can_make(small, finding.calls, state)) << shown_pack;
          EXPECT_EQ(state.first, end) << shown_pack;
          EXPECT_EQ(finding.calls.size(), tried.to_phase.at(end)) << shown_pack;
          break;
        case Code::terminal_unreachable_by_tools:
        case Code::forbids_blocks_terminal:
          EXPECT_FALSE(tried.to_phase.contains(end)) << shown_pack;
          EXPECT_EQ(finding.diagnostic.code == Code::forbids_blocks_terminal, free.to_phase.contains(end))
              << shown_pack;
          EXPECT_TRUE(can_make(small, finding.calls, state)) << shown_pack;
          if (tried.to_dead_end) {
            EXPECT_EQ(finding.calls.size(), *tried.to_dead_end) << shown_pack;
          }
          break;
        case Code::graph_undecided: ADD_FAILURE() << shown_pack; break;
        default: break;
      }
    }
    // And nothing is missing.
    const auto codes = code_set(findings);
    EXPECT_EQ(!tried.to_phase.contains(end),
              codes.contains("terminal_unreachable_by_tools") || codes.contains("forbids_blocks_terminal"))
        << shown_pack;
    EXPECT_EQ(codes.contains("limit_conflict"), tried.to_phase.contains(end) && tried.to_phase.at(end) > 1)
        << shown_pack;
    for (int id = 0; id < static_cast<int>(small.tools.size()); ++id) {
      const bool dead = std::ranges::any_of(findings, [&](const Finding& one) {
        return one.diagnostic.code == Code::dead_tool && one.tool == tool_name(id);
      });
      EXPECT_FALSE(dead && free.to_call.contains(id)) << tool_name(id) << "\n" << shown_pack;
    }
    if (HasFailure()) return;
  }
  // The packs were of many kinds.
  for (const char* code :
       {"dead_tool", "unreachable_phase", "phase_no_exit", "limit_conflict", "terminal_unreachable_by_tools",
        "forbids_blocks_terminal", "precondition_cycle", "forbids_precondition_conflict"})
    EXPECT_GT(met[code], 20) << code;
}

// --- suppressions -----------------------------------------------------------------------------------------------------------------

Analysis with_suppression(const std::string& suppression) {
  PackSource pack;
  pack.session = session_file("graph_analysis:\n  suppress:\n    - " + suppression + "\n");
  pack.contracts = {tool_file("v", "", "write"), tool_file("w", "", "write"),
                    tool_file("x", "binds: [{name: s, path: $.s}]\n")};
  return analyse(*plan_of(pack));
}

TEST(Suppression, TakesAwayWhatItNamesAndNothingElse) {
  const auto none = with_suppression("{check: dead_tool, tool: w, reason: r}");
  EXPECT_EQ(codes_of(none.suppressed), std::vector<std::string>{"dead_tool"});
  EXPECT_EQ(none.suppressed[0].tool, "w");
  EXPECT_EQ(codes_of(none.findings), (std::vector<std::string>{"dead_tool", "bind_unused"}));
  EXPECT_EQ(with_suppression("{check: dead_tool, reason: r}").suppressed.size(), 2u);
  EXPECT_EQ(codes_of(with_suppression("{check: bind_unused, name: s, reason: r}").suppressed),
            std::vector<std::string>{"bind_unused"});
}

TEST(Suppression, OneThatTakesNothingAwayIsReportedWhereItStands) {
  for (const char* unused : {"{check: dead_tool, tool: x, reason: r}", "{check: dead_tool, phase: a, reason: r}",
                             "{check: bind_unused, name: r, reason: r}", "{check: phase_no_exit, reason: r}"}) {
    const Analysis analysis = with_suppression(unused);
    EXPECT_TRUE(analysis.suppressed.empty()) << unused;
    const Finding* finding = find(analysis.findings, Code::SUPPRESSION_UNUSED);
    ASSERT_TRUE(finding) << unused;
    EXPECT_EQ(finding->file, "session.yaml");
    EXPECT_EQ(finding->diagnostic.place.line, 5u);
    EXPECT_EQ(finding->diagnostic.place.column, 7u);
  }
}

// --- the budget -------------------------------------------------------------------------------------------------------------------

std::shared_ptr<const Plan> big_plan(std::size_t tools, std::size_t phases, const auto& rest_of,
                                     std::string session = "") {
  PackSource pack;
  if (phases > 0) {
    session += "phases:\n";
    for (std::size_t i = 0; i < phases; ++i)
      session += "  - {name: p" + std::to_string(i) + (i == 0 ? ", initial: true" : "") +
                 (i + 1 == phases ? ", terminal: true" : "") + "}\n";
    session += "transitions:\n";
    for (std::size_t i = 0; i < phases; ++i)
      session += "  p" + std::to_string(i) + ": [p" + std::to_string((i + 1) % phases) + ", p" +
                 std::to_string((i + phases - 1) % phases) + "]\n";
  }
  pack.session = session_file(session);
  for (std::size_t i = 0; i < tools; ++i) pack.contracts.push_back(tool_file("t" + std::to_string(i), rest_of(i)));
  return plan_of(pack);
}

// Tools that forbid each other in a circle: as many states as there are sets of tools.
std::string forbids_next(std::size_t i, std::size_t tools) {
  return "forbids_after: [t" + std::to_string((i + 1) % tools) + "]\n";
}

TEST(Budget, IsSaidWhenItRunsOut) {
  // The end needs a call that comes after all others, each of which can be made once.
  const auto rest = [](std::size_t i) {
    std::string out = "forbids_after: [t" + std::to_string(i) + "]\n";
    if (i == 24) {
      out += "transitions: {valid_in_phases: [p0], advances_to: p1}\npreconditions:\n";
      for (int prior = 0; prior < 24; ++prior) out += "  - requires_prior_tool: t" + std::to_string(prior) + "\n";
    }
    return out;
  };
  const auto plan = big_plan(25, 2, rest);
  ASSERT_TRUE(plan);
  const Analysis small = analyse(*plan, "session.yaml", {.states = 1000});
  const Finding* finding = find(small.findings, Code::graph_undecided);
  ASSERT_TRUE(finding) << shown(small.findings);
  EXPECT_TRUE(finding->is_undecided);
  EXPECT_FALSE(has_errors(small.findings)) << "nothing is guessed: " << shown(small.findings);
  // With two tools less than that there are few states, and an answer.
  const auto little = [](std::size_t i) {
    return i == 2 ? std::string(
                        "transitions: {valid_in_phases: [p0], advances_to: p1}\npreconditions: "
                        "[{requires_prior_tool: t0}, {requires_prior_tool: t1}]\n")
                  : std::string();
  };
  EXPECT_FALSE(
      find(analyse(*big_plan(3, 2, little), "session.yaml", {.states = 1000}).findings, Code::graph_undecided));
}

// Seconds an analysis takes, for the bound that it must stay far below.
double seconds_of(const Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const Analysis analysis = analyse(plan);
  EXPECT_LE(analysis.findings.size(), 20'000u);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
constexpr double kSecondsMax = 20;  // in the slowest build that runs tests; the release build takes about a tenth

TEST(Budget, ManyPhases) {
  const auto plan = big_plan(1000, 1000, [](std::size_t i) {
    return "transitions: {valid_in_phases: [p" + std::to_string(i) + "], advances_to: p" +
           std::to_string((i + 1) % 1000) + "}\n";
  });
  ASSERT_TRUE(plan);
  EXPECT_LT(seconds_of(*plan), kSecondsMax);
}

TEST(Budget, ManyToolsThatForbidEachOther) {
  for (const std::size_t tools : {500u, 1000u, 2000u}) {
    const auto plan = big_plan(tools, 3, [&](std::size_t i) { return forbids_next(i, tools); });
    ASSERT_TRUE(plan);
    const double seconds = seconds_of(*plan);
    RecordProperty("seconds_" + std::to_string(tools), std::to_string(seconds));
    EXPECT_LT(seconds, kSecondsMax) << tools;
  }
}

TEST(Budget, EverythingInCircles) {
  // Preconditions, slots, envelopes and phases all go round, and every tool forbids all others.
  std::string all = "[";
  for (int i = 0; i < 300; ++i) all += (i > 0 ? ", t" : "t") + std::to_string(i);
  const auto rest = [&](std::size_t i) {
    const std::string next = std::to_string((i + 1) % 300);
    return "preconditions: [{requires_prior_tool: t" + next + "}]\nforbids_after: " + all + "]\nbinds: [{name: s" +
           std::to_string(i) + ", path: $.s}]\nargument_value_invariants: [{path: $.s, ref: s" + next +
           "}]\ntransitions: {advances_to: p" + std::to_string(i % 20) + "}\n";
  };
  const auto plan = big_plan(300, 20, rest);
  ASSERT_TRUE(plan);
  EXPECT_LT(seconds_of(*plan), kSecondsMax);
}

TEST(Budget, ManyWaysThatChangeNothing) {
  // Many states, and in each of them a thousand calls that lead nowhere else.
  const auto plan = big_plan(1000, 2, [](std::size_t i) {
    if (i < 20) return "forbids_after: [t" + std::to_string(i) + "]\n";
    return std::string();
  });
  ASSERT_TRUE(plan);
  EXPECT_LT(seconds_of(*plan), kSecondsMax);
}

TEST(Budget, HugeNumbers) {
  PackSource pack;
  pack.session = session_file(
      "session_limits: {max_steps: 9223372036854775807, max_tool_calls: 9223372036854775807, max_cost_per_session: "
      "1e300, "
      "max_calls_per_tool: {t: 9223372036854775807}}\n"
      "aggregates: [{name: g, metric: sum, tool: t, path: $.a, gte: -1e308, lte: 1e308, reason: r}]\n");
  pack.contracts = {
      tool_file("t",
                "preconditions: [{requires_step_count: {gte: 9223372036854775807}}]\n"
                "argument_value_invariants: [{path: $.a, gte: 1e-300, lte: 123456789012345678901234567890}]\n")};
  const auto plan = plan_of(pack);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(code_set(analyse(*plan).findings).contains("dead_tool")) << "as many steps as there may be";
}

// There are as many findings as the pack has parts, not as it has pairs of them.
TEST(Budget, FindingsDoNotMultiply) {
  std::string rules = "policy:\n  rules:\n";
  for (int i = 0; i < 400; ++i)
    rules += std::string("    - ") + (i % 2 == 0 ? "allow" : "deny") + ": {principal: {path: $.a, equals: 1}}\n";
  const auto plan = big_plan(1, 0, [](std::size_t) { return std::string(); }, rules);
  ASSERT_TRUE(plan);
  EXPECT_EQ(analyse(*plan).findings.size(), 200u);
}

}  // namespace
}  // namespace baton::contract
