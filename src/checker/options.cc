// SPDX-License-Identifier: Apache-2.0
#include "checker/checker.h"

namespace baton::checker {
namespace {

bool read_strings(json::Node node, std::vector<std::string>& out) {
  if (!node || node.is_null()) return true;
  if (!node.is_array()) return false;
  for (const json::Node element : node.elements()) {
    if (!element.is_string()) return false;
    out.emplace_back(element.string());
  }
  return true;
}

bool read_boolean(json::Node node, bool& out) {
  if (!node || node.is_null()) return true;
  if (!node.is_boolean()) return false;
  out = node.boolean();
  return true;
}

// null is as good as absent for everything optional.
json::Node given(json::Node parent, std::string_view name) {
  const json::Node node = parent[name];
  return node.is_null() ? json::Node() : node;
}

}  // namespace

std::optional<std::string> read_options(json::Node line, Options& options) {
  if (const json::Node now = given(line, "now")) {
    const auto time = now.is_string() ? parse_time(now.string()).time : std::nullopt;
    if (!time) return "has a `now` that is not a UTC time";
    options.now = *time;
  }
  if (const json::Node envelope = given(line, "input_envelope")) {
    if (!envelope.is_object()) return "has an `input_envelope` that is not an object";
    options.input_envelope = envelope;
  }
  if (const json::Node given_options = given(line, "options")) {
    if (!given_options.is_object()) return "has `options` that are not an object";
    if (!read_boolean(given_options["fixture"], options.fixture) ||
        !read_boolean(given_options["strict"], options.strict))
      return "has an option that is not true or false";
    if (!read_strings(given_options["known_extensions"], options.known_extensions) ||
        !read_strings(given_options["writable"], options.writable))
      return "has an option that is not a list of strings";
    if (const json::Node profile = given(given_options, "profile")) {
      const auto* found = profile.is_string() ? handoff_spec::find_profile(profile.string()) : nullptr;
      if (found == nullptr) return "names an unknown profile";
      options.profile = found;
    }
    if (const json::Node dialect = given(given_options, "dialect"); dialect && !dialect.is_text("auto")) {
      options.dialect = dialect.is_string() ? find_dialect(dialect.string()) : std::nullopt;
      if (!options.dialect) return "names an unknown dialect";
    }
  }
  if (const json::Node state = given(line, "state")) {
    if (!state.is_object()) return "has a `state` that is not an object";
    if (const json::Node seen = given(state, "seen"); seen && !seen.is_array())
      return "has a `state.seen` that is not a list";
    for (const json::Node seen : state["seen"].elements()) {
      const auto text = [&](std::string_view name) {
        return seen[name].is_string() ? std::string(seen[name].string()) : std::string();
      };
      options.seen.push_back({text("message_id"), text("source_id"), text("idempotency_key"), text("digest")});
    }
  }
  return std::nullopt;
}

}  // namespace baton::checker
