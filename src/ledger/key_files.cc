// SPDX-License-Identifier: Apache-2.0
#include "ledger/key_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sodium.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/descriptor.h"
#include "base/limits.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"

namespace baton::ledger {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSealKey = "seal.key";
constexpr const char* kNextSealKey = "seal.key.next";
constexpr const char* kRedactionKey = "redaction.key";
constexpr const char* kLastSeal = "last.seal";
constexpr const char* kLastSealDraft = ".last.seal.next";
// The form in which Go's note package keeps a signer; then the parts of a verifier key, with the seed for the public key.
constexpr std::string_view kSignerPrefix = "PRIVATE+KEY+";
constexpr std::string_view kRedactionPrefix = "baton-redaction-key+";
constexpr std::uint8_t kEd25519 = 0x01;

// Text that is wiped when it goes. Given its full size at once, so that growing leaves no copy behind.
class SecretText {
 public:
  explicit SecretText(std::string text) : text_(std::move(text)) {}
  ~SecretText() { wipe(); }
  SecretText(SecretText&& other) noexcept : text_(other.text_) { other.wipe(); }
  SecretText& operator=(SecretText&&) = delete;
  std::string& text() { return text_; }
  std::string_view view() const { return text_; }

 private:
  void wipe() { sodium_memzero(text_.data(), text_.size()); }
  std::string text_;
};

std::string why(int error) { return std::generic_category().message(error); }

std::string octal(mode_t mode) {
  std::string out;
  for (int shift = 9; shift >= 0; shift -= 3) out.push_back(static_cast<char>('0' + (mode >> shift & 7)));
  return out;
}

tl::unexpected<Failure> file_failure(const fs::path& file, std::string_view problem) {
  return failure_of(Code::LEDGER_KEY_FILE, "reading a key", {{"file", file.string()}, {"problem", problem}});
}

// The file's text without its last line feed; nothing when there is no such file.
Result<std::optional<SecretText>> read_secret(const fs::path& file) {
  // Not blocking: something may have put a pipe there, which would be waited for.
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == ELOOP) return file_failure(file, "is a link");
    return file_failure(file, "cannot be read: " + why(errno));
  }
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0) return file_failure(file, "cannot be read: " + why(errno));
  if (!S_ISREG(status.st_mode)) return file_failure(file, "is not a plain file");
  if ((status.st_mode & 077) != 0 || status.st_uid != ::geteuid())
    return failure_of(Code::LEDGER_KEY_MODE, "reading a key",
                      {{"file", file.string()}, {"mode", octal(status.st_mode & 07777)}});
  if (status.st_size <= 0 || static_cast<std::size_t>(status.st_size) > limits::kKeyFileBytesMax)
    return file_failure(file, "does not hold a key");

  SecretText secret(std::string(static_cast<std::size_t>(status.st_size), '\0'));
  std::size_t have = 0;
  while (have < secret.text().size()) {
    const ssize_t count = ::read(descriptor.get(), secret.text().data() + have, secret.text().size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_failure(file, "cannot be read: " + why(errno));
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  if (have != secret.text().size() || secret.text().back() != '\n') return file_failure(file, "does not hold a key");
  secret.text().pop_back();
  return std::optional(std::move(secret));
}

tl::unexpected<Failure> write_failure(const fs::path& file, int error) {
  return failure("writing the key file " + file.string(), why(error));
}

Result<void> sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor || ::fsync(descriptor.get()) != 0)
    return failure("writing the key folder " + folder.string(), why(errno));
  return {};
}

// Makes the folder, mode 0700, and those above it that are missing. One that others may write to is refused: they could
// put another key in the place of ours.
Result<void> need_folder(const fs::path& folder) {
  const std::string doing = "making the key folder " + folder.string();
  std::vector<fs::path> missing;
  for (fs::path path = folder; !path.empty() && ::access(path.c_str(), F_OK) != 0; path = path.parent_path()) {
    missing.push_back(path);
    if (path == path.root_path()) break;
  }
  for (auto path = missing.rbegin(); path != missing.rend(); ++path) {
    if (::mkdir(path->c_str(), 0700) != 0 && errno != EEXIST) return failure(doing, why(errno));
    const fs::path parent = path->parent_path();
    if (auto synced = sync_folder(parent.empty() ? fs::path(".") : parent); !synced) return synced;
  }
  struct stat status = {};
  if (::stat(folder.c_str(), &status) != 0) return failure(doing, why(errno));
  if (!S_ISDIR(status.st_mode)) return failure(doing, "it is not a folder");
  if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0)
    return failure(doing, "others may write to it (mode " + octal(status.st_mode & 07777) + ")");
  return {};
}

// Writes under another name, then links: the file is there whole or not at all, and one that is there stays.
Result<void> write_secret(const fs::path& folder, const char* name, std::string_view text) {
  if (auto made = need_folder(folder); !made) return made;
  const fs::path file = folder / name;
  static std::atomic<unsigned> number = 0;  // threads write beside each other as well
  const fs::path draft =
      folder / ("." + std::string(name) + "." + std::to_string(::getpid()) + "." + std::to_string(number++));
  ::unlink(draft.c_str());  // of an earlier process with our number that was ended in the middle
  {
    const Descriptor descriptor(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!descriptor) return write_failure(file, errno);
    // The umask takes bits away and never adds any; what it took of our own is given back.
    if (::fchmod(descriptor.get(), 0600) != 0 || !write_all(descriptor.get(), text) || ::fsync(descriptor.get()) != 0) {
      const int error = errno;
      ::unlink(draft.c_str());
      return write_failure(file, error);
    }
  }
  if (::link(draft.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(draft.c_str());
    if (error == EEXIST) return file_failure(file, "is there already");
    return write_failure(file, error);
  }
  ::unlink(draft.c_str());
  return sync_folder(folder);
}

std::vector<std::uint8_t> typed(std::span<const std::uint8_t, 32> bytes) {
  std::vector<std::uint8_t> out;
  out.reserve(1 + bytes.size());
  out.push_back(kEd25519);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

SecretText signer_text(const SigningKey& key) {
  std::vector<std::uint8_t> seed = typed(key.seed());
  std::string encoded = base64(seed);
  const std::string id = key.verifier().id_text();
  std::string text;
  text.reserve(kSignerPrefix.size() + key.verifier().name.size() + id.size() + encoded.size() + 3);
  text.append(kSignerPrefix)
      .append(key.verifier().name)
      .append("+")
      .append(id)
      .append("+")
      .append(encoded)
      .append("\n");
  sodium_memzero(seed.data(), seed.size());
  sodium_memzero(encoded.data(), encoded.size());
  return SecretText(std::move(text));
}

std::optional<SigningKey> parse_signer(std::string_view text) {
  if (!text.starts_with(kSignerPrefix)) return std::nullopt;
  text.remove_prefix(kSignerPrefix.size());
  const std::size_t first = text.find('+');
  if (first == std::string_view::npos || !is_key_name(text.substr(0, first))) return std::nullopt;
  const std::size_t second = text.find('+', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  auto bytes = parse_base64(text.substr(second + 1));
  if (!bytes) return std::nullopt;
  std::optional<SigningKey> key;
  if (bytes->size() == 33 && bytes->front() == kEd25519)
    key = SigningKey::from_seed(std::string(text.substr(0, first)), std::span(*bytes).subspan<1, 32>());
  sodium_memzero(bytes->data(), bytes->size());
  if (key && key->verifier().id_text() != text.substr(first + 1, second - first - 1)) return std::nullopt;
  return key;
}

Result<std::optional<SigningKey>> read_signer(const fs::path& file) {
  auto secret = read_secret(file);
  if (!secret) return tl::make_unexpected(std::move(secret.error()));
  if (!*secret) return std::nullopt;
  auto key = parse_signer((*secret)->view());
  if (!key) return file_failure(file, "does not hold a key");
  return key;
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

// The path with every link on the way followed, as far as it exists; without a trailing separator.
Result<fs::path> resolved(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) return failure("looking at the folder " + path.string(), error.message());
  if (!whole.has_filename()) whole = whole.parent_path();
  return whole;
}

}  // namespace

std::string redaction_key_id(const RedactionKey& key) {
  std::string text = "baton.ledger.redaction_key.v1\n";
  text.append(reinterpret_cast<const char*>(key.data()), key.size());
  const Sha256 hash = sha256(text);
  sodium_memzero(text.data(), text.size());
  return hex(std::span(hash).first(8));
}

Result<KeyFiles> KeyFiles::open(const fs::path& folder, const fs::path& store_folder) {
  auto place = resolved(folder);
  if (!place) return tl::make_unexpected(std::move(place.error()));
  if (!store_folder.empty()) {
    const auto store = resolved(store_folder);
    if (!store) return tl::make_unexpected(store.error());
    if (lies_in(*place, *store))
      return failure_of(Code::LEDGER_KEY_PLACE, "opening the key folder", {{"folder", folder.string()}});
  }
  return KeyFiles(std::move(*place));
}

Result<std::optional<SigningKey>> KeyFiles::seal_key() const { return read_signer(folder_ / kSealKey); }
Result<std::optional<SigningKey>> KeyFiles::next_seal_key() const { return read_signer(folder_ / kNextSealKey); }

Result<std::optional<RedactionKey>> KeyFiles::redaction_key() const {
  const fs::path file = folder_ / kRedactionKey;
  auto secret = read_secret(file);
  if (!secret) return tl::make_unexpected(std::move(secret.error()));
  if (!*secret) return std::nullopt;
  std::string_view text = (*secret)->view();
  RedactionKey key{};
  if (!text.starts_with(kRedactionPrefix)) return file_failure(file, "does not hold a key");
  text.remove_prefix(kRedactionPrefix.size());
  const std::size_t plus = text.find('+');
  auto bytes = plus == std::string_view::npos ? std::nullopt : parse_base64(text.substr(plus + 1));
  if (!bytes || bytes->size() != key.size()) return file_failure(file, "does not hold a key");
  std::copy(bytes->begin(), bytes->end(), key.begin());
  sodium_memzero(bytes->data(), bytes->size());
  if (redaction_key_id(key) != text.substr(0, plus)) return file_failure(file, "does not hold a key");
  return key;
}

Result<void> KeyFiles::write_seal_key(const SigningKey& key) const {
  return write_secret(folder_, kSealKey, signer_text(key).view());
}
Result<void> KeyFiles::write_next_seal_key(const SigningKey& key) const {
  return write_secret(folder_, kNextSealKey, signer_text(key).view());
}

Result<void> KeyFiles::write_redaction_key(const RedactionKey& key) const {
  std::string encoded = base64(key);
  const std::string id = redaction_key_id(key);
  std::string text;
  text.reserve(kRedactionPrefix.size() + id.size() + encoded.size() + 2);
  text.append(kRedactionPrefix).append(id).append("+").append(encoded).append("\n");
  sodium_memzero(encoded.data(), encoded.size());
  return write_secret(folder_, kRedactionKey, SecretText(std::move(text)).view());
}

Result<void> KeyFiles::finish_rotation() const {
  if (::rename((folder_ / kNextSealKey).c_str(), (folder_ / kSealKey).c_str()) != 0)
    return failure("putting the new key in the old one's place in " + folder_.string(), why(errno));
  return sync_folder(folder_);
}

Result<std::optional<std::string>> KeyFiles::last_seal() const {
  const fs::path file = folder_ / kLastSeal;
  const auto trouble = [&](std::string_view why_not) {
    return failure("reading " + file.string(), std::string(why_not));
  };
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor) {
    if (errno == ENOENT) return std::nullopt;
    return trouble(why(errno));
  }
  struct stat status = {};
  if (::fstat(descriptor.get(), &status) != 0 || !S_ISREG(status.st_mode)) return trouble("it is not a plain file");
  if (status.st_size <= 0 || static_cast<std::size_t>(status.st_size) > limits::kWitnessNoteBytesMax)
    return trouble("it holds no seal");
  std::string note(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < note.size()) {
    const ssize_t count = ::read(descriptor.get(), note.data() + have, note.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return trouble(why(errno));
    if (count == 0) break;
    have += static_cast<std::size_t>(count);
  }
  if (have != note.size()) return trouble("it holds no seal");
  return std::optional(std::move(note));
}

Result<void> KeyFiles::write_last_seal(std::string_view note, bool even_back) const {
  const auto held = lock();  // nodes of one user may share the folder
  if (!held) return tl::make_unexpected(held.error());
  if (!even_back) {
    const auto size_of = [](std::string_view text) -> std::uint64_t {
      const auto parsed = parse_note(text);
      const auto checkpoint = parsed ? parse_checkpoint(parsed->text) : std::nullopt;
      return checkpoint ? checkpoint->size : 0;
    };
    const auto there = last_seal();
    if (there && *there && size_of(**there) >= size_of(note)) return {};
  }
  const fs::path file = folder_ / kLastSeal, draft = folder_ / kLastSealDraft;
  {
    const Descriptor descriptor(
        ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
    if (!descriptor || !write_all(descriptor.get(), note)) return write_failure(file, errno);
  }
  if (::rename(draft.c_str(), file.c_str()) != 0) return write_failure(file, errno);
  return {};
}

Result<KeyFiles::Lock> KeyFiles::lock() const {
  if (auto made = need_folder(folder_); !made) return tl::make_unexpected(made.error());
  const fs::path file = folder_ / "lock";
  Lock lock(::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (lock.descriptor_ < 0) return write_failure(file, errno);
  while (::flock(lock.descriptor_, LOCK_EX) != 0)
    if (errno != EINTR) return write_failure(file, errno);
  return lock;
}

KeyFiles::Lock::~Lock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace baton::ledger
