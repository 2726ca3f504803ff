// SPDX-License-Identifier: Apache-2.0
#include "simdjson_trees.h"

#include <simdjson.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <variant>
#include <vector>

namespace baton::bench {
namespace {

namespace dom = simdjson::dom;

// Up to this many keys are compared one by one, as in json::parse.
constexpr std::size_t kKeysComparedOneByOne = 32;

// --- into an arena --------------------------------------------------------------------------------------------------

struct Node {
  dom::element_type type;
  std::uint32_t size;  // string: bytes; array: elements; object: members (each a key and a value)
  union {
    const char* text;
    Node* children;
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    bool boolean;
  };
};
static_assert(sizeof(Node) == 16);

class ArenaTree {
 public:
  explicit ArenaTree(std::size_t text_size) : room_(text_size * 3) { add_block(room_); }

  bool build(const dom::element& root) { return copy(root, *nodes(1)); }
  std::size_t count() const { return count_; }

 private:
  void add_block(std::size_t size) {
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    at_ = blocks_.back().get();
    end_ = at_ + size;
  }
  char* take(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) add_block(std::max(size, room_));
    char* place = at_;
    at_ += size;
    return place;
  }
  Node* nodes(std::size_t number) {
    count_ += number;
    char* place = take(number * sizeof(Node) + 7);
    return reinterpret_cast<Node*>(place + (-reinterpret_cast<std::uintptr_t>(place) & 7));
  }

  void copy_text(std::string_view text, Node& out) {
    char* place = take(text.size());
    std::memcpy(place, text.data(), text.size());
    out.type = dom::element_type::STRING;
    out.size = static_cast<std::uint32_t>(text.size());
    out.text = place;
  }

  bool copy(const dom::element& from, Node& out) {
    out.type = from.type();
    out.size = 0;
    switch (out.type) {
      case dom::element_type::STRING: copy_text(from.get_string().value_unsafe(), out); return true;
      case dom::element_type::INT64: out.integer = from.get_int64().value_unsafe(); return true;
      case dom::element_type::UINT64: out.natural = from.get_uint64().value_unsafe(); return true;
      case dom::element_type::DOUBLE: out.real = from.get_double().value_unsafe(); return true;
      case dom::element_type::BOOL: out.boolean = from.get_bool().value_unsafe(); return true;
      case dom::element_type::NULL_VALUE: return true;
      case dom::element_type::ARRAY: {
        const dom::array array = from.get_array().value_unsafe();
        out.size = static_cast<std::uint32_t>(array.size());
        Node* child = out.children = nodes(out.size);
        for (const dom::element element : array)
          if (!copy(element, *child++)) return false;
        return true;
      }
      case dom::element_type::OBJECT: return copy_object(from.get_object().value_unsafe(), out);
    }
    return false;
  }

  // The same test for new keys as json::parse has: a bit per hash first, then a comparison with all before.
  bool copy_object(const dom::object& object, Node& out) {
    out.size = static_cast<std::uint32_t>(object.size());
    Node* const first = out.children = nodes(2 * std::size_t{out.size});
    Node* at = first;
    std::uint64_t seen = 0;
    std::set<std::string_view> many;
    for (const dom::key_value_pair member : object) {
      copy_text(member.key, *at);
      if (out.size > kKeysComparedOneByOne) {
        if (!many.emplace(at->text, at->size).second) return false;
      } else {
        const std::uint64_t bit = hash_bit(member.key);
        if ((seen & bit) != 0)
          for (const Node* earlier = first; earlier != at; earlier += 2)
            if (std::string_view(earlier->text, earlier->size) == member.key) return false;
        seen |= bit;
      }
      if (!copy(member.value, at[1])) return false;
      at += 2;
    }
    return true;
  }

  static std::uint64_t hash_bit(std::string_view name) {
    std::uint64_t hash = name.size();
    if (!name.empty()) {
      hash = hash * 31 + static_cast<unsigned char>(name.front());
      hash = hash * 31 + static_cast<unsigned char>(name.back());
      hash = hash * 31 + static_cast<unsigned char>(name[name.size() / 2]);
    }
    return std::uint64_t{1} << (hash & 63);
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t room_;
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::size_t count_ = 0;
};

// --- into an ordinary tree ------------------------------------------------------------------------------------------

struct Ordinary {
  using Array = std::vector<Ordinary>;
  using Object = std::vector<std::pair<std::string, Ordinary>>;
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> data;
};

bool copy_ordinary(const dom::element& from, Ordinary& out, std::size_t& count) {
  ++count;
  switch (from.type()) {
    case dom::element_type::STRING: out.data = std::string(from.get_string().value_unsafe()); return true;
    case dom::element_type::INT64: out.data = from.get_int64().value_unsafe(); return true;
    case dom::element_type::UINT64: out.data = from.get_uint64().value_unsafe(); return true;
    case dom::element_type::DOUBLE: out.data = from.get_double().value_unsafe(); return true;
    case dom::element_type::BOOL: out.data = from.get_bool().value_unsafe(); return true;
    case dom::element_type::NULL_VALUE: out.data = nullptr; return true;
    case dom::element_type::ARRAY: {
      auto& elements = out.data.emplace<Ordinary::Array>();
      const dom::array array = from.get_array().value_unsafe();
      elements.reserve(array.size());
      for (const dom::element element : array)
        if (!copy_ordinary(element, elements.emplace_back(), count)) return false;
      return true;
    }
    case dom::element_type::OBJECT: {
      auto& members = out.data.emplace<Ordinary::Object>();
      const dom::object object = from.get_object().value_unsafe();
      members.reserve(object.size());
      std::set<std::string_view> many;
      for (const dom::key_value_pair member : object) {
        if (object.size() > kKeysComparedOneByOne) {
          if (!many.insert(member.key).second) return false;
        } else {
          for (const auto& earlier : members)
            if (earlier.first == member.key) return false;
        }
        ++count;
        if (!copy_ordinary(member.value, members.emplace_back(std::string(member.key), Ordinary()).second, count))
          return false;
      }
      return true;
    }
  }
  return false;
}

}  // namespace

struct SimdjsonPeer::State {
  simdjson::padded_string text;
  dom::parser parser;
};

SimdjsonPeer::SimdjsonPeer(std::string_view text) : state_(new State{simdjson::padded_string(text), dom::parser()}) {}
SimdjsonPeer::~SimdjsonPeer() { delete state_; }

bool SimdjsonPeer::parse_tape() {
  dom::element root;
  return state_->parser.parse(state_->text).get(root) == simdjson::SUCCESS;
}

std::size_t SimdjsonPeer::parse_arena() {
  dom::element root;
  if (state_->parser.parse(state_->text).get(root) != simdjson::SUCCESS) return 0;
  ArenaTree tree(state_->text.size());
  return tree.build(root) ? tree.count() : 0;
}

std::size_t SimdjsonPeer::parse_ordinary() {
  dom::element root;
  if (state_->parser.parse(state_->text).get(root) != simdjson::SUCCESS) return 0;
  Ordinary tree;
  std::size_t count = 0;
  return copy_ordinary(root, tree, count) ? count : 0;
}

std::string SimdjsonPeer::implementation() { return simdjson::get_active_implementation()->name(); }

}  // namespace baton::bench
