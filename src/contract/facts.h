// SPDX-License-Identifier: Apache-2.0
// Paths of contracts that read facts: what Baton derives of a call (hooks/facts.h), in the member `dev.baton` of the arguments.
//
// Every door refuses a call whose arguments carry that member (`fact_in_arguments`), so that a rule on a fact is a rule on what Baton saw.
//
// Older contracts read facts at the top of the arguments (`$.programs`). These paths stay as aliases: for a call with facts, a path whose first
// name is an old name of a fact reads the fact and nothing else. The compiler gives the warning FACT_PATH_MOVED with the new path.
//
// A call without facts of a tool whose contract reads some is refused (`facts_missing`): a rule like `exists: false` would pass otherwise.
// An old path counts as such only for names that a coding agent alone has (`Bash`, `Edit`). A program's own tool may be called `edit`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "json/document.h"
#include "json/path.h"

namespace baton::contract {

// The facts of these arguments; no node: they have none.
json::Node facts_in(json::Node arguments);
// Is the member of facts there, whatever it holds? An agent that wrote it is refused.
bool has_fact_member(json::Node arguments);
std::string_view fact_member();  // its name

// Does this path read a fact of arguments with these facts?
bool names_fact(json::Node facts, const json::Path& path);

// What the path names in the arguments, whose facts are `facts`.
json::Node resolve(const json::Path& path, json::Node arguments, json::Node facts);
// The same in arguments that were recorded. An entry from before facts had a member of their own has them at the top.
json::Node resolve_recorded(const json::Path& path, json::Node arguments);

// Does a contract for `tool` read a fact with this path, old or new?
bool reads_fact(std::string_view tool, const json::Path& path);
// The new path of a fact that is read by its old one; nothing: it is no such path.
std::optional<std::string> moved_path(std::string_view tool, const json::Path& path);

}  // namespace baton::contract
