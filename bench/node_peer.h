// SPDX-License-Identifier: Apache-2.0
// A Node process that measures itself, a round at a time, whenever it is asked (peers/*.mjs).
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace baton::bench {

class NodePeer {
 public:
  // Starts `node` (a program, or its path) with these arguments and waits until it is ready. If that fails, problem() says why.
  NodePeer(const std::string& node, const std::vector<std::string>& arguments);
  explicit NodePeer(std::string problem) : problem_(std::move(problem)) {}
  ~NodePeer();
  NodePeer(const NodePeer&) = delete;
  NodePeer& operator=(const NodePeer&) = delete;

  const std::string& problem() const { return problem_; }    // empty: all is well
  const std::string& versions() const { return versions_; }  // "node 24.1.0, ajv 8.17.1"

  // Says a line, hears one, and gives the number that is its `member`; 0 once something went wrong, and problem() is set.
  double ask(const std::string& line, const std::string& member);

 private:
  std::optional<std::string> read_line();

  std::string problem_;
  std::string versions_;
  pid_t child_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace baton::bench
