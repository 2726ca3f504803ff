// SPDX-License-Identifier: Apache-2.0
// `./dev bench mcp_stdio`: what the MCP proxy costs on stdin and stdout. What the rows mean: README.md
//
//   bench_mcp_stdio [--benchmark_out=FILE]      (FILE: build/bench/mcp_stdio.json)
//
// One client, one server with a tool `echo` (mcp_echo_server.cc); between them nothing, a byte relay (byte_relay.cc), or `baton mcp`
// with a node of its own, whose fast lane for reads is on or off; or in the proxy's own process, with the lane. Wall-clock time: several processes take part. The ways take turns.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "load.h"
#include "report.h"
#include "timing.h"

extern char** environ;

namespace baton::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRounds = 40, kTrips = 100;      // one after the other
constexpr std::size_t kPipelined = 64, kBurst = 2048;  // so many at one time, so many in all
constexpr double kGoal = 1.5;

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// A process with pipes on its stdin and stdout. Ended with its input.
class Process {
 public:
  Process(std::vector<std::string> argv, std::vector<std::string> environment) {
    int down[2], up[2];
    insist(::pipe2(down, O_CLOEXEC) == 0 && ::pipe2(up, O_CLOEXEC) == 0, "pipes");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, down[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, up[1], 1);
    for (char** one = environ; *one != nullptr; ++one)
      if (!std::string_view(*one).starts_with("BATON_")) environment.emplace_back(*one);
    insist(::posix_spawnp(&pid_, argv[0].c_str(), &actions, nullptr, pointers(argv).data(),
                          pointers(environment).data()) == 0,
           "starting " + argv[0]);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(down[0]);
    ::close(up[1]);
    in_ = down[1];
    out_ = up[0];
  }
  ~Process() { end(); }
  Process(const Process&) = delete;

  int end() {
    if (in_ >= 0) ::close(std::exchange(in_, -1));
    int status = 0;
    if (pid_ > 0) ::waitpid(std::exchange(pid_, 0), &status, 0);
    if (out_ >= 0) ::close(std::exchange(out_, -1));
    return status;
  }
  void interrupt() const { ::kill(pid_, SIGTERM); }

  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t put = ::write(in_, text.data(), text.size());
      insist(put > 0, "writing to a process");
      text.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  // Whole lines that came, at least one; how many.
  std::size_t read_lines() {
    std::size_t lines = 0;
    while (lines == 0) {
      char piece[64 << 10];
      const ssize_t got = ::read(out_, piece, sizeof piece);
      insist(got > 0, "a process ended early");
      last_.append(piece, static_cast<std::size_t>(got));
      for (std::size_t at; (at = last_.find('\n')) != std::string::npos; last_.erase(0, at + 1)) {
        ++lines;
        line_ = last_.substr(0, at);
      }
    }
    return lines;
  }
  const std::string& line() const { return line_; }

 private:
  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
  std::string last_, line_;
};

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

// --- nodes ------------------------------------------------------------------------------------------------------------------------------

// A workspace with a node that runs, and a pack with one contract: `echo` reads.
class Workspace {
 public:
  enum class Node { Strict, Lane, InTheProxy };
  Workspace(const fs::path& folder, Node node) : folder_(folder), in_the_proxy_(node == Node::InTheProxy) {
    fs::create_directories(folder / "home");
    fs::create_directories(folder / "pack");
    std::ofstream(folder / "pack/session.yaml") << "schema_version: \"1.0\"\nagent: bench\n";
    std::ofstream(folder / "pack/echo.yaml")
        << "tool: echo\nside_effect: read\nevidence_class: unverifiable\ncommit_requirement: acknowledged\n"
           "timeouts: {total_ms: 60000}\nretries: {max_attempts: 1, retry_on: []}\n"
           "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 5}}\n"
           "assertions: {input_invariants: [], output_invariants: []}\nallowed_errors: []\ngolden_cases: []\n";
    run({"init"});
    const fs::path config = in_the_proxy_ ? folder / "store/config.yaml" : folder / "config.yaml";
    std::ofstream(config) << "fast_lane: {reads: " << (node == Node::Strict ? "false" : "true") << "}\n";
    if (in_the_proxy_) {
      run({"contract", "activate", (folder / "pack").string()});
      return;
    }
    node_ = std::make_unique<Process>(
        std::vector<std::string>{BATON_BENCH_PROGRAM, "serve", "--config", (folder / "config.yaml").string(),
                                 "--socket", socket(), "--log", (folder / "node.log").string()},
        environment());
    for (int tries = 0; !fs::exists(socket()); ++tries) {
      insist(tries < 1000, "the node does not get ready");
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    run({"contract", "activate", (folder / "pack").string(), "--node", "unix:" + socket()});
  }
  ~Workspace() {
    if (!node_) return;
    node_->interrupt();
    node_->end();
  }

  std::vector<std::string> environment() const {
    std::vector<std::string> out = {"BATON_STORE=" + (folder_ / "store").string(),
                                    "BATON_KEYS=" + (folder_ / "keys").string(), "HOME=" + (folder_ / "home").string()};
    if (in_the_proxy_) out.emplace_back("BATON_IN_PROCESS=1");
    return out;
  }
  std::string socket() const { return (folder_ / "node.sock").string(); }
  std::vector<std::string> proxy() const {
    if (in_the_proxy_) return {BATON_BENCH_PROGRAM, "mcp", "--", BATON_BENCH_ECHO};
    return {BATON_BENCH_PROGRAM, "mcp", "--node", "unix:" + socket(), "--", BATON_BENCH_ECHO};
  }

 private:
  void run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), BATON_BENCH_PROGRAM);
    Process process(arguments, environment());
    insist(process.end() == 0, "baton " + arguments[1]);
  }

  fs::path folder_;
  bool in_the_proxy_;
  std::unique_ptr<Process> node_;
};

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
    ways.push_back(std::make_unique<Way>(house.proxy(), house.environment()));
    ways.push_back(std::make_unique<Way>(lane.proxy(), lane.environment()));
    ways.push_back(std::make_unique<Way>(strict.proxy(), strict.environment()));
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
