// SPDX-License-Identifier: Apache-2.0
// Where a PostgreSQL URL leads, and how to speak of it without its password.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/postgres/libpq.h"

namespace baton::store::postgres {

struct Target {
  std::string url;
  std::string name;                  // "postgresql://host:port/database"
  std::vector<std::string> secrets;  // what must not show in a message
};

// postgresql://[user[:password]@][host][:port][/database][?option=value&...], with the defaults of libpq's environment
// (PGHOST and its like). STORE_LOCATION when it is something else, without a word of the URL: what libpq says of one
// that it cannot read quotes it, password and all.
Result<Target> parse_target(const Libpq& libpq, std::string_view url);

// One line, each of the secrets replaced by `***`.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets);

}  // namespace baton::store::postgres
