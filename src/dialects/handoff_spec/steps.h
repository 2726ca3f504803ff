// SPDX-License-Identifier: Apache-2.0
// Inside the dialect: the steps check() takes, one per group of fields, and the readings that checking, resolving and the
// gate share, so that what was checked and what is used cannot drift apart.
#pragma once

#include <initializer_list>
#include <set>

#include "base/limits.h"
#include "dialects/handoff_spec/spec.h"

namespace baton::handoff_spec {

enum class Need { Required, Optional };

// One run over one spec: every step reads `root` and adds what it finds.
struct Run {
  json::Node root;  // an object
  const Profile& profile;
  Time now;
  std::vector<Diagnostic>& found;

  void add(Code code, json::Node at, std::initializer_list<Argument> arguments = {}) {
    if (found.size() < limits::kDiagnosticsMax) found.push_back(report(code, place_of(at), arguments));
  }
  void add_absent(Code code, std::string_view member, std::initializer_list<Argument> arguments = {}) {
    if (found.size() < limits::kDiagnosticsMax) found.push_back(report(code, place_of_absent(root, member), arguments));
  }
  void add_wrong_type(json::Node at, std::string_view expected);

  // The member, when it is there and has its type; what else is the case is reported. Null is a wrong type, not an
  // absence: whoever writes a field is taken at their word.
  json::Node take(std::string_view name, json::Kind kind, Need need);
  json::Node take_integer(std::string_view name, Need need);
  // The elements that are strings; the others are reported.
  std::vector<json::Node> take_strings(json::Node array);
};

void check_task_slug(Run& run);
// The names listed, known or not; nothing when there is no list to judge others by.
std::optional<std::set<std::string_view>> check_surfaces(Run& run);
void check_operator_approval(Run& run);
void check_linked_card(Run& run);
void check_lifetime(Run& run);
void check_repository(Run& run);
void check_mcp_tools(Run& run, const std::optional<std::set<std::string_view>>& surfaces);
void check_aws_policy(Run& run, const std::optional<std::set<std::string_view>>& surfaces);

// "a string", "an array", "null": for messages.
std::string_view with_article(json::Kind kind);

// --- readings -------------------------------------------------------------------------------------------------------

// `expected_runtime`, or its default of an hour; nothing when it is not a duration within the profile's cap.
std::optional<std::int64_t> runtime_seconds(json::Node root, const Profile& profile);

// `ttl_hours`, or its default, the profile's cap; nothing when it is not a whole number within the cap.
std::optional<std::int64_t> ttl_hours(json::Node root, const Profile& profile);

// When the grant ends: `ttl_expires_at` when given, else `now` + `ttl_hours`. Nothing when the one that decides cannot be
// read.
std::optional<Time> expiry(json::Node root, Time now, const Profile& profile);

// Does work of that length, begun now, end before `expires_at` or less than the grace after it?
bool runtime_fits(Time now, std::int64_t runtime_seconds, Time expires_at);

// Is work of that length revoked by itself? More than an hour, not an hour.
bool needs_velvet(std::int64_t runtime_seconds);

// `time` + `seconds`, staying at the end of what a Time can hold.
Time seconds_after(Time time, std::int64_t seconds);

const AddableTool* find_addable(const Profile& profile, std::string_view tool);
bool holds(std::span<const std::string_view> sorted, std::string_view name);

// What a spec without errors comes to.
Resolved resolve(json::Node root, const Profile& profile, Time now);

}  // namespace baton::handoff_spec
