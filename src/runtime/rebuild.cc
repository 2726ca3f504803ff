// SPDX-License-Identifier: Apache-2.0
#include "runtime/rebuild.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/sha256.h"
#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "ledger/blob.h"
#include "ledger/redaction.h"
#include "runtime/fold.h"
#include "runtime/ledger_events.h"
#include "runtime/recheck.h"
#include "runtime/session_events.h"
#include "runtime/work_events.h"
#include "runtime/workflow_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using store::Row;
using store::Table;

constexpr std::uint64_t kBatch = 4096;
constexpr std::size_t kPage = 1024;

std::string shown(const store::Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text, 80);
  return "nothing";
}

std::string key_of(const Table& table, const Row& row) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < table.key_columns; ++i) parts.push_back(shown(row[i]));
  return "`" + join(parts, ", ") + "`";
}

// All rows of a table in the order of its key, in pages: each begins where the last one ended. Tables have keys of one
// or more columns; a page goes on within the first column's value first.
class Rows {
 public:
  Rows(store::Reader& reader, const Table& table) : reader_(reader), table_(table) {}

  Result<const Row*> front() {
    if (at_ == page_.size() && !ended_) {
      page_.clear();
      at_ = 0;
      // Pages by the first key column: rows that were seen already are passed over.
      store::Query query{.table = table_};
      if (last_) query.from = (*last_)[0];
      auto read = reader_.find(query, [&](const Row& row) {
        if (last_ && !key_less(*last_, row)) return true;
        page_.push_back(row);
        return page_.size() < kPage;
      });
      if (!read) return tl::make_unexpected(read.error());
      ended_ = page_.empty();
      if (!ended_) last_ = page_.back();
    }
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() { ++at_; }

  bool key_less(const Row& left, const Row& right) const {
    return std::lexicographical_compare(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(table_.key_columns),
                                        right.begin(), right.begin() + static_cast<std::ptrdiff_t>(table_.key_columns));
  }

 private:
  store::Reader& reader_;
  const Table& table_;
  std::vector<Row> page_;
  std::optional<Row> last_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

// Rules before version 2 added up numbers of more than 18 places after the point, or more than 37 digits, in binary. What that left
// in a row is the exact number but for its last digits.
bool is_nearly(const json::Decimal& left, const json::Decimal& right) {
  const json::Decimal zero, apart = left - right;
  const json::Decimal distance = apart < zero ? -apart : apart, size = right < zero ? -right : right;
  return distance * json::Decimal(1'000'000'000) <= size;
}

// A count, a position, a time: what a double holds exactly was never left rounded.
bool is_exact_in_binary(std::string_view number) {
  return json::is_integer(number) && json::number_parts(number).exponent <= 15;
}

bool is_same_but_rounded(json::Node left, json::Node right) {
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case json::Kind::Number:
      if (json::same_number(left.number_text(), right.number_text())) return true;
      return !(is_exact_in_binary(left.number_text()) && is_exact_in_binary(right.number_text())) &&
             is_nearly(json::Decimal::from_number(left.number_text()), json::Decimal::from_number(right.number_text()));
    case json::Kind::Array: {
      if (left.size() != right.size()) return false;
      auto other = right.elements().begin();
      for (const json::Node one : left.elements()) {
        if (!is_same_but_rounded(one, *other)) return false;
        ++other;
      }
      return true;
    }
    case json::Kind::Object: {
      if (left.size() != right.size()) return false;
      for (const json::Member one : left.members()) {
        const json::Node other = right[one.name()];
        if (!other || !is_same_but_rounded(one.value, other)) return false;
      }
      return true;
    }
    default: return json::equal(left, right);
  }
}

}  // namespace

bool is_same_but_rounded(const store::Value& left, const store::Value& right) {
  const auto *a = std::get_if<std::string>(&left), *b = std::get_if<std::string>(&right);
  if (a == nullptr || b == nullptr) return false;
  const auto first = json::parse(*a), second = json::parse(*b);
  // A session that was opened with later rules has exact numbers, whatever others of the ledger have.
  return first && second && first->root().is_object() && !second->root()["rules_version"] &&
         is_same_but_rounded(first->root(), second->root());
}

namespace {

// Was a session opened with rules before version 2?
bool is_of_older_rules(const store::EntryRow& row) {
  if (row.type != kSessionOpened) return false;
  const auto payload = json::parse(row.payload);
  return payload && !payload->root()["rules_version"];
}

Diagnostic difference(const Table& table, std::string_view problem) {
  return report(Code::LEDGER_PROJECTION, {}, {{"table", table.name}, {"problem", problem}});
}

Result<std::optional<Diagnostic>> compare(const Table& table, store::Reader& stored, store::Reader& made,
                                          bool may_be_rounded, std::uint64_t& count) {
  Rows left(stored, table), right(made, table);
  while (true) {
    const auto in_store = left.front();
    if (!in_store) return tl::make_unexpected(in_store.error());
    const auto in_ledger = right.front();
    if (!in_ledger) return tl::make_unexpected(in_ledger.error());
    if (*in_store == nullptr && *in_ledger == nullptr) return std::nullopt;
    if (*in_ledger == nullptr || (*in_store != nullptr && left.key_less(**in_store, **in_ledger)))
      return std::optional(difference(table, "it has a row " + key_of(table, **in_store) + " that no entry made"));
    if (*in_store == nullptr || left.key_less(**in_ledger, **in_store))
      return std::optional(difference(table, "the row " + key_of(table, **in_ledger) + " is missing"));
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if ((**in_store)[i] != (**in_ledger)[i] &&
          !(may_be_rounded && runtime::is_same_but_rounded((**in_store)[i], (**in_ledger)[i])))
        return std::optional(difference(table, "in the row " + key_of(table, **in_store) + " the column " +
                                                   std::string(table.columns[i].name) + " is another"));
    ++count;
    left.pop();
    right.pop();
  }
}

// What is in the store beside the tables that entries make: blobs, which entries refer to, and how far webhooks were told.
class Beside {
 public:
  void entry(const store::EntryRow& row) {
    for (const std::string& sha256 : ledger::blob_references(row.payload)) blobs_[sha256].is_kept = true;
    if (row.payload.find("sha256") == std::string::npos) return;
    const auto payload = json::parse(row.payload);
    if (!payload) return;
    // What is handed over in a workflow is listed by its digest.
    for (const json::Node artifact : payload->root()["artifacts"].elements())
      if (artifact["sha256"].is_string()) {
        Blob& blob = blobs_[std::string(artifact["sha256"].string())];
        blob.is_kept = blob.is_kept || row.type == kWorkflowOffered;
      }
    // The one content that is kept encrypted (use_cases/govern.cc, use_cases/tokens.cc).
    const json::Node principal = payload->root()["principal"]["blob"]["sha256"];
    if ((row.type == kSessionOpened || row.type == kTokenCreated) && principal.is_string())
      blobs_[std::string(principal.string())].encrypted = true;
    const json::Node erased = payload->root()["sha256"];
    if (row.type == kBlobErased && erased.is_string()) blobs_[std::string(erased.string())].erased = true;
  }

  Result<std::optional<Diagnostic>> check(store::Reader& reader, std::uint64_t entries) const {
    std::optional<Diagnostic> found;
    std::set<std::string, std::less<>> there;
    auto read = reader.find({.table = store::tables::kBlobs}, [&](const Row& row) {
      there.insert(std::get<std::string>(row[0]));
      if (const std::string problem = problem_of(row); !problem.empty())
        found = difference(store::tables::kBlobs, problem);
      return !found;
    });
    if (!read || found) return read.map([&] { return found; });
    // The row of an erased blob stays, so that the same content does not come back.
    for (const auto& [sha256, blob] : blobs_)
      if (blob.is_kept && !there.contains(sha256))
        return std::optional(difference(store::tables::kBlobs, "the row `" + sha256 + "` is missing"));
    read = reader.find({.table = store::tables::kWebhookCursors}, [&](const Row& row) {
      const auto *sequence = std::get_if<std::int64_t>(&row[1]), *failures = std::get_if<std::int64_t>(&row[4]);
      if (sequence == nullptr || *sequence < 0 || static_cast<std::uint64_t>(*sequence) > entries)
        found = difference(store::tables::kWebhookCursors,
                           "the row " + key_of(store::tables::kWebhookCursors, row) + " is beyond the last entry");
      else if (failures == nullptr || *failures < 0)
        found = difference(store::tables::kWebhookCursors, "the row " + key_of(store::tables::kWebhookCursors, row) +
                                                               " counts fewer failures than none");
      return !found;
    });
    return read.map([&] { return found; });
  }

 private:
  struct Blob {
    bool encrypted = false, erased = false;
    bool is_kept = false;  // by what recorded it: there is a row, also after it was erased
  };

  std::string problem_of(const Row& row) const {
    const std::string name = key_of(store::tables::kBlobs, row);
    const auto known = blobs_.find(std::get<std::string>(row[0]));
    if (known == blobs_.end()) return "it has a row " + name + " that no entry refers to";
    const auto *bytes = std::get_if<std::string>(&row[1]), *key = std::get_if<std::string>(&row[2]);
    if (known->second.erased)
      return bytes != nullptr || key != nullptr ? "the row " + name + " has content that an entry says was erased" : "";
    if (bytes != nullptr && sha256_hex(*bytes) != known->first) return "the row " + name + " has other content";
    if (known->second.encrypted && bytes != nullptr && (key == nullptr || !ledger::open_blob(*bytes, *key)))
      return "the key in the row " + name + " does not open its content";
    if (!known->second.encrypted && key != nullptr) return "the row " + name + " has a key, and its content is plain";
    return {};
  }

  std::map<std::string, Blob, std::less<>> blobs_;
};

}  // namespace

Result<RebuildReport> rebuild_and_compare(store::Store& store, store::Store& scratch,
                                          const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  RebuildReport out;
  const auto problems = store.check_integrity();
  if (!problems) return tl::make_unexpected(problems.error());
  if (!problems->empty()) {
    out.difference = report(Code::LEDGER_STORAGE, {}, {{"problem", problems->front()}});
    return out;
  }
  bool has_older = false;
  Beside beside;
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  for (std::uint64_t first = 1; first <= head->size && !out.difference; first += kBatch) {
    const auto transaction = scratch.begin();
    if (!transaction) return tl::make_unexpected(transaction.error());
    auto read = (*reader)->entries(first, std::min(head->size, first + kBatch - 1), [&](const store::EntryRow& row) {
      const Event event{row.stream, row.type, row.actor_id, row.actor_kind, row.payload};
      const auto rechecked = recheck(event, **transaction);
      if (!rechecked || !rechecked->problem.empty()) {
        out.difference = report(Code::LEDGER_MALFORMED, {},
                                {{"sequence", std::to_string(row.sequence)},
                                 {"problem", rechecked ? rechecked->problem : rechecked.error().text()}});
        return false;
      }
      beside.entry(row);
      out.older_rules += static_cast<std::uint64_t>(rechecked->older);
      has_older = has_older || is_of_older_rules(row);
      const auto folded = fold(event, **transaction);
      if (!folded)
        out.difference = report(Code::LEDGER_MALFORMED, {},
                                {{"sequence", std::to_string(row.sequence)}, {"problem", folded.error().reason}});
      ++out.entries;
      return folded.has_value();
    });
    if (!read) return tl::make_unexpected(read.error());
    if (auto committed = (*transaction)->commit(); !committed) return tl::make_unexpected(committed.error());
    if (progress) progress(out.entries, head->size);
  }
  if (out.difference) return out;
  const auto made = scratch.reader();
  if (!made) return tl::make_unexpected(made.error());
  for (const Table* table : store::all_tables()) {
    if (!table->projection) continue;
    auto found = compare(*table, **reader, **made, has_older, out.rows);
    if (!found) return tl::make_unexpected(found.error());
    if (*found) {
      out.difference = std::move(*found);
      return out;
    }
  }
  auto found = beside.check(**reader, head->size);
  if (!found) return tl::make_unexpected(found.error());
  out.difference = std::move(*found);
  return out;
}

}  // namespace baton::runtime
