// SPDX-License-Identifier: Apache-2.0
// Looks at the files and folders that a node trusts, for workspace::check_paths. What is not there is left out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/world.h"
#include "workspace/paths.h"

namespace baton::cli {

struct TrustedPaths {
  std::string store;          // the store's folder; empty: it is in none
  std::string configuration;  // the file; empty: none was named
  std::string keys;           // the folder with the folders of the ledgers' keys; empty: not known
};

// The store's folder, its files and all folders above it; the configuration's file and all folders above it; the key folder and those
// in it. Folders above are those of the path as it is written and those of the path without links.
std::vector<workspace::SeenPath> look_at_paths(const TrustedPaths& paths);

// Refused when others can write what a node trusts, with the first of what is wrong. Where more is wrong, all of it is printed.
Result<void> need_own_paths(World& world, const TrustedPaths& paths);

}  // namespace baton::cli
