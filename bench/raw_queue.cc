// SPDX-License-Identifier: Apache-2.0
#include "raw_queue.h"

#include <libpq-fe.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace baton::bench {
namespace {

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_work: the peer failed: %s\n", what);
  std::exit(1);
}

PGconn* connect(const std::string& url) {
  PGconn* connection = PQconnectdb(url.c_str());
  insist(PQstatus(connection) == CONNECTION_OK, "connecting to PostgreSQL");
  return connection;
}

void run(PGconn* connection, const char* text) {
  PGresult* result = PQexec(connection, text);
  const ExecStatusType status = PQresultStatus(result);
  insist(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, text);
  PQclear(result);
}

}  // namespace

double skip_locked_pairs_per_s(const std::string& url, int callers, double seconds) {
  PGconn* first = connect(url);
  run(first, "DROP TABLE IF EXISTS raw_queue");
  run(first,
      "CREATE TABLE raw_queue (id BIGINT PRIMARY KEY, state TEXT NOT NULL, rank BIGINT NOT NULL, holder TEXT, item "
      "TEXT NOT NULL)");
  run(first,
      "INSERT INTO raw_queue SELECT i, 'waiting', i, NULL, repeat('x', 300) FROM generate_series(1, 100000) AS s(i)");
  run(first, "CREATE INDEX ON raw_queue (state, rank)");
  run(first, "ANALYZE raw_queue");
  std::atomic<std::uint64_t> done = 0;
  std::atomic<bool> stop = false;
  std::vector<PGconn*> connections;
  for (int i = 0; i < callers; ++i) {
    connections.push_back(connect(url));
    PQclear(PQprepare(connections.back(), "claim",
                      "UPDATE raw_queue SET state = 'held', holder = $1 WHERE id = (SELECT id FROM raw_queue WHERE "
                      "state = 'waiting' ORDER BY rank LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, item",
                      1, nullptr));
    PQclear(PQprepare(connections.back(), "complete",
                      "UPDATE raw_queue SET state = 'done', holder = NULL WHERE id = $1 AND state = 'held'", 1,
                      nullptr));
  }
  std::vector<std::thread> threads;
  const auto started = std::chrono::steady_clock::now();
  for (PGconn* connection : connections)
    threads.emplace_back([connection, &done, &stop] {
      while (!stop.load(std::memory_order_relaxed)) {
        const char* holder[] = {"agent-7"};
        PGresult* claimed = PQexecPrepared(connection, "claim", 1, holder, nullptr, nullptr, 0);
        insist(PQresultStatus(claimed) == PGRES_TUPLES_OK, "claiming");
        if (PQntuples(claimed) == 0) {
          PQclear(claimed);
          return;
        }
        const char* id[] = {PQgetvalue(claimed, 0, 0)};
        PGresult* completed = PQexecPrepared(connection, "complete", 1, id, nullptr, nullptr, 0);
        insist(PQresultStatus(completed) == PGRES_COMMAND_OK, "completing");
        PQclear(completed);
        PQclear(claimed);
        done.fetch_add(1, std::memory_order_relaxed);
      }
    });
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  for (PGconn* connection : connections) PQfinish(connection);
  run(first, "DROP TABLE raw_queue");
  PQfinish(first);
  return static_cast<double>(done.load()) / elapsed;
}

// --- echo -------------------------------------------------------------------------------------------------------------------

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

asio::awaitable<void> echo(tcp::socket socket) {
  boost::beast::flat_buffer buffer;
  boost::system::error_code failed;
  while (true) {
    http::request<http::string_body> request;
    co_await http::async_read(socket, buffer, request, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    http::response<http::string_body> response(http::status::ok, request.version());
    response.set(http::field::content_type, "application/json");
    response.keep_alive(request.keep_alive());
    response.body() = std::move(request.body());
    response.prepare_payload();
    co_await http::async_write(socket, response, asio::redirect_error(asio::use_awaitable, failed));
    if (failed || !response.keep_alive()) co_return;
  }
}

asio::awaitable<void> accept(tcp::acceptor& acceptor) {
  while (true) {
    boost::system::error_code failed;
    tcp::socket socket = co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(acceptor.get_executor(), echo(std::move(socket)), asio::detached);
  }
}

}  // namespace

struct EchoServer::Impl {
  asio::io_context context{1};
  tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
  std::thread thread;
};

EchoServer::EchoServer() : impl_(std::make_unique<Impl>()) {
  asio::co_spawn(impl_->context, accept(impl_->acceptor), asio::detached);
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

EchoServer::~EchoServer() {
  impl_->context.stop();
  impl_->thread.join();
}

std::uint16_t EchoServer::port() const { return impl_->acceptor.local_endpoint().port(); }

}  // namespace baton::bench
