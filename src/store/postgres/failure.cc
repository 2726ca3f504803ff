// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/failure.h"

#include "diagnostics/diagnostic.h"
#include "store/postgres/target.h"

namespace baton::store::postgres {
namespace {

// The longest prefix that fits decides, so that a class can be one row and its exceptions others.
struct Meaning {
  std::string_view state;
  Code code;
};
constexpr Meaning kMeanings[] = {
    {"", Code::STORE_IO},
    {"08", Code::STORE_UNAVAILABLE},     // connection exceptions
    {"23505", Code::STORE_CONFLICT},     // the key is there already
    {"25006", Code::STORE_READ_ONLY},    // a standby, or a read-only default
    {"25P03", Code::STORE_UNAVAILABLE},  // idle in a transaction for too long
    {"28", Code::STORE_UNAVAILABLE},     // not let in
    {"40001", Code::STORE_CONFLICT},     // serialization failure
    {"40P01", Code::STORE_CONFLICT},     // deadlock
    {"42501", Code::STORE_READ_ONLY},    // no permission
    {"42P01", Code::STORE_CORRUPT},      // a table is missing
    {"42703", Code::STORE_CORRUPT},      // a column is missing
    {"53", Code::STORE_UNAVAILABLE},     // out of memory or connections
    {"53100", Code::STORE_FULL},
    {"55P03", Code::STORE_CONFLICT},  // waited too long for another transaction
    {"57", Code::STORE_UNAVAILABLE},  // cancelled, shutting down, starting up
    {"XX001", Code::STORE_CORRUPT},
    {"XX002", Code::STORE_CORRUPT},
};

Code meaning_of(std::string_view state) {
  const Meaning* best = &kMeanings[0];
  for (const Meaning& meaning : kMeanings)
    if (state.starts_with(meaning.state) && meaning.state.size() >= best->state.size()) best = &meaning;
  return best->code;
}

std::string field(const Libpq& libpq, const PGresult* result, int code) {
  const char* const text = libpq.PQresultErrorField(result, code);
  return text != nullptr ? text : "";
}

}  // namespace

ServerError read_error(const Libpq& libpq, const PGresult* result, const std::vector<std::string>& secrets) {
  ServerError error;
  error.state = field(libpq, result, PG_DIAG_SQLSTATE);
  error.message = field(libpq, result, PG_DIAG_MESSAGE_PRIMARY);
  if (error.message.empty()) error.message = libpq.PQresultErrorMessage(result);
  error.message = without_secrets(error.message, secrets);
  const std::string severity = field(libpq, result, PG_DIAG_SEVERITY_NONLOCALIZED);
  error.fatal = severity == "FATAL" || severity == "PANIC";
  return error;
}

Failure failure_of_server(const ServerError& error, const std::string& doing) {
  return failure_of(meaning_of(error.state), doing, {{"problem", error.message}}).value();
}

}  // namespace baton::store::postgres
