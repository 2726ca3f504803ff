// SPDX-License-Identifier: Apache-2.0
#include "runtime/outbox.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/limits.h"
#include "base/sha256.h"
#include "json/parse.h"
#include "json/value.h"
#include "net/http_client.h"
#include "runtime/webhook_secret.h"
#include "runtime/work_rows.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;
using store::tables::kWebhookCursors;

constexpr std::chrono::milliseconds kDeliveryTimeout = 10s;
constexpr std::chrono::nanoseconds kOwnedFor = 30s;
// Less left than this is renewed before a delivery: longer than a delivery takes.
constexpr std::chrono::nanoseconds kOwnedAtLeast = 15s;
constexpr std::chrono::milliseconds kStopGrace = 1s;
constexpr std::chrono::milliseconds kFirstStorePause = 100ms, kLongestStorePause = 5s;
constexpr std::int64_t kFirstPauseMs = 1'000, kLongestPauseMs = 300'000;
// Entries that a target does not want are passed over in memory, and written down now and then.
constexpr std::uint64_t kUnsavedMax = 10'000;

constexpr unsigned kGone = 410;

// A row of webhook_cursors.
struct Cursor {
  std::string target;
  std::int64_t sequence = 0;  // told up to here
  std::string owner = {};     // empty: nobody
  std::int64_t owned_until = 0;
  std::int64_t failures = 0;  // of the event after that
  std::int64_t next_at = 0;   // not to be tried again before

  store::Row row() const { return {target, sequence, owner, owned_until, failures, next_at}; }
  static Cursor of(const store::Row& row) {
    return {text_at(row, 0),   number_at(row, 1), text_at(row, 2),
            number_at(row, 3), number_at(row, 4), number_at(row, 5)};
  }
};

// A delivery that is under way, kept by the thread that makes it and the one that waits for it, which may go first.
struct Sending {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<net::HttpAnswer>> answer;
};

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() ||
         std::ranges::any_of(patterns, [&](const std::string& pattern) { return workspace::matches(pattern, name); });
}

}  // namespace

// --- what is sent -------------------------------------------------------------------------------------------------------

std::string webhook_body(const FedEntry& entry) {
  json::Value actor = json::Value::object();
  actor.set("id", entry.actor_id);
  actor.set("kind", entry.actor_kind);
  const auto payload = json::parse(entry.payload);
  json::Value body = json::Value::object();
  body.set("sequence", entry.sequence);
  body.set("stream", entry.stream);
  body.set("type", entry.type);
  body.set("actor", std::move(actor));
  body.set("time", format_time({entry.time}));
  body.set("payload", payload ? json::Value::copy(payload->root()) : json::Value());
  return json::write(body);
}

std::string webhook_signature(std::string_view secret, std::int64_t seconds, std::string_view body) {
  const std::string time = std::to_string(seconds);
  return "t=" + time + ",v1=" + hmac_sha256_hex(secret, time + "." + std::string(body));
}

std::int64_t webhook_pause_ms(std::int64_t failures, std::string_view jitter_of) {
  std::int64_t pause = kFirstPauseMs;
  for (std::int64_t i = 1; i < failures && pause < kLongestPauseMs; ++i) pause *= 2;
  pause = std::min(pause, kLongestPauseMs);
  // Up to a quarter less, so that those who failed together do not come again together.
  const Sha256 dice = sha256(std::string(jitter_of) + "#" + std::to_string(failures));
  return pause - pause * dice[0] / (4 * 256);
}

// --- one target -----------------------------------------------------------------------------------------------------------

class Outbox::Target {
 public:
  Target(store::Store& store, Clock& clock, workspace::WebhookTarget target, std::string secret, const Options& options)
      : store_(store),
        clock_(clock),
        target_(std::move(target)),
        secret_(std::move(secret)),
        owner_(options.owner),
        log_(options.log) {}
  ~Target() { stop(); }

  Result<void> make_cursor();
  void start() {
    thread_ = std::thread([this] { work(); });
  }
  void see(const FedEntries& entries);
  void ask_to_stop();
  void stop();

  std::atomic<std::uint64_t> sent = 0, failed = 0;

 private:
  bool wants(std::string_view stream, std::string_view type) const {
    return matches_any(target_.types, type) && matches_any(target_.streams, stream);
  }
  void say(const std::string& what) const {
    if (log_) log_("webhook `" + target_.name + "`: " + what);
  }

  void work();
  Result<void> read_batch();
  Result<bool> take();
  Result<bool> save(std::int64_t failures, std::int64_t pause_ms);
  void release();
  void tell_front();
  std::optional<Result<net::HttpAnswer>> send(const FedEntry& entry);
  // Until then, or until freed_ is another than it was when this was read.
  void wait_until(SteadyClock::time_point time, std::optional<std::uint64_t> freed = {});
  std::uint64_t freed() {
    const std::lock_guard lock(mutex_);
    return freed_;
  }
  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
  }

  store::Store& store_;
  Clock& clock_;
  const workspace::WebhookTarget target_;
  const std::string secret_;
  const std::string owner_;
  const Log log_;

  // Of the thread alone.
  std::uint64_t cursor_ = 0;  // told, or passed over, up to here
  std::uint64_t saved_ = 0;   // the same in the store
  bool at_end_ = false;       // there was nothing after the batch when it was read
  std::deque<FedEntry> batch_;
  bool owned_ = false;
  SteadyClock::time_point owned_until_ = {};  // or when somebody else's time is over
  SteadyClock::time_point next_at_ = {};
  std::int64_t failures_ = 0;
  bool gone_ = false;
  std::uint64_t told_when_read_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t told_ = 0;   // rises when there may be something to send
  std::uint64_t freed_ = 0;  // rises when a node has stopped, which may have owned the target
  bool stopping_ = false;
  std::thread thread_;
};

// The row of a target that is new begins at the head.
Result<void> Outbox::Target::make_cursor() {
  for (int tries = 0;; ++tries) {
    const auto reader = store_.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    const auto head = (*reader)->head();
    if (!head) return tl::make_unexpected(head.error());
    auto transaction = store_.begin();
    if (!transaction) return tl::make_unexpected(transaction.error());
    const auto row = (*transaction)->get(kWebhookCursors, {target_.name});
    if (!row) return tl::make_unexpected(row.error());
    if (*row) {
      cursor_ = saved_ = static_cast<std::uint64_t>(Cursor::of(**row).sequence);
      return {};
    }
    const Cursor cursor{.target = target_.name, .sequence = static_cast<std::int64_t>(head->size)};
    auto made = (*transaction)->insert(kWebhookCursors, cursor.row());
    if (made) made = (*transaction)->commit();
    if (made) {
      cursor_ = saved_ = head->size;
      return {};
    }
    // Another node made it in the same moment: it is there now.
    constexpr int kTries = 5;
    if (made.error().code != info(Code::STORE_CONFLICT).name || tries == kTries) return made;
  }
}

void Outbox::Target::see(const FedEntries& entries) {
  bool wanted = false, freed = false;
  for (const FedEntry& entry : *entries) {
    wanted = wanted || wants(entry.stream, entry.type);
    freed = freed || entry.type == kNodeStopped;
  }
  if (!wanted && !freed) return;
  {
    const std::lock_guard lock(mutex_);
    told_ += wanted ? 1 : 0;
    freed_ += freed ? 1 : 0;
  }
  wake_.notify_all();
}

void Outbox::Target::ask_to_stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

void Outbox::Target::stop() {
  ask_to_stop();
  if (thread_.joinable()) thread_.join();
}

void Outbox::Target::wait_until(SteadyClock::time_point time, std::optional<std::uint64_t> freed) {
  std::unique_lock lock(mutex_);
  wake_.wait_until(lock, time, [&] { return stopping_ || (freed && freed_ != *freed); });
}

void Outbox::Target::work() {
  auto pause = kFirstStorePause;
  while (!is_stopping() && !gone_) {
    if (batch_.empty() && !at_end_)
      if (const auto read = read_batch(); !read) {
        if (pause == kFirstStorePause) say(read.error().reason);
        wait_until(SteadyClock::now() + pause);
        pause = std::min(pause * 2, kLongestStorePause);
        continue;
      }
    if (batch_.empty()) {
      if (!at_end_) continue;
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || told_ != told_when_read_; });
      at_end_ = false;
      continue;
    }
    // Before whose it is is read: who stops right after that is not waited for.
    const std::uint64_t freed_before = freed();
    const auto mine = take();
    if (!mine) {
      if (pause == kFirstStorePause) say(mine.error().reason);
      wait_until(SteadyClock::now() + pause);
      pause = std::min(pause * 2, kLongestStorePause);
      continue;
    }
    pause = kFirstStorePause;
    if (!*mine) {
      wait_until(owned_until_, freed_before);
      continue;
    }
    if (batch_.empty()) continue;  // it was told more than we knew
    if (SteadyClock::now() < next_at_) {
      wait_until(next_at_);
      continue;
    }
    tell_front();
  }
  release();
}

// What comes after the cursor and is wanted.
Result<void> Outbox::Target::read_batch() {
  {
    // What is committed by now is seen by the reading; what comes later raises told_.
    const std::lock_guard lock(mutex_);
    told_when_read_ = told_;
  }
  const auto reader = store_.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  const std::uint64_t last = std::min<std::uint64_t>(head->size, cursor_ + limits::kOutboxEntriesMax);
  std::uint64_t seen = cursor_;
  const auto read = (*reader)->entries(cursor_ + 1, last, [&](const store::EntryRow& row) {
    seen = row.sequence;
    if (wants(row.stream, row.type))
      batch_.push_back({row.sequence, std::string(row.stream), std::string(row.type), std::string(row.actor_id),
                        std::string(row.actor_kind), std::string(row.payload), row.time});
    return batch_.size() < limits::kOutboxBatchMax;
  });
  if (!read) {
    batch_.clear();
    return read;
  }
  at_end_ = seen >= head->size;
  if (batch_.empty()) {
    cursor_ = seen;
    if (owned_ && cursor_ - saved_ >= kUnsavedMax) {
      const auto saved = save(failures_, 0);
      if (!saved) return tl::make_unexpected(saved.error());
    }
  }
  return {};
}

// Is the target ours, for long enough to send something? False: somebody else's, until owned_until_.
Result<bool> Outbox::Target::take() {
  if (owned_ && SteadyClock::now() + kOwnedAtLeast < owned_until_) return true;
  auto transaction = store_.begin();
  if (!transaction) return tl::make_unexpected(transaction.error());
  const auto row = (*transaction)->get(kWebhookCursors, {target_.name});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return failure("telling a webhook", "its row is gone from the store");
  const auto now = (*transaction)->now();
  if (!now) return tl::make_unexpected(now.error());
  const SteadyClock::time_point steady = SteadyClock::now();
  Cursor cursor = Cursor::of(**row);
  const bool was_ours = owned_ && cursor.owner == owner_;
  if (!was_ours) {
    owned_ = false;
    // Told up to there by somebody: what we have read may be told already.
    cursor_ = saved_ = static_cast<std::uint64_t>(cursor.sequence);
    batch_.clear();
    at_end_ = false;
    if (cursor.owner != owner_ && !cursor.owner.empty() && cursor.owned_until > now->nanoseconds) {
      owned_until_ = steady + std::chrono::nanoseconds(cursor.owned_until - now->nanoseconds);
      return false;
    }
    failures_ = cursor.failures;
    next_at_ = steady + std::chrono::nanoseconds(std::max<std::int64_t>(cursor.next_at - now->nanoseconds, 0));
  }
  cursor.owner = owner_;
  cursor.owned_until = now->nanoseconds + kOwnedFor.count();
  cursor.sequence = static_cast<std::int64_t>(cursor_);
  auto taken = (*transaction)->update(kWebhookCursors, cursor.row());
  if (taken) taken = (*transaction)->commit();
  if (!taken) return tl::make_unexpected(taken.error());
  owned_ = true;
  saved_ = cursor_;
  owned_until_ = steady + kOwnedFor;
  return true;
}

// Writes down how far it has been told. False when the target is somebody else's by now.
Result<bool> Outbox::Target::save(std::int64_t failures, std::int64_t pause_ms) {
  auto transaction = store_.begin();
  if (!transaction) return tl::make_unexpected(transaction.error());
  const auto row = (*transaction)->get(kWebhookCursors, {target_.name});
  if (!row) return tl::make_unexpected(row.error());
  const auto now = (*transaction)->now();
  if (!now) return tl::make_unexpected(now.error());
  if (!*row || Cursor::of(**row).owner != owner_) {
    owned_ = false;
    return false;
  }
  const SteadyClock::time_point steady = SteadyClock::now();
  Cursor cursor = Cursor::of(**row);
  cursor.sequence = static_cast<std::int64_t>(cursor_);
  cursor.owned_until = now->nanoseconds + std::max<std::int64_t>(kOwnedFor.count(), pause_ms * 1'000'000);
  cursor.failures = failures;
  cursor.next_at = pause_ms == 0 ? 0 : now->nanoseconds + pause_ms * 1'000'000;
  auto saved = (*transaction)->update(kWebhookCursors, cursor.row());
  if (saved) saved = (*transaction)->commit();
  if (!saved) return tl::make_unexpected(saved.error());
  saved_ = cursor_;
  owned_until_ = steady + kOwnedFor;
  return true;
}

void Outbox::Target::release() {
  if (!owned_) return;
  auto transaction = store_.begin();
  if (!transaction) return;
  const auto row = (*transaction)->get(kWebhookCursors, {target_.name});
  if (!row || !*row) return;
  Cursor cursor = Cursor::of(**row);
  if (cursor.owner != owner_) return;
  cursor.owner.clear();
  cursor.owned_until = 0;
  cursor.sequence = static_cast<std::int64_t>(cursor_);
  if ((*transaction)->update(kWebhookCursors, cursor.row())) (void)(*transaction)->commit();
}

// Sends the next event and writes down what became of it.
void Outbox::Target::tell_front() {
  const FedEntry& entry = batch_.front();
  const auto answer = send(entry);
  if (!answer) return;  // stopping
  const std::string number = std::to_string(entry.sequence);
  if (*answer && (*answer)->status / 100 == 2) {
    ++sent;
    cursor_ = entry.sequence;
    failures_ = 0;
    batch_.pop_front();
    // The event that was taken must not be sent again because the store is away for a moment.
    for (auto pause = kFirstStorePause; !is_stopping(); pause = std::min(pause * 2, kLongestStorePause)) {
      const auto saved = save(0, 0);
      if (saved && !*saved) batch_.clear();
      if (saved) return;
      wait_until(SteadyClock::now() + pause);
    }
    return;
  }
  ++failed;
  if (*answer && (*answer)->status == kGone) {
    gone_ = true;
    return say("event " + number + " was answered with 410 Gone; nothing more is sent until the node starts again");
  }
  ++failures_;
  const std::int64_t pause_ms = webhook_pause_ms(failures_, owner_ + target_.name + number);
  next_at_ = SteadyClock::now() + std::chrono::milliseconds(pause_ms);
  say("event " + number + " was not taken (" +
      (*answer ? "status " + std::to_string((*answer)->status) : answer->error().reason) + "), the next try is in " +
      std::to_string((pause_ms + 999) / 1000) + " s");
  cursor_ = entry.sequence - 1;
  const auto saved = save(failures_, pause_ms);
  if (saved && !*saved) batch_.clear();
}

// Nothing when the node stops meanwhile and the answer does not come soon.
std::optional<Result<net::HttpAnswer>> Outbox::Target::send(const FedEntry& entry) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = target_.url;
  request.body = webhook_body(entry);
  request.content_type = "application/json";
  request.timeout = kDeliveryTimeout;
  request.answer_bytes_max = limits::kOutboxAnswerBytesMax;
  const std::int64_t seconds = clock_.now().nanoseconds / kNanosecondsPerSecond;
  request.headers = {{"Baton-Event", entry.type},
                     {"Baton-Delivery", target_.name + "-" + std::to_string(entry.sequence)},
                     {"Baton-Signature", webhook_signature(secret_, seconds, request.body)}};
  const auto sending = std::make_shared<Sending>();
  std::thread([sending, request = std::move(request)] {
    auto answer = net::send(request);
    const std::lock_guard lock(sending->mutex);
    sending->answer = std::move(answer);
    sending->answered.notify_all();
  }).detach();
  std::optional<SteadyClock::time_point> last_moment;
  std::unique_lock lock(sending->mutex);
  while (!sending->answer) {
    constexpr auto kGlance = 100ms;  // at whether the node stops: only while a delivery is under way
    sending->answered.wait_for(lock, kGlance);
    if (!last_moment && is_stopping()) last_moment = SteadyClock::now() + kStopGrace;
    if (last_moment && SteadyClock::now() >= *last_moment) break;
  }
  return std::move(sending->answer);
}

// --- all of them ----------------------------------------------------------------------------------------------------------

Outbox::Outbox(std::vector<std::unique_ptr<Target>> targets) : targets_(std::move(targets)) {}
Outbox::~Outbox() { stop(); }

Result<std::unique_ptr<Outbox>> Outbox::start(store::Store& store, Clock& clock,
                                              const std::vector<workspace::WebhookTarget>& targets,
                                              const Options& options) {
  std::vector<std::unique_ptr<Target>> made;
  for (const workspace::WebhookTarget& target : targets) {
    auto secret = read_webhook_secret(options.config_folder, target.secret_file);
    if (!secret) return tl::make_unexpected(secret.error());
    made.push_back(std::make_unique<Target>(store, clock, target, std::move(*secret), options));
    if (auto cursor = made.back()->make_cursor(); !cursor) return tl::make_unexpected(cursor.error());
  }
  for (const auto& target : made) target->start();
  return std::unique_ptr<Outbox>(new Outbox(std::move(made)));
}

void Outbox::see(const FedEntries& entries) {
  for (const auto& target : targets_) target->see(entries);
}

void Outbox::stop() {
  for (const auto& target : targets_) target->ask_to_stop();
  for (const auto& target : targets_) target->stop();
}

std::uint64_t Outbox::sent() const {
  std::uint64_t sum = 0;
  for (const auto& target : targets_) sum += target->sent;
  return sum;
}
std::uint64_t Outbox::failed() const {
  std::uint64_t sum = 0;
  for (const auto& target : targets_) sum += target->failed;
  return sum;
}

}  // namespace baton::runtime
