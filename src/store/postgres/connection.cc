// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "diagnostics/diagnostic.h"
#include "store/postgres/failure.h"

namespace baton::store::postgres {
namespace {

// PostgreSQL's numbers of its types.
constexpr Oid kBytea = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;

// PostgreSQL holds no value of a gibibyte or more.
constexpr std::size_t kValueBytesMax = (1u << 30) - 1024;

std::uint64_t in_network_order(std::int64_t value) {
  std::array<unsigned char, 8> bytes;
  auto rest = static_cast<std::uint64_t>(value);
  for (std::size_t i = bytes.size(); i-- > 0; rest >>= 8) bytes[i] = static_cast<unsigned char>(rest);
  std::uint64_t out;
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

enum class Ready { Socket, Stopped, Silence };

// Waits for the socket, for the other descriptor or for the end of patience.
Ready wait_for(int socket, short events, int stop_fd, int timeout_ms, short* seen = nullptr) {
  std::array<pollfd, 2> descriptors = {pollfd{socket, events, 0}, pollfd{stop_fd, POLLIN, 0}};
  int count;
  do count = ::poll(descriptors.data(), stop_fd < 0 ? 1 : 2, timeout_ms);
  while (count < 0 && errno == EINTR);
  if (count <= 0) return Ready::Silence;
  if (descriptors[1].revents != 0) return Ready::Stopped;
  if (seen != nullptr) *seen = descriptors[0].revents;
  return Ready::Socket;
}

bool is_readable(int socket) { return wait_for(socket, POLLIN, -1, 0) == Ready::Socket; }

void say_nothing(void*, const char*) {}  // libpq would print the server's notices

}  // namespace

// --- values -------------------------------------------------------------------------------------------------------------

void Parameters::integer(std::int64_t value) { items_.push_back({kInt8, nullptr, 8, in_network_order(value), true}); }

void Parameters::text(std::string_view value) { chars(kText, value); }
void Parameters::bytes(std::string_view value) { chars(kBytea, value); }

void Parameters::chars(Oid type, std::string_view value) {
  if (value.size() > kValueBytesMax) too_large_ = true;
  const int length = static_cast<int>(std::min(value.size(), kValueBytesMax));
  items_.push_back({type, value.empty() ? "" : value.data(), length, 0, false});  // null would be SQL NULL
}

void Parameters::value(Type type, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return integer(*number);
  const Oid oid = type == Type::Integer ? kInt8 : type == Type::Text ? kText : kBytea;
  if (const auto* string = std::get_if<std::string>(&value)) return chars(oid, *string);
  items_.push_back({oid, nullptr, 0, 0, false});
}

std::size_t Rows::size() const { return result_ ? static_cast<std::size_t>(libpq_->PQntuples(result_.get())) : 0; }

std::size_t Rows::columns() const { return result_ ? static_cast<std::size_t>(libpq_->PQnfields(result_.get())) : 0; }

bool Rows::is_nothing(std::size_t row, std::size_t column) const {
  return libpq_->PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) != 0;
}

std::int64_t Rows::integer(std::size_t row, std::size_t column) const {
  const std::string_view value = bytes(row, column);
  if (value.empty()) return 0;
  // Eight bytes, unless somebody has altered the table: then whatever it holds.
  std::uint64_t number = (value[0] & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : value) number = number << 8 | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(number);
}

std::string_view Rows::bytes(std::size_t row, std::size_t column) const {
  const int r = static_cast<int>(row), c = static_cast<int>(column);
  return {libpq_->PQgetvalue(result_.get(), r, c), static_cast<std::size_t>(libpq_->PQgetlength(result_.get(), r, c))};
}

Value Rows::value(std::size_t row, std::size_t column, Type type) const {
  if (is_nothing(row, column)) return {};
  if (type == Type::Integer) return integer(row, column);
  return std::string(bytes(row, column));
}

std::string_view Rows::command() const { return result_ ? libpq_->PQcmdStatus(result_.get()) : ""; }

// --- connecting ---------------------------------------------------------------------------------------------------------

Connection::Connection(std::shared_ptr<const Libpq> libpq, const Target& target, const ConnectionOptions& options)
    : libpq_(std::move(libpq)), target_(target), options_(options) {}

Connection::~Connection() {
  kept_.clear();
  if (connection_ != nullptr) libpq_->PQfinish(connection_);
}

Result<std::unique_ptr<Connection>> Connection::connect(std::shared_ptr<const Libpq> libpq, const Target& target,
                                                        const ConnectionOptions& options, int stop_fd) {
  std::unique_ptr<Connection> connection(new Connection(std::move(libpq), target, options));
  connection->begin_turn("opening");
  if (Result<void> reached = connection->reach(stop_fd); !reached) return tl::make_unexpected(reached.error());
  if (Result<void> set = connection->set_up(); !set) return tl::make_unexpected(set.error());
  return connection;
}

Result<void> Connection::reach(int stop_fd) {
  // What stands before the URL, the URL can change; what stands after it, it cannot. The keepalives find a peer that is
  // gone within half a minute, so that a waiting node learns of it.
  const std::array<const char*, 9> names = {"fallback_application_name", "keepalives_idle",  "keepalives_interval",
                                            "keepalives_count",          "tcp_user_timeout", "dbname",
                                            "client_encoding",           "replication",      nullptr};
  const std::array<const char*, 9> values = {"baton", "10",    "5",    "4", "30000", target_.url.c_str(),
                                             "UTF8",  "false", nullptr};
  connection_ = libpq_->PQconnectStartParams(names.data(), values.data(), 1);
  CHECK(connection_ != nullptr);  // out of memory
  if (const char* password = libpq_->PQpass(connection_); password != nullptr && *password != '\0')
    target_.secrets.emplace_back(password);  // one from ~/.pgpass

  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (libpq_->PQstatus(connection_) != CONNECTION_BAD && state != PGRES_POLLING_OK) {
    const short events = state == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    const Ready ready = wait_for(libpq_->PQsocket(connection_), events, stop_fd, options_.connect_silence_ms);
    if (ready != Ready::Socket) {
      lost(ready == Ready::Silence ? "the server does not answer" : "told to stop");
      return tl::make_unexpected(*fault_);
    }
    state = libpq_->PQconnectPoll(connection_);
    if (state == PGRES_POLLING_FAILED) break;
  }
  if (libpq_->PQstatus(connection_) != CONNECTION_OK) {
    lost(libpq_->PQerrorMessage(connection_));
    return tl::make_unexpected(*fault_);
  }
  return {};
}

Result<void> Connection::set_up() {
  libpq_->PQsetNoticeProcessor(connection_, say_nothing, nullptr);
  // Without it a client and a server that both wait for the other to read would wait for ever.
  if (libpq_->PQsetnonblocking(connection_, 1) != 0 || libpq_->PQenterPipelineMode(connection_) != 1) {
    lost(libpq_->PQerrorMessage(connection_));
    return tl::make_unexpected(*fault_);
  }
  const std::string encoding(parameter("server_encoding"));
  if (encoding != "UTF8")
    return failure_of(
        Code::STORE_LOCATION, doing_,
        {{"location", target_.name}, {"problem", "the database's encoding is " + encoding + ", not UTF8"}});
  // Whatever the server's default: a commit that was confirmed is on disk, on that of synchronous standbys too.
  // `remote_apply` is more than `on` and stays.
  send_once(
      "SELECT set_config('synchronous_commit', 'on', false) "
      "WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')");
  send_once("SET lock_timeout = " + std::to_string(options_.lock_timeout_ms));
  send_once("SET idle_in_transaction_session_timeout = " + std::to_string(options_.idle_transaction_ms));
  return await_all();
}

std::string_view Connection::parameter(const char* name) const {
  const char* const value = libpq_->PQparameterStatus(connection_, name);
  return value != nullptr ? value : "";
}

// --- sending ------------------------------------------------------------------------------------------------------------

void Connection::begin_turn(std::string_view verb) {
  turn_ = sent_;
  if (!broken_) fault_.reset();
  kept_.clear();
  for (Pending& pending : pending_) pending.want = pending.want == Want::Rows ? Want::Nothing : pending.want;
  set_doing(verb);
}

void Connection::set_doing(std::string_view verb) { doing_.assign(verb).append(" ").append(target_.name); }

void Connection::lay_out(const Parameters& parameters) {
  types_.clear();
  values_.clear();
  lengths_.clear();
  formats_.assign(parameters.items_.size(), 1);
  for (const Parameters::Item& item : parameters.items_) {
    types_.push_back(item.type);
    values_.push_back(item.is_number ? reinterpret_cast<const char*>(&item.number) : item.data);
    lengths_.push_back(item.length);
  }
}

Connection::Serial Connection::queued(int sent, Pending pending) {
  pending.serial = ++sent_;
  if (sent != 1) {
    if (!broken_) lost(libpq_->PQerrorMessage(connection_));
    return pending.serial;
  }
  if (pending.want == Want::OneRow) ++one_row_pending_;
  if (pending.kind == Kind::Preparation) ++preparing_;
  pending_.push_back(pending);
  return pending.serial;
}

bool Connection::can_send(const Parameters& parameters) {
  if (parameters.too_large_ && !broken_)
    failed(sent_ + 1, failure_of(Code::STORE_IO, doing_, {{"problem", "a value is too large for PostgreSQL"}}).value());
  return !broken_ && !parameters.too_large_;
}

Connection::Serial Connection::send(std::string_view sql, const Parameters& parameters, Want want) {
  if (!can_send(parameters)) return ++sent_;
  lay_out(parameters);
  auto known = prepared_.find(sql);
  if (known == prepared_.end()) {
    known = prepared_.emplace(sql, "b" + std::to_string(++names_)).first;
    const int sent = libpq_->PQsendPrepare(connection_, known->second.c_str(), known->first.c_str(),
                                           static_cast<int>(types_.size()), types_.data());
    queued(sent, {.kind = Kind::Preparation, .prepares = &known->first});
    if (broken_) return sent_;
  }
  return queued(libpq_->PQsendQueryPrepared(connection_, known->second.c_str(), static_cast<int>(values_.size()),
                                            values_.data(), lengths_.data(), formats_.data(), 1),
                {.kind = Kind::Statement, .want = want});
}

Connection::Serial Connection::send_once(const std::string& sql, const Parameters& parameters, Want want) {
  if (!can_send(parameters)) return ++sent_;
  lay_out(parameters);
  return queued(libpq_->PQsendQueryParams(connection_, sql.c_str(), static_cast<int>(values_.size()), types_.data(),
                                          values_.data(), lengths_.data(), formats_.data(), 1),
                {.kind = Kind::Statement, .want = want});
}

Connection::Serial Connection::send_rollback_to(const std::string& name, Serial savepoint) {
  if (broken_) return ++sent_;
  const std::string sql = "ROLLBACK TO SAVEPOINT " + name;
  return queued(libpq_->PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1),
                {.kind = Kind::Statement, .undoes_after = savepoint});
}

void Connection::refuse(Failure failure) { failed(++sent_, std::move(failure)); }

void Connection::sync() {
  if (!broken_) queued(libpq_->PQpipelineSync(connection_), {.kind = Kind::Sync});
}

void Connection::push() {
  if (!broken_ && libpq_->PQflush(connection_) < 0) lost(libpq_->PQerrorMessage(connection_));
}

// --- receiving ----------------------------------------------------------------------------------------------------------

Result<Rows> Connection::await(Serial serial) {
  if (!broken_ && !pending_.empty() && pending_.back().kind != Kind::Sync) sync();
  while (!broken_ && !pending_.empty() && pending_.front().serial <= serial) take_one();
  if (fault_) return tl::make_unexpected(*fault_);
  auto kept = kept_.extract(serial);
  return kept.empty() ? Rows() : std::move(kept.mapped());
}

Result<void> Connection::await_all() {
  if (Result<Rows> awaited = await(sent_); !awaited) {
    // The rest are answers to what was skipped, and the sync after it.
    while (!broken_ && !pending_.empty()) take_one();
    return tl::make_unexpected(*fault_);
  }
  while (!broken_ && !pending_.empty()) take_one();
  if (fault_) return tl::make_unexpected(*fault_);
  return {};
}

void Connection::forget(Serial serial) {
  kept_.erase(serial);
  for (Pending& pending : pending_)
    if (pending.serial == serial) pending.want = Want::Nothing;
}

bool Connection::flush_and_read() {
  const int unsent = libpq_->PQflush(connection_);
  short seen = 0;
  if (unsent >= 0) {
    const auto events = static_cast<short>(unsent == 0 ? POLLIN : POLLIN | POLLOUT);
    const Ready ready = wait_for(libpq_->PQsocket(connection_), events, -1, options_.answer_silence_ms, &seen);
    if (ready != Ready::Socket) {
      lost("the server does not answer");
      return false;
    }
    if ((seen & ~POLLOUT) == 0 || libpq_->PQconsumeInput(connection_) == 1) return true;
  }
  lost(libpq_->PQerrorMessage(connection_));
  return false;
}

PGresult* Connection::next_result() {
  while (libpq_->PQisBusy(connection_) != 0)
    if (!flush_and_read()) return nullptr;
  return libpq_->PQgetResult(connection_);
}

void Connection::take_one() {
  const Pending pending = pending_.front();
  if (pending.kind != Kind::Sync) return take_statement(pending);
  PGresult* const result = next_result();
  const bool synced = result != nullptr && libpq_->PQresultStatus(result) == PGRES_PIPELINE_SYNC;
  if (result != nullptr) libpq_->PQclear(result);
  if (broken_) return;
  if (!synced) return lost(libpq_->PQerrorMessage(connection_));
  pending_.pop_front();
}

void Connection::take_statement(const Pending& pending) {
  bool done = false;
  while (PGresult* const result = next_result()) {
    Rows rows(*libpq_, result);
    const ExecStatusType status = libpq_->PQresultStatus(result);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
      done = true;
      if (pending.want == Want::OneRow && std::strcmp(libpq_->PQcmdTuples(result), "1") != 0)
        failed(pending.serial, failure_of(Code::STORE_CONFLICT, doing_).value());
      if (pending.want == Want::Rows) kept_.insert_or_assign(pending.serial, std::move(rows));
    } else if (status != PGRES_PIPELINE_ABORTED) {
      const ServerError error = read_error(*libpq_, result, target_.secrets);
      if (libpq_->PQstatus(connection_) == CONNECTION_BAD || error.fatal) return lost(error.message);
      failed(pending.serial, failure_of_server(error, doing_));
    }
  }
  if (broken_) return;
  if (pending.want == Want::OneRow) --one_row_pending_;
  if (pending.kind == Kind::Preparation) {
    --preparing_;
    if (!done) prepared_.erase(prepared_.find(*pending.prepares));
  }
  const bool undone = done && pending.undoes_after != 0 && fault_ && fault_serial_ > pending.undoes_after;
  if (undone && (fault_->code.empty() || fault_->code == info(Code::STORE_CONFLICT).name)) fault_.reset();
  pending_.pop_front();
}

void Connection::failed(Serial serial, Failure failure) {
  if (fault_ || serial <= turn_) return;
  fault_ = std::move(failure);
  fault_serial_ = serial;
}

void Connection::lost(std::string_view reason) {
  const std::string problem = without_secrets(reason, target_.secrets);
  fault_ = failure_of(Code::STORE_UNAVAILABLE, doing_,
                      {{"problem", problem.empty() ? std::string_view("the connection was lost") : problem}})
               .value();
  fault_serial_ = sent_;
  broken_ = true;
  pending_.clear();
  kept_.clear();
  one_row_pending_ = preparing_ = 0;
}

bool Connection::is_alive() {
  // An end of the connection can stand behind a message that says why.
  for (int i = 0; i < 3 && !broken_ && is_readable(libpq_->PQsocket(connection_)); ++i) {
    if (libpq_->PQconsumeInput(connection_) == 0) lost(libpq_->PQerrorMessage(connection_));
    while (!broken_ && !pending_.empty() && libpq_->PQisBusy(connection_) == 0) take_one();
  }
  return !broken_;
}

Result<std::vector<std::string>> Connection::await_notifications(int stop_fd) {
  CHECK(pending_.empty());
  if (broken_) return tl::make_unexpected(*fault_);
  // In pipeline mode libpq leaves what it did not ask for unread, and a notification behind it (the server reports a
  // changed setting, say) would not be seen.
  libpq_->PQexitPipelineMode(connection_);
  std::vector<std::string> payloads;
  while (true) {
    while (PGnotify* const notification = libpq_->PQnotifies(connection_)) {
      payloads.emplace_back(notification->extra);
      libpq_->PQfreemem(notification);
    }
    if (!payloads.empty()) break;
    const Ready ready = wait_for(libpq_->PQsocket(connection_), POLLIN, stop_fd, -1);
    if (ready == Ready::Stopped) break;
    if (libpq_->PQconsumeInput(connection_) == 0) {
      lost(libpq_->PQerrorMessage(connection_));
      return tl::make_unexpected(*fault_);
    }
  }
  libpq_->PQenterPipelineMode(connection_);
  return payloads;
}

}  // namespace baton::store::postgres
