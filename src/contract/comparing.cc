// SPDX-License-Identifier: Apache-2.0
#include "contract/comparing.h"

#include <algorithm>
#include <map>

#include "contract/bounds.h"
#include "contract/words.h"
#include "json/pointer.h"

namespace baton::contract {
namespace {

using std::string;

Direction wider_if(bool wider) { return wider ? Direction::Wider : Direction::Narrower; }

bool holds(const json::Value& list, const json::Value& item) {
  return std::ranges::any_of(list.elements(), [&](const json::Value& one) { return equal(one, item); });
}

// Of two tests with the same operator that are not the same.
Direction direction_of(const Test& before, const Test& after) {
  switch (before.op) {
    case Op::Gte:
    case Op::LengthGte: return wider_if(after.number < before.number);
    case Op::Lte:
    case Op::LengthLte: return wider_if(after.number > before.number);
    case Op::OneOf: {
      const bool keeps =
          std::ranges::all_of(before.value.elements(), [&](const json::Value& one) { return holds(after.value, one); });
      const bool adds = std::ranges::any_of(after.value.elements(),
                                            [&](const json::Value& one) { return !holds(before.value, one); });
      if (keeps) return adds ? Direction::Wider : Direction::Same;
      return adds ? Direction::Different : Direction::Narrower;
    }
    case Op::Type:
      if (before.value.string() == "integer" && after.value.string() == "number") return Direction::Wider;
      if (before.value.string() == "number" && after.value.string() == "integer") return Direction::Narrower;
      return Direction::Different;
    default: return Direction::Different;
  }
}

// Everything that is asked of one path.
struct AtPath {
  string path;
  std::vector<Test> tests;
  std::map<string, json::Decimal> refs;  // slot: tolerance
  bool by_schema = true;
  std::vector<string> words;
};

std::map<string, AtPath> by_path(const std::vector<Invariant>& list, const Plan& plan) {
  std::map<string, AtPath> out;
  for (const Invariant& one : list) {
    AtPath& at = out[(one.scope == Scope::Boundary ? "model " : "call ") + one.at.path.text()];
    at.path = words_of(one.at.path);
    at.tests.insert(at.tests.end(), one.tests.begin(), one.tests.end());
    if (one.ref) {
      const json::Decimal tolerance = one.tolerance.value_or(json::Decimal());
      const auto [there, is_new] = at.refs.emplace(plan.slots[*one.ref], tolerance);
      if (!is_new && tolerance < there->second) there->second = tolerance;
    }
    at.by_schema = at.by_schema && one.origin == Origin::Schema;
    at.words.push_back(words_of(one, plan, Mood::Must));
  }
  return out;
}

Direction direction_of(const AtPath& was, const AtPath& is) {
  Direction out = direction_of(was.tests, is.tests);
  // What the schema says lets an absent value pass; what was written does not.
  if (was.by_schema != is.by_schema) out = both(out, wider_if(is.by_schema));
  for (const auto& [slot, tolerance] : was.refs) {
    const auto found = is.refs.find(slot);
    if (found == is.refs.end()) out = both(out, Direction::Wider);
    else if (found->second != tolerance) out = both(out, wider_if(found->second > tolerance));
  }
  for (const auto& [slot, tolerance] : is.refs)
    if (!was.refs.contains(slot)) out = both(out, Direction::Narrower);
  return out;
}

}  // namespace

std::string_view name_of(Effect effect) {
  return effect == Effect::Allows ? "allowed" : effect == Effect::Blocks ? "blocked" : "other";
}

Direction both(Direction one, Direction other) {
  if (one == Direction::Same || one == other) return other;
  return other == Direction::Same ? one : Direction::Different;
}

Direction opposite(Direction direction) {
  return direction == Direction::Wider      ? Direction::Narrower
         : direction == Direction::Narrower ? Direction::Wider
                                            : direction;
}

Effect effect_of(Direction direction) {
  return direction == Direction::Wider      ? Effect::Allows
         : direction == Direction::Narrower ? Effect::Blocks
                                            : Effect::Other;
}

Direction direction_of(std::vector<Test> before, std::vector<Test> after) {
  const std::vector<Test> all_before = before, all_after = after;
  std::erase_if(before, [&](const Test& test) {
    const auto found = std::ranges::find_if(
        after, [&](const Test& other) { return other.op == test.op && equal(other.value, test.value); });
    if (found == after.end()) return false;
    after.erase(found);
    return true;
  });
  Direction out = Direction::Same;
  for (const Test& test : before) {
    const auto found = std::ranges::find(after, test.op, &Test::op);
    out = both(out, found == after.end() ? Direction::Wider : direction_of(test, *found));
    if (found != after.end()) after.erase(found);
  }
  if (!after.empty()) out = both(out, Direction::Narrower);
  if (out != Direction::Different) return out;
  // `equals: a` and `one_of: [a, b]` are no pair, but the second lets more through.
  if (implies(all_before, all_after)) return Direction::Wider;
  if (implies(all_after, all_before)) return Direction::Narrower;
  return Direction::Different;
}

Direction direction_of_most(const std::optional<json::Decimal>& before, const std::optional<json::Decimal>& after) {
  if (!before && !after) return Direction::Same;
  if (!before || !after) return wider_if(!after);
  return *before == *after ? Direction::Same : wider_if(*after > *before);
}

Direction direction_of_least(const std::optional<json::Decimal>& before, const std::optional<json::Decimal>& after) {
  if (!before && !after) return Direction::Same;
  if (!before || !after) return wider_if(!after);
  return *before == *after ? Direction::Same : wider_if(*after < *before);
}

std::vector<std::string> only_in(const std::set<std::string>& one, const std::set<std::string>& other) {
  std::vector<std::string> out;
  for (const std::string& item : one)
    if (!other.contains(item)) out.push_back(quoted(item));
  return out;
}

string first_difference(const json::Value& before, const json::Value& after) {
  const json::Value *was = &before, *is = &after;
  string place;
  while (true) {
    if (was->is_object() && is->is_object()) {
      const json::Value *next_was = nullptr, *next_is = nullptr;
      for (const auto& [name, value] : was->members()) {
        const json::Value* other = is->find(name);
        if (other != nullptr && equal(value, *other)) continue;
        place += "/" + name;
        if (other == nullptr) return "`" + place + "` is gone";
        next_was = &value;
        next_is = other;
        break;
      }
      if (next_was == nullptr) {
        for (const auto& [name, value] : is->members())
          if (was->find(name) == nullptr) return "`" + place + "/" + name + "` is new";
        return "`" + place + "` is written differently";
      }
      was = next_was;
      is = next_is;
    } else if (was->is_array() && is->is_array() && was->elements().size() == is->elements().size()) {
      const bool same_items =
          std::ranges::all_of(was->elements(), [&](const json::Value& one) { return holds(*is, one); }) &&
          std::ranges::all_of(is->elements(), [&](const json::Value& one) { return holds(*was, one); });
      if (same_items) return "`" + place + "` says the same in another order";
      std::size_t at = 0;
      while (equal(was->elements()[at], is->elements()[at])) ++at;
      place += "/" + std::to_string(at);
      const json::Value *next_was = &was->elements()[at], *next_is = &is->elements()[at];
      was = next_was;
      is = next_is;
    } else {
      return "`" + place + "` is " + json::write(*is) + " (before: " + json::write(*was) + ")";
    }
  }
}

void Comparison::add(Direction direction, std::string_view tool, std::string_view field, string text) {
  if (direction == Direction::Same) return;
  if (direction == Direction::Different) text += "; this may allow some calls and block others";
  add(effect_of(direction), tool, field, std::move(text));
}

std::vector<PathChange> path_changes(const std::vector<Invariant>& was, const Plan& before,
                                     const std::vector<Invariant>& is, const Plan& after) {
  std::vector<PathChange> out;
  const auto old_paths = by_path(was, before), new_paths = by_path(is, after);
  for (const auto& [key, at] : old_paths)
    if (!new_paths.contains(key))
      out.push_back({Direction::Wider, at.path + " is no longer checked (before: " + listed(at.words) + ")"});
  for (const auto& [key, at] : new_paths) {
    const auto found = old_paths.find(key);
    if (found == old_paths.end()) out.push_back({Direction::Narrower, listed(at.words) + " (new)"});
    else
      out.push_back(
          {direction_of(found->second, at), listed(at.words) + " (before: " + listed(found->second.words) + ")"});
  }
  std::erase_if(out, [](const PathChange& change) { return change.direction == Direction::Same; });
  return out;
}

void Comparison::invariants(const std::vector<Invariant>& was, const std::vector<Invariant>& is, std::string_view tool,
                            std::string_view field, std::string_view where) {
  for (PathChange& change : path_changes(was, before, is, after))
    add(change.direction, tool, field, string(where) + change.text);
}

}  // namespace baton::contract
