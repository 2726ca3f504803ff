// SPDX-License-Identifier: Apache-2.0
// `baton adopt` on disk: reads a client's files, says what would be done, does it, takes it back, and looks whether it is still whole.
// What is to be in the files is decided by adopt/adopt.h, which is pure; that all or none of them change is adoption/change.h.
//
// One process at a time changes something, and nobody looks meanwhile (Lock).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "adoption/change.h"
#include "adoption/disk.h"
#include "adoption/record.h"
#include "base/descriptor.h"

namespace baton::adoption {

// Of whom and where. `environment` names the folders that clients keep their settings in (CODEX_HOME and the like); it is asked while planning only.
struct Wanted {
  hooks::Client client;
  adopt::Options options;      // without `wired` and `secrets`
  bool servers_asked = false;  // `options.tools` is what they say now; else what was kept counts
  std::string pack;            // a folder; empty: the one it has, else in the store's
  std::string by, at;
  std::function<std::optional<std::string>(const char*)> environment;
};

struct Plan {
  Record next;
  std::vector<FileChange> changes;
  std::vector<std::string> texts, new_folders;
  bool is_new = false;  // it was not adopted before

  std::vector<std::string> lines;       // what is wired, one line each
  std::vector<std::string> left_alone;  // what could not be, and why
  std::vector<std::string> carried, not_carried;
  bool pack_kept = false;  // somebody has changed the pack by hand: it stays as it is
  bool is_nothing() const { return changes.empty() && !is_new; }
};

struct UndoPlan {
  Record record;
  std::vector<FileChange> changes;
  std::vector<std::string> kept;       // files that stay, and why
  std::vector<std::string> conflicts;  // why it cannot be done
};

struct Look {
  std::vector<std::string> findings;    // what is not as it was wired; empty: whole
  std::vector<std::string> unreadable;  // files that cannot be read here: nothing is known of them
};

class Adopter {
 public:
  // `store`: its folder, absolute.
  Adopter(Disk& disk, const std::string& store) : disk_(disk), folder_(disk, store + "/adopted"), store_(store) {}

  Folder& folder() { return folder_; }

  // Are there settings of this client?
  Result<bool> is_used(const Wanted& wanted);

  // The MCP servers of the client's settings, as they are without the proxy.
  Result<std::vector<adopt::Server>> servers(const Wanted& wanted);

  // Changes nothing. A Failure when a file cannot be read, or is not to be touched.
  Result<Plan> plan(const Wanted& wanted);
  Result<void> carry_out(const Plan& plan);

  // `force`: what somebody has changed since is put aside (FILE.before-undo), and the original put back.
  Result<UndoPlan> plan_undo(const Record& record, bool force);
  Result<void> carry_out(const UndoPlan& plan);

  Look look(const Record& record);

 private:
  Result<std::vector<adopt::File>> read_files(hooks::Client client, const std::vector<std::string>& paths);
  Result<void> plan_settings(const adopt::Adoption& adoption, const std::optional<Record>& previous, Plan& plan);
  Result<void> plan_pack(const adopt::Adoption& adoption, const std::optional<Record>& previous, Plan& plan);
  Result<void> plan_secrets(const adopt::Adoption& adoption, const std::optional<Record>& previous, Plan& plan);
  // Adds the folders above a new file that are not there.
  Result<void> need_folders(const std::string& path, Plan& plan);

  Disk& disk_;
  Folder folder_;
  const std::string store_;
};

// Held while something is changed, or, by several at once, while it is looked at. Waits a few seconds for those who have it.
class Lock {
 public:
  enum class For : std::uint8_t { Changing, Looking };
  static Result<Lock> take(const std::string& store, For what);

 private:
  explicit Lock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

// Where a client's file is: below the project, the home, or the folder that a variable of the client names.
std::string path_of(const adopt::Place& place, const adopt::Options& options,
                    const std::function<std::optional<std::string>(const char*)>& environment);

// What was carried and what was not, for the pack's folder.
std::string rules_text(hooks::Client client, const std::vector<std::string>& carried,
                       const std::vector<std::string>& not_carried, const std::vector<std::string>& left_alone);

}  // namespace baton::adoption
