// SPDX-License-Identifier: Apache-2.0
// What no agent may touch, whatever its contract says: the store and its keys, the operator's token, the packs, the settings by which
// clients call Baton's hooks and proxy, and Baton's own programs. Whoever could change them could switch off everything else.
//
// Pure: arguments of a call in, the path that it must not touch out. Paths are compared as text (a link may lead elsewhere), and a
// program that was started does what it does: this closes the plain ways, not all of them. A node that runs as a user of its own, on files
// that the agent's user cannot write, is what closes the rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"

namespace baton::protection {

// Of one node, beside what is protected by its name everywhere (`.baton`, `.claude/settings.json`, ...). Absolute, without `.` and `..`.
struct Paths {
  std::vector<std::string> secret;  // not even read: stores, keys, tokens
  std::vector<std::string> fixed;   // not written: programs, packs
  std::string home;                 // what `~` is; empty: not known
};

struct Touch {
  std::string path;     // as it was found, made absolute where that is possible
  bool always = false;  // false: it matters only when the tool writes
};

// The first protected path that a call of `tool` with these arguments touches. `Bash` is read as the command line it is; of every other tool each
// text that is a path, by its look or by the name of its member, counts.
std::optional<Touch> touched(const Paths& paths, std::string_view tool, json::Node arguments);

}  // namespace baton::protection
