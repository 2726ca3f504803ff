// SPDX-License-Identifier: Apache-2.0
#include "ledger/receipt.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "json/value.h"

namespace baton::ledger {
namespace {

constexpr std::uint32_t kKeptLevels = 8;  // store::TreeNode: a row for every eighth level
constexpr std::uint64_t kBlock = std::uint64_t{1} << kKeptLevels;

std::optional<Sha256> as_hash(std::string_view bytes) {
  Sha256 hash;
  if (bytes.size() != hash.size()) return std::nullopt;
  std::memcpy(hash.data(), bytes.data(), hash.size());
  return hash;
}

std::optional<Sha256> parse_hex_hash(json::Node node) {
  Sha256 hash;
  if (!node.is_string() || node.string().size() != 2 * hash.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.size(); ++i) {
    const char high = node.string()[2 * i], low = node.string()[2 * i + 1];
    if (!is_lower_hex(high) || !is_lower_hex(low)) return std::nullopt;
    hash[i] = static_cast<std::uint8_t>(hex_value(high) << 4 | hex_value(low));
  }
  return hash;
}

// Subtrees of one reader, read in blocks: the 256 rows of a kept level under one row of the next. All that a proof asks of
// eight levels lies in one such block, or in the last one of the tree; so a proof over n entries reads at most
// 2 * 256 * (log2(n) / 8 + 1) rows, each once.
class Rows {
 public:
  explicit Rows(store::Reader& reader) : reader_(reader) {}

  Result<Sha256> subtree(std::uint32_t level, std::uint64_t position) {
    const std::uint32_t kept_level = level - level % kKeptLevels, above = level % kKeptLevels;
    const std::uint64_t first = position << above, count = std::uint64_t{1} << above;
    auto block = rows(kept_level, first / kBlock);
    if (!block) return tl::make_unexpected(std::move(block.error()));
    std::vector<Sha256> hashes;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::optional<Sha256>& row = (**block)[(first + i) % kBlock];
      if (!row) return missing(kept_level, first + i);
      hashes.push_back(*row);
    }
    for (; hashes.size() > 1; hashes.resize(hashes.size() / 2))
      for (std::size_t i = 0; i < hashes.size() / 2; ++i) hashes[i] = node_hash(hashes[2 * i], hashes[2 * i + 1]);
    return hashes[0];
  }

 private:
  using Block = std::array<std::optional<Sha256>, kBlock>;

  Result<const Block*> rows(std::uint32_t level, std::uint64_t block) {
    const auto key = std::pair(level, block);
    if (const auto found = blocks_.find(key); found != blocks_.end()) return found->second.get();
    auto taken = std::make_unique<Block>();
    const std::uint64_t first = block * kBlock, last = first + kBlock - 1;
    Result<void> read;
    if (level == 0) {
      read = reader_.entry_hashes(first + 1, last + 1, [&](const store::EntryRow& row) {
        if (row.sequence > first && row.sequence <= last + 1) (*taken)[row.sequence - 1 - first] = as_hash(row.hash);
        return true;
      });
    } else {
      read = reader_.nodes(level, first, last, [&](const store::TreeNode& node) {
        if (node.position >= first && node.position <= last) (*taken)[node.position - first] = as_hash(node.hash);
        return true;
      });
    }
    if (!read) return tl::make_unexpected(std::move(read.error()));
    return blocks_.emplace(key, std::move(taken)).first->second.get();
  }

  static tl::unexpected<Failure> missing(std::uint32_t level, std::uint64_t position) {
    const std::uint64_t first = (position << level) + 1, last = (position + 1) << level;
    if (level == 0) return failure_of(Code::LEDGER_GAP, "making a proof", {{"sequence", std::to_string(first)}});
    return failure_of(Code::LEDGER_TREE, "making a proof",
                      {{"first", std::to_string(first)}, {"last", std::to_string(last)}});
  }

  store::Reader& reader_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::unique_ptr<Block>> blocks_;
};

json::Value path_value(const std::vector<Sha256>& path) {
  json::Value array = json::Value::array();
  for (const Sha256& hash : path) array.push(hex(hash));
  return array;
}

struct NewestSeal {
  std::string note;
  Checkpoint checkpoint;
};
Result<NewestSeal> read_newest_seal(store::Reader& reader, const std::string& doing) {
  auto seal = reader.newest_seal();
  if (!seal) return tl::make_unexpected(std::move(seal.error()));
  if (!*seal) return failure(doing, "the ledger has no seal");
  const auto note = parse_note((*seal)->note);
  auto checkpoint = note ? parse_checkpoint(note->text) : std::nullopt;
  if (!checkpoint)
    return failure_of(Code::LEDGER_SEAL, doing,
                      {{"sequence", std::to_string((*seal)->size)}, {"problem", "is not a checkpoint"}});
  return NewestSeal{std::move((*seal)->note), std::move(*checkpoint)};
}

// What does not lead to the sealed root is not handed out: a row of the tree, or an entry, was altered.
tl::unexpected<Failure> altered(const std::string& doing, std::uint64_t size) {
  return failure_of(Code::LEDGER_TREE, doing, {{"first", "1"}, {"last", std::to_string(size)}});
}

std::optional<std::vector<Sha256>> parse_path(json::Node node) {
  constexpr std::size_t kPathMax =
      128;  // a tree of 2^64 leaves is no higher than 64, and a consistency proof has two arms
  if (!node.is_array() || node.size() > kPathMax) return std::nullopt;
  std::vector<Sha256> path;
  for (const json::Node element : node.elements()) {
    const auto hash = parse_hex_hash(element);
    if (!hash) return std::nullopt;
    path.push_back(*hash);
  }
  return path;
}

// --- verifying ----------------------------------------------------------------------------------------------------------

// Collects what is wrong with one receipt, part by part.
class Receipt {
 public:
  explicit Receipt(ReceiptVerdict& verdict) : verdict_(verdict) {}

  void read(json::Node root) {
    static constexpr std::string_view kMembers[] = {"baton_receipt", "checkpoint", "entry", "hash", "path"};
    if (!root.is_object()) return wrong(place_of(root), "it is not an object");
    for (const json::Member member : root.members())
      if (std::find(std::begin(kMembers), std::end(kMembers), member.name()) == std::end(kMembers))
        wrong(place_of(member.value), "`" + std::string(member.name()) + "` is not a member of it");
    for (const std::string_view member : kMembers)
      if (!root[member]) wrong(place_of_absent(root, member), "`" + std::string(member) + "` is absent");
    const json::Node version = root["baton_receipt"];
    if (version && !(version.is_number() && version.number_text() == "1"))
      wrong(place_of(version), "`baton_receipt` is not 1, the version that is known");
    if (root["checkpoint"]) read_checkpoint(root["checkpoint"]);
    if (root["entry"] && root["hash"]) read_entry(root["entry"], root["hash"]);
    if (root["path"]) read_path(root["path"]);
  }

  void judge(const VerifierKey& key) {
    std::string buffer;
    const Sha256 computed = entry_ ? entry_hash(entry_->row(), buffer) : Sha256{};
    if (entry_ && computed != entry_->hash) add(Code::RECEIPT_ENTRY, place_named("/hash"));
    // From what the entry says, not from the hash it names.
    if (entry_ && path_ && checkpoint_ &&
        (entry_->sequence == 0 ||
         !verify_inclusion(computed, entry_->sequence - 1, checkpoint_->size, *path_, checkpoint_->root)))
      verdict_.diagnostics.push_back(report(Code::RECEIPT_PROOF, place_named("/path"), {{"what", "the entry"}}));
    if (note_ && checkpoint_ && (!is_signed_by(*note_, key) || (!key.name.empty() && checkpoint_->origin != key.name)))
      add(Code::RECEIPT_KEY, place_named("/checkpoint"));
  }

 private:
  void wrong(Place place, std::string_view problem) {
    verdict_.diagnostics.push_back(report(Code::RECEIPT_FORMAT, std::move(place), {{"problem", problem}}));
  }
  void add(Code code, Place place) { verdict_.diagnostics.push_back(report(code, std::move(place))); }

  void read_checkpoint(json::Node node) {
    if (node.is_string()) note_ = parse_note(node.string());
    if (note_) checkpoint_ = parse_checkpoint(note_->text);
    if (!checkpoint_) return wrong(place_of(node), "`checkpoint` is not a signed checkpoint");
    verdict_.checkpoint = *checkpoint_;
  }

  // A receipt may be laid out in any way; an export line has one form, which is made here and read as strictly as there.
  void read_entry(json::Node node, json::Node hash) {
    if (!parse_hex_hash(hash)) return wrong(place_of(hash), "`hash` is not 64 hexadecimal digits");
    std::string line = R"({"entry":)";
    if (!json::append_canonical(line, node, json::Numbers::Exact))
      return wrong(place_of(node), "`entry` is not in the ledger's form: it has a number beyond all bounds");
    line += R"(,"hash":")";
    line += hash.string();
    line += R"("})";
    auto read = read_exported(line);
    if (!read) return wrong(place_of(node), "`entry` is not in the ledger's form: " + read.error());
    entry_ = std::move(read->entry);
    verdict_.entry = *entry_;
  }

  void read_path(json::Node node) {
    path_ = parse_path(node);
    if (!path_) wrong(place_of(node), "`path` is not a list of hashes");
  }

  ReceiptVerdict& verdict_;
  std::optional<Note> note_;
  std::optional<Checkpoint> checkpoint_;
  std::optional<Entry> entry_;
  std::optional<std::vector<Sha256>> path_;
};

}  // namespace

Subtree subtree_of(store::Reader& reader) {
  auto rows = std::make_shared<Rows>(reader);
  return [rows](std::uint32_t level, std::uint64_t position) { return rows->subtree(level, position); };
}

Result<std::string> make_receipt(store::Reader& reader, std::uint64_t sequence) {
  const std::string doing = "making the receipt of entry " + std::to_string(sequence);
  auto seal = read_newest_seal(reader, doing);
  if (!seal) return tl::make_unexpected(std::move(seal.error()));
  if (sequence == 0 || sequence > seal->checkpoint.size)
    return failure(doing, "the newest seal covers the entries 1 to " + std::to_string(seal->checkpoint.size));

  std::string line, buffer;
  Sha256 leaf{};
  auto found = reader.entries(sequence, sequence, [&](const store::EntryRow& row) {
    append_exported(line, row);
    leaf = entry_hash(row, buffer);
    return false;
  });
  if (!found) return tl::make_unexpected(std::move(found.error()));
  if (line.empty()) return failure_of(Code::LEDGER_GAP, doing, {{"sequence", std::to_string(sequence)}});
  const auto document = json::parse(line);
  if (!document)
    return failure_of(Code::LEDGER_MALFORMED, doing,
                      {{"sequence", std::to_string(sequence)}, {"problem", document.error().what}});

  auto path = inclusion_proof(sequence - 1, seal->checkpoint.size, subtree_of(reader));
  if (!path) return tl::make_unexpected(std::move(path.error()));
  if (!verify_inclusion(leaf, sequence - 1, seal->checkpoint.size, *path, seal->checkpoint.root))
    return altered(doing, seal->checkpoint.size);

  json::Value receipt = json::Value::object();
  receipt.set("baton_receipt", 1);
  receipt.set("checkpoint", seal->note);
  receipt.set("entry", json::Value::copy(document->root()["entry"]));
  receipt.set("hash", hex(leaf));
  receipt.set("path", path_value(*path));
  return json::write_pretty(receipt) + "\n";
}

Result<std::string> make_consistency_proof(store::Reader& reader, std::uint64_t old_size) {
  const std::string doing = "making the consistency proof from " + std::to_string(old_size) + " entries";
  auto seal = read_newest_seal(reader, doing);
  if (!seal) return tl::make_unexpected(std::move(seal.error()));
  const Checkpoint& checkpoint = seal->checkpoint;
  if (old_size > checkpoint.size)
    return failure(doing, "the newest seal covers " + std::to_string(checkpoint.size) + " entries");

  const Subtree subtree = subtree_of(reader);
  auto path = consistency_proof(old_size, checkpoint.size, subtree);
  if (!path) return tl::make_unexpected(std::move(path.error()));
  auto old_root = tree_root(old_size, subtree);
  if (!old_root) return tl::make_unexpected(std::move(old_root.error()));
  if (!verify_consistency(old_size, checkpoint.size, *old_root, checkpoint.root, *path))
    return altered(doing, checkpoint.size);

  json::Value proof = json::Value::object();
  proof.set("baton_consistency", 1);
  proof.set("checkpoint", seal->note);
  proof.set("old_root", hex(*old_root));
  proof.set("old_size", old_size);
  proof.set("path", path_value(*path));
  proof.set("root", hex(checkpoint.root));
  proof.set("size", checkpoint.size);
  return json::write_pretty(proof) + "\n";
}

ReceiptVerdict verify_receipt(std::string_view text, const VerifierKey& key) {
  ReceiptVerdict verdict;
  json::ParseLimits limits;
  limits.bytes_max = limits::kReceiptBytesMax;
  const auto document = json::parse(text, limits);
  if (!document) {
    verdict.diagnostics.push_back(report(Code::RECEIPT_FORMAT, place_at(text, document.error().offset),
                                         {{"problem", "it is not JSON: " + document.error().what}}));
    return verdict;
  }
  Receipt receipt(verdict);
  receipt.read(document->root());
  receipt.judge(key);
  return verdict;
}

bool is_consistency_proof(std::string_view text) {
  json::ParseLimits limits;
  limits.bytes_max = limits::kReceiptBytesMax;
  const auto document = json::parse(text, limits);
  return document && document->root()["baton_consistency"];
}

ConsistencyVerdict verify_consistency_proof(std::string_view text, const VerifierKey& key,
                                            const std::optional<Checkpoint>& kept) {
  ConsistencyVerdict verdict;
  const auto wrong = [&](Place place, std::string_view problem) {
    verdict.diagnostics.push_back(report(Code::RECEIPT_FORMAT, std::move(place), {{"problem", problem}}));
  };
  json::ParseLimits limits;
  limits.bytes_max = limits::kReceiptBytesMax;
  const auto document = json::parse(text, limits);
  if (!document) {
    wrong(place_at(text, document.error().offset), "it is not JSON: " + document.error().what);
    return verdict;
  }
  static constexpr std::string_view kMembers[] = {
      "baton_consistency", "checkpoint", "old_root", "old_size", "path", "root", "size"};
  const json::Node root = document->root();
  for (const json::Member member : root.members())
    if (std::find(std::begin(kMembers), std::end(kMembers), member.name()) == std::end(kMembers))
      wrong(place_of(member.value), "`" + std::string(member.name()) + "` is not a member of it");
  for (const std::string_view member : kMembers)
    if (!root[member]) wrong(place_of_absent(root, member), "`" + std::string(member) + "` is absent");
  if (!verdict.diagnostics.empty()) return verdict;

  const auto size = [](json::Node node) {
    return node.is_number() ? json::to_int64(node.number_text()).value_or(-1) : std::int64_t{-1};
  };
  const auto note = root["checkpoint"].is_string() ? parse_note(root["checkpoint"].string()) : std::nullopt;
  const auto checkpoint = note ? parse_checkpoint(note->text) : std::nullopt;
  const auto old_root = parse_hex_hash(root["old_root"]), new_root = parse_hex_hash(root["root"]);
  const std::int64_t old_size = size(root["old_size"]), new_size = size(root["size"]);
  const auto path = parse_path(root["path"]);
  if (size(root["baton_consistency"]) != 1)
    wrong(place_of(root["baton_consistency"]), "`baton_consistency` is not 1, the version that is known");
  if (!checkpoint) wrong(place_of(root["checkpoint"]), "`checkpoint` is not a signed checkpoint");
  if (!old_root || !new_root || old_size < 0 || new_size < 0) wrong(place_of(root), "a size or a root is none");
  if (!path) wrong(place_of(root["path"]), "`path` is not a list of hashes");
  if (!verdict.diagnostics.empty()) return verdict;

  verdict.checkpoint = *checkpoint;
  verdict.old_size = static_cast<std::uint64_t>(old_size);
  const bool names_the_checkpoint =
      checkpoint->size == static_cast<std::uint64_t>(new_size) && checkpoint->root == *new_root;
  const bool is_of_the_kept =
      !kept || (kept->size == verdict.old_size && kept->root == *old_root && kept->origin == checkpoint->origin);
  if (!names_the_checkpoint || !is_of_the_kept ||
      !verify_consistency(verdict.old_size, checkpoint->size, *old_root, checkpoint->root, *path))
    verdict.diagnostics.push_back(report(Code::RECEIPT_PROOF, place_named("/path"), {{"what", "the older ledger"}}));
  if (!is_signed_by(*note, key) || (!key.name.empty() && checkpoint->origin != key.name))
    verdict.diagnostics.push_back(report(Code::RECEIPT_KEY, place_named("/checkpoint")));
  return verdict;
}

}  // namespace baton::ledger
