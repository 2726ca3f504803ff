// SPDX-License-Identifier: Apache-2.0
// Translation of a handoff from one dialect to another, through the one Handoff value.
//
// Nothing is ever invented. What the target needs and the source does not have is TRANSLATE_MISSING, unless the caller
// supplies it; what the source says and the target has no place for is TRANSLATE_LOST (an error when strict). Supplied
// values fill gaps; they never replace what the source says. The original is referred to by its digest, never inlined.
// What comes out has passed the checker of its dialect.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "dialects/handoff_spec/spec.h"
#include "handoff/handoff.h"

namespace baton::translate {

struct Options {
  Dialect to = Dialect::AgentExit;
  Time now;             // packets are checked for expiry
  bool strict = false;  // a loss is an error
  const handoff_spec::Profile* profile = handoff_spec::find_profile("default");
  std::optional<json::Value> with;                       // an object laid under the target's members
  std::vector<std::pair<std::string, json::Value>> set;  // single members, by JSON Pointer into the target
};

struct Translation {
  std::vector<Diagnostic> diagnostics;
  std::optional<json::Value> document;  // when there is no error
  std::string text;  // the document as its dialect writes it: a contract in its fence, a packet sealed

  bool done() const { return document.has_value(); }
};

Translation translate(const Handoff& source, const Options& options);

}  // namespace baton::translate
