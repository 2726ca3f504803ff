// SPDX-License-Identifier: Apache-2.0
// Proofs about packs: small packs of which the answer is known by thought, and random ones whose proofs are held against sessions that the
// engine really runs.
#include "session/prove.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "contract_pack.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "session/decide.h"
#include "session/settle.h"

namespace baton::session {
namespace {

using contract::contract_text;
using contract::edited;
using contract::Files;

std::shared_ptr<const Rules> rules_of(const Files& files) { return make_rules(contract::plan_of(files)); }

Claim claim_of(const Rules& rules, std::string_view text) {
  auto read = read_claim(*rules.plan, text);
  if (const auto* fault = std::get_if<ClaimFault>(&read)) {
    ADD_FAILURE() << text << ": column " << fault->column << ": " << fault->problem;
    return {};
  }
  return std::get<Claim>(read);
}

Proof never(const std::shared_ptr<const Rules>& rules, std::string_view text, bool one_at_a_time = false) {
  return prove_never(rules, claim_of(*rules, text), {300'000, one_at_a_time});
}

std::string told(const std::vector<Traced>& trace) {
  std::string out;
  for (const Traced& one : trace) {
    if (!out.empty()) out += " ";
    out += one.tool;
    if (one.what != Traced::What::Called) out += ":" + std::string(name_of(one.what));
  }
  return out;
}

// draft -> (review ->) published; `publish` needs a review, and forbids itself and any further review.
Files desk() {
  return {{"session.yaml",
           "schema_version: \"1.0\"\nagent: desk\n"
           "phases: [{name: draft, initial: true}, {name: reviewed}, {name: published, terminal: true}]\n"
           "transitions: {draft: [reviewed], reviewed: [draft, published]}\n"
           "risk_defaults: {write: allow}\n"},
          {"look.yaml", contract_text("look", "read")},
          {"edit.yaml",
           contract_text("edit", "write", "transitions: {advances_to: draft, valid_in_phases: [draft, reviewed]}\n")},
          {"review.yaml",
           contract_text("review", "write", "transitions: {valid_in_phases: [draft], advances_to: reviewed}\n")},
          {"publish.yaml",
           contract_text("publish", "write",
                         "transitions: {valid_in_phases: [reviewed], advances_to: published}\n"
                         "preconditions: [{requires_prior_tool: review}]\nforbids_after: [publish, review]\n")}};
}

// --- claims -------------------------------------------------------------------------------------------------------------------------

TEST(ProveClaim, EveryFormIsRead) {
  const auto rules = rules_of(desk());
  EXPECT_EQ(claim_of(*rules, "look").kind, Claim::Kind::Never);
  EXPECT_EQ(claim_of(*rules, "  publish   without\treview ").kind, Claim::Kind::Without);
  EXPECT_EQ(claim_of(*rules, "publish without review").b, *rules->plan->find_tool("review"));
  EXPECT_EQ(claim_of(*rules, "review after publish").kind, Claim::Kind::After);
  EXPECT_EQ(claim_of(*rules, "publish twice").count, 1u);
  EXPECT_EQ(claim_of(*rules, "publish more than 3 times").count, 3u);
  EXPECT_EQ(claim_of(*rules, "edit in published").phase, *rules->plan->find_phase("published"));
  EXPECT_EQ(claim_of(*rules, "end without review").kind, Claim::Kind::EndWithout);
}

TEST(ProveClaim, WhatIsNoneIsToldWithItsPlace) {
  const auto rules = rules_of(desk());
  struct {
    std::string text;
    std::size_t column;
  } const cases[] = {{"", 1},
                     {"nobody", 1},
                     {"publish without", 16},
                     {"publish without nobody", 17},
                     {"publish before review", 9},
                     {"publish in nowhere", 12},
                     {"publish more of it", 14},
                     {"publish more than many times", 19},
                     {"publish more than 101 times", 19},
                     {"publish more than 2", 20},
                     {"publish twice today", 15},
                     {"publish & review", 9},
                     {"end", 1}};
  for (const auto& one : cases) {
    const auto read = read_claim(*rules->plan, one.text);
    const auto* fault = std::get_if<ClaimFault>(&read);
    ASSERT_NE(fault, nullptr) << one.text;
    EXPECT_EQ(fault->column, one.column) << one.text << ": " << fault->problem;
  }
}

TEST(ProveClaim, AToolCalledEndComesFirstAndAPackWithoutPhasesHasNoEnd) {
  const auto rules =
      rules_of({{"end.yaml", contract_text("end", "read")}, {"look.yaml", contract_text("look", "read")}});
  EXPECT_EQ(claim_of(*rules, "end without look").kind, Claim::Kind::Without);
  const auto other = rules_of({{"look.yaml", contract_text("look", "read")}});
  EXPECT_TRUE(std::holds_alternative<ClaimFault>(read_claim(*other->plan, "end without look")));
}

// --- answers that are known -----------------------------------------------------------------------------------------------------------

TEST(ProveNever, WhatIsSo) {
  const auto rules = rules_of(desk());
  for (const char* text : {"publish without review", "end without review", "end without publish"})
    EXPECT_EQ(never(rules, text).answer, Answer::Proved) << text << ": " << never(rules, text).why;
  // `publish` leads from `reviewed` to the end, and `edit` is not valid there; a call that was allowed before may begin later.
  EXPECT_EQ(never(rules, "review after publish").answer, Answer::Proved);
  EXPECT_EQ(never(rules, "publish in draft", true).answer, Answer::Proved);
}

TEST(ProveNever, WhatIsNotSoIsShown) {
  const auto rules = rules_of(desk());
  struct {
    std::string claim, trace;
  } const cases[] = {{"look", "look:proposed look:begun"},
                     {"publish", "review publish:proposed publish:begun"},
                     {"review without edit", "review:proposed review:begun"},
                     {"edit after review", "review edit:proposed edit:begun"},
                     {"look in published", "review publish look:proposed look:begun"},
                     {"end without look", "review publish"},
                     {"look more than 2 times", "look look look:proposed look:begun"}};
  for (const auto& one : cases) {
    const Proof proof = never(rules, one.claim);
    EXPECT_EQ(proof.answer, Answer::Refuted) << one.claim << ": " << proof.why;
    EXPECT_EQ(told(proof.trace), one.trace) << one.claim;
  }
}

TEST(ProveNever, CallsThatOverlapAreThoughtOf) {
  const auto rules = rules_of(desk());
  // Without an edit `review` happens once, for it leads away from where it is valid; but two may be under way at once.
  const auto without = rules_of(edited(desk(), {{"edit.yaml", "transitions:", "gate: block\ntransitions:"}}));
  const Proof overlapping = never(without, "review twice");
  EXPECT_EQ(overlapping.answer, Answer::Refuted);
  EXPECT_EQ(std::ranges::count(overlapping.trace, "review", &Traced::tool), 4) << told(overlapping.trace);
  // `publish` forbids itself, also while it is open.
  EXPECT_EQ(never(rules, "publish twice").answer, Answer::Proved) << never(rules, "publish twice").why;
  EXPECT_EQ(never(rules, "publish twice", true).answer, Answer::Proved);
  // An edit that was allowed in `reviewed` begins after the publication: nothing forbids it.
  EXPECT_EQ(never(rules, "edit after publish").answer, Answer::Refuted);
  EXPECT_EQ(never(rules, "edit in published", true).answer, Answer::Proved);
  // A publication that was allowed waits, an edit leads back to `draft`, and then it begins.
  EXPECT_EQ(told(never(rules, "publish in draft").trace), "review publish:proposed edit publish:begun");
  // A tool that is forbidden cannot begin any more, however long it was allowed before.
  const auto forbidding = rules_of(edited(desk(), {{"publish.yaml", "[publish, review]", "[publish, review, edit]"}}));
  EXPECT_EQ(never(forbidding, "edit after publish").answer, Answer::Proved);
}

// `review` leads away from where it is valid, and so happens once; but while nobody knows what became of it the session stays.
TEST(ProveNever, ACallThatIsLostMayHaveHappened) {
  const auto rules = rules_of(edited(desk(), {{"edit.yaml", "transitions:", "gate: block\ntransitions:"}}));
  const Proof proof = never(rules, "review twice", true);
  EXPECT_EQ(proof.answer, Answer::Refuted) << proof.why;
  EXPECT_EQ(told(proof.trace), "review:proposed review:begun review:lost review:proposed review:begun");
  // It forbids itself, and that holds while it is unknown, too.
  const auto once =
      rules_of(edited(desk(), {{"edit.yaml", "transitions:", "gate: block\ntransitions:"},
                               {"review.yaml", "transitions:", "forbids_after: [review]\ntransitions:"}}));
  EXPECT_EQ(never(once, "review twice", true).answer, Answer::Proved);
}

// What an open call forbids is forbidden while it is open; what it does not forbid goes on.
TEST(ProveNever, ForbidsInFlightAreReliedOn) {
  const auto rules = rules_of({{"pay.yaml", contract_text("pay", "write", "forbids_after: [pay, refund]\n")},
                               {"refund.yaml", contract_text("refund", "write")},
                               {"look.yaml", contract_text("look", "read")},
                               {"session.yaml", "schema_version: \"1.0\"\nagent: a\nrisk_defaults: {write: allow}\n"}});
  EXPECT_EQ(never(rules, "pay twice").answer, Answer::Proved);
  EXPECT_EQ(never(rules, "look after pay").answer, Answer::Refuted);
  EXPECT_EQ(never(rules, "refund after pay").answer, Answer::Proved);
  // A refund that was proposed before may begin before the payment, and any number of them.
  EXPECT_EQ(never(rules, "refund twice").answer, Answer::Refuted);
  EXPECT_EQ(never(rules, "pay after refund").answer, Answer::Refuted);
}

// An ok answer without evidence fails the call, and what it forbids is allowed again: the proof says so.
TEST(ProveNever, AnAnswerWithoutEvidenceIsToldBesideTheProof) {
  const auto rules_with = [](const std::string& evidence, const std::string& limits, const std::string& output) {
    std::string pay = contract_text("pay", "write", "forbids_after: [pay]\n");
    const auto replace = [&](std::string_view from, std::string_view to) {
      const std::size_t at = pay.find(from);
      ASSERT_NE(at, std::string::npos) << from;
      pay.replace(at, from.size(), to);
    };
    replace("local_transaction", evidence);
    replace("output_invariants: []", "output_invariants: [" + output + "]");
    return rules_of({{"pay.yaml", pay},
                     {"session.yaml", "schema_version: \"1.0\"\nagent: a\nrisk_defaults: {write: allow}\n" + limits}});
  };
  struct {
    std::string evidence, limits, output;
    bool unproven;
  } const cases[] = {{"local_transaction", "", "", true},
                     {"ack_only", "", "", true},
                     {"unverifiable", "", "", false},
                     {"unverifiable", "", "{path: $.paid, equals: true}", true},
                     {"local_transaction", "session_limits: {max_calls_per_tool: {pay: 1}}\n", "", false}};
  for (const auto& one : cases)
    for (const bool one_at_a_time : {false, true}) {
      const Proof proof = never(rules_with(one.evidence, one.limits, one.output), "pay twice", one_at_a_time);
      EXPECT_EQ(proof.answer, Answer::Proved) << one.evidence << proof.why;
      EXPECT_EQ(proof.unproven, one.unproven) << one.evidence << one.limits << one.output;
      EXPECT_EQ(told(proof.unproven_trace),
                one.unproven ? "pay:proposed pay:begun pay:unproven pay:proposed pay:begun" : "")
          << one.evidence;
    }
}

// A forbid of one entity says nothing of another: it proves nothing.
TEST(ProveNever, ForbidsOfOneEntityProveNothing) {
  const auto rules =
      rules_of({{"pay.yaml", contract_text("pay", "write",
                                           "forbids_after: [{tool: pay, per: $.id}]\n"
                                           "argument_value_invariants: [{path: $.id, type: integer}]\n")},
                {"session.yaml", "schema_version: \"1.0\"\nagent: a\nrisk_defaults: {write: allow}\n"}});
  EXPECT_NE(never(rules, "pay twice").answer, Answer::Proved);
  EXPECT_NE(never(rules, "pay twice", true).answer, Answer::Proved);
  EXPECT_EQ(never(rules, "pay").answer, Answer::Refuted);
}

TEST(ProveNever, LimitsOfCallsCountWhereTheClaimCounts) {
  const auto rules = rules_of(edited(
      desk(), {{"session.yaml",
                "risk_defaults:", "session_limits: {max_calls_per_tool: {publish: 1, look: 3}}\nrisk_defaults:"}}));
  EXPECT_EQ(never(rules, "publish twice").answer, Answer::Proved);
  EXPECT_EQ(never(rules, "look more than 3 times").answer, Answer::Proved);
  EXPECT_EQ(never(rules, "look more than 2 times").answer, Answer::Refuted);
  const auto few = rules_of(
      edited(desk(), {{"session.yaml", "risk_defaults:", "session_limits: {max_tool_calls: 2}\nrisk_defaults:"}}));
  EXPECT_EQ(never(few, "look more than 2 times").answer, Answer::Proved);
  EXPECT_EQ(never(few, "look in published").answer, Answer::Proved);
}

TEST(ProveNever, StepsMayBeText) {
  const auto rules = rules_of(edited(
      desk(), {{"review.yaml", "transitions:", "preconditions: [{requires_step_count: {gte: 3}}]\ntransitions:"}}));
  EXPECT_EQ(never(rules, "review without edit").answer, Answer::Refuted);
}

TEST(ProveNever, WhatTheGateClosesIsNeverCalled) {
  const auto rules = rules_of(edited(desk(), {{"look.yaml", "tool: look", "gate: block\ntool: look"}}));
  EXPECT_EQ(never(rules, "look").answer, Answer::Proved);
}

TEST(ProveNever, ValuesAreMadeUp) {
  const auto rules = rules_of(edited(
      desk(),
      {{"review.yaml", "transitions:",
        "argument_value_invariants: [{path: $.by, regex: '^[a-z]{3}-[0-9]+$'}]\n"
        "binds: [{name: review_id, source: output, path: $.id}]\ntransitions:"},
       {"review.yaml", "input_invariants: []", "input_invariants: [{path: $.note, length_gte: 12}]"},
       {"review.yaml", "output_invariants: []", "output_invariants: [{path: $.id, type: string, length_gte: 3}]"},
       {"publish.yaml", "preconditions: [{requires_prior_tool: review}]",
        "preconditions: [{requires_prior_tool: review, resource: {bind_from: arguments, path: $.page, prior_path: "
        "$.target}, "
        "with_output: [{path: $.ok, equals: true}]}]\n"
        "argument_value_invariants: [{path: $.review_id, ref: review_id}, {path: $.page, one_of: [home, news]}]"}}));
  const Proof proof = never(rules, "publish");
  ASSERT_EQ(proof.answer, Answer::Refuted) << proof.why;
  const json::Value &review = proof.trace[0].arguments, &publish = proof.trace[1].arguments;
  ASSERT_NE(review.find("target"), nullptr);
  EXPECT_TRUE(json::equal(*review.find("target"), *publish.find("page")));
  EXPECT_TRUE(json::equal(*proof.trace[0].output.find("id"), *publish.find("review_id")));
}

// Two preconditions on one output that cannot both hold of it: alone each would do.
TEST(ProveNever, WhatDependsOnValuesIsNotDecided) {
  Files files =
      edited(desk(), {{"publish.yaml", "preconditions: [{requires_prior_tool: review}]",
                       "preconditions: [{requires_prior_tool: review, with_output: [{path: $.ok, equals: true}]}, "
                       "{requires_prior_tool: review, with_output: [{path: $.ok, equals: false}]}]"}});
  const Proof proof = never(rules_of(files), "publish");
  EXPECT_EQ(proof.answer, Answer::NotDecided);
  EXPECT_NE(proof.why.find("precondition_not_met"), std::string::npos) << proof.why;
  EXPECT_EQ(never(rules_of(files), "publish without review").answer, Answer::Proved);
}

TEST(ProveNever, ABudgetThatRunsOutIsSaid) {
  const auto rules = rules_of(desk());
  const Proof proof = prove_never(rules, claim_of(*rules, "publish without review"), {3, false});
  EXPECT_EQ(proof.answer, Answer::NotDecided);
  EXPECT_NE(proof.why.find("budget of 3"), std::string::npos) << proof.why;
}

// --- the end ----------------------------------------------------------------------------------------------------------------------------

FinishProof finish(const Files& files, bool one_at_a_time = false) {
  return prove_finish(rules_of(files), {300'000, one_at_a_time});
}

TEST(ProveFinish, WithoutPhasesThereIsNothingToProve) {
  const FinishProof proof = finish({{"look.yaml", contract_text("look", "read")}});
  EXPECT_EQ(proof.answer, Answer::Proved);
  EXPECT_NE(proof.why.find("no phases"), std::string::npos);
}

TEST(ProveFinish, APackThatEnds) {
  const FinishProof proof = finish(desk(), true);
  EXPECT_EQ(proof.answer, Answer::Proved) << proof.why << told(proof.trace);
  EXPECT_TRUE(proof.used_up.empty());
  // `publish` forbids itself and `review`: while nobody knows whether it was published, nothing leads on.
  ASSERT_EQ(proof.unknowns.size(), 1u);
  EXPECT_EQ(proof.unknowns[0].name, "publish");
}

TEST(ProveFinish, ATrapIsShown) {
  // Editing after a review forbids the next one, and without one nothing is published.
  const FinishProof proof =
      finish(edited(desk(), {{"edit.yaml", "transitions:", "forbids_after: [review]\ntransitions:"}}));
  EXPECT_EQ(proof.answer, Answer::Refuted) << proof.why;
  EXPECT_EQ(told(proof.trace), "edit");
  // While a publication is under way an edit leads back to `draft`; from there it cannot lead to the end, and it forbids the review.
  EXPECT_EQ(told(finish(desk()).trace), "review publish:proposed publish:begun edit publish:committed");
}

// `give_up` forbids what would lead on and is valid in `draft`. A review that was proposed before it moves the session on; by the time
// `give_up` is committed it cannot lead to the end from there.
TEST(ProveFinish, ATrapOfCallsThatOverlap) {
  Files files = desk();
  files["session.yaml"] =
      "schema_version: \"1.0\"\nagent: desk\n"
      "phases: [{name: draft, initial: true}, {name: reviewed}, {name: published, terminal: true}, {name: dropped, "
      "terminal: true}]\n"
      "transitions: {draft: [reviewed, dropped], reviewed: [draft, published]}\nrisk_defaults: {write: allow}\n";
  files["give_up.yaml"] = contract_text("give_up", "write",
                                        "transitions: {valid_in_phases: [draft], advances_to: dropped}\n"
                                        "forbids_after: [edit, review, publish]\n");
  files["publish.yaml"] =
      contract_text("publish", "write", "transitions: {valid_in_phases: [reviewed], advances_to: published}\n");
  EXPECT_EQ(finish(files, true).answer, Answer::Proved);
  const FinishProof proof = finish(files);
  EXPECT_EQ(proof.answer, Answer::Refuted) << proof.why;
  EXPECT_EQ(told(proof.trace),
            "review:proposed review:begun give_up:proposed give_up:begun review:committed give_up:committed");
}

TEST(ProveFinish, WhatMayBeUsedUpAndWhatClosesIsTold) {
  const FinishProof proof = finish(
      edited(desk(), {{"session.yaml", "risk_defaults:",
                       "session_limits: {max_steps: 9, max_tool_calls: 8, max_calls_per_tool: {publish: 2, look: 1}}\n"
                       "policy: {label_gates: [{when_label: hot, deny_tools: [publish], reason: too hot}, "
                       "{when_label: cold, deny_tools: [look], reason: too cold}]}\nrisk_defaults:"}}),
      true);
  EXPECT_EQ(proof.answer, Answer::Proved) << proof.why;
  std::vector<std::string> names;
  for (const auto& note : proof.used_up) names.push_back(note.name);
  // `look` may be used up too, and nothing depends on it.
  EXPECT_EQ(names, (std::vector<std::string>{"max_steps", "max_tool_calls", "max_calls_per_tool"}));
  ASSERT_EQ(proof.labels.size(), 1u);
  EXPECT_EQ(proof.labels[0].name, "hot");
}

TEST(ProveFinish, AWayThatDependsOnValuesIsNotAWay) {
  const std::string aggregates =
      "aggregates: [{name: pages, metric: sum, tool: publish, path: $.pages, lte: 5, reason: enough}]\nrisk_defaults:";
  const FinishProof proof = finish(edited(desk(), {{"session.yaml", "risk_defaults:", aggregates}}), true);
  EXPECT_EQ(proof.answer, Answer::NotDecided);
  EXPECT_NE(proof.why.find("`publish`"), std::string::npos) << proof.why;
  // As many different ones as it likes until five: then one of the five again.
  std::string distinct = aggregates;
  distinct.replace(distinct.find("sum"), 3, "count_distinct");
  EXPECT_EQ(finish(edited(desk(), {{"session.yaml", "risk_defaults:", distinct}}), true).answer, Answer::Proved);
}

TEST(ProveFinish, ABudgetThatRunsOutIsSaid) {
  EXPECT_EQ(prove_finish(rules_of(desk()), {2, false}).answer, Answer::NotDecided);
}

// --- random packs ---------------------------------------------------------------------------------------------------------------------------

constexpr int kTools = 4;

std::string name(int tool) { return std::string(1, static_cast<char>('a' + tool)); }

struct Random {
  std::mt19937 engine;
  int below(int n) { return static_cast<int>(engine() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }
};

Files random_pack(Random& random, bool limited) {
  static const std::vector<std::string> kPhases = {"p", "q", "r"};
  std::string transitions;
  for (int from = 0; from < 3; ++from) {
    std::string to;
    for (int next = 0; next < 3; ++next)
      if (next != from && !random.one_in(3)) to += (to.empty() ? "" : ", ") + kPhases[static_cast<std::size_t>(next)];
    if (from < 2 && !to.empty())
      transitions += (transitions.empty() ? "" : ", ") + kPhases[static_cast<std::size_t>(from)] + ": [" + to + "]";
  }
  std::string limits;
  if (limited && random.one_in(3)) limits = "max_tool_calls: " + std::to_string(2 + random.below(6));
  if (limited && random.one_in(3))
    limits += (limits.empty() ? "" : ", ") + std::string("max_calls_per_tool: {a: ") +
              std::to_string(1 + random.below(2)) + "}";
  Files out;
  out["session.yaml"] =
      "schema_version: \"1.0\"\nagent: any\n"
      "phases: [{name: p, initial: true}, {name: q}, {name: r, terminal: true}]\ntransitions: {" +
      transitions + "}\n" + (limits.empty() ? "" : "session_limits: {" + limits + "}\n") +
      "risk_defaults: {write: allow}\n";
  for (int tool = 0; tool < kTools; ++tool) {
    std::string rest;
    const auto some = [&](int one_in) {
      std::string list;
      for (int other = 0; other < kTools; ++other)
        if (random.one_in(one_in)) list += (list.empty() ? "" : ", ") + name(other);
      return list;
    };
    std::string valid;
    for (const std::string& phase : kPhases)
      if (!random.one_in(3)) valid += (valid.empty() ? "" : ", ") + phase;
    std::string transition = valid.empty() ? "" : "valid_in_phases: [" + valid + "]";
    if (random.one_in(2))
      transition += (transition.empty() ? "" : ", ") + std::string("advances_to: ") +
                    kPhases[static_cast<std::size_t>(random.below(3))];
    if (!transition.empty()) rest += "transitions: {" + transition + "}\n";
    if (const std::string forbids = some(4); !forbids.empty()) rest += "forbids_after: [" + forbids + "]\n";
    std::string needs;
    for (int other = 0; other < kTools; ++other)
      if (other != tool && random.one_in(5))
        needs += (needs.empty() ? "" : ", ") + ("{requires_prior_tool: " + name(other) + "}");
    if (random.one_in(8)) needs += (needs.empty() ? "" : ", ") + std::string("{requires_step_count: {gte: 2}}");
    if (!needs.empty()) rest += "preconditions: [" + needs + "]\n";
    std::string text = contract_text(name(tool), random.one_in(3) ? "read" : "write", rest);
    if (random.one_in(5)) text.replace(text.find("commit_requirement: acknowledged"), 32, "commit_requirement: none");
    out[name(tool) + ".yaml"] = text;
  }
  return out;
}

std::string random_claim(Random& random) {
  const std::string a = name(random.below(kTools)), b = name(random.below(kTools));
  switch (random.below(6)) {
    case 0: return a;
    case 1: return a + " without " + b;
    case 2: return a + " after " + b;
    case 3: return a + " more than " + std::to_string(1 + random.below(2)) + " times";
    case 4: return a + " in " + std::string(1, "pqr"[random.below(3)]);
    default: return "end without " + b;
  }
}

// A session that does as it likes, and what happened in it, written down without any help of the prover.
class Walk {
 public:
  struct Entry {
    enum class What { Begins, Commits, Fails } what;
    std::string tool, phase;
  };

  explicit Walk(const std::shared_ptr<const Rules>& rules) : rules_(rules), state_(open(*rules, {})) { see(); }

  void step(Random& random, bool one_at_a_time) {
    if (one_at_a_time) {
      const auto ids = propose(random, 1);
      for (const std::string& id : ids)
        if (start(id)) settle(id, random.below(5));
      return;
    }
    switch (random.below(4)) {
      case 0:
      case 1: propose(random, 1 + (random.one_in(4) ? 1 : 0)); return;
      case 2: start(pick(random)); return;
      default: settle(pick(random), random.below(5)); return;
    }
  }

  // What is under way fails, so that nothing but what was committed is left.
  void give_all_up() {
    while (!state_.open.empty()) {
      const std::string id = state_.open.front().id;
      fail(id);
    }
  }

  bool is_terminal() const { return rules_->plan->phases[state_.phase].terminal; }
  const std::vector<Entry>& entries() const { return entries_; }
  const std::set<std::string>& ended_without() const { return ended_without_; }

  // One whole call that succeeds, or is lost; text comes before it, which may be what it needs.
  bool call(const std::string& tool, bool is_lost = false) {
    take_step(*rules_, state_, {});
    take_step(*rules_, state_, {});
    const auto ids = propose({tool});
    if (ids.empty() || !start(ids[0])) return false;
    settle(ids[0], is_lost ? 1 : 4);
    return true;
  }

  // Tries all calls, one after the other, until one way ends.
  bool can_end() const {
    std::deque<Walk> open = {*this};
    std::set<std::string> seen;
    while (!open.empty()) {
      Walk from = std::move(open.front());
      open.pop_front();
      if (from.is_terminal()) return true;
      for (int tool = 0; tool < kTools; ++tool) {
        Walk next = from;
        if (!next.call(name(tool))) continue;
        State plain = next.state_;
        plain.steps = 3, plain.tool_calls = 0, plain.next_number = 1;
        std::ranges::sort(plain.forbidden, {}, [](const Forbidding& one) { return std::pair(one.tool, one.by); });
        const auto same = std::ranges::unique(plain.forbidden, {}, &Forbidding::tool);
        plain.forbidden.erase(same.begin(), same.end());
        for (Forbidding& one : plain.forbidden) one.number = one.by = 0;
        if (seen.insert(json::write(to_json(plain))).second) open.push_back(std::move(next));
      }
    }
    return false;
  }

  const State& state() const { return state_; }

 private:
  std::vector<std::string> propose(const std::vector<std::string>& tools) {
    const auto empty = json::parse("{}");
    Proposal proposal;
    std::vector<std::string> ids;
    for (const std::string& tool : tools) {
      Proposed one;
      one.id = "c" + std::to_string(++last_);
      one.tool = tool;
      one.arguments = Values::of_document(empty->root());
      ids.push_back(one.id);
      proposal.calls.push_back(std::move(one));
    }
    const StepVerdict verdict = decide(*rules_, state_, proposal);
    take_step(*rules_, state_, step_of(proposal, verdict));
    std::vector<std::string> out;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (verdict.calls[i].verdict != Verdict::Allow) continue;
      out.push_back(ids[i]);
      if (rules_->tool(verdict.calls[i].tool).commit == contract::Commit::None) commits(tools[i]);
    }
    see();
    return out;
  }

  std::vector<std::string> propose(Random& random, int count) {
    std::vector<std::string> tools;
    for (int i = 0; i < count; ++i) tools.push_back(name(random.below(kTools)));
    return propose(tools);
  }

  std::string pick(Random& random) const {
    return state_.open.empty()
               ? ""
               : state_.open[static_cast<std::size_t>(random.below(static_cast<int>(state_.open.size())))].id;
  }

  bool start(const std::string& id) {
    const OpenCall* call = state_.find(id);
    if (call == nullptr) return false;
    const std::string tool = rules_->tool(call->tool).name;
    const StartVerdict verdict = session::start(*rules_, state_, id, {}, {});
    if (!verdict.is_open) return false;
    if (verdict.failures.empty())
      entries_.push_back({Entry::What::Begins, tool, rules_->plan->phases[state_.phase].name});
    take_start(*rules_, state_, {id, !verdict.failures.empty(), std::nullopt, {}});
    return verdict.failures.empty();
  }

  void settle(const std::string& id, int how) {
    const OpenCall* call = state_.find(id);
    if (call == nullptr || (call->state != CallState::Executing && call->state != CallState::Unknown)) return;
    const std::string tool = rules_->tool(call->tool).name;
    const bool was_committed = call->committed;
    const auto output = json::parse("{}");
    Receipt receipt;
    receipt.kind = how == 0 ? Receipt::Error : how == 1 ? Receipt::Lost : Receipt::Ok;
    receipt.output = Values::of_document(output->root());
    const SettleVerdict verdict = session::settle(*rules_, state_, id, receipt);
    take_settlement(*rules_, state_, verdict.settled);
    if (verdict.state == CallState::Committed && !was_committed) commits(tool);
    if (verdict.state == CallState::Failed) entries_.push_back({Entry::What::Fails, tool, {}});
    see();
  }

  void fail(const std::string& id) {
    Receipt receipt;
    receipt.kind = Receipt::Error;
    take_settlement(*rules_, state_, session::settle(*rules_, state_, id, receipt).settled);
  }

  void commits(const std::string& tool) {
    entries_.push_back({Entry::What::Commits, tool, {}});
    happened_.insert(tool);
  }

  void see() {
    if (!is_terminal()) return;
    for (int tool = 0; tool < kTools; ++tool)
      if (!happened_.contains(name(tool))) ended_without_.insert(name(tool));
  }

  std::shared_ptr<const Rules> rules_;
  State state_;
  std::vector<Entry> entries_;
  std::set<std::string> happened_, ended_without_;
  int last_ = 0;
};

// Does what happened contradict the claim? Read from its text.
bool contradicts(const Walk& walk, const std::string& claim) {
  if (claim.starts_with("end without ")) return walk.ended_without().contains(claim.substr(12));
  const std::string a = claim.substr(0, 1), how = claim.size() > 1 ? claim.substr(2, claim.find(' ', 2) - 2) : "";
  const std::string last = claim.substr(claim.rfind(' ') + 1);
  int begun = 0;
  std::set<std::string> happened;
  for (const Walk::Entry& entry : walk.entries()) {
    if (entry.what == Walk::Entry::What::Commits) happened.insert(entry.tool);
    if (entry.tool != a || entry.what == Walk::Entry::What::Commits) continue;
    if (entry.what == Walk::Entry::What::Fails) {
      --begun;
      continue;
    }
    ++begun;
    if (how.empty()) return true;
    if (how == "without" && !happened.contains(last)) return true;
    if (how == "after" && happened.contains(last)) return true;
    if (how == "in" && entry.phase == last) return true;
    if (how == "more" && begun > claim[12] - '0') return true;
  }
  return false;
}

std::shared_ptr<const Rules> random_rules(Random& random, bool limited) {
  for (;;) {
    auto compiled = contract::compile(contract::source_of(random_pack(random, limited)));
    if (compiled.plan) return make_rules(compiled.plan);
  }
}

TEST(ProveRandom, NoSessionContradictsAProof) {
  Random random{std::mt19937(20'240'611)};
  std::size_t proved = 0, refuted = 0, open = 0;
  for (int pack = 0; pack < 400; ++pack) {
    const auto rules = random_rules(random, true);
    const bool one_at_a_time = random.one_in(3);
    std::vector<std::string> held;
    for (int i = 0; i < 8; ++i) {
      const std::string text = random_claim(random);
      const Proof proof = never(rules, text, one_at_a_time);
      if (proof.answer == Answer::Proved) held.push_back(text);
      proved += proof.answer == Answer::Proved ? 1u : 0u;
      refuted += proof.answer == Answer::Refuted ? 1u : 0u;
      open += proof.answer == Answer::NotDecided ? 1u : 0u;
    }
    for (int walks = 0; walks < 60 && !held.empty(); ++walks) {
      Walk walk(rules);
      for (int step = 0; step < 24; ++step) walk.step(random, one_at_a_time);
      for (const std::string& text : held)
        ASSERT_FALSE(contradicts(walk, text))
            << "pack " << pack << ": " << text << (one_at_a_time ? ", one at a time" : "");
    }
  }
  // All three are there, or the test says little.
  EXPECT_GT(proved, 500u);
  EXPECT_GT(refuted, 500u);
  EXPECT_LT(open, 100u);
}

// Every short sequence of whole calls: what is proved does not happen in any of them, and what is refuted one after the other does.
TEST(ProveRandom, AllShortSessionsAgree) {
  Random random{std::mt19937(7)};
  constexpr int kDepth = 4;
  std::size_t shown = 0;
  for (int pack = 0; pack < 60; ++pack) {
    const auto rules = random_rules(random, false);
    std::vector<Walk> walks = {Walk(rules)}, all = walks;
    for (int depth = 0; depth < kDepth; ++depth) {
      std::vector<Walk> next;
      for (const Walk& from : walks)
        for (int tool = 0; tool < 2 * kTools; ++tool) {
          Walk one = from;
          if (!one.call(name(tool / 2), tool % 2 != 0)) continue;
          next.push_back(std::move(one));
        }
      all.insert(all.end(), next.begin(), next.end());
      walks = std::move(next);
    }
    for (int i = 0; i < 10; ++i) {
      const std::string text = random_claim(random);
      const Proof proof = never(rules, text, true);
      const bool happens = std::ranges::any_of(all, [&](const Walk& walk) { return contradicts(walk, text); });
      if (proof.answer == Answer::Proved) {
        EXPECT_FALSE(happens) << "pack " << pack << ": " << text;
      }
      if (proof.answer == Answer::Refuted && proof.trace.size() <= kDepth) {
        EXPECT_TRUE(happens) << "pack " << pack << ": " << text << ": " << told(proof.trace);
        ++shown;
      }
    }
  }
  EXPECT_GT(shown, 100u);
}

TEST(ProveRandom, WhatIsProvedToFinishCan) {
  Random random{std::mt19937(99)};
  std::size_t proved = 0, refuted = 0, open = 0;
  for (int pack = 0; pack < 300; ++pack) {
    const auto rules = random_rules(random, false);
    const bool one_at_a_time = random.one_in(2);
    const FinishProof proof = prove_finish(rules, {300'000, one_at_a_time});
    if (proof.answer == Answer::NotDecided) {
      ++open;
      continue;
    }
    for (int walks = 0; walks < 40; ++walks) {
      Walk walk(rules);
      for (int step = 0; step < 16; ++step) walk.step(random, one_at_a_time);
      walk.give_all_up();
      if (proof.answer == Answer::Proved) {
        ASSERT_TRUE(walk.can_end()) << "pack " << pack;
      }
    }
    (proof.answer == Answer::Proved ? proved : refuted) += 1;
    if (proof.answer == Answer::Refuted && one_at_a_time) {
      Walk walk(rules);
      for (const Traced& one : proof.trace) ASSERT_TRUE(walk.call(one.tool)) << told(proof.trace);
      EXPECT_FALSE(walk.can_end()) << "pack " << pack << ": " << told(proof.trace);
    }
  }
  EXPECT_GT(proved, 30u);
  EXPECT_GT(refuted, 30u);
  EXPECT_LT(open, 60u) << proved << " " << refuted;
}

}  // namespace
}  // namespace baton::session
