// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "diagnostics/diagnostic.h"
#include "store/sqlite/sqlite_failure.h"

namespace baton::store::sqlite {
namespace {

// A name in a folder is on disk when the folder is.
Result<void> sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_failure(errno, "syncing " + folder.string());
  const int result = ::fsync(descriptor);
  const int error = errno;
  ::close(descriptor);
  // Some file systems cannot sync folders, and then need not.
  if (result != 0 && error != EINVAL) return system_failure(error, "syncing " + folder.string());
  return {};
}

}  // namespace

Result<void> check_folder(const std::filesystem::path& folder) {
  const std::string doing = "opening the store " + folder.string();
  const std::string location = folder.string();
  struct stat status;
  if (::stat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return failure_of(Code::STORE_NOT_FOUND, doing);
    if (errno == ENOTDIR)
      return failure_of(Code::STORE_LOCATION, doing, {{"location", location}, {"problem", "it lies below a file"}});
    return system_failure(errno, doing);
  }
  if (!S_ISDIR(status.st_mode))
    return failure_of(Code::STORE_LOCATION, doing, {{"location", location}, {"problem", "it is not a folder"}});
  if (::stat(database_path(folder).c_str(), &status) != 0) {
    if (errno == ENOENT) return failure_of(Code::STORE_NOT_FOUND, doing);
    return system_failure(errno, doing);
  }
  if (!S_ISREG(status.st_mode))
    return failure_of(Code::STORE_LOCATION, doing, {{"location", location}, {"problem", "ledger.db is not a file"}});
  return {};
}

Result<void> make_folder(const std::filesystem::path& folder) {
  const std::string doing = "making the folder " + folder.string();
  std::error_code error;
  std::filesystem::create_directories(folder.parent_path(), error);
  if (error) return system_failure(error.value(), doing);
  if (::mkdir(folder.c_str(), 0700) == 0) return sync_folder(folder.parent_path());
  if (errno != EEXIST) return system_failure(errno, doing);
  return {};
}

Result<void> make_database_file(const std::filesystem::path& folder) {
  // Made here because SQLite would make it readable by others; its -wal and -shm take over the mode. Never opened when
  // it is there: closing it would drop the locks that SQLite has on it in this process.
  const std::string path = database_path(folder);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    if (errno == EEXIST) return {};
    return system_failure(errno, "making " + path);
  }
  ::close(descriptor);
  return sync_folder(folder);
}

}  // namespace baton::store::sqlite
