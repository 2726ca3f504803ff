// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or why the environment did not let us have one.
//
// Three kinds of wrong, three channels, never mixed: somebody's input is a Diagnostic (diagnostics/diagnostic.h), the
// environment (a file, a socket, a clock) is a Failure in a Result, and a mistake of our own is a CHECK (base/check.h).
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace baton {

struct Failure {
  std::string doing;           // what was tried, in the infinitive's place: "reading packet.json"
  std::string reason;          // why it could not be done: "permission denied"
  std::string_view code = {};  // of the diagnostics catalogue, where callers tell failures apart: "STORE_LOCKED"

  std::string text() const { return doing + ": " + reason; }
};

template <class T>
using Result = tl::expected<T, Failure>;

inline tl::unexpected<Failure> failure(std::string doing, std::string reason) {
  return tl::make_unexpected(Failure{std::move(doing), std::move(reason)});
}

}  // namespace baton
