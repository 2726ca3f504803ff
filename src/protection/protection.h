// SPDX-License-Identifier: Apache-2.0
// What no agent may touch, whatever its contract says: the store and its keys, the operator's token, the packs, the settings by which
// clients call Baton's hooks and proxy, and Baton's own programs. Whoever could change them could switch off everything else.
//
// Pure: the arguments of a call in, the path that it must not touch out. What the file system adds, where links lead, comes in by `Links`.
//
// A command line is read as the shell would (shell/parse.h). Its words, redirections and assignments are compared, with what globs and braces
// may become; programs that copy, move, pack or unpack whole folders are known by name. A line that was not read to its end, or that runs text,
// is refused when it mentions a protected name.
//
// Of every other tool each string counts, at any depth, and each name of a member: in every spelling that a tool may read (spelling.h), and,
// when it is relative, behind every other string of the call. So that nothing passes that a tool may cut off or split:
//   - control characters: each piece between them is judged, and the text without them
//   - more than 4,096 bytes, or more spellings than are looked through: refused when a protected name begins anywhere in it
//   - more than 10,000 strings, more places in the file system than 5,000, or more paths to compare than 8 MiB of them: refused
//   - a pattern of more than 4,096 bytes in a command line: refused, because what it becomes may be short
// A member that holds content by its name (`content`, `new_string`, `message`, ...) is passed over when the call has another member that names
// a path; else each of its lines is judged, without mentions, and a line of several words only when a protected name is in the text. A member
// that holds prose (`title`, `thought`, ...) of several words is passed over, except by a tool for files. A patch is judged by its headers. A string of several words is refused when it mentions a
// protected path, and what a tool types into a shell is read as a command line as well.
//
// Not seen: what a program does once it runs, a tool that reads a whole folder, hard links that exist already, a link that is made after the
// check, a name that a program puts together, the files that a version control system brings along. A node that runs as a user of its own, on
// files that the agent's user cannot write, is what closes these.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/document.h"

namespace baton::protection {

// The links of the file system.
class Links {
 public:
  virtual ~Links() = default;
  // Where an absolute path leads when every symbolic link on the way is followed, `..` going above what the link leads to. What is not there is
  // kept as text, and so are the open files of the process itself (`/dev/stderr`, `/dev/fd/2`). Empty: there is too much to follow.
  virtual std::string resolved(const std::string& path) const = 0;
};

// Of one node, beside what is protected by its name everywhere (`.baton`, `.claude/settings.json`, ...). Absolute, without `.` and `..`.
struct Paths {
  std::vector<std::string> secret;          // not even read: stores, keys, tokens
  std::vector<std::string> fixed;           // not written: programs, packs
  std::string home;                         // what `~` is; empty: not known
  std::shared_ptr<const Links> links = {};  // null: no link is followed
};

struct Touch {
  std::string path;     // as it was found, made absolute where that is possible
  bool always = false;  // false: it matters only when the tool writes
};

// The first protected path that a call of `tool` with these arguments touches. A client's own shell is read as the command line it is, from the
// facts that Baton derived (hooks/facts.h). `cwd`: where the call is made, when the facts do not say; empty: not known.
std::optional<Touch> touched(const Paths& paths, std::string_view tool, json::Node arguments,
                             std::string_view cwd = {});

}  // namespace baton::protection
