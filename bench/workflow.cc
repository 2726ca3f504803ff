// SPDX-License-Identifier: Apache-2.0
// `./dev bench workflow`: what a decision costs in a workflow with many sessions, and how soon a handoff is under way on another node. What
// the rows mean: README.md
//
//   bench_workflow [--benchmark_out=FILE]      (FILE: build/bench/workflow.json)
//
// BATON_TEST_POSTGRES (from tests/with_postgres.py) is the server to measure on; without it those rows are left out. BATON_BENCH_ONLY
// runs one part: decision, durable or handoff.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "contract/scenario.h"
#include "json/parse.h"
#include "load.h"
#include "report.h"
#include "running_node.h"
#include "session/decide.h"
#include "session/door.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"
#include "timing.h"

namespace baton::bench {
namespace {

constexpr std::size_t kSessions[] = {1, 100, 1000};
constexpr double kFlat = 1.2;  // what counts as not growing, on a machine that others use too

// An orchestrator and its hands, who share files in each mode and have budgets together.
contract::WorkflowSource source() {
  const contract::SourceFile file{
      "bench.yaml",
      "scenario: bench\nworkflow:\n"
      "  roles: [{name: boss, session_contract: boss.yaml}, {name: hand, session_contract: hand.yaml}]\n"
      "  handoffs: [{from: boss, to: hand, parent_close_policy: abandon, requires_artifacts: [task]}]\n"
      "  shared_resources: [{alias: file, mode: single_writer}]\n"
      "  workflow_limits: {max_total_steps: 100000000, max_total_cost: 100000000, max_active_sessions: 5000}\n"
      "packs:\n  boss: {contracts: [{tool: look}]}\n"
      "  hand: {session: {risk_defaults: {write: allow}, resources: {file: {type: file, extract_from: {path: $.f}}}}, "
      "contracts: [{tool: edit, side_effect: write}]}\nevents: []\n"};
  contract::CompiledScenario compiled = contract::compile_scenario(file, "");
  insist(compiled.workflow != nullptr, "the workflow does not compile");
  return *compiled.source.workflow;
}

// --- the rules alone --------------------------------------------------------------------------------------------------------------------

// A workflow in which every session owns a file.
class Many final : public session::Commons {
 public:
  Many(std::shared_ptr<const contract::WorkflowPlan> plan, std::size_t sessions) : plan_(std::move(plan)) {
    for (std::size_t i = 0; i < sessions; ++i)
      holds_[{0, "\"file-" + std::to_string(i) + "\""}].owner = {"session-" + std::to_string(i), {}, 0, true};
  }
  const contract::WorkflowPlan& plan() const override { return *plan_; }
  const std::string& session() const override { return own_; }
  session::Spent spent() const override { return {1000, json::Decimal(25), json::Decimal(1)}; }
  session::Hold hold(const session::SharedKey& key) const override {
    const auto at = holds_.find(key);
    return at == holds_.end() ? session::Hold() : at->second;
  }

 private:
  std::shared_ptr<const contract::WorkflowPlan> plan_;
  const std::string own_ = "session-0";
  std::map<session::SharedKey, session::Hold> holds_;
};

void measure_decision(std::vector<Row>& rows) {
  const contract::CompiledWorkflow compiled = contract::compile_workflow(source());
  insist(compiled.plan != nullptr, "the workflow does not compile");
  const auto rules = session::make_rules(compiled.plan->roles[1].plan, compiled.plan);
  const auto alone = session::make_rules(compiled.plan->roles[1].plan);
  const session::State state = session::open(*rules, {});
  const auto document = json::parse_owned(R"({"calls":[{"call_id":"1","tool":"edit","arguments":{"f":"file-0"}}]})");
  const session::ReadProposal read = session::read_proposal(document->root());
  Race race;
  std::vector<std::unique_ptr<Many>> all;
  std::vector<session::Proposal> proposals;
  std::vector<std::size_t> cases;
  for (const std::size_t sessions : kSessions) {
    all.push_back(std::make_unique<Many>(compiled.plan, sessions));
    proposals.push_back(read.proposal);
    proposals.back().commons = all.back().get();
    insist(session::decide(*rules, state, proposals.back()).calls[0].verdict == session::Verdict::Allow,
           "it is not allowed");
  }
  for (const session::Proposal& proposal : proposals)
    cases.push_back(race.add([&rules, &state, &proposal] { keep(session::decide(*rules, state, proposal)); }));
  const std::size_t without = race.add([&] { keep(session::decide(*alone, state, read.proposal)); });
  race.run(300);
  for (std::size_t i = 0; i < cases.size(); ++i)
    rows.push_back({.metric = "decision, " + std::to_string(kSessions[i]) + " sessions in the workflow",
                    .value = race[cases[i]].best(),
                    .unit = "ns",
                    .peer = i == 0 ? "the same call without a workflow" : "with one session",
                    .peer_value = race[i == 0 ? without : cases[0]].best(),
                    .of = Row::Ratio::OursByPeer,
                    .at_most = i == 0 ? std::nullopt : std::optional(kFlat),
                    .median = race[cases[i]].median()});
}

// --- a node -----------------------------------------------------------------------------------------------------------------------------

struct Session {
  std::string id;
  runtime::Mutation by;
};

Session session_in(const runtime::Answer& answer) {
  Session out{member(answer.body, "/session/id"), as("alice")};
  out.by.caller.session_id = out.id;
  return out;
}

Session begin(Running& node) {
  const runtime::Answer active = wait_for(
      [&](runtime::Answered done) { node.cases->activate_workflow(as_operator(), source(), "", std::move(done)); });
  return session_in(wait_for([&](runtime::Answered done) {
    node.cases->start_workflow(as_operator(), {member(active.body, "/pack"), "boss", {}}, std::move(done));
  }));
}

std::string offer(Running& node, const Session& boss) {
  runtime::OfferRequest asked;
  asked.to = "hand";
  asked.artifacts.set("task", "edit the file");
  return member(
      wait_for([&](runtime::Answered done) { node.cases->offer(boss.by, boss.id, asked, std::move(done)); }).body,
      "/handoff/id");
}

Session claim(Running& node, const std::string& handoff) {
  return session_in(wait_for(
      [&](runtime::Answered done) { node.cases->claim_handoff(as("alice"), {handoff, {}}, std::move(done)); }));
}

// Proposed and begun in one commit, settled in another.
void edit(Running& node, const Session& session, const std::string& call, const std::string& file) {
  const runtime::Answer taken = wait_for([&](runtime::Answered done) {
    node.cases->govern_call(
        session.by, session.id,
        R"({"start":true,"calls":[{"call_id":")" + call + R"(","tool":"edit","arguments":{"f":")" + file + "\"}}]}",
        std::move(done));
  });
  insist(member(taken.body, "/outcome") == "proceed", "a call was not let through");
  wait_for([&](runtime::Answered done) {
    node.cases->settle_call(session.by, session.id, R"({"call_id":")" + call + R"(","result":"ok","output":{}})",
                            std::move(done));
  });
}

void measure_durable(std::vector<Row>& rows) {
  SystemClock clock;
  SystemRandom random;
  const Folder folder("workflow");
  Running node = start(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                       folder.path / "keys", clock, random);
  const Session boss = begin(node);
  std::vector<Session> hands;
  double with_one = 0;
  for (const std::size_t sessions : kSessions) {
    while (hands.size() < sessions) {
      hands.push_back(claim(node, offer(node, boss)));
      edit(node, hands.back(), "first", "own-" + std::to_string(hands.size()));
    }
    double best = 0;
    for (int round = 0; round < 3; ++round)
      best = std::max(best, per_second(1, 1.5, [&](int, std::uint64_t k) {
                        const std::size_t who = k % sessions;
                        edit(node, hands[who],
                             "r" + std::to_string(round) + "-" + std::to_string(sessions) + "-" + std::to_string(k),
                             "own-" + std::to_string(who + 1));
                      }));
    Row row{.metric = "durable governed calls, SQLite, one at a time, " + std::to_string(sessions) + " active sessions",
            .value = best,
            .unit = "calls/s"};
    if (sessions == 1) {
      with_one = best;
    } else {
      row.peer = "with one session";
      row.peer_value = with_one;
      row.of = Row::Ratio::OursByPeer;
      row.at_least = 1 / kFlat;
    }
    rows.push_back(std::move(row));
  }
}

// --- from one node to the other -----------------------------------------------------------------------------------------------------------

// Offered on one node; as soon as the other sees the offer, it is claimed there, and a call of the child begins.
void measure_handoff(std::vector<Row>& rows, const std::string& where, Running& from, Running& to) {
  const Session boss = begin(from);
  constexpr int kHandoffs = 200;
  std::vector<double> seen_ms, started_ms;
  for (int i = 0; i < kHandoffs; ++i) {
    std::mutex mutex;
    std::condition_variable told;
    std::string handoff;
    const std::uint64_t subscription = to.node->feed().subscribe([&](const runtime::FedEntries& entries) {
      for (const runtime::FedEntry& entry : *entries) {
        if (entry.type != "workflow.offered") continue;
        const auto payload = json::parse(entry.payload);
        const std::lock_guard lock(mutex);
        handoff = payload->root()["handoff_id"].string();
        told.notify_one();
      }
    });
    const auto start = Steady::now();
    offer(from, boss);
    {
      std::unique_lock lock(mutex);
      insist(told.wait_for(lock, std::chrono::seconds(10), [&] { return !handoff.empty(); }), "the offer was not seen");
    }
    seen_ms.push_back(seconds_since(start) * 1e3);
    const Session hand = claim(to, handoff);
    const runtime::Answer taken = wait_for([&](runtime::Answered done) {
      to.cases->govern_call(
          hand.by, hand.id,
          R"({"start":true,"calls":[{"tool":"edit","arguments":{"f":"f)" + std::to_string(i) + "\"}}]}",
          std::move(done));
    });
    insist(member(taken.body, "/outcome") == "proceed", "a call was not let through");
    started_ms.push_back(seconds_since(start) * 1e3);
    to.node->feed().unsubscribe(subscription);
  }
  for (auto* times : {&seen_ms, &started_ms}) {
    std::ranges::sort(*times);
    rows.push_back({.metric = where + ": offered to " +
                              (times == &seen_ms ? "seen" : "claimed and its first call begun") + ", p50",
                    .value = (*times)[times->size() / 2],
                    .unit = "ms"});
    rows.push_back({.metric = where + ": offered to " +
                              (times == &seen_ms ? "seen" : "claimed and its first call begun") + ", p99",
                    .value = (*times)[times->size() * 99 / 100],
                    .unit = "ms"});
  }
}

int run(const std::string& out) {
  SystemClock clock;
  SystemRandom random;
  std::vector<Row> rows;
  const char* only = std::getenv("BATON_BENCH_ONLY");
  const auto wanted = [only](std::string_view part) { return only == nullptr || part == only; };
  if (wanted("decision")) measure_decision(rows);
  if (wanted("durable")) measure_durable(rows);
  if (wanted("handoff")) {
    const Folder folder("workflow-handoff");
    Running sqlite = start(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                           folder.path / "keys", clock, random);
    measure_handoff(rows, "SQLite, one node", sqlite, sqlite);
    if (const char* url = std::getenv("BATON_TEST_POSTGRES")) {
      store::PostgresOptions options;
      options.url = url;
      options.create = true;
      Running first = start(store::open_postgres_store(options), folder.path / "keys-postgres", clock, random);
      Running second = start(store::open_postgres_store(options), folder.path / "keys-postgres", clock, random);
      measure_handoff(rows, "PostgreSQL, to the other node", first, second);
    } else {
      std::fprintf(stderr, "bench_workflow: no PostgreSQL server: its rows are left out\n");
    }
  }
  print_table(rows);
  return out.empty() || write_json(rows, out) ? 0 : 1;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) { return baton::bench::run(baton::bench::out_file(argc, argv)); }
