// SPDX-License-Identifier: Apache-2.0
// Connections that read, kept open between Readers, because opening one and preparing its statements costs far more
// than a small read does.
//
// SQLite coordinates readers with the writer through the -shm file beside the database. Where it cannot make one (the
// folder cannot be written, and no writer is there), the database is read as a file that does not change, under a shared
// hold on the store's lock that keeps it so; such connections are not kept.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/lock_file.h"

namespace baton::store::sqlite {

struct ReadConnection {
  LockFile held;  // outlives the connection
  std::unique_ptr<Connection> connection;
  bool keep = true;
};

class ReaderPool {
 public:
  ReaderPool(std::filesystem::path folder, std::string vfs) : folder_(std::move(folder)), vfs_(std::move(vfs)) {}

  Result<ReadConnection> take();
  void give(ReadConnection connection);  // with no transaction open

 private:
  Result<ReadConnection> open();
  Result<ReadConnection> open_unchanging();

  const std::filesystem::path folder_;
  const std::string vfs_;
  std::mutex mutex_;
  std::vector<ReadConnection> idle_;
};

}  // namespace baton::store::sqlite
