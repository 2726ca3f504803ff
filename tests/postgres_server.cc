// SPDX-License-Identifier: Apache-2.0
#include "postgres_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <list>
#include <vector>

#include "base/check.h"
#include "store/postgres/connection.h"
#include "store/postgres/libpq.h"
#include "store/postgres/target.h"

namespace baton::store {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<std::int64_t> run_at(const std::string& url, const std::string& sql) {
  const auto libpq = postgres::load_libpq();
  CHECK(libpq);
  const auto target = postgres::parse_target(**libpq, url);
  CHECK(target);
  auto connection = postgres::Connection::connect(*libpq, *target, {});
  if (!connection) return tl::make_unexpected(connection.error());
  const auto rows = (*connection)->await((*connection)->send_once(sql, {}, postgres::Connection::Want::Rows));
  if (!rows) return tl::make_unexpected(rows.error());
  return rows->size() > 0 ? rows->integer(0, 0) : 0;
}

std::string with_database(const std::string& url, const std::string& name) {
  return url.substr(0, url.rfind('/') + 1) + name;
}

int port_of(const std::string& url) { return std::atoi(url.c_str() + url.rfind(':') + 1); }

}  // namespace

bool has_postgres_server() { return !environment("BATON_TEST_POSTGRES").empty(); }

std::string postgres_server_url() { return environment("BATON_TEST_POSTGRES"); }

std::string postgres_server_password() {
  const std::string url = postgres_server_url();
  const std::size_t from = url.find(':', url.find("://") + 3) + 1;
  return url.substr(from, url.find('@') - from);
}

bool control_postgres_server(const std::string& action) {
  return std::system((environment("BATON_TEST_POSTGRES_CTL") + " " + action).c_str()) == 0;
}

TestDatabase::TestDatabase(const std::string& more) {
  static std::atomic<int> count = 0;
  name_ = "test_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  url_ = with_database(postgres_server_url(), name_);
  const auto made = run_at(postgres_server_url(), "CREATE DATABASE " + name_ + " " + more);
  CHECK(made);
}

TestDatabase::~TestDatabase() { (void)run_at(postgres_server_url(), "DROP DATABASE " + name_ + " WITH (FORCE)"); }

Result<std::int64_t> TestDatabase::run(const std::string& sql) const { return run_at(url_, sql); }

std::int64_t TestDatabase::end_connections(const std::string& only) const {
  const auto ended = run_at(postgres_server_url(),
                            "SELECT COUNT(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = '" +
                                name_ + "' AND pid <> pg_backend_pid() AND " + only);
  return ended.value_or(-1);
}

std::string new_schema_url() {
  static const TestDatabase database;
  static std::atomic<int> count = 0;
  const std::string name = "test_" + std::to_string(++count);
  CHECK(database.run("CREATE SCHEMA " + name));
  return database.url() + "?options=-csearch_path%3D" + name;
}

// --- the wire -----------------------------------------------------------------------------------------------------------

namespace {

int connected_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

struct Pair {
  int client, server;
};

// False when the connection has ended.
bool pass(int from, int to) {
  char buffer[65536];
  const ssize_t count = ::recv(from, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  for (ssize_t sent = 0; sent < count;) {
    const ssize_t part = ::send(to, buffer + sent, static_cast<std::size_t>(count - sent), MSG_NOSIGNAL);
    if (part < 0) return false;
    sent += part;
  }
  return count > 0;
}

}  // namespace

Wire::Wire() {
  listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(::listen(listening_, 16) == 0);
  socklen_t size = sizeof address;
  CHECK(::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { run(); });
}

Wire::~Wire() {
  ended_ = true;
  thread_.join();
  ::close(listening_);
}

std::string Wire::url_of(const TestDatabase& database) const {
  std::string url = database.url();
  const std::size_t from = url.rfind(':') + 1;
  return url.replace(from, url.rfind('/') - from, std::to_string(port_));
}

void Wire::cut() {
  cut_ = true;
  while (cut_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void Wire::run() {
  std::list<Pair> pairs;
  const auto end = [](const Pair& pair) {
    ::close(pair.client);
    ::close(pair.server);
  };
  while (!ended_) {
    std::vector<pollfd> fds = {{listening_, POLLIN, 0}};
    for (const Pair& pair : pairs) {
      fds.push_back({held_ ? -1 : pair.client, POLLIN, 0});
      fds.push_back({pair.server, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), 10);
    if (cut_) {
      for (const Pair& pair : pairs) end(pair);
      pairs.clear();
      cut_ = false;
      continue;
    }
    std::size_t at = 1;
    for (auto pair = pairs.begin(); pair != pairs.end(); at += 2) {
      const bool good = (fds[at].revents == 0 || held_ || pass(pair->client, pair->server)) &&
                        (fds[at + 1].revents == 0 || pass(pair->server, pair->client));
      if (!good) end(*pair);
      pair = good ? std::next(pair) : pairs.erase(pair);
    }
    if (fds[0].revents != 0) {
      const int client = ::accept(listening_, nullptr, nullptr);
      const int server = connected_to(port_of(postgres_server_url()));
      if (client >= 0 && server >= 0) pairs.push_back({client, server});
      else end({client, server});
    }
  }
  for (const Pair& pair : pairs) end(pair);
}

}  // namespace baton::store
