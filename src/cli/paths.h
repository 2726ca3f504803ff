// SPDX-License-Identifier: Apache-2.0
// Looks at the files and folders that a node trusts, for workspace::check_paths. What is not there is left out.
#pragma once

#include <string>
#include <vector>

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

}  // namespace baton::cli
