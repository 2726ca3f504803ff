// SPDX-License-Identifier: Apache-2.0
#include "node_peer.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "json/decimal.h"
#include "json/parse.h"

namespace baton::bench {

NodePeer::NodePeer(const std::string& node, const std::vector<std::string>& arguments) {
  std::signal(SIGPIPE, SIG_IGN);
  int input[2], output[2];
  if (pipe(input) != 0 || pipe(output) != 0) {
    problem_ = "no pipe";
    return;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  for (const int end : {input[0], input[1], output[0], output[1]}) posix_spawn_file_actions_addclose(&actions, end);
  std::vector<std::string> words = {node};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed = posix_spawnp(&child_, node.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(input[0]);
  close(output[1]);
  to_ = fdopen(input[1], "w");
  from_ = fdopen(output[0], "r");
  if (failed != 0) {
    child_ = -1;
    problem_ = "node cannot be started";
    return;
  }
  const auto line = read_line();
  const auto ready = line ? json::parse(*line) : tl::make_unexpected(json::ParseError{});
  if (!ready) {
    problem_ = "node said nothing";
  } else if (const json::Node error = ready->root()["error"]) {
    problem_ = error.is_string() ? std::string(error.string()) : "node failed";
  } else {
    for (const json::Member one : ready->root().members())
      versions_ += (versions_.empty() ? "" : ", ") + std::string(one.name()) + " " + std::string(one.value.string());
  }
}

NodePeer::~NodePeer() {
  if (to_ != nullptr) std::fclose(to_);  // the end of its input ends it
  if (from_ != nullptr) std::fclose(from_);
  if (child_ > 0) waitpid(child_, nullptr, 0);
}

std::optional<std::string> NodePeer::read_line() {
  std::string line;
  for (int c; (c = std::fgetc(from_)) != EOF;) {
    if (c == '\n') return line;
    line.push_back(static_cast<char>(c));
  }
  return std::nullopt;
}

double NodePeer::ask(const std::string& line, const std::string& member) {
  if (!problem_.empty()) return 0;
  std::fprintf(to_, "%s\n", line.c_str());
  std::fflush(to_);
  const auto said = read_line();
  const auto answer = said ? json::parse(*said) : tl::make_unexpected(json::ParseError{});
  if (!answer || !answer->root()[member].is_number()) {
    problem_ = "node ended while it was measured";
    return 0;
  }
  return json::to_double(answer->root()[member].number_text());
}

}  // namespace baton::bench
