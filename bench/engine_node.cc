// SPDX-License-Identifier: Apache-2.0
#include "engine_node.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

#include "http_api/api.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "node_peer.h"
#include "reference_pack.h"
#include "running_node.h"
#include "store/sqlite/sqlite_store.h"

namespace baton::bench {
namespace {

constexpr double kRoundSeconds = 1.5;
constexpr int kRounds = 3;
constexpr int kMost = 64;  // callers at once

// A governed session of the node, ready for refunds of order 1.
struct Governed {
  std::string id, token;
  runtime::Mutation by;
};

std::string step_of(const std::string& call_id, std::string_view tool, const std::string& arguments) {
  return R"({"start":true,"calls":[{"call_id":")" + call_id + R"(","tool":")" + std::string(tool) +
         R"(","arguments":)" + arguments + "}]}";
}

// Proposed and begun, which is one commit, and settled, which is another.
void durable_call(Running& node, const Governed& session, const std::string& call_id, std::string_view tool,
                  const std::string& arguments) {
  const runtime::Answer taken = wait_for([&](runtime::Answered done) {
    node.cases->govern_call(session.by, session.id, step_of(call_id, tool, arguments), std::move(done));
  });
  insist(member(taken.body, "/outcome") == "proceed", "a call was not let through");
  const runtime::Answer settled = wait_for([&](runtime::Answered done) {
    node.cases->settle_call(session.by, session.id,
                            R"({"call_id":")" + call_id + R"(","result":"ok","output":{"ok":true,"approved":true}})",
                            std::move(done));
  });
  insist(member(settled.body, "/state") == "committed", "a call was not committed");
}

void look_up_and_approve(Running& node, const Governed& session, std::size_t order) {
  for (const char* tool : {"lookup_order", "approve_refund"})
    durable_call(node, session, std::string(tool) + "-" + std::to_string(order), tool, order_arguments(order));
}

Governed open_governed(Running& node, const std::string& actor) {
  const runtime::Answer opened =
      wait_for([&](runtime::Answered done) { node.cases->open_session(as(actor), {}, std::move(done)); });
  Governed out{member(opened.body, "/session/id"), member(opened.body, "/session/token"), as(actor)};
  out.by.caller.session_id = out.id;
  look_up_and_approve(node, out, 1);
  return out;
}

// A node with the reference pack, and a folder that goes with it.
struct World {
  SystemClock clock;
  SystemRandom random;
  Folder folder{"engine"};
  Running node = start(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                       folder.path / "keys", clock, random);
  std::vector<Governed> sessions;

  World() {
    wait_for([&](runtime::Answered done) {
      node.cases->activate_pack(as_operator(), pack_source(), "agent", "", std::move(done));
    });
    for (int i = 0; i < kMost; ++i) sessions.push_back(open_governed(node, "agent-" + std::to_string(i)));
  }
};

// Ids of calls, each of them new.
std::string new_call() {
  static std::atomic<std::uint64_t> next = 0;
  return "call-" + std::to_string(next.fetch_add(1));
}

}  // namespace

void measure_durable(std::vector<Row>& rows) {
  World world;
  const std::string arguments = refund_arguments(1);
  const auto best_of = [&](int callers, const auto& session_of) {
    double best = 0;
    for (int round = 0; round < kRounds; ++round)
      best = std::max(best, per_second(callers, kRoundSeconds, [&](int i, std::uint64_t) {
                        durable_call(world.node, session_of(i), new_call(), "refund_order", arguments);
                      }));
    return best;
  };
  const auto own = [&](int i) -> const Governed& { return world.sessions[static_cast<std::size_t>(i)]; };
  for (const int callers : {1, 16, kMost})
    rows.push_back({.metric = "durable governed calls, SQLite, " + std::to_string(callers) + " sessions at once",
                    .value = best_of(callers, own),
                    .unit = "calls/s"});
  rows.push_back({.metric = "durable governed calls, SQLite, 64 at once in one session",
                  .value = best_of(kMost, [&](int) -> const Governed& { return world.sessions[0]; }),
                  .unit = "calls/s"});
  // What the node keeps of a session grows with its orders.
  double small = 0;
  for (const std::size_t orders : {1u, 1000u}) {
    for (std::size_t order = 2; order <= orders; ++order) look_up_and_approve(world.node, world.sessions[0], order);
    const double best = best_of(1, own);
    if (orders == 1) small = best;
    Row row{.metric = "durable governed calls, one at a time, in a session with " + std::to_string(orders) + " orders",
            .value = best,
            .unit = "calls/s"};
    if (orders > 1) {
      row.peer = "with one order";
      row.peer_value = small;
      row.of = Row::Ratio::OursByPeer;
    }
    rows.push_back(std::move(row));
  }
}

// --- the fast lane ------------------------------------------------------------------------------------------------------------------------

namespace {

contract::PackSource reading_pack() {
  contract::PackSource out;
  out.contracts.push_back(
      {"look.yaml",
       "tool: look\nside_effect: read\nevidence_class: local_transaction\ncommit_requirement: acknowledged\n"
       "timeouts: {total_ms: 1000}\nretries: {max_attempts: 1, retry_on: []}\n"
       "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 1}}\n"
       "assertions: {input_invariants: [], output_invariants: []}\ngolden_cases: []\nallowed_errors: []\n"});
  return out;
}

// Reads a second of so many sessions at once. The clock stops when all of them are recorded.
double reads_per_second(World& world, const std::vector<Governed>& sessions, int callers, bool with_lane) {
  const std::string arguments = order_arguments(1);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (with_lane) world.node.cases->open_fast_lane();
    const auto began = std::chrono::steady_clock::now();
    const double rate = per_second(callers, kRoundSeconds, [&](int i, std::uint64_t) {
      durable_call(world.node, sessions[static_cast<std::size_t>(i)], new_call(), "look", arguments);
    });
    world.node.cases->close_fast_lane();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    best = std::max(best, rate * kRoundSeconds / std::max(took.count(), kRoundSeconds));
  }
  return best;
}

}  // namespace

void measure_fast_lane(std::vector<Row>& rows) {
  World world;
  wait_for([&](runtime::Answered done) {
    world.node.cases->activate_pack(as_operator(), reading_pack(), "reader", "", std::move(done));
  });
  std::vector<Governed> sessions;
  for (int i = 0; i < kMost; ++i) {
    runtime::OpenSession asked;
    asked.role = "reader";
    const std::string actor = "reader-" + std::to_string(i);
    const runtime::Answer opened =
        wait_for([&](runtime::Answered done) { world.node.cases->open_session(as(actor), asked, std::move(done)); });
    sessions.push_back({member(opened.body, "/session/id"), member(opened.body, "/session/token"), as(actor)});
    sessions.back().by.caller.session_id = sessions.back().id;
  }
  for (const int callers : {1, 16, kMost}) {
    const double durable = reads_per_second(world, sessions, callers, false);
    rows.push_back({.metric = "reads on the fast lane, SQLite, " + std::to_string(callers) + " sessions at once",
                    .value = reads_per_second(world, sessions, callers, true),
                    .unit = "reads/s",
                    .peer = "the same without the lane",
                    .peer_value = durable,
                    .of = Row::Ratio::OursByPeer});
  }
}

// --- HTTP -------------------------------------------------------------------------------------------------------------------------------

void measure_http_decisions(std::vector<Row>& rows) {
  World world;
  Running& node = world.node;
  std::vector<net::Header> bearers;
  for (int i = 0; i < kMost; ++i) {
    // A session is its actor's: each connection comes as the one that opened the session it asks about.
    runtime::TokenRequest request{.actor_id = "agent-" + std::to_string(i), .kind = work::ActorKind::Agent};
    const runtime::Answer token =
        wait_for([&](runtime::Answered done) { node.cases->create_token(as_operator(), request, std::move(done)); });
    bearers.push_back({"Authorization", "Bearer " + member(token.body, "/token")});
  }
  insist(node.access->load().has_value(), "the tokens");
  http_api::Api api({.store = *node.store,
                     .ledger = *node.ledger,
                     .cases = *node.cases,
                     .access = *node.access,
                     .node = *node.node,
                     .clock = world.clock,
                     .log = [](const json::Value&) {},
                     .version = "bench"});
  net::ServerOptions options;
  options.listen = {{"127.0.0.1", 0}};
  auto server = net::start_http_server(
      options, [&](std::shared_ptr<net::Exchange> exchange) { api.handle(std::move(exchange)); }, http_api::problem);
  insist(server.has_value(), server ? "" : server.error().text());
  const std::string base = "http://" + (*server)->addresses().front() + "/v1/sessions/";

  const char* skip = std::getenv("BATON_BENCH_SKIP");
  const bool skipped = skip != nullptr && std::string_view(skip).find("cerbos") != std::string_view::npos;
  auto cerbos = skipped ? std::make_unique<NodePeer>(std::string("not installed"))
                        : std::make_unique<NodePeer>(
                              "node", std::vector<std::string>{std::string(BATON_BENCH_FILES) + "/peers/cerbos.mjs"});
  const double port = cerbos->ask("port", "port");
  const std::string cerbos_url = "http://127.0.0.1:" + std::to_string(static_cast<int>(port)) + "/api/check/resources";

  const std::string arguments = refund_arguments(1);
  const std::string preflight = R"({"provider":"openai","request":{"model":"m","tools":["refund_order"],"messages":)"
                                R"([{"role":"user","content":)" +
                                json::write(json::Value(arguments)) + "}]}}";
  const std::string check =
      R"({"principal":{"id":"agent-0","roles":["support"],"attr":{"phase":"approved","looked_up":true,"approved":true,)"
      R"("refunded":375}},"resources":[{"actions":["refund_order"],"resource":{"kind":"order","id":")" +
      order_id(1) + R"(","attr":)" + arguments + "}}]}";

  std::vector<net::HttpClient> clients(kMost);
  const auto post = [&](int i, std::string url, std::string body, std::vector<net::Header> headers,
                        std::string_view wanted) {
    const auto answer = clients[static_cast<std::size_t>(i)].send(
        {.method = "POST", .url = std::move(url), .body = std::move(body), .headers = std::move(headers)});
    insist(answer.has_value(), answer ? "" : answer.error().text());
    insist(answer->status == 200, "HTTP status " + std::to_string(answer->status) + ": " + answer->body);
    insist(answer->body.find(wanted) != std::string::npos, "the answer is no yes: " + answer->body);
  };
  const auto ours = [&](int i, const char* what, std::string body, std::string_view wanted) {
    const auto at = static_cast<std::size_t>(i);
    const Governed& session = world.sessions[at];
    post(i, base + session.id + what, std::move(body), {bearers[at], {"Baton-Session", session.token}}, wanted);
  };
  for (const int connections : {1, 16, kMost}) {
    double asks = 0, calls = 0, checks = 0;
    for (int round = 0; round < kRounds; ++round) {
      // Turn by turn, so that what disturbs the machine disturbs all of them.
      asks = std::max(asks, per_second(connections, kRoundSeconds, [&](int i, std::uint64_t) {
                        ours(i, "/preflight", preflight, R"("verdict":"allow")");
                      }));
      if (cerbos->problem().empty())
        checks = std::max(checks, per_second(connections, kRoundSeconds, [&](int i, std::uint64_t) {
                            post(i, cerbos_url, check, {{"Content-Type", "application/json"}}, "EFFECT_ALLOW");
                          }));
      calls = std::max(calls, per_second(connections, kRoundSeconds, [&](int i, std::uint64_t) {
                         const std::string id = new_call();
                         ours(i, "/calls", step_of(id, "refund_order", arguments), R"("outcome":"proceed")");
                         // Beside the clock of nobody: what is open must not pile up.
                         wait_for([&](runtime::Answered done) {
                           const Governed& session = world.sessions[static_cast<std::size_t>(i)];
                           node.cases->settle_call(session.by, session.id,
                                                   R"({"call_id":")" + id + R"(","result":"ok","output":{"ok":true}})",
                                                   std::move(done));
                         });
                       }));
    }
    const std::string peer = cerbos->problem().empty() ? "Cerbos, check of one resource (" + cerbos->versions() + ")"
                                                       : "Cerbos: " + cerbos->problem();
    const std::optional<double> peer_value = cerbos->problem().empty() ? std::optional(checks) : std::nullopt;
    const std::string at_once = ", " + std::to_string(connections) + " connections";
    rows.push_back({.metric = "HTTP, preflight, nothing recorded" + at_once,
                    .value = asks,
                    .unit = "requests/s",
                    .peer = peer,
                    .peer_value = peer_value,
                    .of = Row::Ratio::OursByPeer,
                    .at_least = 10.0});
    rows.push_back({.metric = "HTTP, a call decided and begun, durable, and settled" + at_once,
                    .value = calls,
                    .unit = "calls/s",
                    .peer = peer,
                    .peer_value = peer_value,
                    .of = Row::Ratio::OursByPeer});
  }
}

}  // namespace baton::bench
