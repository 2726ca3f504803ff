// SPDX-License-Identifier: Apache-2.0
// `./dev bench mcp_stdio`: what the MCP proxy costs on stdin and stdout. What the rows mean: README.md
//
//   bench_mcp_stdio [--benchmark_out=FILE]      (FILE: build/bench/mcp_stdio.json)
//
// One client, one server with a tool `echo` (mcp_echo_server.cc); between them nothing, a byte relay (byte_relay.cc), or `baton mcp`
// with a node of its own, whose fast lane for reads is on or off; or in the proxy's own process, with the lane. Wall-clock time: several processes take part. The ways take turns.

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "load.h"
#include "report.h"
#include "timing.h"
#include "workspace.h"

namespace baton::bench {
namespace {

constexpr std::size_t kRounds = 40, kTrips = 100;      // one after the other
constexpr std::size_t kPipelined = 64, kBurst = 2048;  // so many at one time, so many in all
constexpr double kGoal = 1.5;

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::string call(std::size_t id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}})"
         "\n";
}

class Way {
 public:
  Way(std::vector<std::string> argv, std::vector<std::string> environment)
      : process_(std::move(argv), std::move(environment)) {
    process_.write(
        R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})"
        "\n");
    process_.read_lines();
    process_.write(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
                   "\n");
    trips(200);  // connections, pages, definitions
  }

  double trips(std::size_t count) {
    const double start = now_ns();
    for (std::size_t i = 0; i < count; ++i) {
      process_.write(call(++id_));
      insist(process_.read_lines() == 1, "one answer");
    }
    const double spent = (now_ns() - start) / static_cast<double>(count);
    insist(process_.line().find(R"("text":"hello")") != std::string::npos, "not an echo: " + process_.line());
    return spent;
  }

  // Calls a second with so many under way.
  double burst() {
    const double start = now_ns();
    std::size_t sent = 0, answered = 0;
    std::string ahead;
    while (sent < kPipelined) ahead += call(++id_), ++sent;
    process_.write(ahead);
    while (answered < kBurst) {
      const std::size_t got = process_.read_lines();
      answered += got;
      ahead.clear();
      for (std::size_t i = 0; i < got && sent < kBurst; ++i) ahead += call(++id_), ++sent;
      process_.write(ahead);
    }
    return static_cast<double>(kBurst) / ((now_ns() - start) / 1e9);
  }

 private:
  Process process_;
  std::size_t id_ = 0;
};

std::vector<std::string> proxy(const Workspace& of) {
  if (of.is_in_the_proxy()) return {BATON_BENCH_PROGRAM, "mcp", "--", BATON_BENCH_ECHO};
  return {BATON_BENCH_PROGRAM, "mcp", "--node", "unix:" + of.socket(), "--", BATON_BENCH_ECHO};
}

void measure(std::vector<Row>& rows) {
  const Folder folder("mcp-stores");
  {
    using Node = Workspace::Node;
    const Workspace lane(folder.path / "lane", Node::Lane), strict(folder.path / "strict", Node::Strict),
        house(folder.path / "house", Node::InTheProxy);
    std::vector<std::unique_ptr<Way>> ways;
    ways.push_back(std::make_unique<Way>(std::vector<std::string>{BATON_BENCH_ECHO}, std::vector<std::string>{}));
    ways.push_back(std::make_unique<Way>(std::vector<std::string>{BATON_BENCH_RELAY, BATON_BENCH_ECHO},
                                         std::vector<std::string>{}));
    ways.push_back(std::make_unique<Way>(proxy(house), house.environment()));
    ways.push_back(std::make_unique<Way>(proxy(lane), lane.environment()));
    ways.push_back(std::make_unique<Way>(proxy(strict), strict.environment()));
    Race race;
    for (const auto& way : ways) race.add_round(kTrips, [&way = *way](std::size_t count) { return way.trips(count); });
    race.run(kRounds);
    const char* const names[] = {"echo round trip, direct", "echo round trip, through a byte relay",
                                 "echo round trip, governed, read lane, the node in the proxy",
                                 "echo round trip, governed, read lane", "echo round trip, governed, strict"};
    for (std::size_t i = 0; i < ways.size(); ++i) {
      Row row{.metric = names[i], .value = race[i].best() / 1e3, .unit = "us", .median = race[i].median() / 1e3};
      if (i >= 2) {
        row.peer = "byte relay";
        row.peer_value = race[1].best() / 1e3;
        row.of = Row::Ratio::OursByPeer;
        if (i < 4) row.at_most = kGoal;
      }
      rows.push_back(row);
    }
    const char* const pipelined[] = {"calls a second, direct", "calls a second, through a byte relay",
                                     "calls a second, governed, read lane, the node in the proxy",
                                     "calls a second, governed, read lane", "calls a second, governed, strict"};
    for (std::size_t i = 0; i < ways.size(); ++i) {
      double best = 0;
      for (int round = 0; round < 5; ++round) best = std::max(best, ways[i]->burst());
      rows.push_back({.metric = std::string(pipelined[i]) + ", 64 under way", .value = best, .unit = "1/s"});
    }
  }
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<baton::bench::Row> rows;
  baton::bench::measure(rows);
  baton::bench::print_table(rows);
  const std::string out = baton::bench::out_file(argc, argv);
  return out.empty() || baton::bench::write_json(rows, out) ? 0 : 1;
}
