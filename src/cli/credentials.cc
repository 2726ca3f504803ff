// SPDX-License-Identifier: Apache-2.0
#include "cli/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptor.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/sealed_token.h"
#include "cli/stores.h"
#include "cli/terminal.h"
#include "diagnostics/diagnostic.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Failure> file_failure(const fs::path& file, std::string_view problem) {
  return failure_of(Code::CREDENTIAL_FILE, "reading a token", {{"file", file.string()}, {"problem", problem}});
}

// The file's one line.
Result<std::string> read_line_of(const fs::path& file, bool own_only) {
  // Not blocking: something may have put a pipe there, which would be waited for. Whoever names a file may name a
  // pipe.
  const int flags = O_RDONLY | O_CLOEXEC | (own_only ? O_NOFOLLOW | O_NONBLOCK : 0);
  const Descriptor descriptor(::open(file.c_str(), flags));
  if (descriptor.get() < 0)
    return file_failure(file, errno == ELOOP ? "is a link" : "cannot be read: " + std::string(std::strerror(errno)));
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) return file_failure(file, "cannot be read");
  if (own_only && !S_ISREG(status.st_mode)) return file_failure(file, "is not a plain file");
  if (own_only && status.st_uid != ::geteuid()) return file_failure(file, "belongs to somebody else");
  if (own_only && (status.st_mode & 077) != 0) return file_failure(file, "can be read by others");
  std::string text(limits::kTokenFileBytesMax + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(descriptor.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_failure(file, "cannot be read: " + std::string(std::strerror(errno)));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  std::string line(trim(std::string_view(text).substr(0, have)));
  wipe(text);
  bool fits = !line.empty() && have <= limits::kTokenFileBytesMax;
  for (const char c : line) fits = fits && c > ' ' && c < 0x7f;
  if (fits) return line;
  wipe(line);
  return file_failure(file, "does not hold a token");
}

tl::unexpected<Failure> write_failure(const fs::path& file, int error) {
  return failure("writing " + file.string(), std::strerror(error));
}

}  // namespace

Result<std::string> read_token_file(World& world, const fs::path& file, bool own_only) {
  auto line = read_line_of(file, own_only);
  if (!line || !is_sealed_token(*line)) return line;
  if (!can_ask(world))
    return failure_of(Code::CREDENTIAL_PASSPHRASE, "reading a token",
                      {{"problem", "there is no terminal to ask for it at"}});
  auto passphrase = ask_secret(world, "passphrase of " + printable(file.string(), 200) + ": ");
  if (!passphrase)
    return failure_of(Code::CREDENTIAL_PASSPHRASE, "reading a token", {{"problem", passphrase.error().text()}});
  auto token = open_token(*line, *passphrase);
  wipe(*passphrase);
  if (!token) return file_failure(file, token.error().reason);
  if (!*token)
    return failure_of(Code::CREDENTIAL_PASSPHRASE, "reading a token", {{"problem", "this is not the passphrase"}});
  return std::move(**token);
}

Result<bool> is_sealed_token_file(const fs::path& file) {
  auto line = read_line_of(file, true);
  if (!line) return tl::make_unexpected(line.error());
  const bool is_sealed = is_sealed_token(*line);
  wipe(*line);
  return is_sealed;
}

Result<NewSecretFile> NewSecretFile::make(const fs::path& folder) {
  std::error_code error;
  const fs::path place = folder.empty() ? fs::path(".") : folder;
  if (!fs::is_directory(place, error)) {
    fs::create_directories(place.parent_path(), error);
    if (::mkdir(place.c_str(), 0700) != 0 && errno != EEXIST)
      return failure("making the folder " + place.string(), std::strerror(errno));
  }
  const fs::path draft = place / (".baton-" + std::to_string(::getpid()) + ".draft");
  ::unlink(draft.c_str());  // of an earlier process with our number that was ended in the middle
  const int descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return write_failure(draft, errno);
  return NewSecretFile(place, draft, descriptor);
}

NewSecretFile::NewSecretFile(NewSecretFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      draft_(std::move(other.draft_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

NewSecretFile::~NewSecretFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(draft_.c_str());
}

Result<void> NewSecretFile::keep(std::string_view name, std::string_view text) {
  const fs::path file = folder_ / name;
  if (!write_all(descriptor_, text) || !write_all(descriptor_, "\n") || ::fsync(descriptor_) != 0)
    return write_failure(file, errno);
  // A link does not replace what is there, as a renaming would.
  if (::link(draft_.c_str(), file.c_str()) != 0) return write_failure(file, errno);
  const Descriptor folder(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0 || ::fsync(folder.get()) != 0) return write_failure(file, errno);
  return {};
}

Result<void> write_token_file(const fs::path& file, std::string_view text) {
  auto made = NewSecretFile::make(file.parent_path());
  if (!made) return tl::make_unexpected(made.error());
  return made->keep(file.filename().string(), text);
}

std::optional<fs::path> configuration_folder(World& world) { return user_folder(world, "XDG_CONFIG_HOME", ".config"); }

std::string operator_token_name(std::string_view origin) {
  const std::string_view id = origin.substr(origin.rfind('/') == std::string_view::npos ? 0 : origin.rfind('/') + 1);
  bool plain = !id.empty();
  for (const char c : id) plain = plain && is_alphanumeric(c);
  return plain ? "operator-" + std::string(id.substr(0, 16)) + ".token" : "operator.token";
}

std::optional<fs::path> find_operator_token(World& world, std::string_view origin) {
  const auto folder = configuration_folder(world);
  if (!folder) return std::nullopt;
  // A link that leads nowhere is there too: reading it says what is wrong.
  const auto is_there = [](const fs::path& file) {
    std::error_code error;
    return fs::symlink_status(file, error).type() != fs::file_type::not_found;
  };
  for (const std::string& name : {operator_token_name(origin), operator_token_name("")})
    if (is_there(*folder / name)) return *folder / name;
  return std::nullopt;
}

}  // namespace baton::cli
