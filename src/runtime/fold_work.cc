// SPDX-License-Identifier: Apache-2.0
// What becomes of entries about work: items and sessions, who waits for whom, numbers for new items, packets and deliveries seen.
#include <charconv>

#include "runtime/fold_parts.h"
#include "runtime/work_events.h"
#include "runtime/work_rows.h"
#include "store/tables.h"
#include "work/events.h"

namespace baton::runtime {
namespace {

using store::Row;
namespace tables = store::tables;

Result<std::optional<work::Session>> session_of(store::Transaction& transaction, const std::string& id) {
  if (id.empty()) return std::nullopt;
  const auto row = transaction.get(tables::kSessions, {id});
  if (!row) return tl::make_unexpected(row.error());
  if (!*row) return std::nullopt;
  auto session = read_session(**row);
  if (!session) return tl::make_unexpected(session.error());
  return std::optional(std::move(*session));
}

// The number of `W-12`; 0 for any other id.
std::int64_t number_of(std::string_view id) {
  constexpr std::size_t kDigitsMax = 15;
  if (!id.starts_with("W-")) return 0;
  id.remove_prefix(2);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  const bool whole = error == std::errc() && end == id.data() + id.size() && id.size() <= kDigitsMax;
  return whole && number > 0 && id.front() != '0' ? number : 0;
}

// The next number comes after every `W-N` there is, those that somebody chose among them; but one that was chosen far ahead
// does not use up the numbers before it.
Result<void> count(const work::Item& item, store::Transaction& transaction) {
  constexpr std::int64_t kAheadMax = 1'000'000;
  const std::int64_t number = number_of(item.id);
  if (number == 0) return {};
  const auto row = transaction.get(tables::kCounters, {std::string("work")});
  if (!row) return tl::make_unexpected(row.error());
  const std::int64_t last = *row ? number_at(**row, 1) : 0;
  if (number <= last || number > last + kAheadMax) return {};
  const Row counted = {std::string("work"), number};
  return *row ? transaction.update(tables::kCounters, counted) : transaction.insert(tables::kCounters, counted);
}

// How many items of an actor are not done: kCounters, `items/` and the actor. There is no row for none.
Result<void> count_for_actor(const std::optional<work::Item>& before, const work::Item& now,
                             store::Transaction& transaction) {
  if (now.counts_for.empty()) return {};
  const int change = (now.is_done() ? 0 : 1) - (!before || before->is_done() ? 0 : 1);
  if (change == 0) return {};
  const std::string name = open_items_of(now.counts_for);
  const auto row = transaction.get(tables::kCounters, {name});
  if (!row) return tl::make_unexpected(row.error());
  const std::int64_t count = (*row ? number_at(**row, 1) : 0) + change;
  if (count <= 0) return *row ? transaction.erase(tables::kCounters, {name}) : Result<void>();
  const Row counted = {name, count};
  return *row ? transaction.update(tables::kCounters, counted) : transaction.insert(tables::kCounters, counted);
}

Result<void> wait_for(const work::Item& item, store::Transaction& transaction) {
  for (const std::string& dependency : item.open_dependencies)
    if (auto done = transaction.insert(tables::kWorkDependencies, {dependency, item.id}); !done) return done;
  return count(item, transaction);
}

}  // namespace

Result<void> fold_work_event(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string work_id;
  if (!read_text(payload, "work_id", work_id)) return malformed(event, "work_id");
  const auto row = transaction.get(tables::kWorkItems, {work_id});
  if (!row) return tl::make_unexpected(row.error());
  std::optional<work::Item> item;
  if (*row) {
    auto read = read_item(**row);
    if (!read) return tl::make_unexpected(read.error());
    item = std::move(*read);
  }
  const work::SessionNames names = work::sessions_of(payload);
  // A claim makes its session: there is none to ask for, and if there were, the insertion would not pass.
  const auto session = session_of(transaction, event.type == work::kClaimed ? std::string() : names.session);
  if (!session) return tl::make_unexpected(session.error());
  const auto superseded = session_of(transaction, names.superseded);
  if (!superseded) return tl::make_unexpected(superseded.error());

  const auto effect = work::apply(event.type, payload, item, *session, *superseded);
  if (!effect) return tl::make_unexpected(effect.error());
  if (effect->superseded)
    if (auto done = transaction.update(tables::kSessions, row_of(*effect->superseded)); !done) return done;
  if (effect->session) {
    const Row now = row_of(*effect->session);
    auto done = *session ? transaction.update(tables::kSessions, now) : transaction.insert(tables::kSessions, now);
    if (!done) return done;
  }
  if (!effect->item) return {};
  const Row now = row_of(*effect->item);
  if (auto done = item ? transaction.update(tables::kWorkItems, now) : transaction.insert(tables::kWorkItems, now);
      !done)
    return done;
  if (auto done = count_for_actor(item, *effect->item, transaction); !done) return done;
  if (event.type == work::kCreated) return wait_for(*effect->item, transaction);
  if (event.type == work::kDependencyDone || event.type == work::kDependencyAborted) {
    std::string dependency;
    if (!read_text(payload, "dependency", dependency)) return malformed(event, "dependency");
    return transaction.erase(tables::kWorkDependencies, {dependency, work_id});
  }
  return {};
}

Result<void> fold_handoff_accepted(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string session_id, key;
  if (!payload["session_id"]) return {};  // CI hands over without one
  if (!read_text(payload, "session_id", session_id) || !read_text(payload, "key", key))
    return malformed(event, "session_id and key");
  auto session = session_of(transaction, session_id);
  if (!session) return tl::make_unexpected(session.error());
  if (!*session) return malformed(event, "session that is known");
  if (std::string& last = (*session)->handoff_digest; !last.empty() && last != key) {
    auto& earlier = (*session)->earlier_digests;
    if (earlier.size() == work::kEarlierDigestsMax) earlier.erase(earlier.begin());
    earlier.push_back(std::move(last));
  }
  (*session)->handoff_digest = std::move(key);
  if (payload["plan_status"]) {
    std::int64_t reports = 0;
    if (!read_text(payload, "plan_status", (*session)->plan_status) ||
        !read_number(payload, "reports_in_a_row", reports))
      return malformed(event, "plan_status and reports_in_a_row");
    (*session)->reports_in_a_row = static_cast<std::uint32_t>(reports);
  }
  return transaction.update(tables::kSessions, row_of(**session));
}

Result<void> fold_uaix_message_seen(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string source_id, message_id, key, digest, work_id;
  Time expires_at;
  if (!read_text(payload, "source_id", source_id) || !read_text(payload, "message_id", message_id) ||
      !read_text(payload, "idempotency_key", key) || !read_text(payload, "digest", digest) ||
      !read_text(payload, "work_id", work_id) || !read_time(payload, "expires_at", expires_at))
    return malformed(event, "complete message");
  return put(transaction, tables::kUaixMessages, {message_id, source_id, key, digest, work_id, expires_at.nanoseconds});
}

Result<void> fold_process_registered(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string boot_id, session_id;
  std::int64_t pid = 0, started = 0;
  if (!read_text(payload, "boot_id", boot_id) || !read_number(payload, "pid", pid) ||
      !read_number(payload, "started", started) || !read_text(payload, "session_id", session_id))
    return malformed(event, "complete process");
  return put(transaction, tables::kSupervisedProcesses, {boot_id, pid, started, session_id});
}

Result<void> fold_delivery_taken(const Event& event, json::Node payload, store::Transaction& transaction) {
  std::string key;
  Time at;
  if (!read_text(payload, "key", key) || !read_time(payload, "at", at)) return malformed(event, "key and at");
  if (auto done = put(transaction, tables::kDeliveries, {key, at.nanoseconds}); !done) return done;
  // Entries of versions that looked at the id alone have none.
  std::string body_sha256;
  if (!payload["body_sha256"]) return {};
  if (!read_text(payload, "body_sha256", body_sha256)) return malformed(event, "body_sha256 that is text");
  return put(transaction, tables::kDeliveries, {body_sha256, at.nanoseconds});
}

}  // namespace baton::runtime
