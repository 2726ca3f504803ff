// SPDX-License-Identifier: Apache-2.0
// Which store a command means, and how it gets it open. main/ has the real Stores; no command names a backend.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "cli/world.h"
#include "runtime/ledger.h"
#include "store/store.h"

namespace baton::cli {

// Makes stores.
class Stores {
 public:
  virtual ~Stores() = default;
  enum class Access { Read, Write, Create };  // Create: Write, and make it if it is not there
  // `location` is a folder or a PostgreSQL URL.
  virtual Result<std::unique_ptr<store::Store>> open(const std::string& location, Access access) = 0;
  virtual std::unique_ptr<store::Store> in_memory() = 0;
};

// --store and --keys, as given.
struct StoreOptions {
  std::string store;
  std::string keys;
};
void add_store_options(Command& command, StoreOptions& options, bool with_keys);

enum class LocationKind { Folder, Url, ExportedFile };
struct Location {
  LocationKind kind;
  std::string text;
};
// What was given; else BATON_STORE; else `.baton` here or in a folder above; else the user's data folder.
Location locate_store(World& world, const std::string& given);

// Opens a store for reading. An exported file is read into memory.
Result<std::unique_ptr<store::Store>> open_to_read(World& world, const std::string& given);

// A store with its ledger, open for writing.
struct OpenLedger {
  std::unique_ptr<store::Store> store;
  std::unique_ptr<runtime::Ledger> ledger;  // gone before the store
};
Result<OpenLedger> open_to_write(World& world, const StoreOptions& options, bool create);

// A folder of the user's: `baton` in what an XDG variable names, else below the home folder; nothing when neither is known.
std::optional<std::filesystem::path> user_folder(World& world, const char* variable, const char* below_home);

// Where keys lie: --keys, BATON_KEYS, else the user's configuration folder; and what they may not lie in.
Result<runtime::LedgerPlace> ledger_place(World& world, const StoreOptions& options);

// Whoever sits at the command line.
ledger::Actor operator_of(World& world);

// A failure on standard error, with its code and what to do; kCouldNot, or kNo where access was refused.
int could_not(World& world, const Failure& failure);

}  // namespace baton::cli
