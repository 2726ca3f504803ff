// SPDX-License-Identifier: Apache-2.0
// `./dev bench work`: what claiming and handing over cost beside other queues, what HTTP adds, and how soon a waiting claim wakes. What
// the rows mean: README.md
//
//   bench_work [--benchmark_out=FILE]      (FILE: build/bench/work.json)
//
// BATON_TEST_POSTGRES (from tests/with_postgres.py) is the server to measure on; without it those rows are left out. BATON_BENCH_NODE
// is a Node to run pg-boss with. BATON_BENCH_ONLY runs one part: sqlite, postgres, http or wake.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>

#include "http_api/api.h"
#include "json/parse.h"
#include "load.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "node_peer.h"
#include "raw_queue.h"
#include "report.h"
#include "running_node.h"
#include "store/postgres/postgres_store.h"
#include "store/sqlite/sqlite_store.h"

namespace baton::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kRoundSeconds = 2.0;
constexpr int kRounds = 3;

work::NewWork an_item(work::Phase phase) {
  work::NewWork out;
  out.title = "an item";
  out.phase = phase;
  return out;
}

void create(Running& node, std::size_t count) {
  // Many at once, so that making them is not what takes the time.
  std::atomic<std::size_t> left = count;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i)
    threads.emplace_back([&] {
      while (true) {
        std::size_t now = left.load();
        while (now != 0 && !left.compare_exchange_weak(now, now - 1)) {
        }
        if (now == 0) return;
        wait_for([&](runtime::Answered done) {
          node.cases->create(as("maker"), an_item(work::Phase::Draft), std::move(done));
        });
      }
    });
  for (std::thread& thread : threads) thread.join();
}

constexpr std::string_view kSignal =
    R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"DRAFT","exit_reason":"completed"})";

// One claim and one handoff.
void claim_and_exit(Running& node, const runtime::Mutation& by) {
  const runtime::Answer claimed = wait_for(
      [&](runtime::Answered done) { node.cases->claim(by, {.phases = {work::Phase::Draft}}, std::move(done)); });
  insist(claimed.body.find("work") != nullptr && !claimed.body.find("work")->is_null(), "there was nothing to claim");
  runtime::Mutation holder = by;
  holder.caller.session_id = member(claimed.body, "/session/id");
  wait_for([&](runtime::Answered done) {
    node.cases->hand_off(holder, holder.caller.session_id, std::string(kSignal), std::move(done));
  });
}

double pairs_per_second(Running& node, int threads) {
  std::vector<runtime::Mutation> callers;
  for (int i = 0; i < threads; ++i) callers.push_back(as("agent-" + std::to_string(i)));
  return per_second(threads, kRoundSeconds, [&](int i, std::uint64_t) {
    claim_and_exit(node, callers[static_cast<std::size_t>(i)]);
    return true;
  });
}

// --- claim + exit -----------------------------------------------------------------------------------------------------------

// pg-boss, a round at a time.
class PgBoss {
 public:
  PgBoss(const char* node, const char* url)
      : peer_(node == nullptr || url == nullptr
                  ? std::make_unique<NodePeer>(std::string("no Node or no server"))
                  : std::make_unique<NodePeer>(
                        node, std::vector<std::string>{std::string(BATON_BENCH_FILES) + "/peers/pgboss.mjs", url})) {}
  std::optional<double> pairs_per_s(int callers) {
    const double value = peer_->ask(std::to_string(callers) + " " + std::to_string(kRoundSeconds), "pairs_per_s");
    return peer_->problem().empty() ? std::optional(value) : std::nullopt;
  }
  std::string name() const {
    return peer_->problem().empty() ? "pg-boss fetch + complete (" + peer_->versions() + ")"
                                    : "pg-boss: " + peer_->problem();
  }

 private:
  std::unique_ptr<NodePeer> peer_;
};

struct Peers {
  std::optional<double> boss, skip_locked;
};

void add_rows(std::vector<Row>& rows, const std::string& what, double ours, const Peers& peers, const PgBoss& boss) {
  rows.push_back({.metric = what,
                  .value = ours,
                  .unit = "pairs/s",
                  .peer = boss.name(),
                  .peer_value = peers.boss,
                  .of = Row::Ratio::OursByPeer,
                  .at_least = 5.0});
  rows.push_back({.metric = what,
                  .value = ours,
                  .unit = "pairs/s",
                  .peer = peers.skip_locked ? "raw SKIP LOCKED, a connection each" : "no PostgreSQL server",
                  .peer_value = peers.skip_locked,
                  .of = Row::Ratio::OursByPeer,
                  .at_least = 0.7});
}

void measure_pairs(std::vector<Row>& rows, Running* sqlite, Running* postgres, const char* url) {
  PgBoss boss(std::getenv("BATON_BENCH_NODE"), url);
  const auto better = [](std::optional<double>& best, std::optional<double> value) {
    if (value && (!best || *value > *best)) best = value;
  };
  for (const int threads : {1, 16, 64}) {
    std::optional<double> on_sqlite, on_postgres;
    Peers peers;
    for (int round = 0; round < kRounds; ++round) {
      // Turn by turn, so that what disturbs the machine disturbs all of them.
      if (sqlite != nullptr) {
        create(*sqlite, 60'000);
        better(on_sqlite, pairs_per_second(*sqlite, threads));
      }
      if (postgres != nullptr) {
        create(*postgres, 30'000);
        better(on_postgres, pairs_per_second(*postgres, threads));
      }
      if (url != nullptr) better(peers.skip_locked, skip_locked_pairs_per_s(url, threads, kRoundSeconds));
      better(peers.boss, boss.pairs_per_s(threads));
    }
    const std::string at_once = ", claim + exit, " + std::to_string(threads) + " at once";
    if (on_sqlite) add_rows(rows, "SQLite" + at_once, *on_sqlite, peers, boss);
    if (on_postgres) add_rows(rows, "PostgreSQL" + at_once, *on_postgres, peers, boss);
  }
}

// --- HTTP -------------------------------------------------------------------------------------------------------------------

void measure_http(std::vector<Row>& rows, Running& node, Clock& clock) {
  runtime::TokenRequest asked{.actor_id = "bench", .kind = work::ActorKind::Operator};
  const runtime::Answer token =
      wait_for([&](runtime::Answered done) { node.cases->create_token(as_operator(), asked, std::move(done)); });
  insist(node.access->load().has_value(), "the tokens");
  const net::Header bearer{"Authorization", "Bearer " + member(token.body, "/token")};
  http_api::Api api({.store = *node.store,
                     .ledger = *node.ledger,
                     .cases = *node.cases,
                     .access = *node.access,
                     .node = *node.node,
                     .clock = clock,
                     .log = [](const json::Value&) {},
                     .version = "bench"});
  net::ServerOptions options;
  options.listen = {{"127.0.0.1", 0}};
  auto server = net::start_http_server(
      options, [&](std::shared_ptr<net::Exchange> exchange) { api.handle(std::move(exchange)); }, http_api::problem);
  insist(server.has_value(), server ? "" : server.error().text());
  const std::string base = "http://" + (*server)->addresses().front();
  EchoServer echo;
  const std::string echo_url = "http://127.0.0.1:" + std::to_string(echo.port()) + "/";
  constexpr int kConnections = 64;
  std::vector<net::HttpClient> clients(kConnections);
  const auto ask = [&](int i, const net::HttpRequest& request) {
    const auto answer = clients[static_cast<std::size_t>(i)].send(request);
    insist(answer.has_value(), answer ? "" : answer.error().text());
    insist(answer->status == 200, "HTTP status " + std::to_string(answer->status) + ": " + answer->body);
    return true;
  };
  create(node, 1);
  const auto items = node.cases->list(std::nullopt, "", 1);
  insist(items.has_value(), "a list");
  const std::string work_id = member(*items, "/items/0/id");

  double best_read = 0, best_exit = 0, best_echo = 0, best_small_echo = 0;
  for (int round = 0; round < kRounds; ++round) {
    // Sessions with something to hand over.
    constexpr std::size_t kSessions = 40'000;
    create(node, kSessions);
    std::vector<std::pair<std::string, std::string>> sessions(kSessions);  // id and token
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> claimers;
    for (int i = 0; i < kConnections; ++i)
      claimers.emplace_back([&, i] {
        const runtime::Mutation by = as("agent-" + std::to_string(i));
        for (std::size_t at; (at = next.fetch_add(1)) < kSessions;) {
          const runtime::Answer claimed = wait_for([&](runtime::Answered done) {
            node.cases->claim(by, {.phases = {work::Phase::Draft}}, std::move(done));
          });
          sessions[at] = {member(claimed.body, "/session/id"), member(claimed.body, "/session/token")};
        }
      });
    for (std::thread& claimer : claimers) claimer.join();
    next = 0;
    best_read = std::max(best_read, per_second(kConnections, kRoundSeconds, [&](int i, std::uint64_t) {
                           return ask(i, {.url = base + "/v1/work/" + work_id, .headers = {bearer}});
                         }));
    best_small_echo = std::max(best_small_echo, per_second(kConnections, kRoundSeconds, [&](int i, std::uint64_t) {
                                 return ask(i, {.url = echo_url, .headers = {bearer}});
                               }));
    best_exit = std::max(best_exit, per_second(kConnections, kRoundSeconds, [&](int i, std::uint64_t) {
                           const std::size_t at = next.fetch_add(1);
                           if (at >= kSessions) return false;
                           return ask(i, {.method = "POST",
                                          .url = base + "/v1/sessions/" + sessions[at].first + "/handoff",
                                          .body = std::string(kSignal),
                                          .content_type = "application/json",
                                          .headers = {bearer, {"Baton-Session", sessions[at].second}}});
                         }));
    best_echo = std::max(best_echo, per_second(kConnections, kRoundSeconds, [&](int i, std::uint64_t) {
                           return ask(i, {.method = "POST",
                                          .url = echo_url,
                                          .body = std::string(kSignal),
                                          .content_type = "application/json",
                                          .headers = {bearer}});
                         }));
  }
  (*server)->stop(std::chrono::seconds(2));
  rows.push_back({.metric = "HTTP, GET of a work item, 64 connections",
                  .value = best_read,
                  .unit = "requests/s",
                  .peer = "bare Beast echo, GET",
                  .peer_value = best_small_echo,
                  .of = Row::Ratio::OursByPeer});
  rows.push_back({.metric = "HTTP, an exit, durable, 64 connections",
                  .value = best_exit,
                  .unit = "requests/s",
                  .peer = "bare Beast echo, POST",
                  .peer_value = best_echo,
                  .of = Row::Ratio::OursByPeer});
}

// --- waking -----------------------------------------------------------------------------------------------------------------

// From the commit that makes an item claimable to the waiting claimer's answer, which is a commit of its own.
void measure_wake(std::vector<Row>& rows, const std::string& where, Running& maker, Running& waiter) {
  constexpr int kTimes = 500;
  std::vector<double> microseconds;
  for (int i = 0; i < kTimes; ++i) {
    std::mutex mutex;
    std::condition_variable told;
    std::optional<Steady::time_point> woken;
    const runtime::Mutation by = as("waiting");
    const auto cancel = waiter.node->claim_or_wait(
        by, {.phases = {work::Phase::Implementation}}, std::chrono::seconds(10), [&](Result<runtime::Answer> answer) {
          insist(answer && answer->refused.empty() && !answer->body.find("work")->is_null(), "the claim was not woken");
          const std::lock_guard lock(mutex);
          woken = Steady::now();
          told.notify_one();
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    wait_for([&](runtime::Answered done) {
      maker.cases->create(as("maker"), an_item(work::Phase::Implementation), std::move(done));
    });
    const auto committed = Steady::now();
    std::unique_lock lock(mutex);
    told.wait(lock, [&] { return woken.has_value(); });
    microseconds.push_back(std::max(0.0, std::chrono::duration<double, std::micro>(*woken - committed).count()));
  }
  std::sort(microseconds.begin(), microseconds.end());
  const auto at = [&](double part) { return microseconds[static_cast<std::size_t>(part * (kTimes - 1))]; };
  rows.push_back({.metric = where + ", from commit to claimed by who waited, p50", .value = at(0.5), .unit = "us"});
  rows.push_back({.metric = where + ", from commit to claimed by who waited, p99", .value = at(0.99), .unit = "us"});
}

int run(const std::string& out) {
  SystemClock clock;
  SystemRandom random;
  std::vector<Row> rows;
  const char* only = std::getenv("BATON_BENCH_ONLY");
  const auto wanted = [only](std::string_view part) { return only == nullptr || part == only; };
  const char* url = std::getenv("BATON_TEST_POSTGRES");
  if (url == nullptr) std::fprintf(stderr, "bench_work: no PostgreSQL server: its rows are left out\n");
  Folder folder("work");
  Running sqlite = start(store::open_sqlite_store({.folder = folder.path / "store", .create = true, .clock = clock}),
                         folder.path / "keys", clock, random);
  std::optional<Running> postgres, second;
  if (url != nullptr) {
    store::PostgresOptions options;
    options.url = url;
    options.create = true;
    postgres = start(store::open_postgres_store(options), folder.path / "keys-postgres", clock, random);
    second = start(store::open_postgres_store(options), folder.path / "keys-postgres", clock, random);
  }
  if (wanted("sqlite") || wanted("postgres"))
    measure_pairs(rows, wanted("sqlite") ? &sqlite : nullptr, wanted("postgres") && postgres ? &*postgres : nullptr,
                  url);
  if (wanted("http")) measure_http(rows, sqlite, clock);
  if (wanted("wake")) {
    measure_wake(rows, "SQLite", sqlite, sqlite);
    if (postgres) measure_wake(rows, "PostgreSQL, the other node", *postgres, *second);
  }
  print_table(rows);
  return out.empty() || write_json(rows, out) ? 0 : 1;
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) { return baton::bench::run(baton::bench::out_file(argc, argv)); }
