// SPDX-License-Identifier: Apache-2.0
#include "faulty_vfs.h"

#include <sqlite3.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "base/check.h"

namespace baton::store {
namespace {

// SQLite's callbacks have no place for an object that outlives a file: there is one plan.
struct Plan {
  std::atomic<std::uint64_t> count = 0;
  std::atomic<std::uint64_t> syncs = 0;
  std::atomic<std::uint64_t> at = 0;
  std::atomic<bool> for_ever = false;
  std::atomic<DiskFault> fault = DiskFault::IoError;
  std::atomic<bool> struck = false;
};
Plan plan;

// A file is this, and behind it the file of the VFS below.
struct File {
  sqlite3_file base;
  sqlite3_file* inner;
};

sqlite3_file* inner(sqlite3_file* file) { return reinterpret_cast<File*>(file)->inner; }
sqlite3_vfs* below(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

// Counts an operation; not SQLITE_OK when it is to fail. `full` is what it says on a full disk, SQLITE_OK when that is
// nothing to it.
int strike(int full, int error) {
  const std::uint64_t number = ++plan.count;
  const std::uint64_t at = plan.at;
  if (at == 0 || number < at || (number > at && !plan.for_ever)) return SQLITE_OK;
  const int code = plan.fault == DiskFault::Full ? full : error;
  if (code != SQLITE_OK) plan.struck = true;
  return code;
}

int close_file(sqlite3_file* file) { return inner(file)->pMethods->xClose(inner(file)); }

int read_file(sqlite3_file* file, void* bytes, int count, sqlite3_int64 offset) {
  if (const int code = strike(SQLITE_OK, SQLITE_IOERR_READ)) return code;
  return inner(file)->pMethods->xRead(inner(file), bytes, count, offset);
}

int write_file(sqlite3_file* file, const void* bytes, int count, sqlite3_int64 offset) {
  if (const int code = strike(SQLITE_FULL, SQLITE_IOERR_WRITE)) {
    // A write that fails has often written something.
    inner(file)->pMethods->xWrite(inner(file), bytes, count / 2, offset);
    return code;
  }
  return inner(file)->pMethods->xWrite(inner(file), bytes, count, offset);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int code = strike(SQLITE_OK, SQLITE_IOERR_TRUNCATE)) return code;
  return inner(file)->pMethods->xTruncate(inner(file), size);
}

int sync_file(sqlite3_file* file, int flags) {
  // Some file systems find out only now that there is no space.
  if (const int code = strike(SQLITE_FULL, SQLITE_IOERR_FSYNC)) return code;
  ++plan.syncs;
  return inner(file)->pMethods->xSync(inner(file), flags);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) { return inner(file)->pMethods->xFileSize(inner(file), size); }
int lock_file(sqlite3_file* file, int level) { return inner(file)->pMethods->xLock(inner(file), level); }
int unlock_file(sqlite3_file* file, int level) { return inner(file)->pMethods->xUnlock(inner(file), level); }
int check_lock(sqlite3_file* file, int* held) { return inner(file)->pMethods->xCheckReservedLock(inner(file), held); }
int control(sqlite3_file* file, int what, void* argument) {
  return inner(file)->pMethods->xFileControl(inner(file), what, argument);
}
int sector_size(sqlite3_file* file) { return inner(file)->pMethods->xSectorSize(inner(file)); }
int characteristics(sqlite3_file* file) { return inner(file)->pMethods->xDeviceCharacteristics(inner(file)); }

int map_memory(sqlite3_file* file, int region, int size, int extend, void volatile** memory) {
  if (const int code = strike(extend != 0 ? SQLITE_FULL : SQLITE_OK, SQLITE_IOERR_SHMMAP)) return code;
  return inner(file)->pMethods->xShmMap(inner(file), region, size, extend, memory);
}
int lock_memory(sqlite3_file* file, int offset, int count, int flags) {
  return inner(file)->pMethods->xShmLock(inner(file), offset, count, flags);
}
void memory_barrier(sqlite3_file* file) { inner(file)->pMethods->xShmBarrier(inner(file)); }
int unmap_memory(sqlite3_file* file, int remove) { return inner(file)->pMethods->xShmUnmap(inner(file), remove); }

int fetch(sqlite3_file* file, sqlite3_int64 offset, int count, void** bytes) {
  return inner(file)->pMethods->xFetch(inner(file), offset, count, bytes);
}
int unfetch(sqlite3_file* file, sqlite3_int64 offset, void* bytes) {
  return inner(file)->pMethods->xUnfetch(inner(file), offset, bytes);
}

const sqlite3_io_methods kMethods = {
    3,           close_file,     read_file,    write_file, truncate_file, sync_file,       file_size,
    lock_file,   unlock_file,    check_lock,   control,    sector_size,   characteristics, map_memory,
    lock_memory, memory_barrier, unmap_memory, fetch,      unfetch};

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;  // what is not open is not closed
  if (const int code = strike((flags & SQLITE_OPEN_CREATE) != 0 ? SQLITE_FULL : SQLITE_OK, SQLITE_CANTOPEN))
    return code;
  File* mine = reinterpret_cast<File*>(file);
  mine->inner = reinterpret_cast<sqlite3_file*>(mine + 1);
  const int code = below(vfs)->xOpen(below(vfs), name, mine->inner, flags, out_flags);
  if (mine->inner->pMethods != nullptr) file->pMethods = &kMethods;
  return code;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync) {
  if (const int code = strike(SQLITE_OK, SQLITE_IOERR_DELETE)) return code;
  return below(vfs)->xDelete(below(vfs), name, sync);
}

int access_file(sqlite3_vfs* vfs, const char* name, int flags, int* result) {
  return below(vfs)->xAccess(below(vfs), name, flags, result);
}
int full_name(sqlite3_vfs* vfs, const char* name, int size, char* out) {
  return below(vfs)->xFullPathname(below(vfs), name, size, out);
}
int random_bytes(sqlite3_vfs* vfs, int count, char* out) { return below(vfs)->xRandomness(below(vfs), count, out); }
int sleep_for(sqlite3_vfs* vfs, int microseconds) { return below(vfs)->xSleep(below(vfs), microseconds); }
int current_time(sqlite3_vfs* vfs, double* time) { return below(vfs)->xCurrentTime(below(vfs), time); }
int last_error(sqlite3_vfs*, int, char*) { return EIO; }

sqlite3_vfs vfs = {};

}  // namespace

FaultyVfs::FaultyVfs() {
  sqlite3_vfs* const inner_vfs = sqlite3_vfs_find(nullptr);
  CHECK(inner_vfs != nullptr && vfs.zName == nullptr);
  vfs.iVersion = 1;
  vfs.szOsFile = static_cast<int>(sizeof(File)) + inner_vfs->szOsFile;
  vfs.mxPathname = inner_vfs->mxPathname;
  vfs.zName = name_.c_str();
  vfs.pAppData = inner_vfs;
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = access_file;
  vfs.xFullPathname = full_name;
  vfs.xRandomness = random_bytes;
  vfs.xSleep = sleep_for;
  vfs.xCurrentTime = current_time;
  vfs.xGetLastError = last_error;
  CHECK(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
  fail_at(0, DiskFault::IoError, false);
}

FaultyVfs::~FaultyVfs() {
  sqlite3_vfs_unregister(&vfs);
  vfs = {};
}

void FaultyVfs::fail_at(std::uint64_t operation, DiskFault fault, bool for_ever) {
  plan.count = 0;
  plan.syncs = 0;
  plan.at = operation;
  plan.fault = fault;
  plan.for_ever = for_ever;
  plan.struck = false;
}

std::uint64_t FaultyVfs::operations() const { return plan.count; }

std::uint64_t FaultyVfs::syncs() const { return plan.syncs; }

bool FaultyVfs::struck() const { return plan.struck; }

}  // namespace baton::store
