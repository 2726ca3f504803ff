// SPDX-License-Identifier: Apache-2.0
#include "adoption/disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/descriptor.h"

namespace baton::adoption {
namespace {

namespace fs = std::filesystem;

// Claude Code keeps more than its servers in the same file.
constexpr std::size_t kFileBytesMax = 16u << 20;

tl::unexpected<Failure> failed(const std::string& doing, int error = errno) {
  return failure(doing, std::generic_category().message(error));
}

// A name in a folder is on disk when the folder is. Some file systems cannot do that, and then need not.
Result<void> sync_folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor) return failed("opening " + folder);
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) return failed("syncing " + folder);
  return {};
}

}  // namespace

Result<Seen> RealDisk::read(const std::string& path) {
  const std::string doing = "reading " + path;
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!descriptor) {
    if (errno == ENOENT || errno == ENOTDIR) return Seen{};
    return failed(doing);
  }
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) return failed(doing);
  if (!S_ISREG(status.st_mode)) return failure(doing, "it is not a file");
  Seen out{.exists = true, .text = {}, .mode = status.st_mode & 07777u, .is_another = status.st_uid != ::geteuid()};
  char buffer[64 << 10];
  while (true) {
    const ssize_t got = ::read(descriptor.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(doing);
    if (got == 0) return out;
    if (out.text.size() + static_cast<std::size_t>(got) > kFileBytesMax) return failure(doing, "it is too large");
    out.text.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<std::string> RealDisk::real_path(const std::string& path) {
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::symlink_status(path, error));
  if (is_link && !fs::exists(path, error)) return failure("reading " + path, "it is a link to nothing");
  const fs::path real = fs::weakly_canonical(path, error);
  if (error) return failed("reading " + path, error.value());
  return real.string();
}

Result<void> RealDisk::put(const std::string& path, const std::string& text, unsigned mode) {
  const std::string doing = "writing " + path;
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return failed(doing);
  const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!descriptor) return failed(doing);
  if (!write_all(descriptor.get(), text) || ::fchmod(descriptor.get(), mode) != 0 || ::fsync(descriptor.get()) != 0) {
    const int error = errno;
    static_cast<void>(::unlink(path.c_str()));
    return failed(doing, error);
  }
  return {};
}

Result<void> RealDisk::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return failed("writing " + to);
  return sync_folder_of(to);
}

Result<void> RealDisk::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return sync_folder_of(path);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return failed("removing " + path);
}

Result<bool> RealDisk::make_folder(const std::string& path, unsigned mode) {
  if (::mkdir(path.c_str(), mode) == 0) return true;
  const int error = errno;
  std::error_code ignored;
  if (error == EEXIST && fs::is_directory(path, ignored)) return false;
  return failed("making the folder " + path, error);
}

Result<void> RealDisk::remove_folder(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST) return {};
  return failed("removing the folder " + path);
}

Result<std::vector<std::string>> RealDisk::list(const std::string& path) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator each(path, error), end; !error && each != end; each.increment(error))
    out.push_back(each->path().filename().string());
  if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) return out;
  if (error) return failed("reading the folder " + path, error.value());
  std::sort(out.begin(), out.end());
  return out;
}

bool RealDisk::can_execute(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

}  // namespace baton::adoption
