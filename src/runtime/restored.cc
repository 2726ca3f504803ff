// SPDX-License-Identifier: Apache-2.0
#include "runtime/restored.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "json/parse.h"
#include "ledger/merkle.h"
#include "ledger/receipt.h"
#include "ledger/streams.h"
#include "runtime/ledger_events.h"

namespace baton::runtime {
namespace {

constexpr auto kBetween = std::chrono::seconds(1);

std::optional<AcceptedSeal> accepted_of(json::Node one) {
  const json::Node size = one["size"], root = one["root"];
  if (!size.is_number() || !root.is_string()) return std::nullopt;
  AcceptedSeal out;
  const std::string_view text = size.number_text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.size);
  const auto bytes = ledger::parse_base64(root.string());
  if (error != std::errc() || end != text.data() + text.size() || !bytes || bytes->size() != out.root.size())
    return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), out.root.begin());
  return out;
}

Result<std::vector<AcceptedSeal>> accepted_in_ledger(store::Reader& reader) {
  std::vector<AcceptedSeal> out;
  const auto read = ledger::read_stream_backwards(reader, kLedgerStream, [&](const store::EntryRow& row) {
    if (row.type != kRestoreAccepted) return true;
    const std::vector<AcceptedSeal> more = accepted_in(row.payload);
    out.insert(out.end(), more.begin(), more.end());
    return true;
  });
  if (!read) return tl::make_unexpected(read.error());
  return out;
}

}  // namespace

std::optional<KeptSeal> kept_seal_of(std::string keeper, std::string note, std::string_view origin) {
  const auto parsed = ledger::parse_note(note);
  const auto checkpoint = parsed ? ledger::parse_checkpoint(parsed->text) : std::nullopt;
  if (!checkpoint || checkpoint->origin != origin) return std::nullopt;
  return KeptSeal{std::move(keeper), std::move(note), *checkpoint};
}

std::string Setback::problem() const {
  if (is_shorter)
    return "it has " + std::to_string(size) + " entries, but " + kept.keeper + " has seen " +
           std::to_string(kept.checkpoint.size);
  return kept.keeper + " has seen other entries: its root at " + std::to_string(kept.checkpoint.size) +
         " entries is not this one's";
}

json::Value Setback::to_json() const {
  json::Value out = json::Value::object(), seen = json::Value::object(), found = json::Value::object();
  out.set("keeper", kept.keeper);
  seen.set("size", kept.checkpoint.size);
  seen.set("root", ledger::base64(kept.checkpoint.root));
  found.set("size", size);
  found.set("root", ledger::base64(root));
  out.set("kept", std::move(seen));
  out.set("found", std::move(found));
  out.set("problem", problem());
  return out;
}

std::vector<AcceptedSeal> accepted_in(std::string_view payload) {
  std::vector<AcceptedSeal> out;
  const auto document = json::parse(payload);
  if (!document) return out;
  for (const json::Node one : document->root()["kept"].elements())
    if (const auto accepted = accepted_of(one)) out.push_back(*accepted);
  return out;
}

Result<std::vector<Setback>> find_setbacks(store::Store& store, const std::vector<KeptSeal>& kept) {
  std::vector<Setback> out;
  if (kept.empty()) return out;
  const auto reader = store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  const auto head = (*reader)->head();
  if (!head) return tl::make_unexpected(head.error());
  const auto peaks = ledger::Peaks::read(head->size, head->peaks);
  for (const KeptSeal& one : kept) {
    const bool is_shorter = head->size < one.checkpoint.size;
    if (!is_shorter) {
      // A tree that cannot be made is not the one that was kept.
      const auto root = ledger::tree_root(one.checkpoint.size, ledger::subtree_of(**reader));
      if (root && *root == one.checkpoint.root) continue;
    }
    out.push_back({one, head->size, peaks ? peaks->root() : Sha256{}, is_shorter});
  }
  if (out.empty()) return out;
  const auto accepted = accepted_in_ledger(**reader);
  if (!accepted) return tl::make_unexpected(accepted.error());
  std::erase_if(out, [&](const Setback& setback) {
    return std::any_of(accepted->begin(), accepted->end(),
                       [&](const AcceptedSeal& one) { return one.is_of(setback.kept.checkpoint); });
  });
  return out;
}

json::Value accepted_payload(const std::vector<Setback>& setbacks, std::string_view note) {
  json::Value out = json::Value::object(), kept = json::Value::array(), found = json::Value::object();
  for (const Setback& setback : setbacks) {
    json::Value one = json::Value::object();
    one.set("keeper", setback.kept.keeper);
    one.set("size", setback.kept.checkpoint.size);
    one.set("root", ledger::base64(setback.kept.checkpoint.root));
    one.set("seal", setback.kept.note);
    kept.push(std::move(one));
    found.set("size", setback.size);
    found.set("root", ledger::base64(setback.root));
  }
  out.set("kept", std::move(kept));
  out.set("found", std::move(found));
  out.set("note", note);
  return out;
}

// --- the node's own -------------------------------------------------------------------------------------------------------

LastSealKeeper::LastSealKeeper(const ledger::KeyFiles& files) : files_(files), thread_([this] { work(); }) {}

LastSealKeeper::~LastSealKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void LastSealKeeper::offer(const store::Seal& seal) {
  {
    const std::lock_guard lock(mutex_);
    newest_ = seal;
  }
  wake_.notify_one();
}

Result<void> LastSealKeeper::replace(const store::Seal& seal) { return files_.write_last_seal(seal.note, true); }

void LastSealKeeper::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || newest_; });
    if (!newest_) return;
    const store::Seal seal = std::move(*newest_);
    newest_.reset();
    lock.unlock();
    // A seal that is not kept leaves an older one: a later cut may then go unseen, and nothing else.
    static_cast<void>(files_.write_last_seal(seal.note));
    lock.lock();
    wake_.wait_for(lock, kBetween, [this] { return ending_; });
  }
}

}  // namespace baton::runtime
