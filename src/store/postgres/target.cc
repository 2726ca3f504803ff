// SPDX-License-Identifier: Apache-2.0
#include "store/postgres/target.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/text.h"
#include "diagnostics/diagnostic.h"

namespace baton::store::postgres {
namespace {

struct Where {
  std::string host, port, database, user;
};

// Takes over what is set; what was set before stays where it is not.
void read(const PQconninfoOption* option, Where& where, std::vector<std::string>& secrets) {
  for (; option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val == nullptr || *option->val == '\0') continue;
    if (std::strcmp(option->keyword, "host") == 0) where.host = option->val;
    if (std::strcmp(option->keyword, "port") == 0) where.port = option->val;
    if (std::strcmp(option->keyword, "dbname") == 0) where.database = option->val;
    if (std::strcmp(option->keyword, "user") == 0) where.user = option->val;
    if (*option->dispchar == '*') secrets.emplace_back(option->val);  // libpq's mark for what is not to be shown
  }
}

bool is_port(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_digit(c) || c == ','; });
}

// A host is a name, an address, or the folder of a socket, which a URL writes with its slashes escaped.
std::string shown_host(const std::string& host) {
  if (host.find(':') != std::string::npos && host.find(',') == std::string::npos) return "[" + host + "]";
  std::string shown;
  for (const char c : host)
    if (c == '/') shown += "%2F";
    else shown += c;
  return shown;
}

tl::unexpected<Failure> no_target(std::string_view problem) {
  return failure_of(Code::STORE_LOCATION, "reading the URL of the store",
                    {{"location", "postgresql://..."}, {"problem", problem}});
}

}  // namespace

Result<Target> parse_target(const Libpq& libpq, std::string_view url) {
  if (!url.starts_with("postgresql://") && !url.starts_with("postgres://"))
    return no_target("it does not begin with postgresql://");
  Target target{.url = std::string(url), .name = {}, .secrets = {}};
  const auto free = [&](PQconninfoOption* options) { libpq.PQconninfoFree(options); };
  using Options = std::unique_ptr<PQconninfoOption, decltype(free)>;

  Where where;
  const Options defaults(libpq.PQconndefaults(), free);
  read(defaults.get(), where, target.secrets);
  char* error = nullptr;
  const Options given(libpq.PQconninfoParse(target.url.c_str(), &error), free);
  if (error != nullptr) libpq.PQfreemem(error);
  if (!given)
    return no_target("it is not written as PostgreSQL's URLs are; escape what is special in it, as %40 for @");
  read(given.get(), where, target.secrets);

  // A password with an `@` or `/` that is not escaped ends early, and the rest of it would be taken for the host or the
  // database and be shown.
  const auto has_at = [](const std::string& part) { return part.find('@') != std::string::npos; };
  if (has_at(where.host) || has_at(where.database) || !is_port(where.port))
    return no_target("its host, port or database cannot be right; escape what is special in it, as %40 for @");

  if (where.database.empty()) where.database = where.user;
  const std::string host = where.host.empty() ? "localhost" : shown_host(where.host);
  target.name = "postgresql://" + host;
  if (!where.port.empty()) target.name += ":" + where.port;
  target.name += "/" + where.database;
  return target;
}

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets) {
  std::string out(trim(text));
  for (const std::string& secret : secrets) {
    if (secret.empty()) continue;
    for (std::size_t at = out.find(secret); at != std::string::npos; at = out.find(secret, at + 3))
      out.replace(at, secret.size(), "***");
  }
  // libpq puts its hints on lines of their own.
  for (std::size_t at = out.find('\n'); at != std::string::npos; at = out.find('\n', at)) {
    std::size_t end = at;
    while (end < out.size() && (out[end] == '\n' || out[end] == '\t' || out[end] == ' ')) ++end;
    out.replace(at, end - at, " ");
  }
  return out;
}

}  // namespace baton::store::postgres
