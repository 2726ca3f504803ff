// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_check.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/entry.h"
#include "ledger/streams.h"
#include "runtime/fold.h"
#include "runtime/rebuild.h"
#include "runtime/session_events.h"
#include "runtime/work_events.h"
#include "runtime/work_rows.h"
#include "store/rows.h"
#include "store/tables.h"
#include "work/events.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using store::Row;
using store::Table;

constexpr const char* kDoing = "comparing a row with the ledger";
constexpr std::size_t kPassedMax = 1u << 16;  // beyond, rows are compared again

const Table* const kFolded[] = {&tables::kWorkItems, &tables::kSessions, &tables::kSessionStates, &tables::kApprovals,
                                &tables::kPackRoles};

bool is_folded_table(const Table& table) { return std::ranges::find(kFolded, &table) != std::end(kFolded); }

// Where entries are folded again: rows of the tables that are compared come from them alone; of all others only the texts of
// packs are read, which their hashes prove.
class Replayed final : public store::Transaction {
 public:
  explicit Replayed(store::Reader& reader) : reader_(reader) {}

  Result<Time> now() override { return failure(kDoing, "there is no clock"); }
  Result<std::optional<Row>> get(const Table& table, const Row& key) override {
    if (&table == &tables::kPackParts) return reader_.get(table, key);
    const auto& rows = rows_[&table];
    const auto found = rows.find(key);
    return found == rows.end() ? std::nullopt : std::optional(found->second);
  }
  Result<void> find(const store::Query&, store::Lock, const store::TakeRow&) override {
    return failure(kDoing, "a fold looks for rows");
  }
  Result<void> insert(const Table& table, const Row& row) override {
    if (rows_[&table].emplace(store::key_of(table, row), row).second) return {};
    return failure_of(Code::STORE_CONFLICT, kDoing);
  }
  Result<void> update(const Table& table, const Row& row) override {
    const auto found = rows_[&table].find(store::key_of(table, row));
    if (found == rows_[&table].end()) return failure_of(Code::STORE_CONFLICT, kDoing);
    found->second = row;
    return {};
  }
  Result<void> erase(const Table& table, const Row& key) override {
    rows_[&table].erase(key);
    return {};
  }
  Result<void> savepoint() override { return {}; }
  Result<void> rollback_to_savepoint() override { return {}; }
  Result<void> release_savepoint() override { return {}; }
  Result<store::Head> take_head() override { return reader_.head(); }
  Result<void> append(std::span<const store::EntryRow>, std::span<const store::TreeNode>, const store::Seal&,
                      const store::Head&) override {
    return failure(kDoing, "nothing is written");
  }
  Result<void> commit() override { return failure(kDoing, "nothing is written"); }

 private:
  store::Reader& reader_;
  std::map<const Table*, std::map<Row, Row>> rows_;
};

// One comparison, in one snapshot.
class Comparison {
 public:
  Comparison(store::Reader& reader, const Table& table, const Row& key) : reader_(reader), table_(table), key_(key) {}

  Result<void> run() {
    auto row = reader_.get(table_, key_);
    if (!row) return tl::make_unexpected(row.error());
    if (!*row) return {};  // it went meanwhile
    Result<void> gathered = gather(**row);
    if (!gathered) return gathered;
    if (is_of_workflow_) return {};
    std::sort(entries_.begin(), entries_.end(),
              [](const ledger::Entry& left, const ledger::Entry& right) { return left.sequence < right.sequence; });
    Replayed replayed(reader_);
    for (const ledger::Entry& entry : entries_) {
      const Event event{entry.stream, entry.type, entry.actor_id, entry.actor_kind, entry.payload};
      if (auto folded = fold(event, replayed); !folded)
        return differs("its entry " + std::to_string(entry.sequence) + " does not fit: " + folded.error().reason);
    }
    const auto made = replayed.get(table_, key_);
    if (!made) return tl::make_unexpected(made.error());
    if (!*made) return differs("no entry made it");
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      if ((**row)[i] != (**made)[i] && !(has_older_rules_ && is_same_but_rounded((**row)[i], (**made)[i])))
        return differs("the column " + std::string(table_.columns[i].name) + " is not what its entries make");
    return {};
  }

 private:
  using Wanted = std::function<bool(const ledger::Entry&)>;

  Result<void> gather(const Row& row) {
    const std::string id = text_at(key_, 0);
    if (&table_ == &tables::kWorkItems) return gather_item(id);
    if (&table_ == &tables::kSessions) {
      const std::string work_id = text_at(row, 1);
      return work_id.empty() ? gather_session(id) : gather_item(work_id);
    }
    if (&table_ == &tables::kSessionStates) return gather_session(id);
    if (&table_ == &tables::kApprovals)
      return read(
          std::string(kApprovalsStream),
          [&](const ledger::Entry& entry) {
            return payload_has(entry, entry.type == kApprovalRequested ? "id" : "approval_id", id);
          },
          [&](const ledger::Entry& entry) { return entry.type == kApprovalRequested; });
    return read(
        std::string(kPacksStream),
        [&](const ledger::Entry& entry) { return entry.type == kPackActivated && payload_has(entry, "role", id); },
        [](const ledger::Entry&) { return true; });
  }

  Result<void> gather_item(const std::string& work_id) {
    const std::size_t before = entries_.size();
    if (auto done = read(work_stream(work_id)); !done) return done;
    std::set<std::string> sessions;
    for (std::size_t i = before; i < entries_.size(); ++i) {
      const auto payload = json::parse(entries_[i].payload);
      if (entries_[i].type == work::kClaimed && payload) sessions.insert(work::sessions_of(payload->root()).session);
    }
    for (const std::string& session : sessions)
      if (auto done = read(session_stream(session)); !done) return done;
    look_at_openings();
    return {};
  }

  // A session that has a work item changes it, and is changed by what becomes of it.
  Result<void> gather_session(const std::string& session_id) {
    if (auto done = read(session_stream(session_id)); !done) return done;
    look_at_openings();
    std::string work_id;
    for (const ledger::Entry& entry : entries_)
      if (entry.type == kSessionOpened)
        if (const auto payload = json::parse(entry.payload)) read_text(payload->root(), "work_id", work_id);
    if (work_id.empty() || is_of_workflow_) return {};
    entries_.clear();
    return gather_item(work_id);
  }

  void look_at_openings() {
    for (const ledger::Entry& entry : entries_) {
      if (entry.type != kSessionOpened) continue;
      const auto payload = json::parse(entry.payload);
      if (!payload) continue;
      is_of_workflow_ = is_of_workflow_ || payload->root()["workflow_id"];
      has_older_rules_ = has_older_rules_ || !payload->root()["rules_version"];
    }
  }

  static bool payload_has(const ledger::Entry& entry, std::string_view member, std::string_view value) {
    const auto payload = json::parse(entry.payload);
    return payload && payload->root()[member].is_text(value);
  }

  // The entries of a stream that change tables; from the newest on, until one is the `last`.
  Result<void> read(const std::string& stream, const Wanted& wanted = {}, const Wanted& last = {}) {
    std::optional<std::uint64_t> altered;
    std::string buffer;
    auto done = ledger::read_stream_backwards(reader_, stream, [&](const store::EntryRow& row) {
      if (!is_folded(row.type)) return true;
      const Sha256 hash = ledger::entry_hash(row, buffer);
      if (row.hash != std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size())) {
        altered = row.sequence;
        return false;
      }
      ledger::Entry entry;
      entry.sequence = row.sequence;
      entry.stream = row.stream;
      entry.type = row.type;
      entry.actor_id = row.actor_id;
      entry.actor_kind = row.actor_kind;
      entry.payload = row.payload;
      if (wanted && !wanted(entry)) return true;
      entries_.push_back(std::move(entry));
      return !(last && last(entries_.back()));
    });
    if (!done) return done;
    if (altered) return failure_of(Code::LEDGER_CONTENT, kDoing, {{"sequence", std::to_string(*altered)}});
    return {};
  }

  Result<void> differs(const std::string& problem) const {
    std::string key;
    for (const store::Value& value : key_)
      if (const auto* text = std::get_if<std::string>(&value)) key += (key.empty() ? "" : ", ") + *text;
    return failure_of(Code::LEDGER_PROJECTION, kDoing,
                      {{"table", table_.name}, {"problem", "in the row `" + key + "`, " + problem}});
  }

  store::Reader& reader_;
  const Table& table_;
  const Row& key_;
  std::vector<ledger::Entry> entries_;
  bool is_of_workflow_ = false, has_older_rules_ = false;
};

}  // namespace

bool RowCheck::is_checked(const Table& table) { return is_folded_table(table); }

namespace {
std::string name_of(const Table& table, const Row& key) {
  std::string name(table.name);
  for (const store::Value& value : key)
    if (const auto* text = std::get_if<std::string>(&value)) name.append("\n").append(*text);
  return name;
}
}  // namespace

void RowCheck::trust(const Table& table, const Row& key) {
  if (!is_checked(table)) return;
  std::string name = name_of(table, key);
  const std::lock_guard lock(mutex_);
  if (passed_.size() >= kPassedMax) passed_.clear();
  passed_.insert(std::move(name));
}

Result<void> RowCheck::check(const Table& table, const Row& key) {
  if (!is_checked(table)) return {};
  {
    const std::string name = name_of(table, key);
    const std::lock_guard lock(mutex_);
    if (passed_.contains(name)) return {};
  }
  const auto reader = store_.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  if (auto good = Comparison(**reader, table, key).run(); !good) return good;
  trust(table, key);
  return {};
}

}  // namespace baton::runtime
