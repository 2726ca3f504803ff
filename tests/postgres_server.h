// SPDX-License-Identifier: Apache-2.0
// What tests do with the server that with_postgres.py runs for them: a database each, statements by an administrator,
// stopping and starting it, and a way to it that can be cut.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"

namespace baton::store {

// with_postgres.py runs this test.
bool has_postgres_server();
std::string postgres_server_url();       // an administrator's
std::string postgres_server_password();  // in it
// `stop` (immediate), `start`, `restart`; true when it was done.
bool control_postgres_server(const std::string& action);

// A database of its own, dropped in the end.
class TestDatabase {
 public:
  explicit TestDatabase(const std::string& more = "");  // what follows CREATE DATABASE name
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& name() const { return name_; }
  const std::string& url() const { return url_; }

  // Runs one statement in the database on a connection of its own; the first column of the first row, as a number.
  Result<std::int64_t> run(const std::string& sql) const;
  // Ends all other connections to the database; how many there were. Where `only` is given: those whose state fits it,
  // as in "wait_event = 'SyncRep'".
  std::int64_t end_connections(const std::string& only = "true") const;

 private:
  std::string name_;
  std::string url_;
};

// The URL of a new, empty schema in a database that all of them share: for tests that need many stores, because making and
// dropping a database costs the server a checkpoint each.
std::string new_schema_url();

// Passes bytes between whoever connects to it and the server, until it is cut.
class Wire {
 public:
  Wire();
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  std::string url_of(const TestDatabase& database) const;  // through this wire
  void cut();                                              // ends all connections; new ones are let through again
  void hold(bool held) { held_ = held; }                   // bytes to the server are kept back, connections stay

 private:
  void run();

  int listening_ = -1;
  int port_ = 0;
  std::atomic<bool> cut_ = false;
  std::atomic<bool> held_ = false;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace baton::store
