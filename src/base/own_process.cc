// SPDX-License-Identifier: Apache-2.0
#include "base/own_process.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace baton {
namespace {

constexpr const char* kCredentials[] = {"BATON_TOKEN", "BATON_SESSION_TOKEN", "BATON_MCP_TOKEN"};

}  // namespace

void guard_memory() {
  // Below the hard limit, which stays: a program that is started may want its own.
  rlimit limit = {};
  if (::getrlimit(RLIMIT_CORE, &limit) == 0) {
    limit.rlim_cur = 0;
    ::setrlimit(RLIMIT_CORE, &limit);
  }
#if !defined(__SANITIZE_ADDRESS__)  // which looks for leaks by tracing itself
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

OwnCredentials::OwnCredentials() {
  for (const char* const name : kCredentials) {
    const std::size_t size = std::strlen(name);
    bool seen = false;
    // A variable may be there several times; the first counts.
    for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
      if (std::strncmp(*one, name, size) != 0 || (*one)[size] != '=') continue;
      if (!seen) taken_.emplace_back(*one);
      seen = true;
      char* const value = *one + size + 1;
      ::explicit_bzero(value, std::strlen(value));
    }
    if (seen) ::unsetenv(name);
  }
}

OwnCredentials::~OwnCredentials() {
  for (std::string& one : taken_) ::explicit_bzero(one.data(), one.size());
}

std::optional<std::string> OwnCredentials::environment(const char* name) const {
  const std::string begin = std::string(name) + "=";
  const auto found = std::ranges::find_if(taken_, [&](const std::string& one) { return one.starts_with(begin); });
  if (found != taken_.end()) return found->substr(begin.size());
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace baton
