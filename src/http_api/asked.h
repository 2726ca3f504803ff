// SPDX-License-Identifier: Apache-2.0
// A request that was understood: found in the table, by somebody who may, in the form it has to have. Handlers take it,
// and it is what answers: it is answered once, and then counted and logged.
//
// It is held by whoever will answer. Held by nobody and not answered: the server says so to the client (500).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http_api/api.h"
#include "http_api/events.h"
#include "http_api/figures.h"
#include "http_api/hook_memory.h"
#include "http_api/log_budget.h"
#include "http_api/members.h"
#include "http_api/reading_pool.h"
#include "http_api/routes.h"
#include "ledger/answer_key.h"
#include "runtime/actor_quota.h"

namespace baton::http_api {

// What a request shows of who sends it. Refers to it.
runtime::Presented presented_by(const net::ServerRequest& request);

// What all requests have in common. Lives as long as the last of them; what it refers to (Surroundings) must not be used
// after end(), only what it owns.
struct Workings {
  explicit Workings(Surroundings given);
  void end();
  void tell_left_out(bool all);  // of the log

  Surroundings around;
  Figures figures;
  const std::shared_ptr<ReadingPool> readings;
  const std::shared_ptr<EventHub> events;
  std::atomic<std::size_t> being_answered{0};
  LogBudget log_budget;
  HookMemory hooks;
  runtime::ActorQuota requests;         // of each actor, a second
  const ledger::SigningKey answer_key;  // signs what hooks are told
  const std::int64_t started_ns;        // monotonic
  const Time started_at;
};

class Asked {
 public:
  Asked(std::shared_ptr<Workings> workings, std::shared_ptr<net::Exchange> exchange);
  ~Asked();
  Asked(const Asked&) = delete;

  // In this order: finds the route; then who asks, whether they may, and reads query and body. What is wrong, or nothing.
  std::vector<Diagnostic> find();
  bool needs_store() const;  // to find out who asks
  std::vector<Diagnostic> understand();

  Workings& workings() { return *workings_; }
  const std::shared_ptr<net::Exchange>& exchange() const { return exchange_; }
  const net::ServerRequest& request() const { return exchange_->request(); }
  const Route& route() const { return *route_; }

  std::string id;  // what stands for the braces in the route's path
  Query query;
  Body body;
  runtime::Caller caller;
  runtime::Mutation mutation() const;

  void respond(net::ServerResponse response);
  void answer(const json::Value& body, unsigned status = 200);
  void refuse(const std::vector<Diagnostic>& refused);
  void fail(const Failure& failure);
  // Answers with what a use case gave.
  void settle(const Result<runtime::Answer>& result);
  // Instead of an answer: from now on the exchange is a stream.
  std::shared_ptr<net::EventStream> stream();

 private:
  std::vector<Diagnostic> find_route();
  std::vector<Diagnostic> let_in();
  std::optional<Diagnostic> over_quota();
  std::vector<Diagnostic> read();
  std::vector<Diagnostic> check_headers();
  // Access was refused: recorded, counted.
  std::vector<Diagnostic> turned_away(Diagnostic why);
  void finished(unsigned status, std::string_view code);
  void log(std::string_view level, std::string_view event, json::Value members);

  const std::shared_ptr<Workings> workings_;
  const std::shared_ptr<net::Exchange> exchange_;
  const Route* route_ = nullptr;
  const std::int64_t began_ns_;
  std::vector<std::string_view> allowed_;  // methods, when the method was wrong
  std::int64_t retry_seconds_ = 0;         // refused: Retry-After; 0: as its status has it
  bool answered_ = false;
};
using AskedPtr = std::shared_ptr<Asked>;

// The callback of a use case that answers `asked`.
runtime::Answered settle(const AskedPtr& asked);

// Goes on with the request on a thread that may block; `then` answers it.
void read_then(const AskedPtr& asked, std::function<void(const AskedPtr&)> then);
// The same, and answers with what `reading` gives.
void read_and_answer(const AskedPtr& asked, std::function<Result<json::Value>(Asked&)> reading);
// The same where there may be no such thing: `missing` words that.
void read_one_and_answer(const AskedPtr& asked, std::function<Result<std::optional<json::Value>>(Asked&)> reading,
                         std::function<Diagnostic(const Asked&)> missing);

// The same where what is read may have labels: what reading adds is recorded first. `stream`: what is read, for the record.
void read_labelled(const AskedPtr& asked, std::string stream,
                   std::function<Result<runtime::ReadAnswer>(Asked&)> reading,
                   std::function<Diagnostic(const Asked&)> missing);

// A log line, with its texts redacted.
void log_line(const Surroundings& around, std::string_view level, std::string_view event, json::Value members);

}  // namespace baton::http_api
