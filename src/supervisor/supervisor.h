// SPDX-License-Identifier: Apache-2.0
// `baton run` from claim to end: one item, or with `watch` one after the other until told to stop.
//
// `done` is called once, from the loop, with the exit status. Everything on the context's thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include "supervisor/node_link.h"
#include "supervisor/run.h"

namespace baton::supervisor {

class Supervisor {
 public:
  // `told`: how each item came out, for people or for programs.
  Supervisor(Shared& shared, std::function<void(const Outcome&)> told, std::function<void(int status)> done);
  Supervisor(const Supervisor&) = delete;

  void begin() { claim(); }
  // What is under way is ended, its item given back; said again, without grace.
  void stop();

 private:
  void claim();
  void claimed(int status, std::string body);
  void ended(const Outcome& outcome);
  void finish(int status);

  Shared& shared_;
  std::function<void(const Outcome&)> told_;
  std::function<void(int)> done_;
  NodeLink node_;
  boost::asio::steady_timer pause_;
  std::unique_ptr<Run> run_;
  std::int64_t claim_until_ = 0;
  bool stopping_ = false, claiming_ = false;
};

}  // namespace baton::supervisor
