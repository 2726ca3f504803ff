// SPDX-License-Identifier: Apache-2.0
#include "runtime/verify.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "base/limits.h"
#include "base/text.h"
#include "json/parse.h"
#include "ledger/receipt.h"
#include "ledger/redaction.h"
#include "ledger/streams.h"
#include "runtime/ledger_events.h"
#include "runtime/restored.h"
#include "runtime/witness.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

using ledger::Break;
namespace tables = store::tables;

// Entries a chunk: some megabytes in memory, and enough that handing it over costs nothing.
constexpr std::uint64_t kChunk = 1024;
constexpr std::uint64_t kBlock = 256;  // entries of a level 8 node of the tree
static_assert(kChunk % kBlock == 0);

// Consecutive entries out of the store with their hashes computed. The rows' views are into `bytes`.
struct Chunk {
  std::string bytes;
  std::vector<store::EntryRow> rows;
  std::vector<Sha256> hashes;
  std::vector<std::string> streams;  // of each block of 256 that begins in it
  Result<void> outcome;
};

// A view into `bytes` before the bytes have stopped moving: remembered as offsets, made a view at the end.
void copy_row(Chunk& chunk, std::vector<std::size_t>& ends, const store::EntryRow& row) {
  for (const std::string_view column :
       {row.stream, row.type, row.actor_id, row.actor_kind, row.payload, row.previous, row.hash}) {
    chunk.bytes += column;
    ends.push_back(chunk.bytes.size());
  }
  store::EntryRow kept;
  kept.sequence = row.sequence;
  kept.time = row.time;
  chunk.rows.push_back(kept);
}

std::unique_ptr<Chunk> read_chunk(store::Reader& reader, std::uint64_t first, std::uint64_t last) {
  auto chunk = std::make_unique<Chunk>();
  std::vector<std::size_t> ends;
  chunk->bytes.reserve((last - first + 1) * 400);
  chunk->rows.reserve(last - first + 1);
  std::string buffer;
  chunk->outcome = reader.entries(first, last, [&](const store::EntryRow& row) {
    // A wrong number of rows is the verifier's to judge; but no more than there can be are kept.
    if (chunk->rows.size() > kChunk) return false;
    copy_row(*chunk, ends, row);
    chunk->hashes.push_back(ledger::entry_hash(row, buffer));
    if (chunk->rows.size() % kBlock == 1) chunk->streams.emplace_back();
    ledger::add_stream(chunk->streams.back(), row.stream);
    return true;
  });
  const std::string_view bytes = chunk->bytes;
  std::size_t from = 0, at = 0;
  const auto next = [&] {
    const std::string_view column = bytes.substr(from, ends[at] - from);
    from = ends[at++];
    return column;
  };
  for (store::EntryRow& row : chunk->rows) {
    row.stream = next();
    row.type = next();
    row.actor_id = next();
    row.actor_kind = next();
    row.payload = next();
    row.previous = next();
    row.hash = next();
  }
  return chunk;
}

// Threads that read chunks ahead, each with a reader of its own; chunks come out in order. Entries never change once
// committed, so readers that see different commits still agree on the entries up to `last`.
class ChunkReaders {
 public:
  ChunkReaders(store::Store& store, std::uint64_t last, unsigned threads)
      : store_(store), last_(last), chunks_((last + kChunk - 1) / kChunk), ahead_(std::max(1u, threads) * 2) {
    for (unsigned i = 0; i < std::max(1u, threads); ++i) threads_.emplace_back([this] { work(); });
  }
  ~ChunkReaders() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // The next chunk, in order; null after the last.
  std::unique_ptr<Chunk> next() {
    std::unique_lock lock(mutex_);
    if (taken_ == chunks_) return nullptr;
    wake_.wait(lock, [this] { return !ready_.empty() && ready_.front() != nullptr; });
    auto chunk = std::move(ready_.front());
    ready_.pop_front();
    ++taken_;
    wake_.notify_all();
    return chunk;
  }

 private:
  void work() {
    auto reader = store_.reader();
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopped_ || begun_ == chunks_ || begun_ < taken_ + ahead_; });
      if (stopped_ || begun_ == chunks_) return;
      const std::uint64_t number = begun_++;
      ready_.emplace_back();
      lock.unlock();
      std::unique_ptr<Chunk> chunk;
      if (reader) {
        chunk = read_chunk(**reader, number * kChunk + 1, std::min(last_, (number + 1) * kChunk));
      } else {
        chunk = std::make_unique<Chunk>();
        chunk->outcome = tl::make_unexpected(reader.error());
      }
      lock.lock();
      ready_[number - taken_] = std::move(chunk);
      wake_.notify_all();
    }
  }

  store::Store& store_;
  const std::uint64_t last_, chunks_, ahead_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::unique_ptr<Chunk>> ready_;  // from chunk number `taken_` on; null while it is read
  std::uint64_t begun_ = 0, taken_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

Break broken(std::uint64_t sequence, Code code, std::initializer_list<Argument> arguments) {
  return {sequence, report(code, {}, arguments)};
}

// Rows of a kind in pages, so that they can be walked beside the entries.
template <class Item>
class Pages {
 public:
  using Fetch = std::function<Result<void>(std::vector<Item>& page)>;  // from where the last page ended
  explicit Pages(Fetch fetch) : fetch_(std::move(fetch)) {}

  // The next one, kept until pop(); null at the end.
  Result<const Item*> front() {
    if (at_ == page_.size() && !ended_) {
      page_.clear();
      at_ = 0;
      if (auto fetched = fetch_(page_); !fetched) return tl::make_unexpected(fetched.error());
      ended_ = page_.empty();
    }
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() { ++at_; }

 private:
  Fetch fetch_;
  std::vector<Item> page_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

constexpr std::size_t kPage = 1024;

Pages<store::Seal> seal_pages(store::Reader& reader, std::uint64_t last) {
  return Pages<store::Seal>([&reader, last, from = std::uint64_t{0}](std::vector<store::Seal>& page) mutable {
    auto read = reader.seals(from, last, [&](const store::Seal& seal) {
      page.push_back(seal);
      return page.size() < kPage;
    });
    if (!page.empty()) from = page.back().size + 1;
    return read;
  });
}

Pages<store::TreeNode> node_pages(store::Reader& reader, std::uint32_t level) {
  return Pages<store::TreeNode>([&reader, level, from = std::uint64_t{0}](std::vector<store::TreeNode>& page) mutable {
    auto read = reader.nodes(level, from, INT64_MAX, [&](const store::TreeNode& node) {
      page.push_back(node);
      return page.size() < kPage;
    });
    if (!page.empty()) from = page.back().position + 1;
    return read;
  });
}

// The kept tree rows, compared with the subtrees that the verifier completes.
class TreeRows {
 public:
  explicit TreeRows(store::Reader& reader) : reader_(reader) {}

  void completed(const ledger::Peaks::Completed& subtree) {
    if (subtree.level % 8 == 0) waiting_.push_back(subtree);
  }
  // Compares what was completed since; `streams` are those of the block that was.
  Result<std::optional<Break>> compare(std::string_view streams) {
    for (const ledger::Peaks::Completed& subtree : waiting_) {
      auto& rows = rows_of(subtree.level);
      const auto row = rows.front();
      if (!row) return tl::make_unexpected(row.error());
      if (*row == nullptr || (*row)->position != subtree.position || !is_hash((*row)->hash, subtree.hash) ||
          (*row)->streams != (subtree.level == 8 ? streams : std::string_view()))
        return std::optional(wrong(subtree.level, subtree.position));
      rows.pop();
    }
    waiting_.clear();
    return std::nullopt;
  }
  bool has_waiting() const { return !waiting_.empty(); }

  // Rows beyond the entries.
  Result<std::optional<Break>> finish() {
    for (std::uint32_t level = 8; level <= 56; level += 8) {
      const auto more = rows_of(level).front();
      if (!more) return tl::make_unexpected(more.error());
      if (*more != nullptr) return std::optional(wrong(level, (*more)->position));
    }
    return std::nullopt;
  }

 private:
  static bool is_hash(std::string_view bytes, const Sha256& hash) {
    return bytes == std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size());
  }
  static Break wrong(std::uint32_t level, std::uint64_t position) {
    const std::uint64_t first = (position << level) + 1, last = (position + 1) << level;
    return broken(last, Code::LEDGER_TREE, {{"first", std::to_string(first)}, {"last", std::to_string(last)}});
  }
  Pages<store::TreeNode>& rows_of(std::uint32_t level) {
    while (rows_.size() < level / 8)
      rows_.push_back(node_pages(reader_, 8 * static_cast<std::uint32_t>(rows_.size() + 1)));
    return rows_[level / 8 - 1];
  }

  store::Reader& reader_;
  std::vector<ledger::Peaks::Completed> waiting_;
  std::vector<Pages<store::TreeNode>> rows_;  // by level
};

// Blobs that entries refer to: there, or erased by an entry of this very ledger (the table of erasures is no proof).
class Blobs {
 public:
  Blobs(store::Reader& reader, VerifyReport& report) : reader_(reader), report_(report) {}

  Result<std::optional<Break>> entry(const store::EntryRow& row) {
    if (row.type == kBlobErased) {
      const auto payload = json::parse(row.payload);
      if (payload && payload->root()["sha256"].is_string()) erased_.emplace(payload->root()["sha256"].string());
    }
    for (const std::string& sha256 : ledger::blob_references(row.payload)) {
      ++report_.blobs;
      const auto blob = reader_.get(tables::kBlobs, {sha256});
      if (!blob) return tl::make_unexpected(blob.error());
      const auto* bytes = *blob ? std::get_if<std::string>(&(**blob)[1]) : nullptr;
      if (bytes == nullptr) missing_.emplace(sha256, row.sequence);
      else if (sha256_hex(*bytes) != sha256)
        return std::optional(broken(row.sequence, Code::LEDGER_BLOB_CHANGED,
                                    {{"sequence", std::to_string(row.sequence)}, {"sha256", sha256}}));
    }
    return std::nullopt;
  }
  std::optional<Break> finish() {
    std::optional<Break> first;
    for (const auto& [sha256, sequence] : missing_) {
      if (erased_.contains(sha256)) ++report_.erased_blobs;
      else if (!first || sequence < first->sequence)
        first =
            broken(sequence, Code::LEDGER_BLOB_MISSING, {{"sequence", std::to_string(sequence)}, {"sha256", sha256}});
    }
    return first;
  }

 private:
  store::Reader& reader_;
  VerifyReport& report_;
  std::map<std::string, std::uint64_t> missing_;  // and the first entry that refers to it
  std::set<std::string> erased_;
};

// The witnesses that verified entries name: whoever cuts the table short cannot make them forgotten.
class Witnesses {
 public:
  void entry(const store::EntryRow& row) {
    if (row.type != kWitnessAdded && row.type != kWitnessRemoved) return;
    const auto payload = json::parse(row.payload);
    if (!payload || !payload->root()["witness"].is_string()) return;
    const std::string witness(payload->root()["witness"].string());
    if (row.type == kWitnessAdded) names_.insert(witness);
    else names_.erase(witness);
  }
  const std::set<std::string>& names() const { return names_; }

 private:
  std::set<std::string> names_;
};

// The kept seals that verified entries accept: the ledger need not have them.
class Accepted {
 public:
  void entry(const store::EntryRow& row) {
    if (row.type != kRestoreAccepted) return;
    const std::vector<AcceptedSeal> more = accepted_in(row.payload);
    seals_.insert(seals_.end(), more.begin(), more.end());
  }
  bool has(const ledger::Checkpoint& kept) const {
    return std::any_of(seals_.begin(), seals_.end(), [&](const AcceptedSeal& one) { return one.is_of(kept); });
  }

 private:
  std::vector<AcceptedSeal> seals_;
};

// Does the ledger agree with what a witness kept? Asked when everything is verified, so that the tree's rows can be trusted;
// a writer may have brought the witness more than our reader sees: then a new reader must have it.
Result<std::optional<Break>> compare_with(store::Store& store, const std::string& name, const ledger::Checkpoint& kept,
                                          const ledger::Checkpoint& ours, const Accepted& accepted,
                                          std::vector<Diagnostic>& warnings) {
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  const bool is_shorter = kept.size > head->size;
  if (!is_shorter && kept.origin == ours.origin) {
    const auto root = ledger::tree_root(kept.size, ledger::subtree_of(**reader));
    if (root && *root == kept.root) return std::nullopt;
  }
  if (kept.origin == ours.origin && accepted.has(kept)) {
    const Setback setback{{name, {}, kept}, head->size, {}, is_shorter};
    warnings.push_back(report(Code::LEDGER_RESTORED, {}, {{"problem", setback.problem()}}));
    return std::nullopt;
  }
  if (is_shorter)
    return std::optional(
        broken(ours.size + 1, Code::LEDGER_CUT,
               {{"size", std::to_string(ours.size)}, {"kept", name}, {"kept_size", std::to_string(kept.size)}}));
  return std::optional(broken(std::min(kept.size, ours.size), Code::LEDGER_FORK,
                              {{"kept", name}, {"kept_size", std::to_string(kept.size)}}));
}

// What the witnesses kept. One that cannot be asked is a warning: it proves nothing either way.
Result<std::optional<Break>> ask_witnesses(store::Store& store, const std::set<std::string>& witnesses,
                                           const ledger::Checkpoint& ours, const Accepted& accepted,
                                           std::vector<Diagnostic>& warnings) {
  if (witnesses.empty()) warnings.push_back(report(Code::LEDGER_WITNESS_NONE, {}));
  for (const std::string& witness : witnesses) {
    const auto warn = [&](std::string_view problem) {
      warnings.push_back(report(Code::LEDGER_WITNESS, {}, {{"witness", witness}, {"problem", problem}}));
    };
    const auto seal = kept_seal(witness, ours.origin);
    if (!seal || !*seal) {
      warn(seal ? "has no seal of this ledger" : "cannot be asked");
      continue;
    }
    const auto parsed = ledger::parse_note(**seal);
    const auto kept = parsed ? ledger::parse_checkpoint(parsed->text) : std::nullopt;
    if (!kept) {
      warn("holds no checkpoint");
      continue;
    }
    auto found = compare_with(store, "the witness " + witness, *kept, ours, accepted, warnings);
    if (!found || *found) return found;
  }
  return std::nullopt;
}

// A store without entries that holds anything else was emptied; one that holds nothing at all cannot be told from a new one,
// and is no ledger either.
Result<Break> emptied(store::Reader& reader) {
  std::vector<std::string> left;
  const auto seal = reader.newest_seal();
  if (!seal) return tl::make_unexpected(seal.error());
  if (*seal) left.emplace_back("seals");
  bool has_node = false;
  for (std::uint32_t level = 8; level <= 56 && !has_node; level += 8) {
    auto read = reader.nodes(level, 0, INT64_MAX, [&](const store::TreeNode&) { return !(has_node = true); });
    if (!read) return tl::make_unexpected(read.error());
  }
  if (has_node) left.emplace_back("tree");
  for (const store::Table* table : store::all_tables()) {
    auto read = reader.find({.table = *table, .limit = 1}, [&](const store::Row&) {
      left.emplace_back(table->name);
      return false;
    });
    if (!read) return tl::make_unexpected(read.error());
  }
  return broken(0, Code::LEDGER_EMPTIED,
                {{"what", left.empty() ? std::string() : ", but there are rows in " + join(left, ", ")}});
}

}  // namespace

Result<VerifyReport> verify(store::Store& store, const VerifyOptions& options) {
  VerifyReport report;
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  const auto count = (*reader)->count_entries();
  if (!count) return tl::make_unexpected(count.error());
  // As many as there are, whatever the head says: sequences without a gap end there, and a gap shows before.
  const std::uint64_t last = *count;

  ledger::Verifier verifier;
  expect_kept(verifier, options.kept, report.warnings);
  for (const ledger::VerifierKey& key : options.public_keys) verifier.pin(key);
  Blobs blobs(**reader, report);
  Witnesses witnesses;
  Accepted accepted;
  TreeRows tree(**reader);
  verifier.on_completed([&tree](const ledger::Peaks::Completed& subtree) { tree.completed(subtree); });
  std::string open_streams;  // of the block that is not complete
  auto seals = seal_pages(**reader, INT64_MAX);
  const auto found = [&](std::optional<Break> what) {
    if (what && !report.broken) report.broken = std::move(what);
    return report.broken.has_value();
  };
  ChunkReaders chunks(store, last, options.threads);
  while (const auto chunk = report.broken ? nullptr : chunks.next()) {
    if (!chunk->outcome) return tl::make_unexpected(chunk->outcome.error());
    for (std::size_t i = 0; i < chunk->rows.size() && !report.broken; ++i) {
      const store::EntryRow& row = chunk->rows[i];
      if (found(verifier.entry(row, &chunk->hashes[i]))) break;
      if (tree.has_waiting()) {
        const auto tree_break = tree.compare(chunk->streams[i / kBlock]);
        if (!tree_break) return tl::make_unexpected(tree_break.error());
        if (found(*tree_break)) break;
      }
      witnesses.entry(row);
      accepted.entry(row);
      const auto blob_break = blobs.entry(row);
      if (!blob_break) return tl::make_unexpected(blob_break.error());
      if (found(*blob_break)) break;
      while (true) {
        const auto seal = seals.front();
        if (!seal) return tl::make_unexpected(seal.error());
        if (*seal == nullptr || (*seal)->size > verifier.size() || found(verifier.seal(**seal))) break;
        ++report.seals;
        seals.pop();
      }
      if (report.broken) break;
    }
    if (!chunk->streams.empty()) open_streams = verifier.size() % kBlock == 0 ? "" : chunk->streams.back();
    report.entries = verifier.size();
    if (options.progress) options.progress(verifier.size(), last);
  }

  report.origin = verifier.keys().origin();
  report.checkpoint = {report.origin, verifier.size(), verifier.peaks().root()};
  if (report.broken) return report;
  const auto seal = seals.front();
  if (!seal) return tl::make_unexpected(seal.error());
  if (*seal != nullptr && found(broken((*seal)->size, Code::LEDGER_CUT,
                                       {{"size", std::to_string(verifier.size())},
                                        {"kept", "a seal in the store"},
                                        {"kept_size", std::to_string((*seal)->size)}})))
    return report;
  if (found(verifier.finish(*head))) return report;
  if (verifier.size() == 0) {
    auto nothing = emptied(**reader);
    if (!nothing) return tl::make_unexpected(nothing.error());
    report.broken = std::move(*nothing);
    return report;
  }
  if (*count > verifier.size() &&
      found(broken(verifier.size() + 1, Code::LEDGER_ORDER,
                   {{"sequence", "beyond the end"}, {"expected", std::to_string(verifier.size() + 1)}})))
    return report;
  if (head->open_streams != open_streams &&
      found(broken(head->size, Code::LEDGER_HEAD, {{"problem", "its streams are not those of the entries"}})))
    return report;
  const auto tree_break = tree.finish();
  if (!tree_break) return tl::make_unexpected(tree_break.error());
  if (found(*tree_break)) return report;
  if (found(blobs.finish())) return report;
  if (options.own) {
    const auto own = kept_seal_of(options.own->name, options.own->note, report.checkpoint.origin);
    if (own) {
      auto compared = compare_with(store, own->keeper, own->checkpoint, report.checkpoint, accepted, report.warnings);
      if (!compared) return tl::make_unexpected(compared.error());
      if (found(std::move(*compared))) return report;
    } else {
      report.warnings.push_back(baton::report(
          Code::LEDGER_WITNESS, {}, {{"witness", options.own->name}, {"problem", "has no seal of this ledger"}}));
    }
  }
  std::set<std::string> asked(options.witnesses.begin(), options.witnesses.end());
  if (options.ask_witnesses) asked.insert(witnesses.names().begin(), witnesses.names().end());
  if (options.ask_witnesses || !asked.empty()) {
    auto witnessed = ask_witnesses(store, asked, report.checkpoint, accepted, report.warnings);
    if (!witnessed) return tl::make_unexpected(witnessed.error());
    if (found(std::move(*witnessed))) return report;
  }
  if (options.public_keys.empty()) report.warnings.push_back(baton::report(Code::LEDGER_KEY_UNPINNED, {}));
  if (report.erased_blobs != 0)
    report.warnings.push_back(baton::report(Code::LEDGER_ERASED, {}, {{"count", std::to_string(report.erased_blobs)}}));
  return report;
}

}  // namespace baton::runtime
