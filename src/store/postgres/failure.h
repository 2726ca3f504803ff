// SPDX-License-Identifier: Apache-2.0
// What PostgreSQL reports as an error, and which failure of a store that is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/postgres/libpq.h"

namespace baton::store::postgres {

struct ServerError {
  std::string state;    // SQLSTATE, five characters; empty when libpq itself reports (the connection is gone)
  std::string message;  // one line, without secrets and without the values of rows (those stand in PostgreSQL's detail)
  bool fatal = false;   // the server ends the connection
};

ServerError read_error(const Libpq& libpq, const PGresult* result, const std::vector<std::string>& secrets);

// By SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html
Failure failure_of_server(const ServerError& error, const std::string& doing);

}  // namespace baton::store::postgres
