// SPDX-License-Identifier: Apache-2.0
// One connection to a PostgreSQL server, always in pipeline mode: statements are sent without waiting for their answers,
// and answers are taken when somebody needs one. Statements run on the server in the order of sending.
//
// A statement that fails makes the server skip what follows, up to the next sync(). The failure is kept (fault()) and
// given back by await(), whichever statement was asked for, until the next owner of the connection begins; or, where it is
// a conflict or a refusal, until a rollback to a savepoint that was made before the failed statement undoes it.
//
// Not for several threads at once. Waiting is bounded by the silence of the server, not by a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "store/postgres/libpq.h"
#include "store/postgres/target.h"
#include "store/value.h"

namespace baton::store::postgres {

// The values of $1, $2, ... in binary form. Text and bytes are not copied: they must live until the statement was sent.
class Parameters {
 public:
  void integer(std::int64_t value);
  void text(std::string_view value);
  void bytes(std::string_view value);
  void value(Type type, const Value& value);

  std::size_t size() const { return items_.size(); }

 private:
  friend class Connection;
  struct Item {
    Oid type;
    const char* data;  // null: SQL NULL, or a number
    int length;
    std::uint64_t number;  // in network order
    bool is_number;
  };
  void chars(Oid type, std::string_view value);

  std::vector<Item> items_;
  bool too_large_ = false;
};

// What a statement gave.
class Rows {
 public:
  Rows() = default;
  Rows(const Libpq& libpq, PGresult* result) : libpq_(&libpq), result_(result, libpq.PQclear) {}

  std::size_t size() const;
  std::size_t columns() const;
  bool is_nothing(std::size_t row, std::size_t column) const;
  std::int64_t integer(std::size_t row, std::size_t column) const;
  std::string_view bytes(std::size_t row, std::size_t column) const;  // or text; as long as these Rows
  Value value(std::size_t row, std::size_t column, Type type) const;
  std::string_view command() const;  // "INSERT 0 1", "COMMIT"

 private:
  const Libpq* libpq_ = nullptr;
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_{nullptr, nullptr};
};

struct ConnectionOptions {
  int connect_silence_ms = 10'000;  // the longest silence of a server while connecting
  int answer_silence_ms = 600'000;  // and while a statement runs; a peer that is gone is found sooner, by keepalives
  // Set for the session, on the server: how long a statement waits for a row that another node's transaction holds, and
  // how long a transaction may stay idle before the server ends it, so that a node that hangs does not stop the others.
  int lock_timeout_ms = 60'000;
  int idle_transaction_ms = 60'000;
};

class Connection {
 public:
  // The number of a statement, in the order of sending.
  using Serial = std::uint64_t;

  enum class Want {
    Nothing,  // only that it does not fail
    Rows,     // what it gave is kept for await()
    OneRow,   // that it changed exactly one row: else it counts as failed, STORE_CONFLICT
  };

  // STORE_UNAVAILABLE when the server cannot be reached or does not let us in. Gives up as soon as `stop_fd` is readable.
  static Result<std::unique_ptr<Connection>> connect(std::shared_ptr<const Libpq> libpq, const Target& target,
                                                     const ConnectionOptions& options, int stop_fd = -1);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Somebody else's turn: forgets faults, and says what is being done, for failures.
  void begin_turn(std::string_view verb);
  void set_doing(std::string_view verb);
  const std::string& doing() const { return doing_; }  // "reading postgresql://..."

  // Sends a statement that is prepared when this connection first sees its text, so there must be few different texts.
  Serial send(std::string_view sql, const Parameters& parameters = {}, Want want = Want::Nothing);
  // Sends a statement that is not worth preparing.
  Serial send_once(const std::string& sql, const Parameters& parameters = {}, Want want = Want::Nothing);
  // Sends ROLLBACK TO SAVEPOINT: a fault of a statement sent after `savepoint` is forgiven when the answer comes.
  Serial send_rollback_to(const std::string& name, Serial savepoint);
  // Counts as a statement that failed, though the server never hears of it.
  void refuse(Failure failure);
  // The server goes on here after a statement that failed.
  void sync();
  // Lets the server begin with what was sent. Does not wait.
  void push();

  // Waits for the answer of a statement, and takes those before it. Rows only where they were wanted; once.
  Result<Rows> await(Serial serial);
  // Waits for all answers.
  Result<void> await_all();
  // The answer is not wanted any more.
  void forget(Serial serial);

  // The first failure that was not undone.
  const std::optional<Failure>& fault() const { return fault_; }
  // Answers that decide whether a statement with Want::OneRow failed, and have not been taken yet.
  bool awaits_one_row() const { return one_row_pending_ > 0; }
  // Statements whose preparation has not been confirmed: what follows a sync() cannot rely on them.
  bool awaits_preparation() const { return preparing_ > 0; }

  // The connection is of no more use.
  bool broken() const { return broken_; }
  // Nobody is to use it again; the server rolls back what is open in it.
  void retire() { lost("the connection was given up"); }
  // Takes what has come in without waiting; false when the connection turns out to be gone.
  bool is_alive();

  // Waits for notifications (LISTEN) or until `stop_fd` is readable, and gives their payloads. Fails when the connection
  // is gone.
  Result<std::vector<std::string>> await_notifications(int stop_fd);

  std::string_view parameter(const char* name) const;  // what the server reports of itself: "server_encoding"

 private:
  enum class Kind { Statement, Preparation, Sync };
  struct Pending {
    Kind kind;
    Serial serial = 0;
    Want want = Want::Nothing;
    Serial undoes_after = 0;                // of a rollback to a savepoint: the savepoint's; else 0
    const std::string* prepares = nullptr;  // of a preparation: the text, in prepared_
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  Connection(std::shared_ptr<const Libpq> libpq, const Target& target, const ConnectionOptions& options);
  Result<void> reach(int stop_fd);
  Result<void> set_up();

  bool can_send(const Parameters& parameters);
  Serial queued(int sent, Pending pending);
  void lay_out(const Parameters& parameters);

  bool flush_and_read();    // waits for the server once; false when broken
  PGresult* next_result();  // null at the end of a statement, or when broken
  void take_one();          // the answer that is due next
  void take_statement(const Pending& pending);
  void failed(Serial serial, Failure failure);
  void lost(std::string_view reason);
  Failure failure_in(const PGresult* result);

  std::shared_ptr<const Libpq> libpq_;
  Target target_;
  ConnectionOptions options_;
  PGconn* connection_ = nullptr;
  std::string doing_;

  std::deque<Pending> pending_;
  Serial sent_ = 0;
  std::size_t one_row_pending_ = 0;
  std::size_t preparing_ = 0;
  std::map<Serial, Rows> kept_;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> prepared_;  // text of a statement -> its name
  std::uint64_t names_ = 0;

  Serial turn_ = 0;  // what was sent before it is of no interest any more
  std::optional<Failure> fault_;
  Serial fault_serial_ = 0;
  bool broken_ = false;

  // Scratch space for libpq's parallel arrays.
  std::vector<Oid> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace baton::store::postgres
