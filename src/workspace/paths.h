// SPDX-License-Identifier: Apache-2.0
// Who else can write what a node trusts? Pure: a function over what was seen of files and folders (cli/paths.h looks at them).
//
// A node decides by its configuration, its store and its keys. Whoever can write one of them, or the folder that holds it, can change
// what the node decides. Whether the owner is alone in a group cannot be known from a mode, so that a group counts as others. A folder
// above may be written by others when it is sticky (`/tmp`): they can add to it, and replace nothing of ours. To read or to enter a
// store's folder is no matter of this: a second socket for agents of another user needs that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace baton::workspace {

enum class PathRole { StoreFolder, StoreFile, Configuration, KeyFolder, Above };

struct SeenPath {
  std::string path;
  PathRole role = PathRole::StoreFolder;
  std::uint32_t mode = 0;  // permission bits, with the sticky bit
  std::int64_t owner = 0;
};

// NODE_PATH_WRITABLE, NODE_PATH_OWNER (neither `own_uid` nor root has it; not of folders above), NODE_KEYS_OPEN: all of them, in the
// order of the paths. Each names the path, the mode and the command that changes it.
std::vector<Diagnostic> check_paths(std::span<const SeenPath> seen, std::int64_t own_uid);

}  // namespace baton::workspace
