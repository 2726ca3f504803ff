// SPDX-License-Identifier: Apache-2.0
// `./dev bench engine`: what a decision about a call costs, and how that grows; what an open session takes. What the rows mean: README.md
//
//   bench_engine [--benchmark_out=FILE]      (FILE: build/bench/engine.json)
//
// BATON_BENCH_ONLY runs one part: decision, cedar, memory, growth, durable or http. BATON_BENCH_SKIP names peers that are not there.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "engine_node.h"
#include "json/value.h"
#include "load.h"
#include "node_peer.h"
#include "reference_pack.h"
#include "report.h"
#include "session/shown.h"
#include "timing.h"

namespace baton::bench {
namespace {

constexpr std::size_t kRounds = 200;
// Of the decision that the goals are about: over some eight seconds, because a neighbour on the core may stay for longer than one.
constexpr std::size_t kDecisionRounds = 1000;
constexpr double kGoalNs = 2000;
constexpr double kGoalBytes = 4096;

// One decision about a call that was read before.
auto deciding(const session::Rules& rules, const session::State& state, const session::Proposal& proposal) {
  return [&] { keep(session::decide(rules, state, proposal)); };
}

Row in_ns(std::string metric, const Rounds& rounds) {
  return {.metric = std::move(metric), .value = rounds.best(), .unit = "ns", .median = rounds.median()};
}

// --- one decision ---------------------------------------------------------------------------------------------------------------------

void measure_decision(std::vector<Row>& rows) {
  // A session of some length: thirty orders, all but the last one refunded.
  constexpr std::size_t kOrders = 30;
  const auto rules = rules_of({}), looping = rules_of({.loop = true});
  const session::State state = session_with(*rules, kOrders), loop_state = session_with(*looping, kOrders);
  const ReadCall allowed("refund_order", refund_arguments(kOrders)), refused("refund_order", refused_arguments(9999));
  insist(allowed.text().size() == 1024 && refused.text().size() == 1024, "the arguments are not 1 KB");
  insist(session::decide(*rules, state, allowed.proposal()).calls[0].verdict == session::Verdict::Allow,
         "the call is not allowed");
  const session::StepVerdict no = session::decide(*rules, state, refused.proposal());
  constexpr std::size_t kFailures = 5;  // two preconditions; amount, currency, email
  insist(no.calls[0].failures.size() == kFailures, "the refused call does not fail in every way");
  session::State after = state;
  const session::Effects effects = session::take_step(*rules, after, session::step_of(refused.proposal(), no));
  session::State running = state;

  Race race;
  const auto decide = race.add(deciding(*rules, state, allowed.proposal()));
  const auto parse = race.add([&] { keep(json::parse(allowed.text())); });
  const auto both = race.add([&] {
    const auto document = json::parse(allowed.text());
    session::Proposal proposal;
    proposal.calls.push_back({"call-1", "refund_order", session::Values::of_document(document->root()), {}});
    keep(session::decide(*rules, state, proposal));
  });
  const auto loop = race.add(deciding(*looping, loop_state, allowed.proposal()));
  const auto whole = race.add([&] { carry_out(*rules, running, allowed.proposal()); });
  const auto refuse = race.add(deciding(*rules, state, refused.proposal()));
  const auto told = race.add([&] { keep(session::shown(refused.proposal(), no, effects)); });
  const auto way_out = race.add([&] { keep(session::shown(*rules, after, refused.proposal(), no, effects)); });
  race.run(kDecisionRounds);

  const std::string what = "decision, reference pack, 1 KB of arguments, ";
  const auto held_to_goal = [&](const std::string& metric, const Rounds& rounds) {
    Row row = in_ns(metric, rounds);
    row.peer = "the goal of 2 us";
    row.peer_value = kGoalNs;
    row.of = Row::Ratio::OursByPeer;
    row.at_most = 1.0;
    rows.push_back(std::move(row));
  };
  held_to_goal(what + "allowed", race[decide]);
  held_to_goal(what + "allowed, parsed first", race[both]);
  rows.push_back(in_ns("of it: the parse", race[parse]));
  rows.push_back(in_ns(what + "allowed, repeated calls looked for", race[loop]));
  rows.push_back(in_ns("a whole call in memory: decided, taken, begun, settled", race[whole]));
  held_to_goal(what + "refused, all 5 failures", race[refuse]);
  rows.push_back(in_ns("the refusal as JSON", race[told]));
  rows.push_back(in_ns("the refusal as JSON, with its way out", race[way_out]));
}

// --- beside Cedar -----------------------------------------------------------------------------------------------------------------------

void measure_cedar(std::vector<Row>& rows) {
  constexpr double kRoundNs = 25e6;  // as long as the peer's, so that its collection of garbage is in them
  constexpr std::size_t kPeerRounds = 40, kPeerRepetitions = 200;
  constexpr std::size_t kOrders = 30;
  const auto rules = rules_of({});
  const session::State state = session_with(*rules, kOrders);
  const ReadCall call("refund_order", refund_arguments(kOrders));
  const Folder folder("engine");
  const std::string file = (folder.path / "arguments.json").string();
  std::ofstream(file) << call.text();

  const char* skip = std::getenv("BATON_BENCH_SKIP");
  const bool skipped = skip != nullptr && std::string_view(skip).find("cedar") != std::string_view::npos;
  const auto peer =
      skipped ? std::make_unique<NodePeer>(std::string("not installed"))
              : std::make_unique<NodePeer>(
                    "node", std::vector<std::string>{std::string(BATON_BENCH_FILES) + "/peers/cedar.mjs", file});
  const auto ask = [&](const std::string& what) {
    return [&peer, what](std::size_t count) { return peer->ask(what + " " + std::to_string(count), "ns"); };
  };
  Race race;
  const auto decide = race.add(deciding(*rules, state, call.proposal()), kRoundNs);
  const auto both = race.add(
      [&] {
        const auto document = json::parse(call.text());
        session::Proposal proposal;
        proposal.calls.push_back({"call-1", "refund_order", session::Values::of_document(document->root()), {}});
        keep(session::decide(*rules, state, proposal));
      },
      kRoundNs);
  const auto all = race.add_round(kPeerRepetitions, ask("all"));
  const auto facts = race.add_round(kPeerRepetitions, ask("facts"));
  race.run(kPeerRounds);
  const auto row = [&](const std::string& metric, std::size_t ours, const std::string& given, std::size_t theirs) {
    Row out = in_ns(metric, race[ours]);
    out.peer =
        peer->problem().empty() ? "Cedar, " + given + " (" + peer->versions() + ")" : "Cedar: " + peer->problem();
    if (peer->problem().empty()) out.peer_value = race[theirs].best();
    out.of = Row::Ratio::PeerByOurs;
    out.at_least = 10.0;
    rows.push_back(std::move(out));
  };
  row("decision, reference pack", decide, "all arguments as context", all);
  row("decision, reference pack", decide, "only the facts its policy looks at", facts);
  row("decision, reference pack, parsed first", both, "all arguments as context", all);
}

// --- memory -----------------------------------------------------------------------------------------------------------------------------

double allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4096;
}

// Ten calls about three orders; the last one is under way when `in_flight`.
session::State after_ten_calls(const session::Rules& rules, std::size_t number, bool in_flight) {
  session::State state = session::open(rules, {});
  for (std::size_t i = 1; i <= 3; ++i) {
    const std::size_t order = number * 10 + i;
    carry_out(rules, state, "lookup_order", order_arguments(order));
    carry_out(rules, state, "approve_refund", order_arguments(order));
    carry_out(rules, state, "refund_order", refund_arguments(order));
  }
  carry_out(rules, state, "refund_order", refund_arguments(number * 10 + 3), !in_flight);
  return state;
}

void measure_memory(std::vector<Row>& rows) {
  constexpr std::size_t kSessions = 100'000;
  const auto rules = rules_of({});
  for (const bool in_flight : {false, true}) {
    const double allocated = allocated_bytes(), resident = resident_bytes();
    std::vector<session::State> sessions;
    sessions.reserve(kSessions);
    for (std::size_t i = 0; i < kSessions; ++i) sessions.push_back(after_ten_calls(*rules, i, in_flight));
    const std::string what =
        "an open session after ten calls" + std::string(in_flight ? ", the last one under way" : "") + ", of 100000, ";
    rows.push_back({.metric = what + "allocated",
                    .value = (allocated_bytes() - allocated) / kSessions,
                    .unit = "bytes",
                    .peer = "the goal of 4 KB",
                    .peer_value = kGoalBytes,
                    .of = Row::Ratio::OursByPeer,
                    .at_most = 1.0});
    // The second time the heap has pages of the first left over.
    if (!in_flight)
      rows.push_back({.metric = what + "resident",
                      .value = (resident_bytes() - resident) / kSessions,
                      .unit = "bytes",
                      .peer = "the goal of 4 KB",
                      .peer_value = kGoalBytes,
                      .of = Row::Ratio::OursByPeer,
                      .at_most = 1.0});
    rows.push_back({.metric = what + "as the text that is kept",
                    .value = static_cast<double>(json::write(session::to_json(sessions[0])).size()),
                    .unit = "bytes"});
  }
}

// --- growth -----------------------------------------------------------------------------------------------------------------------------

// The same decision on ever larger worlds. The peer of each is the smallest.
struct Sized {
  std::string name;
  std::shared_ptr<const session::Rules> rules;
  session::State state;
};

void measure_series(std::vector<Row>& rows, const std::vector<Sized>& series, const ReadCall& call,
                    std::optional<double> goal) {
  Race race;
  for (const Sized& one : series) {
    insist(session::decide(*one.rules, one.state, call.proposal()).calls[0].verdict == session::Verdict::Allow,
           one.name + ": the call is not allowed");
    race.add(deciding(*one.rules, one.state, call.proposal()));
  }
  race.run(kRounds);
  for (std::size_t i = 0; i < series.size(); ++i) {
    Row row = in_ns("decision, " + series[i].name, race[i]);
    if (i > 0) {
      row.peer = series[0].name;
      row.peer_value = race[0].best();
      row.of = Row::Ratio::OursByPeer;
      row.at_most = goal;
    }
    rows.push_back(std::move(row));
  }
}

void measure_growth(std::vector<Row>& rows) {
  constexpr double kFlat = 1.25;  // what is left of a look into a map, and of a larger world in the cache
  constexpr std::size_t kOrders = 4;
  const ReadCall call("refund_order", refund_arguments(kOrders));
  const auto sized = [&](std::string name, const PackShape& shape) {
    Sized out{std::move(name), rules_of(shape), {}};
    out.state = session_with(*out.rules, kOrders);
    return out;
  };

  std::vector<Sized> series;
  for (const std::size_t tools : {10u, 100u, 1000u})
    series.push_back(sized(std::to_string(tools) + " tools", {.tools = tools}));
  measure_series(rows, series, call, kFlat);

  series.clear();
  for (const std::size_t count : {1u, 10u, 100u})
    series.push_back(sized("aggregates on another tool: " + std::to_string(count), {.aggregates_elsewhere = count}));
  measure_series(rows, series, call, kFlat);

  // More totals on the tool itself are more to look at: what matters is the price of one.
  series.clear();
  for (const std::size_t count : {1u, 10u, 100u})
    series.push_back(sized("aggregates on this tool: " + std::to_string(count), {.aggregates = count}));
  const std::size_t first = rows.size();
  measure_series(rows, series, call, std::nullopt);
  rows.push_back({.metric = "of it: one aggregate more on this tool, of 100",
                  .value = (rows[first + 2].value - rows[first].value) / 99,
                  .unit = "ns"});

  // Every order is an entity of its own, for both preconditions and for the count of distinct ones.
  Race race;
  const auto rules = rules_of({.distinct = true});
  std::vector<std::size_t> lengths = {10, 1'000, 100'000};
  struct Long {
    session::State state;
    ReadCall call;
    std::string text;
    Long(const session::Rules& by, std::size_t orders)
        : state(session_with(by, orders)),
          call("refund_order", refund_arguments(orders)),
          text(json::write(session::to_json(state))) {}
  };
  std::vector<std::unique_ptr<Long>> histories;
  for (const std::size_t length : lengths) {
    // Three calls for each order.
    const std::size_t orders = length / 3 + 1;
    histories.push_back(std::make_unique<Long>(*rules, orders));
  }
  for (const auto& one : histories) race.add(deciding(*rules, one->state, one->call.proposal()));
  race.run(kRounds);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    Row row = in_ns("decision after " + std::to_string(lengths[i]) + " calls, each order another", race[i]);
    if (i > 0) {
      row.peer = "after 10";
      row.peer_value = race[0].best();
      row.of = Row::Ratio::OursByPeer;
      row.at_most = kFlat;
    }
    rows.push_back(std::move(row));
  }
  // A node keeps the state as text, and has read it once when it goes on from it.
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Long& one = *histories[i];
    Race texts;
    const auto write = texts.add([&] { keep(json::write(session::to_json(one.state))); });
    const auto read = texts.add([&] {
      const auto document = json::parse(one.text);
      insist(session::read_state(*rules, document->root()).has_value(), "the state cannot be read");
    });
    texts.run(lengths[i] > 10'000 ? 10 : kRounds);
    const std::string what =
        "the state after " + std::to_string(lengths[i]) + " calls, " + std::to_string(one.text.size()) + " bytes, ";
    for (const auto& [name, at] : {std::pair("written", write), std::pair("read", read)})
      rows.push_back(
          {.metric = what + name, .value = texts[at].best() / 1000, .unit = "us", .median = texts[at].median() / 1000});
  }
}

int run(const std::string& out) {
  std::vector<Row> rows;
  const char* only = std::getenv("BATON_BENCH_ONLY");
  const auto wanted = [only](std::string_view part) { return only == nullptr || part == only; };
  if (wanted("memory")) measure_memory(rows);  // first: on a heap that nothing has been on
  if (wanted("decision")) measure_decision(rows);
  if (wanted("cedar")) measure_cedar(rows);
  if (wanted("growth")) measure_growth(rows);
  if (wanted("durable")) measure_durable(rows);
  if (wanted("lane")) measure_fast_lane(rows);
  if (wanted("http")) measure_http_decisions(rows);
  print_table(rows);
  return out.empty() || write_json(rows, out) ? 0 : 1;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) { return baton::bench::run(baton::bench::out_file(argc, argv)); }
