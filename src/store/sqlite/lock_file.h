// SPDX-License-Identifier: Apache-2.0
// The file `lock` of a store's folder: whoever writes the store holds it, so that there is one such process.
//
// The lock is the kernel's and ends with the process, however it ends; the file stays. It holds the pid of whoever has
// the lock, for the message that others get.
#pragma once

#include <filesystem>
#include <utility>

#include "base/result.h"

namespace baton::store::sqlite {

class LockFile {
 public:
  // Makes the file when it is not there. Failures: STORE_LOCKED, naming the pid; STORE_READ_ONLY; STORE_FULL; STORE_IO.
  static Result<LockFile> take(const std::filesystem::path& path);

  // For reading a store that cannot be told of readers any other way (see reader_pool.h): together with others who
  // do the same, while nobody writes. Nothing is held when the file is not there. Failure STORE_LOCKED.
  static Result<LockFile> share(const std::filesystem::path& path);

  LockFile() = default;
  LockFile(LockFile&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), writes_(std::exchange(other.writes_, false)) {}
  LockFile& operator=(LockFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(writes_, other.writes_);
    return *this;
  }
  ~LockFile();

 private:
  int descriptor_ = -1;
  bool writes_ = false;
};

}  // namespace baton::store::sqlite
