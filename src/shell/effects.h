// SPDX-License-Identifier: Apache-2.0
// Where a command line reaches in the file system, as far as its words show: what redirections, and programs whose writing is known
// (cp, mv, rm, tee, ...), write, and which words are or may be paths.
//
// Paths are absolute and normalised as text. A path in `writes` stands for everything below it, and for the folders above it that
// are missing (mkdir -p). Of a glob only the folder is known in which it looks: that folder stands for it. `cp a b/` also lists the
// file in the folder, `b/a`; whether `b` is a folder in `cp a b` is not known, so there only `b` is listed. After `cd` a relative path
// is taken in every folder that may be the current one; beyond limits::kShellFoldersMax the folder is unknown.
//
// Links that exist before the line runs are not followed. A path through a link that the line makes is an unknown write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shell/parse.h"

namespace baton::shell {

struct Effects {
  std::vector<std::string> paths = {}, writes = {};  // sorted, each once; without /dev/null and the standard streams
  bool paths_known = true;                           // no word is one that may be a path and is not in `paths`
  bool has_unknown_write = false;    // something is written, and where is decided by an expansion or an unknown folder
  bool writes_known = true;          // each program is one whose writing is known, so `writes` is all
  bool runs_written = false;         // a program or script is run that the line itself may have written
  bool runs_stream = false;          // a program or script is run that is an open file of the process: `sh //dev/stdin`
  std::vector<Opaque> because = {};  // why the line is opaque: the parser's reasons, and the three above

  bool opaque() const { return !because.empty(); }
};

// `cwd`: the folder in which the line is run, absolute; otherwise every relative path is unknown.
Effects effects_of(const Parsed& parsed, std::string_view cwd);

// `path` without `.`, `..` and empty parts, taken in `folder` when it is relative. Empty: neither is absolute.
std::string normalised(std::string_view folder, std::string_view path);

// Is it `folder` itself, or in it?
bool is_within(std::string_view path, std::string_view folder);

}  // namespace baton::shell
