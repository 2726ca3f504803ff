// SPDX-License-Identifier: Apache-2.0
#include "secrets/anchors.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "base/text.h"
#include "secrets/characters.h"

namespace baton::secrets {
namespace {

constexpr int kRounds = 3;  // more change nothing

// The share of each ASCII character in prose and JSON, roughly.
constexpr std::array<double, 128> kShares = [] {
  std::array<double, 128> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const char c = static_cast<char>(i);
    if (is_lower(c)) {
      shares[i] = 0.085 / (1 + 0.25 * static_cast<double>(std::string_view("etaoinsrhldcumfpgwybvkxjqz").find(c)));
    } else if (c == ' ' || c == '"') {
      shares[i] = 0.1;
    } else if (is_digit(c) || std::string_view("_-.,:/").find(c) != std::string_view::npos) {
      shares[i] = 0.012;
    } else {
      shares[i] = is_upper(c) ? 0.003 : 0.001;
    }
  }
  return shares;
}();

// Which half bytes the anchors of one bucket allow, by position.
struct Shape {
  std::array<std::uint16_t, kWindow> low{}, high{};
  std::array<std::bitset<128>, kWindow> characters;  // without their highest bit

  void allow(std::size_t position, char c) {
    characters[position].set(static_cast<unsigned char>(c) & 127);
    low[position] |= static_cast<std::uint16_t>(1u << (static_cast<unsigned char>(c) & 15));
    high[position] |= static_cast<std::uint16_t>(1u << (static_cast<unsigned char>(c) >> 4));
  }

  Shape with(const Shape& other) const {
    Shape both = *this;
    for (std::size_t position = 0; position < kWindow; ++position) {
      both.low[position] |= other.low[position];
      both.high[position] |= other.high[position];
    }
    return both;
  }

  // About how often ordinary text would come by here for nothing.
  double cost() const {
    double product = 1;
    for (std::size_t position = 0; position < kWindow; ++position) {
      double sum = 0;
      for (std::size_t c = 0; c < kShares.size(); ++c) {
        if ((low[position] >> (c & 15) & 1) && (high[position] >> (c >> 4) & 1)) sum += kShares[c];
      }
      product *= sum;
    }
    return product;
  }
};

Shape shape_of(const Anchor& anchor) {
  Shape shape;
  for (std::size_t position = 0; position < kWindow; ++position) {
    const std::size_t at = anchor.window + position;
    if (at < anchor.literal.size()) {
      const char c = anchor.literal[at];
      shape.allow(position, c);
      if (anchor.folded && is_lower(c)) shape.allow(position, static_cast<char>(c - 'a' + 'A'));
      continue;
    }
    const CharacterSet& tail = at - anchor.literal.size() < anchor.tail_length ? characters_of(anchor.tail) : kAny;
    for (int c = 0; c < 256; ++c) {
      if (in(tail, static_cast<char>(c))) shape.allow(position, static_cast<char>(c));
    }
  }
  return shape;
}

void choose_window(Anchor& anchor) {
  // Best is a window that ends in a sign: tokens have them, words have not, and where they stand in the same place many
  // anchors share a bucket at little cost.
  const auto score = [](const Anchor& one) {
    const bool ends_in_sign = one.literal.size() >= kWindow && !is_alphanumeric(one.literal[one.window + kWindow - 1]);
    return shape_of(one).cost() * (ends_in_sign ? 1e-6 : 1);
  };
  Anchor moved = anchor;
  for (moved.window = 1; moved.window + kWindow <= anchor.literal.size(); ++moved.window) {
    if (score(moved) < score(anchor)) anchor.window = moved.window;
  }
}

WindowBits window_bits(const Anchor& anchor) {
  WindowBits window;
  for (std::size_t i = 0; i < kWindow && anchor.window + i < anchor.literal.size(); ++i) {
    const char c = anchor.literal[anchor.window + i];
    const std::uint32_t mask = anchor.folded && is_lower(c) ? 0xdf : 0xff;
    window.mask |= mask << (8 * i);
    window.bits |= (static_cast<unsigned char>(c) & mask) << (8 * i);
  }
  return window;
}

std::vector<Anchor> all_anchors() {
  std::vector<Anchor> anchors;
  for (std::size_t rule = 0; rule < kPatternRules; ++rule) {
    const Rule& row = kRules[rule];
    for (std::string_view literal : split(row.anchors, ' ')) {
      const bool folded = literal.starts_with("(?i)");
      if (folded) literal.remove_prefix(4);
      anchors.push_back({AnchorKind::Pattern, rule, literal, folded, row.tail, row.tail_length});
    }
  }
  for (const std::string_view keyword : kKeywords)
    anchors.push_back({AnchorKind::Keyword, 0, keyword, true, Tail::Any, 0});
  anchors.push_back({AnchorKind::Key, 0, "key", true, Tail::Any, 0});
  // JSON escapes of characters a secret may be made of; `\n` and its kind are none.
  anchors.push_back({AnchorKind::Escape, 0, "\\/", false, Tail::Any, 0});
  anchors.push_back({AnchorKind::Escape, 0, "\\u00", false, Tail::Any, 0});
  for (Anchor& anchor : anchors) choose_window(anchor);
  return anchors;
}

// Anchors of one or two characters leave most of the window open and would open it for all others: they have two
// buckets to themselves. Each other goes where it adds least, and once all are placed may move again.
std::vector<std::size_t> spread(const std::vector<Anchor>& all) {
  std::vector<Shape> shapes;
  std::vector<std::pair<double, std::size_t>> order;  // the most frequent first: they need the room
  for (const Anchor& anchor : all) {
    shapes.push_back(shape_of(anchor));
    order.emplace_back(-shapes.back().cost(), order.size());
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> bucket_of(all.size(), kBuckets);
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& [cost, i] : order) {
      if (all[i].literal.size() <= 2) {
        bucket_of[i] = is_lower(all[i].literal[0]) ? 1 : 0;
        continue;
      }
      bucket_of[i] = kBuckets;
      std::array<Shape, kBuckets> buckets;
      for (std::size_t other = 0; other < all.size(); ++other) {
        if (bucket_of[other] < kBuckets) buckets[bucket_of[other]] = buckets[bucket_of[other]].with(shapes[other]);
      }
      double least = 1e9;
      for (std::size_t bucket = 2; bucket < kBuckets; ++bucket) {
        const double added = buckets[bucket].with(shapes[i]).cost() - buckets[bucket].cost();
        if (added < least) least = added, bucket_of[i] = bucket;
      }
    }
  }
  return bucket_of;
}

}  // namespace

Tables::Tables() {
  const std::vector<Anchor> all = all_anchors();
  const std::vector<std::size_t> bucket_of = spread(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto bit = static_cast<std::uint8_t>(1u << bucket_of[i]);
    const Shape shape = shape_of(all[i]);
    for (std::size_t position = 0; position < kWindow; ++position) {
      for (std::size_t half = 0; half < 16; ++half) {
        if (shape.low[position] >> half & 1) low[position][half] |= bit;
        if (shape.high[position] >> half & 1) high[position][half] |= bit;
      }
      for (std::size_t c = 0; c < 128; ++c) {
        if (shape.characters[position][c]) by_character[position][c] |= bit;
      }
    }
    const WindowBits window = window_bits(all[i]);
    anchors[bucket_of[i]].push_back(all[i]);
    windows[bucket_of[i]].push_back(window);
    for (const std::size_t side : {0, 1}) {
      const std::uint32_t mask = window.mask >> (16 * side) & 0xffff;
      const std::uint32_t bits = window.bits >> (16 * side) & 0xffff;
      // Every pair that differs from the literal only in bits the literal leaves open.
      const std::uint32_t open = ~mask & 0xffff;
      std::uint32_t choice = 0;
      do {
        pairs[side][bits | choice] |= bit;
        choice = (choice - open) & open;
      } while (choice != 0);
    }
  }
}

const Tables& tables() {
  static const Tables built;
  return built;
}

}  // namespace baton::secrets
