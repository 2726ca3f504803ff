// SPDX-License-Identifier: Apache-2.0
// The folder of a store: the names in it, and making it.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace baton::store::sqlite {

inline std::string database_path(const std::filesystem::path& folder) { return (folder / "ledger.db").string(); }
inline std::filesystem::path lock_path(const std::filesystem::path& folder) { return folder / "lock"; }
inline std::filesystem::path changed_path(const std::filesystem::path& folder) { return folder / "changed"; }

// Is there a store? Failures: STORE_NOT_FOUND, STORE_LOCATION (something else is in its place), STORE_IO.
Result<void> check_folder(const std::filesystem::path& folder);

// Makes what is not there of the folder (mode 0700) and an empty database file (0600), durably.
Result<void> make_folder(const std::filesystem::path& folder);
Result<void> make_database_file(const std::filesystem::path& folder);

}  // namespace baton::store::sqlite
