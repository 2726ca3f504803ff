// SPDX-License-Identifier: Apache-2.0
// A disk that fails when it is told to: an SQLite VFS around the default one that counts what SQLite asks of it and fails
// the n-th, or everything from the n-th on.
#pragma once

#include <cstdint>
#include <string>

namespace baton::store {

enum class DiskFault {
  Full,     // no space is left: writes and new files fail with SQLITE_FULL; other operations do their work
  IoError,  // the operation fails with the SQLITE_IOERR that belongs to it
};

// Registers the VFS under a name of its own while it lives. One at a time.
class FaultyVfs {
 public:
  FaultyVfs();
  ~FaultyVfs();
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;

  const std::string& name() const { return name_; }

  // Counts from 1 on, anew: open, read, write, sync, truncate, delete, and the mapping of shared memory.
  void fail_at(std::uint64_t operation, DiskFault fault, bool for_ever);
  std::uint64_t operations() const;
  std::uint64_t syncs() const;  // among them, those that were done
  // An operation failed because of it.
  bool struck() const;

 private:
  std::string name_ = "baton-faulty";
};

}  // namespace baton::store
