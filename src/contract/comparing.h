// SPDX-License-Identifier: Apache-2.0
// Inside the comparison of plans (contract/changes.h): which way a change goes, and what its parts share.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "contract/changes.h"
#include "contract/plan.h"
#include "json/value.h"

namespace baton::contract {

// What passes now, against what passed before.
enum class Direction { Same, Wider, Narrower, Different };

Direction both(Direction one, Direction other);  // of two rules that must both hold
Direction opposite(Direction direction);
Effect effect_of(Direction direction);  // a wider rule allows

// All tests of either list must pass.
Direction direction_of(std::vector<Test> before, std::vector<Test> after);
// An upper bound: nothing means that there is none.
Direction direction_of_most(const std::optional<json::Decimal>& before, const std::optional<json::Decimal>& after);
Direction direction_of_least(const std::optional<json::Decimal>& before, const std::optional<json::Decimal>& after);

// Those that only the first has, in quotes.
std::vector<std::string> only_in(const std::set<std::string>& one, const std::set<std::string>& other);

// Where something differs that no field accounts for: its place in the two values, in words.
std::string first_difference(const json::Value& before, const json::Value& after);

// Lists of invariants that must all hold, path by path.
struct PathChange {
  Direction direction;
  std::string text;  // "`$.amount` must be at most 5 (before: ...)"
};
std::vector<PathChange> path_changes(const std::vector<Invariant>& was, const Plan& before,
                                     const std::vector<Invariant>& is, const Plan& after);

struct Comparison {
  const Plan& before;
  const Plan& after;
  std::vector<Change> changes = {};

  void add(Effect effect, std::string_view tool, std::string_view field, std::string text) {
    changes.push_back({effect, std::string(tool), std::string(field), std::move(text)});
  }
  // Nothing is added when the direction is Same. One that goes both ways says so.
  void add(Direction direction, std::string_view tool, std::string_view field, std::string text);

  void session();
  void policy();  // of the session and of the tools together
  void tool(const Tool& was, const Tool& is);
  void checkpoint(const Checkpoint& was, const Checkpoint& is, std::string_view tool);

  // Of path_changes(). `where`: how a sentence about one begins, "In the tool's output, ".
  void invariants(const std::vector<Invariant>& was, const std::vector<Invariant>& is, std::string_view tool,
                  std::string_view field, std::string_view where = {});
};

// Items by what they say: those that only one list has. What both have, as often as they have it, is left out.
template <class Item>
struct Unmatched {
  std::vector<const Item*> was, is;
};
template <class Item>
Unmatched<Item> unmatched(const std::vector<Item>& was, const std::vector<Item>& is,
                          const std::function<std::string(const Item&, bool after)>& says) {
  Unmatched<Item> out;
  std::multiset<std::string> there;
  for (const Item& item : was) there.insert(says(item, false));
  for (const Item& item : is) {
    if (const auto found = there.find(says(item, true)); found != there.end()) there.erase(found);
    else out.is.push_back(&item);
  }
  for (const Item& item : was)
    if (const auto found = there.find(says(item, false)); found != there.end()) {
      there.erase(found);
      out.was.push_back(&item);
    }
  return out;
}

}  // namespace baton::contract
