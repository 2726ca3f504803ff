// SPDX-License-Identifier: Apache-2.0
// A real node in a workspace of its own, and processes with pipes: for benchmarks of several processes.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "load.h"

extern char** environ;

namespace baton::bench {

namespace fs = std::filesystem;

inline std::vector<char*> pointers(std::vector<std::string>& texts) {
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
  bool is_in_the_proxy() const { return in_the_proxy_; }
  std::string socket() const { return (folder_ / "node.sock").string(); }

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

}  // namespace baton::bench
