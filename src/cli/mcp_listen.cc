// SPDX-License-Identifier: Apache-2.0
#include "cli/mcp_listen.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "cli/credentials.h"
#include "cli/stores.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kDoing[] = "keeping the token of --listen";
constexpr std::string_view kNoteEnd = ".listen.json", kTokenEnd = ".token";
constexpr std::size_t kNoteBytesMax = 4096;

std::optional<fs::path> runtime_folder(World& world) {
  if (const auto set = world.environment("XDG_RUNTIME_DIR"); set && set->starts_with('/'))
    return fs::path(*set) / "baton";
  return user_folder(world, "XDG_DATA_HOME", ".local/share");
}

// `mcp-127.0.0.1_8931`: the same for the same address, so that clients can be given the name of the file once.
std::string name_of(std::string_view address) {
  std::string out = "mcp-";
  for (const char c : address) out += is_alphanumeric(c) || c == '.' || c == '-' ? c : '_';
  return out;
}

Result<void> check_folder(const fs::path& folder) {
  struct stat status = {};
  if (::lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};  // it is made, for the user alone
    return failure(kDoing, folder.string() + " cannot be read");
  }
  if (!S_ISDIR(status.st_mode)) return failure(kDoing, folder.string() + " is no folder");
  if (status.st_uid != ::geteuid()) return failure(kDoing, folder.string() + " belongs to another user");
  if ((status.st_mode & 022) != 0)
    return failure(kDoing, folder.string() + " can be written by other users; `chmod 700` it");
  return {};
}

// What an earlier proxy of that address left there is replaced.
Result<void> write(const fs::path& file, std::string_view text) {
  if (::unlink(file.c_str()) != 0 && errno != ENOENT) return failure(kDoing, file.string() + " cannot be replaced");
  return write_token_file(file, text);
}

}  // namespace

std::string new_listen_token(World& world) {
  std::array<std::uint8_t, 32> bytes = {};
  world.random.fill(bytes);
  return "baton_m_" + hex(bytes);
}

Result<ListenFiles> ListenFiles::keep(World& world, std::string_view address, ListenToken kind,
                                      std::string_view token) {
  const auto folder = runtime_folder(world);
  if (!folder) return failure(kDoing, "neither XDG_RUNTIME_DIR, XDG_DATA_HOME nor HOME says where");
  if (auto checked = check_folder(*folder); !checked) return tl::make_unexpected(checked.error());
  ListenFiles out;
  if (kind == ListenToken::Made) {
    const fs::path file = *folder / (name_of(address) + std::string(kTokenEnd));
    if (auto written = write(file, token); !written) return tl::make_unexpected(written.error());
    out.files_.push_back(file);
    out.token_file_ = file;
  }
  json::Value note = json::Value::object();
  note.set("address", address);
  note.set("pid", ::getpid());
  note.set("token", kind == ListenToken::None ? "none" : kind == ListenToken::Made ? "made" : "given");
  const fs::path file = *folder / (name_of(address) + std::string(kNoteEnd));
  if (auto written = write(file, json::write(note)); !written) return tl::make_unexpected(written.error());
  out.files_.push_back(file);
  return out;
}

ListenFiles::~ListenFiles() {
  for (const fs::path& file : files_) ::unlink(file.c_str());
}

std::vector<ListeningProxy> listening_proxies(World& world) {
  std::vector<ListeningProxy> out;
  const auto folder = runtime_folder(world);
  if (!folder) return out;
  std::error_code error;
  for (fs::directory_iterator entry(*folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with("mcp-") || !name.ends_with(kNoteEnd) || !entry->is_regular_file(error)) continue;
    std::ifstream file(entry->path(), std::ios::binary);
    std::string text(kNoteBytesMax, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    const auto note = json::parse(text);
    if (!note || !note->root()["address"].is_string() || !note->root()["pid"].is_number()) continue;
    const auto pid = json::to_int64(note->root()["pid"].number_text());
    // A proxy that was killed leaves its note.
    if (!pid || *pid <= 0 || (::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH)) continue;
    out.push_back({std::string(note->root()["address"].string()), *pid, note->root()["token"].is_text("none")});
  }
  return out;
}

}  // namespace baton::cli
