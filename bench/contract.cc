// SPDX-License-Identifier: Apache-2.0
// What compiling a pack costs and how that grows: packs of 260 to 2,000 tools in 20 phases, made up here, from their texts to the
// plan with its hash, and then the checks of the whole. The peer of each is the smallest: the ratio is what a tool costs beside a
// tool there, so that 1 is linear. A pack in which every order of calls is another state shows what the budget of the walk costs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "contract/compile.h"
#include "contract/graph.h"
#include "report.h"

namespace baton::bench {
namespace {

constexpr std::size_t kPhases = 20;
constexpr int kRounds = 7;

std::string phase(std::size_t number) { return "p" + std::to_string(number); }

std::string contract_of(const std::string& name, const std::string& rest) {
  return "tool: " + name +
         "\nside_effect: read\nevidence_class: local_transaction\ncommit_requirement: acknowledged\n"
         "timeouts: {total_ms: 1000}\nretries: {max_attempts: 1, retry_on: []}\n"
         "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 1}}\n"
         "assertions: {input_invariants: [{path: $.a, exists: true}], output_invariants: []}\n"
         "golden_cases: []\nallowed_errors: []\n"
         "argument_value_invariants:\n  - {path: $.n, gte: 0, lte: 100}\n  - {path: $.s, regex: \"^[a-z]+$\"}\n" +
         rest;
}

std::string session() {
  std::string out = "schema_version: \"1.0\"\nagent: bench\nphases:\n";
  for (std::size_t i = 0; i < kPhases; ++i)
    out += "  - {name: " + phase(i) + (i == 0 ? ", initial: true" : "") +
           (i + 1 == kPhases ? ", terminal: true}\n" : "}\n");
  out += "transitions:\n";
  for (std::size_t i = 0; i + 1 < kPhases; ++i) out += "  " + phase(i) + ": [" + phase(i + 1) + "]\n";
  return out;
}

// As many tools in each phase; the last of a phase requires the one before it and leads on.
contract::PackSource ordinary(std::size_t tools) {
  contract::PackSource out;
  out.session = contract::SourceFile{"session.yaml", session()};
  const std::size_t each = tools / kPhases;
  for (std::size_t i = 0; i < kPhases; ++i)
    for (std::size_t k = 0; k < each; ++k) {
      const std::string prefix = "t" + std::to_string(i) + "_", name = prefix + std::to_string(k);
      const bool leads = k + 1 == each && i + 1 < kPhases;
      std::string rest =
          "transitions: {valid_in_phases: [" + phase(i) + "]" + (leads ? ", advances_to: " + phase(i + 1) : "") + "}\n";
      if (leads) rest += "preconditions: [{requires_prior_tool: " + prefix + std::to_string(k - 1) + "}]\n";
      out.contracts.push_back({name + ".yaml", contract_of(name, rest)});
    }
  return out;
}

// Each tool once, in any order, and an end that nothing leads to: the walk goes on until its budget is used up.
contract::PackSource any_order(std::size_t tools) {
  contract::PackSource out;
  out.session = contract::SourceFile{
      "session.yaml",
      "schema_version: \"1.0\"\nagent: bench\nphases: [{name: a, initial: true}, {name: b, terminal: true}]\n"
      "transitions: {a: [b]}\n"};
  for (std::size_t i = 0; i < tools; ++i) {
    const std::string name = "t" + std::to_string(i);
    out.contracts.push_back({name + ".yaml", contract_of(name, "forbids_after: [" + name + "]\n")});
  }
  return out;
}

// Milliseconds, the best of the rounds: of compiling, and of looking at the whole.
struct Cost {
  double compiling = 1e9, looking = 1e9;
};
Cost cost_of(const contract::PackSource& source) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  Cost out;
  for (int round = 0; round < kRounds; ++round) {
    auto begin = Clock::now();
    const contract::Compiled compiled = contract::compile(source);
    out.compiling = std::min(out.compiling, since(begin));
    if (!compiled.plan) {
      std::fprintf(stderr, "the pack does not compile: %s\n", compiled.findings.front().diagnostic.message.c_str());
      std::exit(1);
    }
    begin = Clock::now();
    (void)contract::analyse(*compiled.plan);
    out.looking = std::min(out.looking, since(begin));
  }
  return out;
}

int run(const std::string& out) {
  std::vector<Row> rows;
  constexpr std::size_t kSmallest = 260;
  Cost smallest;
  for (const std::size_t tools : {kSmallest, std::size_t{500}, std::size_t{1000}, std::size_t{2000}}) {
    const Cost cost = cost_of(ordinary(tools));
    if (tools == kSmallest) smallest = cost;
    const std::string what = std::to_string(tools) + " tools, 20 phases, ";
    const auto row = [&](const std::string& step, double ms, double least) {
      rows.push_back({.metric = what + step,
                      .value = ms,
                      .unit = "ms",
                      .peer = "as many times the share of one of " + std::to_string(kSmallest),
                      .peer_value = least * static_cast<double>(tools) / static_cast<double>(kSmallest),
                      .of = Row::Ratio::OursByPeer});
    };
    row("compiled", cost.compiling, smallest.compiling);
    row("looked at as a whole", cost.looking, smallest.looking);
  }
  const Cost worst = cost_of(any_order(200));
  rows.push_back({.metric = "200 tools, each once in any order, no end, looked at as a whole",
                  .value = worst.looking,
                  .unit = "ms"});
  print_table(rows);
  return out.empty() || write_json(rows, out) ? 0 : 1;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) { return baton::bench::run(baton::bench::out_file(argc, argv)); }
