// SPDX-License-Identifier: Apache-2.0
// The HTTP API of a node: requests to use cases, answers to responses. No rule and no SQL here. One table of routes
// (http_api/routes.cc) says for each what it needs; the OpenAPI document is made from the same table.
// Reference: docs/reference/http-api.md
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "json/value.h"
#include "net/http_server.h"
#include "runtime/access.h"
#include "runtime/ledger.h"
#include "runtime/node.h"
#include "runtime/use_cases.h"
#include "store/store.h"

namespace baton::http_api {

// One line of the node's log: an event of its life, in words a program can read.
using Log = std::function<void(const json::Value& line)>;

struct Surroundings {
  store::Store& store;
  runtime::Ledger& ledger;
  runtime::UseCases& cases;
  runtime::Access& access;
  runtime::Node& node;
  Clock& clock;
  Log log;
  std::string version;
  bool started_by_client = false;   // its own user may stop it
  std::function<void()> stop = {};  // asks the node to end
  std::function<net::ServerFigures()> server_figures = {};
  // Looks at coding agents that are wired to the store, and records what is new: {"adoptions": [...]}. May block.
  std::function<Result<json::Value>()> look_at_adoptions = {};
  // SHA-256 of a file's content in hexadecimal digits; else what it is instead: "absent", "folder", "unreadable", "too large". May block.
  std::function<std::string(const std::string& path)> digest_of_file = {};
  std::string boot_id = {};  // of the machine: marks processes that are registered
  bool log_all = false;      // every request, not only slow and failed ones
};

class Api {
 public:
  explicit Api(Surroundings surroundings);
  ~Api();

  // Answers one request; may answer later, from another thread.
  void handle(std::shared_ptr<net::Exchange> exchange);
  // Is the body of such a request worth reading? Known from its head: whoever is no stranger, and webhooks, which prove
  // themselves by what they say. Does not block.
  bool admits(const net::ServerRequest& head) const;
  // How many requests are being answered and streams are open: nothing of that and no connection for a while is idle.
  std::size_t busy() const;
  // Ends all event streams.
  void close_streams();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// A refusal that comes before any route, as a problem document.
net::ServerResponse problem(unsigned status, std::string_view code, std::string_view detail);

}  // namespace baton::http_api
