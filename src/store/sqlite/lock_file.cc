// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/text.h"
#include "store/sqlite/sqlite_failure.h"

namespace baton::store::sqlite {
namespace {

// What the file says about its holder, as the message wants it: " (pid 17)", or nothing.
std::string holder(int descriptor) {
  char text[24];
  const ssize_t length = ::pread(descriptor, text, sizeof text, 0);
  std::string pid;
  for (ssize_t i = 0; i < length && is_digit(text[i]); ++i) pid.push_back(text[i]);
  return pid.empty() ? pid : " (pid " + pid + ")";
}

int flock_again(int descriptor, int operation) {
  int result = 0;
  do {
    result = ::flock(descriptor, operation);
  } while (result != 0 && errno == EINTR);
  return result;
}

Result<int> lock(const std::filesystem::path& path, int flags, int operation) {
  const std::string doing = "locking " + path.string();
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor < 0) return system_failure(errno, doing);
  if (flock_again(descriptor, operation | LOCK_NB) == 0) return descriptor;
  const int error = errno;
  const std::string who = holder(descriptor);
  ::close(descriptor);
  if (error == EWOULDBLOCK) return failure_of(Code::STORE_LOCKED, doing, {{"holder", who}});
  return system_failure(error, doing);
}

}  // namespace

Result<LockFile> LockFile::take(const std::filesystem::path& path) {
  const Result<int> descriptor = lock(path, O_RDWR | O_CREAT, LOCK_EX);
  if (!descriptor) return tl::make_unexpected(descriptor.error());
  LockFile file;
  file.descriptor_ = *descriptor;
  file.writes_ = true;
  const std::string text = std::to_string(::getpid()) + "\n";
  if (::ftruncate(*descriptor, 0) != 0 ||
      ::pwrite(*descriptor, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return system_failure(errno, "writing " + path.string());
  return file;
}

Result<LockFile> LockFile::share(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return LockFile();
  const Result<int> descriptor = lock(path, O_RDONLY, LOCK_SH);
  if (!descriptor) return tl::make_unexpected(descriptor.error());
  LockFile file;
  file.descriptor_ = *descriptor;
  return file;
}

LockFile::~LockFile() {
  if (descriptor_ < 0) return;
  // The pid goes first: nobody must be told of a holder that has gone. When this fails, an old pid is named for a moment.
  if (writes_ && ::ftruncate(descriptor_, 0) != 0) errno = 0;
  ::close(descriptor_);
}

}  // namespace baton::store::sqlite
