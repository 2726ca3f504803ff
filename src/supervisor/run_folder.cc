// SPDX-License-Identifier: Apache-2.0
#include "supervisor/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/text.h"

namespace baton::supervisor {
namespace {

namespace fs = std::filesystem;

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace

Result<RunFolder> RunFolder::make(const std::string& parent) {
  std::string path = parent + "/baton-run-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr)
    return failure("making a folder in " + printable(parent, 200), error_text(errno));
  return RunFolder(std::move(path));
}

RunFolder::~RunFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

RunFolder::RunFolder(RunFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

Result<void> RunFolder::write(const std::string& path, std::string_view text) const {
  const std::string doing = "writing " + printable(path, 200);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return failure(doing, error.message());
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file || !write_all(file.get(), text)) return failure(doing, error_text(errno));
  return {};
}

Result<void> RunFolder::link(const std::string& path, const std::string& target) const {
  std::error_code error;
  if (!fs::exists(target, error)) return {};
  fs::create_directories(fs::path(path).parent_path(), error);
  fs::create_symlink(target, path, error);
  if (error) return failure("making " + printable(path, 200), error.message());
  return {};
}

}  // namespace baton::supervisor
