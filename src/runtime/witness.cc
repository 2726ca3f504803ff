// SPDX-License-Identifier: Apache-2.0
#include "runtime/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/descriptor.h"
#include "base/limits.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "ledger/note.h"
#include "net/http_client.h"
#include "secrets/detector.h"

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;

tl::unexpected<Failure> trouble(std::string_view witness, std::string_view problem) {
  return failure_of(Code::LEDGER_WITNESS, "keeping the seal", {{"witness", witness}, {"problem", problem}});
}

std::string reason_of(int error) { return std::strerror(error); }

// `scheme:` and what comes after it.
std::optional<std::string_view> after(std::string_view witness, std::string_view scheme) {
  if (!witness.starts_with(scheme)) return std::nullopt;
  return witness.substr(scheme.size());
}
bool is_url(std::string_view witness) { return witness.starts_with("http://") || witness.starts_with("https://"); }

std::string name_of(std::string_view origin) {
  std::string name(origin.substr(origin.rfind('/') + 1));
  std::replace_if(name.begin(), name.end(), [](char c) { return !is_alphanumeric(c) && c != '-' && c != '_'; }, '_');
  return name;
}

// --- a folder -----------------------------------------------------------------------------------------------------------

std::filesystem::path file_in(std::string_view folder, std::string_view origin) {
  return std::filesystem::path(folder) / (name_of(origin) + ".checkpoint");
}

constexpr int kLockTries = 100;
constexpr auto kLockPause = 20ms;

// One at a time looks and writes, among threads and processes: a folder that has seen more must not go back.
Result<Descriptor> lock_folder(std::string_view witness, std::string_view folder, std::string_view origin) {
  const std::string file = file_in(folder, origin).string() + ".lock";
  Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (lock.get() < 0) return trouble(witness, "cannot be written: " + reason_of(errno));
  // Somebody who never lets go must not hold up whoever records.
  for (int tries = 0; ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return trouble(witness, "cannot be written: " + reason_of(errno));
    if (tries == kLockTries) return trouble(witness, "is held by somebody else");
    std::this_thread::sleep_for(kLockPause);
  }
  return lock;
}

Result<void> keep_in_folder(std::string_view witness, std::string_view folder, std::string_view origin,
                            std::string_view note) {
  const std::filesystem::path file = file_in(folder, origin);
  const std::filesystem::path fresh = file.string() + ".new";
  Descriptor out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (out.get() < 0) return trouble(witness, "cannot be written: " + reason_of(errno));
  if (!write_all(out.get(), note) || ::fsync(out.get()) != 0)
    return trouble(witness, "cannot be written: " + reason_of(errno));
  if (::rename(fresh.c_str(), file.c_str()) != 0) return trouble(witness, "cannot be written: " + reason_of(errno));
  const Descriptor parent(::open(std::string(folder).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() < 0 || ::fsync(parent.get()) != 0) return trouble(witness, "cannot be written: " + reason_of(errno));
  return {};
}

Result<std::optional<std::string>> kept_in_folder(std::string_view witness, std::string_view folder,
                                                  std::string_view origin) {
  // Whatever lies there: nothing that would make a reader wait.
  const Descriptor in(::open(file_in(folder, origin).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat kind;
  if (in.get() >= 0 && (::fstat(in.get(), &kind) != 0 || !S_ISREG(kind.st_mode)))
    return trouble(witness, "holds something that is no file");
  if (in.get() < 0) {
    struct stat there;
    if (errno == ENOENT && ::stat(std::string(folder).c_str(), &there) == 0) return std::nullopt;
    return trouble(witness, "cannot be read: " + reason_of(errno));
  }
  std::string text(limits::kWitnessNoteBytesMax + 1, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(in.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return trouble(witness, "cannot be read: " + reason_of(errno));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

// --- a git note ---------------------------------------------------------------------------------------------------------

struct Output {
  int status;
  std::string text;
};

// Runs git in a repository with `input` on its standard input, at most `kGitTimeout`.
constexpr auto kGitTimeout = 30s;
Result<Output> git(std::string_view witness, std::string_view repository, std::vector<std::string> arguments,
                   std::string_view input) {
  // No hooks: what lies in that repository is not ours to run.
  std::vector<std::string> words = {"git", "-C", std::string(repository), "-c", "core.hooksPath=/dev/null"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Nothing of ours but the path and the home folder: no GIT_DIR of a caller may lead elsewhere.
  std::vector<std::string> settings = {"LC_ALL=C",
                                       "GIT_TERMINAL_PROMPT=0",
                                       "GIT_AUTHOR_NAME=baton",
                                       "GIT_AUTHOR_EMAIL=baton@localhost",
                                       "GIT_COMMITTER_NAME=baton",
                                       "GIT_COMMITTER_EMAIL=baton@localhost"};
  for (const char* name : {"PATH", "HOME"})
    if (const char* value = ::getenv(name)) settings.push_back(std::string(name) + "=" + value);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);

  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0) return trouble(witness, reason_of(errno));
  Descriptor to_read(to[0]), to_write(to[1]);
  if (::pipe2(from, O_CLOEXEC) != 0) return trouble(witness, reason_of(errno));
  Descriptor from_read(from[0]), from_write(from[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_read.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, from_write.get(), 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int spawned = ::posix_spawnp(&child, "git", &actions, nullptr, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) return trouble(witness, "cannot be reached: git: " + reason_of(spawned));
  to_read.reset();
  from_write.reset();
  const bool written = write_all(to_write.get(), input);  // a note fits into a pipe
  const int why_not = errno;
  to_write.reset();

  Output out{0, {}};
  bool late = false;
  char buffer[4096];
  while (true) {
    pollfd wait{from_read.get(), POLLIN, 0};
    if (::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kGitTimeout).count())) == 0) {
      ::kill(child, SIGKILL);
      late = true;
      break;
    }
    const ssize_t got = ::read(from_read.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (out.text.size() < limits::kWitnessNoteBytesMax) out.text.append(buffer, static_cast<std::size_t>(got));
  }
  while (::waitpid(child, &out.status, 0) < 0 && errno == EINTR) {
  }
  if (late) return trouble(witness, "did not answer in time");
  if (!written) return trouble(witness, "cannot be written: " + reason_of(why_not));
  return out;
}

constexpr std::string_view kNotesRef = "--ref=baton";

// What the note hangs on: a blob with the ledger's origin, the same object in every repository.
Result<std::string> note_object(std::string_view witness, std::string_view repository, std::string_view origin) {
  auto made = git(witness, repository, {"hash-object", "-w", "--stdin"}, origin);
  if (!made) return tl::make_unexpected(made.error());
  if (made->status != 0) return trouble(witness, "is no git repository that can be written");
  return std::string(trim(made->text));
}

Result<void> keep_in_git(std::string_view witness, std::string_view repository, std::string_view origin,
                         std::string_view note) {
  const auto object = note_object(witness, repository, origin);
  if (!object) return tl::make_unexpected(object.error());
  // Not `-F -`: git would take away blank lines, and a note's empty line counts.
  const auto stored = git(witness, repository, {"hash-object", "-w", "--stdin"}, note);
  if (!stored) return tl::make_unexpected(stored.error());
  if (stored->status != 0) return trouble(witness, "is no git repository that can be written");
  const auto added =
      git(witness, repository,
          {"notes", std::string(kNotesRef), "add", "-f", "-C", std::string(trim(stored->text)), *object}, {});
  if (!added) return tl::make_unexpected(added.error());
  if (added->status != 0) return trouble(witness, "did not take the note");
  return {};
}

Result<std::optional<std::string>> kept_in_git(std::string_view witness, std::string_view repository,
                                               std::string_view origin) {
  const auto object = git(witness, repository, {"hash-object", "--stdin"}, origin);
  if (!object) return tl::make_unexpected(object.error());
  if (object->status != 0) return trouble(witness, "is no git repository");
  const auto shown =
      git(witness, repository, {"notes", std::string(kNotesRef), "show", std::string(trim(object->text))}, {});
  if (!shown) return tl::make_unexpected(shown.error());
  if (shown->status != 0) return std::nullopt;
  return shown->text;
}

// --- a URL --------------------------------------------------------------------------------------------------------------

Result<void> keep_at_url(std::string_view witness, std::string_view note) {
  const auto answer = net::send({.method = "PUT", .url = std::string(witness), .body = std::string(note)});
  if (!answer) return trouble(witness, "cannot be reached: " + answer.error().reason);
  if (answer->status / 100 != 2)
    return trouble(witness, "refused the seal with status " + std::to_string(answer->status));
  return {};
}

Result<std::optional<std::string>> kept_at_url(std::string_view witness, std::chrono::milliseconds timeout) {
  const auto answer = net::send({.method = "GET",
                                 .url = std::string(witness),
                                 .timeout = timeout,
                                 .answer_bytes_max = limits::kWitnessNoteBytesMax});
  if (!answer) return trouble(witness, "cannot be reached: " + answer.error().reason);
  if (answer->status == 404) return std::nullopt;
  if (answer->status / 100 != 2) return trouble(witness, "answered with status " + std::to_string(answer->status));
  return answer->body;
}

Result<void> bring(std::string_view witness, std::string_view origin, std::string_view note) {
  if (const auto folder = after(witness, "folder:")) return keep_in_folder(witness, *folder, origin, note);
  if (const auto repository = after(witness, "git:")) return keep_in_git(witness, *repository, origin, note);
  return keep_at_url(witness, note);
}

}  // namespace

Result<void> check_witness(std::string_view witness) {
  const auto refuse = [](std::string_view problem) {
    return failure_of(Code::LEDGER_DRAFT, "adding a witness", {{"problem", problem}});
  };
  if (secrets::holds_secret(witness)) return refuse("names a witness by an address that holds a secret");
  for (const std::string_view scheme : {"folder:", "git:"})
    if (const auto path = after(witness, scheme))
      return path->starts_with('/') ? Result<void>()
                                    : refuse("names a witness by a path that is not absolute: folder:/path, git:/path");
  if (is_url(witness)) {
    const std::string problem = net::problem_with_url(witness);
    return problem.empty() ? Result<void>() : refuse("names a witness whose address " + problem);
  }
  return refuse("names no witness: folder:/path, git:/path or https://address");
}

Result<void> keep_seal(std::string_view witness, std::string_view note) {
  const auto parsed = ledger::parse_note(note);
  const auto offered = parsed ? ledger::parse_checkpoint(parsed->text) : std::nullopt;
  if (!offered) return trouble(witness, "was offered what is no checkpoint");
  const auto folder = after(witness, "folder:");
  const auto lock = folder ? lock_folder(witness, *folder, offered->origin) : Descriptor(-1);
  if (!lock) return tl::make_unexpected(lock.error());
  const auto kept = kept_seal(witness, offered->origin);
  if (!kept) return tl::make_unexpected(kept.error());
  if (*kept) {
    const auto kept_note = ledger::parse_note(**kept);
    const auto seen = kept_note ? ledger::parse_checkpoint(kept_note->text) : std::nullopt;
    if (!seen) return trouble(witness, "holds something that is no checkpoint");
    if (seen->origin != offered->origin) return trouble(witness, "holds the seal of another ledger");
    if (seen->size > offered->size)
      return trouble(witness, "has seen " + std::to_string(seen->size) + " entries, more than the " +
                                  std::to_string(offered->size) + " it is offered");
    if (*seen == *offered) return {};
    if (seen->size == offered->size) return trouble(witness, "has seen another ledger of this size and name");
  }
  return bring(witness, offered->origin, note);
}

Result<std::optional<std::string>> kept_seal(std::string_view witness, std::string_view origin,
                                             std::chrono::milliseconds timeout) {
  if (auto checked = check_witness(witness); !checked) return tl::make_unexpected(checked.error());
  if (const auto folder = after(witness, "folder:")) return kept_in_folder(witness, *folder, origin);
  if (const auto repository = after(witness, "git:")) return kept_in_git(witness, *repository, origin);
  return kept_at_url(witness, timeout);
}

// --- the keeper ---------------------------------------------------------------------------------------------------------

WitnessKeeper::WitnessKeeper(std::vector<std::string> witnesses)
    : witnesses_(std::move(witnesses)), thread_([this] { work(); }) {}

WitnessKeeper::~WitnessKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void WitnessKeeper::offer(const store::Seal& seal) {
  {
    const std::lock_guard lock(mutex_);
    if (witnesses_.empty()) return;
    newest_ = seal;
  }
  wake_.notify_one();
}

void WitnessKeeper::add(std::string witness, const store::Seal& newest) {
  {
    const std::lock_guard lock(mutex_);
    if (std::find(witnesses_.begin(), witnesses_.end(), witness) == witnesses_.end())
      witnesses_.push_back(std::move(witness));
    if (!newest_ || newest_->size < newest.size) newest_ = newest;
  }
  wake_.notify_one();
}

void WitnessKeeper::remove(std::string_view witness) {
  const std::lock_guard lock(mutex_);
  std::erase(witnesses_, witness);
}

std::vector<std::string> WitnessKeeper::settle() {
  std::unique_lock lock(mutex_);
  settling_ = true;
  wake_.notify_all();
  settled_.wait(lock, [this] { return !newest_ && !bringing_; });
  settling_ = false;
  return troubles_;
}

void WitnessKeeper::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || newest_; });
    if (!newest_) return;
    const store::Seal seal = std::move(*newest_);
    newest_.reset();
    bringing_ = true;
    const std::vector<std::string> witnesses = witnesses_;
    lock.unlock();
    std::vector<std::string> troubles;
    for (const std::string& witness : witnesses)
      if (const auto kept = keep_seal(witness, seal.note); !kept) troubles.push_back(kept.error().reason);
    lock.lock();
    troubles_ = std::move(troubles);
    bringing_ = false;
    settled_.notify_all();
    wake_.wait_for(lock, 1s, [this] { return ending_ || settling_; });
  }
}

}  // namespace baton::runtime
