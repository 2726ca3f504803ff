// SPDX-License-Identifier: Apache-2.0
#include "cli/paths.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/render.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;
using workspace::PathRole;
using workspace::SeenPath;

// SQLite's files, and those from which a node reads what it does.
constexpr std::array kStoreFiles = {"ledger.db", "ledger.db-wal", "ledger.db-shm", "ledger.db-journal"};
constexpr std::size_t kKeyFoldersMax = 256;

class Looking {
 public:
  // True: it is there, and a folder.
  bool look(const fs::path& path, PathRole role) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) return false;
    const bool is_folder = S_ISDIR(status.st_mode);
    // Who may connect to a socket is no matter of this.
    if (!is_folder && !S_ISREG(status.st_mode)) return false;
    const auto is_it = [&](const SeenPath& one) { return one.path == path && one.role == role; };
    if (std::ranges::none_of(seen_, is_it))
      seen_.push_back({path.string(), role, static_cast<std::uint32_t>(status.st_mode & 07777),
                       static_cast<std::int64_t>(status.st_uid)});
    return is_folder;
  }

  void look_above(const fs::path& path) {
    std::error_code error;
    for (const fs::path& one : {fs::absolute(path, error).lexically_normal(), fs::weakly_canonical(path, error)})
      for (fs::path above = one.parent_path(); !above.empty(); above = above.parent_path()) {
        look(above, PathRole::Above);
        if (above == above.root_path()) break;
      }
  }

  std::vector<SeenPath> take() { return std::move(seen_); }

 private:
  std::vector<SeenPath> seen_;
};

// Without a separator at the end, so that what lies above it is not itself.
fs::path folder_of(const std::string& text) {
  std::error_code error;
  fs::path path = fs::absolute(text, error).lexically_normal();
  return path.has_filename() || !path.has_relative_path() ? path : path.parent_path();
}

}  // namespace

std::vector<SeenPath> look_at_paths(const TrustedPaths& paths) {
  Looking looking;
  if (!paths.store.empty()) {
    const fs::path store = folder_of(paths.store);
    if (looking.look(store, PathRole::StoreFolder))
      for (const char* file : kStoreFiles) looking.look(store / file, PathRole::StoreFile);
    looking.look_above(store);
  }
  if (!paths.configuration.empty()) {
    looking.look(folder_of(paths.configuration), PathRole::Configuration);
    looking.look_above(folder_of(paths.configuration));
  }
  if (!paths.keys.empty()) {
    const fs::path keys = folder_of(paths.keys);
    looking.look(keys, PathRole::KeyFolder);
    std::error_code error;
    std::size_t count = 0;
    std::vector<fs::path> inside;
    for (fs::directory_iterator at(keys, error), end; !error && at != end && count < kKeyFoldersMax;
         at.increment(error))
      if (std::error_code ignored; ++count, at->is_directory(ignored)) inside.push_back(at->path());
    std::ranges::sort(inside);
    for (const fs::path& one : inside) looking.look(one, PathRole::KeyFolder);
  }
  return looking.take();
}

Result<void> need_own_paths(World& world, const TrustedPaths& paths) {
  const auto wrong = workspace::check_paths(look_at_paths(paths), static_cast<std::int64_t>(::geteuid()));
  if (wrong.empty()) return {};
  if (wrong.size() > 1) world.print_error(render_human(wrong, "", "", world.colour_errors));
  const Diagnostic& first = wrong.front();
  return tl::make_unexpected(Failure{"checking the files that the node trusts", first.message, info(first.code).name});
}

}  // namespace baton::cli
