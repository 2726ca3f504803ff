// SPDX-License-Identifier: Apache-2.0
#include "contract/facts.h"

#include <algorithm>

#include "hooks/facts.h"
#include "hooks/names.h"

namespace baton::contract {
namespace {

using hooks::FactsOf, hooks::facts_of, hooks::is_fact_name, hooks::kFacts;

const std::string* first_name(const json::Path& path) {
  return path.steps().empty() ? nullptr : std::get_if<std::string>(&path.steps().front());
}

json::Node walk(json::Node from, const json::Path& path, std::size_t first) {
  for (std::size_t at = first; at < path.steps().size() && from; ++at) {
    const auto* name = std::get_if<std::string>(&path.steps()[at]);
    from = name != nullptr ? from[*name] : from.element(std::get<std::size_t>(path.steps()[at]));
  }
  return from;
}

// Is it an old name of a fact in a contract for this tool? Names of file tools such as `edit` or `view` are anybody's: a program of the
// user's own may have a tool of that name whose argument is called `cwd`. Only a coding agent has tools like `Edit`.
bool is_old_name(std::string_view tool, std::string_view name) {
  return is_fact_name(facts_of(tool), name) && hooks::is_reserved(tool, std::nullopt);
}

}  // namespace

json::Node facts_in(json::Node arguments) {
  const json::Node facts = arguments.is_object() ? arguments[kFacts] : json::Node();
  return facts.is_object() ? facts : json::Node();
}

bool has_fact_member(json::Node arguments) { return arguments.is_object() && arguments[kFacts]; }

std::string_view fact_member() { return kFacts; }

bool names_fact(json::Node facts, const json::Path& path) {
  const std::string* name = first_name(path);
  if (!facts || name == nullptr) return false;
  if (*name == kFacts) return true;
  // The command is an argument as well; the fact is the line that a shell reads, whatever the client calls its member.
  const bool is_command = facts["command"].is_string();
  return is_fact_name(is_command ? FactsOf::Command : FactsOf::Files, *name) || (is_command && *name == "command");
}

json::Node resolve(const json::Path& path, json::Node arguments, json::Node facts) {
  if (names_fact(facts, path) && *first_name(path) != kFacts) return walk(facts, path, 0);
  return path.resolve(arguments);
}

json::Node resolve_recorded(const json::Path& path, json::Node arguments) {
  const json::Node facts = facts_in(arguments);
  const std::string* name = first_name(path);
  if (!facts && name != nullptr && *name == kFacts) return walk(arguments, path, 1);
  return resolve(path, arguments, facts);
}

std::optional<std::string> moved_path(std::string_view tool, const json::Path& path) {
  const std::string* name = first_name(path);
  if (name == nullptr || !is_old_name(tool, *name)) return std::nullopt;
  std::string out = "$['" + std::string(kFacts) + "']";
  const auto is_plain = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  };
  for (const json::Path::Step& step : path.steps()) {
    const auto* member = std::get_if<std::string>(&step);
    if (member == nullptr) out += "[" + std::to_string(std::get<std::size_t>(step)) + "]";
    else if (is_plain(*member)) out += "." + *member;
    else {
      out += "['";
      for (const char c : *member) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
      }
      out += "']";
    }
  }
  return out;
}

bool reads_fact(std::string_view tool, const json::Path& path) {
  const std::string* name = first_name(path);
  return name != nullptr && (*name == kFacts || is_old_name(tool, *name));
}

}  // namespace baton::contract
