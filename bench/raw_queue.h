// SPDX-License-Identifier: Apache-2.0
// The peers of the work benchmark that are not Node: a queue in plain SQL with SKIP LOCKED, and an HTTP server that does nothing but
// echo. No ledger, no seal, no rules, no sessions: what the database and the library themselves take.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace baton::bench {

// `callers` connections, each claiming the oldest item (UPDATE ... FOR UPDATE SKIP LOCKED) and completing it, each statement a
// transaction of its own: pairs a second.
double skip_locked_pairs_per_s(const std::string& url, int callers, double seconds);

// A bare Beast server with coroutines on one thread, which sends every body back.
class EchoServer {
 public:
  EchoServer();
  ~EchoServer();
  std::uint16_t port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::bench
