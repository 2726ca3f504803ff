// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/change_signal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "store/sqlite/sqlite_failure.h"

namespace baton::store::sqlite {

ChangeSignal::~ChangeSignal() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> ChangeSignal::open(const std::filesystem::path& path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return system_failure(errno, "opening " + path.string());
  return {};
}

void ChangeSignal::announce(std::uint64_t size) {
  std::array<unsigned char, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(size >> (8 * i));
  // The commit is on disk: that this fails is nothing its caller could act on. Those who wait wake a commit later.
  while (::pwrite(descriptor_, bytes.data(), bytes.size(), 0) < 0 && errno == EINTR) continue;
}

ChangeWatch::~ChangeWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> ChangeWatch::arm() {
  const std::string doing = "watching " + file_.string();
  if (descriptor_ < 0) descriptor_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (descriptor_ < 0) return system_failure(errno, doing);
  // Both may be asked for again and again: there is one watch for a file. That of the folder is for a `changed` that
  // the first writer has yet to make.
  if (::inotify_add_watch(descriptor_, folder_.c_str(), IN_CREATE | IN_MOVED_TO) < 0)
    return system_failure(errno, doing);
  if (::inotify_add_watch(descriptor_, file_.c_str(), IN_MODIFY) < 0 && errno != ENOENT)
    return system_failure(errno, doing);
  return {};
}

Result<bool> ChangeWatch::listen(std::chrono::milliseconds timeout) {
  pollfd wanted = {descriptor_, POLLIN, 0};
  const int ready = ::poll(&wanted, 1, static_cast<int>(timeout.count()));
  if (ready < 0 && errno != EINTR) return system_failure(errno, "watching " + file_.string());
  if (ready == 0) return false;
  std::array<char, 4096> events;
  while (::read(descriptor_, events.data(), events.size()) > 0) continue;
  return true;
}

Result<std::uint64_t> ChangeWatch::wait(std::uint64_t seen, std::chrono::milliseconds timeout,
                                        const std::function<Result<std::uint64_t>()>& read_size) {
  using std::chrono::milliseconds;
  // poll() counts in an int. Who would wait longer is told "nothing new" after 24 days.
  timeout = std::clamp(timeout, milliseconds(0), milliseconds(std::chrono::hours(24 * 24)));
  const std::int64_t start = clock_.monotonic_ns();
  std::unique_lock lock(mutex_);
  for (bool over = false;;) {
    // First the watch, then the look: a commit is either seen by the look or heard by whoever listens next.
    if (Result<void> armed = arm(); !armed) return tl::make_unexpected(armed.error());
    const std::uint64_t times = times_;
    lock.unlock();
    Result<std::uint64_t> size = read_size();
    lock.lock();
    if (!size || *size > seen || over) return size;
    if (times_ != times) continue;  // somebody heard something since, perhaps after our look

    const milliseconds left = timeout - milliseconds((clock_.monotonic_ns() - start) / 1'000'000);
    if (left.count() <= 0) return size;
    if (listening_) {
      over = !heard_.wait_for(lock, left, [&] { return times_ != times; });
      continue;
    }
    listening_ = true;
    lock.unlock();
    Result<bool> heard = listen(left);
    lock.lock();
    listening_ = false;
    ++times_;
    heard_.notify_all();
    if (!heard) return tl::make_unexpected(heard.error());
    over = !*heard;
  }
}

}  // namespace baton::store::sqlite
