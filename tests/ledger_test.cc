// SPDX-License-Identifier: Apache-2.0
// Entries, the tree over them, and the sets of their streams.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/text.h"
#include "ledger/streams.h"
#include "memory_ledger.h"

namespace baton::ledger {
namespace {

// --- entries ----------------------------------------------------------------------------------------------------------

TEST(LedgerEntry, BodyAndHash) {
  Entry entry;
  entry.sequence = UINT64_MAX;
  entry.stream = "work/W-1";
  entry.type = "work.claimed";
  entry.actor_id = "agent-\"7\"";
  entry.actor_kind = "agent";
  entry.time.nanoseconds = 1'794'715'200'000'000'007;
  entry.payload = "{\"text\":\"\xc3\xa9\\n\"}";
  entry.previous[31] = 0xff;
  std::string body;
  append_body(body, entry.row());
  EXPECT_EQ(body,
            "{\"actor\":{\"id\":\"agent-\\\"7\\\"\",\"kind\":\"agent\"},\"payload\":{\"text\":\"\xc3\xa9\\n\"},"
            "\"previous\":\"00000000000000000000000000000000000000000000000000000000000000ff\","
            "\"sequence\":18446744073709551615,\"stream\":\"work/W-1\",\"time\":\"2026-11-15T04:00:00.000000007Z\","
            "\"type\":\"work.claimed\"}");
  std::string buffer;
  // Python: hashlib.sha256(b'\0baton.ledger.entry.v1\n' + body).hexdigest()
  EXPECT_EQ(hex(entry_hash(entry.row(), buffer)), "0ee745b503a07b10c2ca86287f23f2737bbaeba2061e0a7c8dfb8440baebd356");
}

TEST(LedgerEntry, TimeHasAlwaysNineDigits) {
  const auto written = [](std::int64_t nanoseconds) {
    std::string out;
    append_time(out, nanoseconds);
    return out;
  };
  EXPECT_EQ(written(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(written(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(written(INT64_MAX), "2262-04-11T23:47:16.854775807Z");
  EXPECT_EQ(written(INT64_MIN), "1677-09-21T00:12:43.145224192Z");
  EXPECT_EQ(written(951'782'400'000'000'000), "2000-02-29T00:00:00.000000000Z");
  // What is kept of the last second must not leak into another: forth and back, against the other writer of times.
  for (const std::int64_t at : {1'794'715'200'123'456'789, 1'794'715'200'999'999'991, 1'794'715'201'000'000'001,
                                1'794'715'199'000'000'007, 1'794'715'200'123'456'781})
    EXPECT_EQ(written(at), format_time({at}));
}

// The trick that a payload spliced in unread invites: move the border between the payload and what follows it.
TEST(LedgerEntry, NoTwoRowsShareABody) {
  Entry honest;
  honest.sequence = 7;
  honest.stream = "s";
  honest.type = "t";
  honest.actor_id = "a";
  honest.actor_kind = "agent";
  honest.payload = "{}";
  std::string inner;
  append_body(inner, honest.row());

  // A payload that holds a whole tail, so that the text reads like another entry up to the last member.
  Entry tricky = honest;
  tricky.payload = inner.substr(inner.find("{}"));
  std::string outer;
  append_body(outer, tricky.row());
  EXPECT_NE(outer, inner);
  // What a reader of the body finds: the last `,"previous":"` is where the payload ends.
  const std::size_t start = outer.find("\"payload\":") + 10, end = outer.rfind(",\"previous\":\"");
  EXPECT_EQ(outer.substr(start, end - start), tricky.payload);

  // All rows whose columns are made of the pieces such a trick needs: as many bodies as rows.
  const std::vector<std::string> pieces = {"",
                                           "{}",
                                           "{},\"previous\":\"",
                                           ",\"previous\":\"",
                                           "\",\"sequence\":7,\"stream\":\"s",
                                           "\"",
                                           "\\\"",
                                           "},\"payload\":{",
                                           "\xff",
                                           "\n"};
  std::set<std::string> bodies;
  std::set<std::array<std::string, 4>> rows;
  for (const std::string& actor : pieces)
    for (const std::string& payload : pieces)
      for (const std::string& more : pieces)
        for (const std::string& stream : pieces)
          for (const std::string& type : pieces) {
            store::EntryRow row = honest.row();
            row.actor_id = actor;
            const std::string whole = payload + more;
            row.payload = whole;
            row.stream = stream;
            row.type = type;
            std::string body;
            append_body(body, row);
            bodies.insert(std::move(body));
            rows.insert({actor, whole, stream, type});
          }
  EXPECT_EQ(bodies.size(), rows.size());
  EXPECT_GT(rows.size(), 80'000u);
}

TEST(LedgerEntry, ColumnsOfTheWrongSizeStillGiveABody) {
  const Entry entry;
  store::EntryRow row = entry.row();
  std::set<std::string> bodies;
  std::string body;
  for (const std::string_view previous : {std::string_view(), std::string_view("\0", 1), std::string_view("\0\0", 2)}) {
    row.previous = previous;
    body.clear();
    append_body(body, row);
    bodies.insert(body);
  }
  EXPECT_EQ(bodies.size(), 3u);
}

TEST(LedgerEntry, DraftsAreChecked) {
  const auto code = [](Draft draft) {
    const auto checked = check_draft(draft);
    return checked ? "" : std::string(checked.error().code) + ": " + checked.error().reason;
  };
  const Draft good = test_draft("work/W-1", "work.claimed_2", "{\"a\":1}");
  EXPECT_EQ(code(good), "");
  const auto with = [&](auto change) {
    Draft draft = good;
    change(draft);
    return code(draft).substr(0, 12);
  };
  EXPECT_EQ(with([](Draft& d) { d.stream.clear(); }), "LEDGER_DRAFT");
  EXPECT_EQ(with([](Draft& d) { d.stream = "a\nb"; }), "LEDGER_DRAFT");
  EXPECT_EQ(with([](Draft& d) { d.stream = "a\xff"; }), "LEDGER_DRAFT");
  EXPECT_EQ(with([](Draft& d) { d.stream.assign(257, 'a'); }), "LEDGER_DRAFT");
  for (const char* type : {"", "Work", "work.", ".work", "work..claimed", "work claimed", "work-claimed"})
    EXPECT_EQ(with([&](Draft& d) { d.type = type; }), "LEDGER_DRAFT") << type;
  EXPECT_EQ(with([](Draft& d) { d.actor.id.clear(); }), "LEDGER_DRAFT");
  for (const char* payload :
       {"", "1", "[]", "{} ", "{ }", "{\"a\":1.0}", "{\"b\":1,\"a\":2}", "{\"a\":1,\"a\":1}", "{"})
    EXPECT_EQ(with([&](Draft& d) { d.payload = payload; }), "LEDGER_DRAFT") << payload;
  EXPECT_EQ(with([](Draft& d) { d.payload = "{\"a\":\"" + std::string(64u << 10, 'x') + "\"}"; }), "LEDGER_TOO_L");
}

TEST(LedgerEntry, ActorKinds) {
  for (const ActorKind kind :
       {ActorKind::Agent, ActorKind::Operator, ActorKind::Ci, ActorKind::Auditor, ActorKind::Node})
    EXPECT_EQ(find_actor_kind(actor_kind_name(kind)), kind);
  EXPECT_FALSE(find_actor_kind("Agent"));
}

TEST(LedgerEntry, ExportedGoesThereAndBack) {
  MemoryLedger ledger;
  ledger.append(test_draft("work/\"\xc3\xa9\"", "work.claimed", "{\"n\":12345678901234567890.5,\"x\":{}}"), 5);
  std::string line;
  append_exported(line, ledger.entries[0].row());
  const auto back = parse_exported(line);
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(back->entry.payload, ledger.entries[0].payload);
  EXPECT_EQ(back->entry.hash, ledger.entries[0].hash);
  std::string body;
  append_body(body, ledger.entries[0].row());
  EXPECT_EQ(back->body, body);

  // Anything else than exactly that text is refused.
  EXPECT_FALSE(parse_exported(line + " "));
  EXPECT_FALSE(parse_exported(" " + line));
  EXPECT_FALSE(parse_exported(""));
  const auto replaced = [&](std::string_view from, std::string_view to) {
    std::string text = line;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  EXPECT_FALSE(parse_exported(replaced("\"sequence\":1", "\"sequence\":1.0")));
  EXPECT_FALSE(parse_exported(replaced("\"sequence\":1", "\"sequence\":01")));
  EXPECT_FALSE(parse_exported(replaced("000000005Z", "000000005+00:00")));
  EXPECT_FALSE(parse_exported(replaced("000000005Z", "5Z")));
  EXPECT_FALSE(parse_exported(replaced("1970", "9999")));
  EXPECT_FALSE(parse_exported(replaced(",\"previous\"", " ,\"previous\"")));
  EXPECT_FALSE(parse_exported(replaced(",\"previous\"", ",\"more\":{},\"previous\"")));
  EXPECT_FALSE(parse_exported(replaced(",\"previous\"", ",\"payload\":{},\"previous\"")));
  EXPECT_FALSE(parse_exported(replaced("\"kind\":\"agent\"", "\"kind\":\"agent\",\"more\":1")));
  EXPECT_FALSE(parse_exported(replaced("\"type\":\"work.claimed\"", "\"type\":\"work\\u002eclaimed\"")));
  EXPECT_FALSE(parse_exported(line.substr(0, line.size() - 1) + ",\"more\":1}"));
  std::string upper = line;
  for (std::size_t i = upper.find("\"hash\":\"") + 8; i < upper.size(); ++i)
    if (is_lower(upper[i])) upper[i] = static_cast<char>(upper[i] - 'a' + 'A');
  EXPECT_FALSE(parse_exported(upper));
  EXPECT_EQ(parse_exported("{}").error().code, "LEDGER_MALFORMED");
}

// --- the tree -----------------------------------------------------------------------------------------------------------

// RFC 6962, 2.1, to the letter: recursive, over the leaves' hashes. What was worked out once is remembered, so that all
// trees up to 300 leaves can be compared.
Sha256 plain_root(std::span<const Sha256> leaves) {
  static std::map<std::pair<Sha256, std::size_t>, Sha256> known;  // by the first leaf, of which no two are equal here
  if (leaves.empty()) return sha256({});
  if (leaves.size() == 1) return leaves[0];
  const auto [found, fresh] = known.try_emplace({leaves[0], leaves.size()});
  if (!fresh) return found->second;
  std::size_t split = 1;
  while (split * 2 < leaves.size()) split *= 2;
  const Sha256 left = plain_root(leaves.first(split)), right = plain_root(leaves.subspan(split));
  std::string bytes = "\x01";
  bytes.append(left.begin(), left.end()).append(right.begin(), right.end());
  return found->second = sha256(bytes);
}

std::vector<Sha256> plain_path(std::size_t index, std::span<const Sha256> leaves) {
  if (leaves.size() <= 1) return {};
  std::size_t split = 1;
  while (split * 2 < leaves.size()) split *= 2;
  std::vector<Sha256> path;
  if (index < split) {
    path = plain_path(index, leaves.first(split));
    path.push_back(plain_root(leaves.subspan(split)));
  } else {
    path = plain_path(index - split, leaves.subspan(split));
    path.push_back(plain_root(leaves.first(split)));
  }
  return path;
}

std::vector<Sha256> plain_subproof(std::size_t old_size, std::span<const Sha256> leaves, bool whole) {
  if (old_size == leaves.size()) return whole ? std::vector<Sha256>{} : std::vector{plain_root(leaves)};
  std::size_t split = 1;
  while (split * 2 < leaves.size()) split *= 2;
  std::vector<Sha256> path;
  if (old_size <= split) {
    path = plain_subproof(old_size, leaves.first(split), whole);
    path.push_back(plain_root(leaves.subspan(split)));
  } else {
    path = plain_subproof(old_size - split, leaves.subspan(split), false);
    path.push_back(plain_root(leaves.first(split)));
  }
  return path;
}

std::vector<Sha256> some_leaves(std::size_t count) {
  std::vector<Sha256> leaves;
  for (std::size_t i = 0; i < count; ++i) leaves.push_back(sha256(std::string(1, '\0') + std::to_string(i)));
  return leaves;
}

Subtree subtree_over(const std::vector<Sha256>& leaves) {
  return [&leaves](std::uint32_t level, std::uint64_t position) -> Result<Sha256> {
    const std::uint64_t first = position << level, count = std::uint64_t{1} << level;
    if (first + count > leaves.size()) return failure("reading a subtree", "it is not complete");
    return plain_root(std::span(leaves).subspan(first, count));
  };
}

// The reference tree of the Certificate Transparency implementations.
TEST(LedgerMerkle, PublishedRoots) {
  const char* inputs[] = {
      "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  const char* roots[] = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                         "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                         "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                         "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                         "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                         "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                         "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                         "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  Peaks peaks;
  EXPECT_EQ(hex(peaks.root()), roots[0]);
  EXPECT_EQ(hex(empty_root()), roots[0]);
  for (std::size_t i = 0; i < 8; ++i) {
    peaks.append(sha256(std::string(1, '\0') + unhex(inputs[i])));
    EXPECT_EQ(hex(peaks.root()), roots[i + 1]) << i + 1;
  }
}

TEST(LedgerMerkle, RootsAndPeaksOfAllSizes) {
  const std::vector<Sha256> leaves = some_leaves(300);
  Peaks peaks;
  for (std::size_t size = 0;; ++size) {
    EXPECT_EQ(peaks.size(), size);
    EXPECT_EQ(peaks.root(), plain_root(std::span(leaves).first(size))) << size;
    EXPECT_EQ(tree_root(size, subtree_over(leaves)).value(), peaks.root());
    const auto again = Peaks::read(size, peaks.bytes());
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, peaks);
    EXPECT_FALSE(Peaks::read(size, peaks.bytes() + std::string(32, 'x')));
    EXPECT_FALSE(Peaks::read(size, peaks.bytes() + "x"));
    if (size > 0) {
      EXPECT_FALSE(Peaks::read(size, peaks.bytes().substr(32)));
    }
    if (size == leaves.size()) break;
    std::vector<Peaks::Completed> completed;
    const std::function<void(const Peaks::Completed&)> take = [&](const auto& node) { completed.push_back(node); };
    peaks.append(leaves[size], &take);
    // Each power of two that divides the new size ends a subtree there.
    std::uint32_t level = 0;
    for (const Peaks::Completed& node : completed) {
      EXPECT_EQ(node.level, ++level);
      EXPECT_EQ(node.hash, subtree_over(leaves)(node.level, node.position).value());
      EXPECT_EQ((node.position + 1) << node.level, size + 1);
    }
    EXPECT_NE((size + 1) >> level & 1, 0u) << "a subtree was left out";
  }
  Peaks in_blocks;
  for (std::uint64_t i = 0; i < 18; ++i) in_blocks.append_subtree(subtree_over(leaves)(4, i).value(), 4);
  in_blocks.append(leaves[288]);
  EXPECT_EQ(in_blocks.root(), plain_root(std::span(leaves).first(289)));
}

TEST(LedgerMerkle, InclusionOfEveryLeafInEveryTree) {
  const std::vector<Sha256> leaves = some_leaves(300);
  const Subtree subtree = subtree_over(leaves);
  for (std::size_t size = 1; size <= leaves.size(); ++size) {
    const bool with_changes = size < 70 || size % 23 == 0;
    const auto tree = std::span(leaves).first(size);
    const Sha256 root = plain_root(tree);
    for (std::size_t index = 0; index < size; ++index) {
      const auto path = inclusion_proof(index, size, subtree);
      ASSERT_TRUE(path);
      ASSERT_EQ(*path, plain_path(index, tree)) << index << " of " << size;
      ASSERT_TRUE(verify_inclusion(leaves[index], index, size, *path, root));
      if (!with_changes) continue;
      ASSERT_FALSE(verify_inclusion(leaves[index], (index + 1) % size, size, *path, root) && size > 1);
      ASSERT_FALSE(verify_inclusion(leaves[(index + 1) % 300], index, size, *path, root));
      std::vector<Sha256> other = *path;
      other.push_back(root);
      ASSERT_FALSE(verify_inclusion(leaves[index], index, size, other, root)) << "a longer path";
      if (!path->empty()) {
        other = *path;
        other.pop_back();
        ASSERT_FALSE(verify_inclusion(leaves[index], index, size, other, root)) << "a shorter path";
        for (std::size_t i = 0; i < path->size(); ++i) {
          other = *path;
          other[i][index % 32] ^= 1;
          ASSERT_FALSE(verify_inclusion(leaves[index], index, size, other, root));
        }
      }
    }
    EXPECT_FALSE(inclusion_proof(size, size, subtree));
    EXPECT_FALSE(verify_inclusion(root, size, size, {}, root));
    // A node of the tree is not a leaf of it.
    if (size > 1) {
      EXPECT_FALSE(verify_inclusion(root, 0, size, {}, root));
      const auto path = inclusion_proof(0, size, subtree).value();
      EXPECT_FALSE(verify_inclusion(node_hash(leaves[0], path[0]), 0, size, std::span(path).subspan(1), root));
    }
  }
  EXPECT_FALSE(verify_inclusion(leaves[0], 0, 0, {}, empty_root()));
}

TEST(LedgerMerkle, ConsistencyOfEveryPairOfTrees) {
  const std::vector<Sha256> leaves = some_leaves(300);
  const Subtree subtree = subtree_over(leaves);
  std::vector<Sha256> roots;
  for (std::size_t size = 0; size <= leaves.size(); ++size) roots.push_back(plain_root(std::span(leaves).first(size)));
  for (std::size_t size = 0; size <= leaves.size(); ++size)
    for (std::size_t old_size = 0; old_size <= size; ++old_size) {
      const auto path = consistency_proof(old_size, size, subtree);
      ASSERT_TRUE(path);
      if (old_size > 0) {
        ASSERT_EQ(*path, plain_subproof(old_size, std::span(leaves).first(size), true)) << old_size << " " << size;
      }
      ASSERT_TRUE(verify_consistency(old_size, size, roots[old_size], roots[size], *path)) << old_size << " " << size;
      if (size >= 70 && size % 23 != 0) continue;
      Sha256 other = roots[old_size];
      other[0] ^= 1;
      ASSERT_FALSE(verify_consistency(old_size, size, other, roots[size], *path));
      std::vector<Sha256> longer = *path;
      longer.push_back(other);
      ASSERT_FALSE(verify_consistency(old_size, size, roots[old_size], roots[size], longer));
      if (old_size == 0 || old_size == size) continue;
      other = roots[size];
      other[0] ^= 1;
      ASSERT_FALSE(verify_consistency(old_size, size, roots[old_size], other, *path));
      for (std::size_t i = 0; i < path->size(); ++i) {
        std::vector<Sha256> changed = *path;
        changed[i][0] ^= 1;
        ASSERT_FALSE(verify_consistency(old_size, size, roots[old_size], roots[size], changed));
      }
      ASSERT_FALSE(
          verify_consistency(old_size, size, roots[old_size], roots[size], std::span(*path).first(path->size() - 1)));
    }
  EXPECT_FALSE(consistency_proof(2, 1, subtree));
  EXPECT_FALSE(verify_consistency(2, 1, roots[2], roots[1], {}));
}

// --- streams ------------------------------------------------------------------------------------------------------------

TEST(LedgerStreams, SetsOfPublishedHashes) {
  std::string set;
  add_stream(set, "a");       // FNV-1a's own test values: e40c292c
  add_stream(set, "foobar");  // bf9cf968
  add_stream(set, "a");
  EXPECT_EQ(set, unhex("bf9cf968e40c292c"));
  EXPECT_TRUE(may_hold_stream(set, "a"));
  EXPECT_TRUE(may_hold_stream(set, "foobar"));
  EXPECT_FALSE(may_hold_stream(set, "b"));
  EXPECT_FALSE(may_hold_stream("", "a"));
  for (int i = 0; i < 256; ++i) add_stream(set, "work/" + std::to_string(i));
  for (int i = 0; i < 256; ++i) EXPECT_TRUE(may_hold_stream(set, "work/" + std::to_string(i)));
  EXPECT_EQ(set.size(), 4u * 258);
  std::string altered = set.substr(0, 7);  // ends in the middle
  may_hold_stream(altered, "a");
  add_stream(altered, "zz");
}

}  // namespace
}  // namespace baton::ledger
