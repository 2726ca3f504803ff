// SPDX-License-Identifier: Apache-2.0
// `./dev bench hook`: what a hook costs a coding agent, from starting it to its end with the decision. What the rows mean: README.md
//
//   bench_hook [--benchmark_out=FILE]      (FILE: build/bench/hook.json)
//
// Each round starts the program anew, as agents do, hands it the event and waits for its end; wall-clock time, one after the other, the
// ways taking turns. Baton's calls are settled in between, which is not counted.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "load.h"
#include "report.h"
#include "timing.h"
#include "workspace.h"

namespace baton::bench {
namespace {

constexpr std::size_t kRounds = 400;
constexpr double kMillisecond = 1000;  // microseconds: the goal for the median
constexpr double kGoalAgainstNpm = 90;

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

std::string event(std::string_view name, std::size_t number, std::string_view more = "") {
  return R"({"hook_event_name":")" + std::string(name) +
         R"(","session_id":"bench","cwd":"/srv","transcript_path":"/srv/t.jsonl",)" +
         R"("tool_name":"echo","tool_use_id":"toolu_)" + std::to_string(number) + R"(","tool_input":{"text":"hello"})" +
         std::string(more) + "}";
}

// From its start to its end. -1: it said no, or something else.
double once(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
            const std::string& input) {
  const double start = now_ns();
  Process process(argv, environment);
  process.write(input);
  const int status = process.end();
  insist(status == 0, argv[0] + " did not end well");
  return now_ns() - start;
}

// With the node's key on its command line, as `baton adopt` and `baton run` register it: what the node answers is verified.
std::string answer_key(const Workspace& workspace) {
  Process status({BATON_BENCH_PROGRAM, "status", "--node", "unix:" + workspace.socket(), "--format", "json"},
                 workspace.environment());
  status.read_lines();
  constexpr std::string_view kName = "\"answer_key\":\"";
  const std::size_t at = status.line().find(kName);
  insist(at != std::string::npos, "the node has no key");
  return status.line().substr(at + kName.size(), 64);
}

class Hook {
 public:
  explicit Hook(const Workspace& workspace, std::string key = {}) : workspace_(workspace), key_(std::move(key)) {}
  double before() { return once(argv("PreToolUse"), workspace_.environment(), event("PreToolUse", ++number_)); }
  void after() {
    once(argv("PostToolUse"), workspace_.environment(),
         event("PostToolUse", number_, R"(,"tool_response":{"text":"hello"})"));
  }

 private:
  std::vector<std::string> argv(const std::string& name) const {
    std::vector<std::string> out = {BATON_BENCH_HOOK, "claude", name, "--socket", workspace_.socket()};
    if (!key_.empty()) out.insert(out.end(), {"--node-key", key_});
    return out;
  }
  const Workspace& workspace_;
  const std::string key_;
  std::size_t number_ = 0;
};

void measure(std::vector<Row>& rows) {
  const Folder folder("hook-stores");
  using Node = Workspace::Node;
  const Workspace lane(folder.path / "lane", Node::Lane), strict(folder.path / "strict", Node::Strict);
  Hook on_lane(lane, answer_key(lane)), on_strict(strict, answer_key(strict)), unsigned_on_lane(lane);
  Rounds hello, fast, fast_unsigned, durable, npm;
  const char* node = std::getenv("BATON_BENCH_NODE");
  const char* safety_net = std::getenv("BATON_BENCH_SAFETY_NET");
  const bool has_npm = node != nullptr && *node != 0 && safety_net != nullptr && *safety_net != 0;
  const std::string command =
      R"({"hook_event_name":"PreToolUse","session_id":"bench","cwd":"/srv","transcript_path":"/srv/t.jsonl","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls -l"}})";
  for (std::size_t round = 0; round < kRounds; ++round) {
    hello.ns.push_back(once({BATON_BENCH_HELLO}, {}, ""));
    fast.ns.push_back(on_lane.before());
    on_lane.after();
    fast_unsigned.ns.push_back(unsigned_on_lane.before());
    unsigned_on_lane.after();
    durable.ns.push_back(on_strict.before());
    on_strict.after();
    if (has_npm && round % 10 == 0) npm.ns.push_back(once({node, safety_net, "hook", "--claude-code"}, {}, command));
  }
  rows.push_back({.metric = "a static program that says hello",
                  .value = hello.median() / 1e3,
                  .unit = "us",
                  .median = hello.median() / 1e3});
  Row read{.metric = "baton-hook, read lane, to its decision (median)", .value = fast.median() / 1e3, .unit = "us"};
  read.peer = "the goal of 1 ms";
  read.peer_value = kMillisecond;
  read.of = Row::Ratio::OursByPeer;
  read.at_most = 1;
  rows.push_back(read);
  rows.push_back({.metric = "baton-hook, read lane, no signature asked for (median)",
                  .value = fast_unsigned.median() / 1e3,
                  .unit = "us"});
  rows.push_back({.metric = "baton-hook, recorded first, to its decision (median)",
                  .value = durable.median() / 1e3,
                  .unit = "us"});
  Row against{
      .metric = "baton-hook, read lane, beside cc-safety-net (median)", .value = fast.median() / 1e3, .unit = "us"};
  against.peer = has_npm ? "cc-safety-net, npm" : "cc-safety-net, npm: could not be had";
  if (has_npm) against.peer_value = npm.median() / 1e3;
  against.of = Row::Ratio::PeerByOurs;
  against.at_least = kGoalAgainstNpm;
  rows.push_back(against);
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
