// SPDX-License-Identifier: Apache-2.0
// A JSON document: an immutable tree over the text it was parsed from.
//
// The tree is one array of 16-byte cells in document order, so that a parse is one allocation and a walk is a march
// through memory. A Node is a small view (document and index), valid as long as its Document; it is passed by value.
//
// Nothing is lost: a number keeps its text, every node knows its byte offset, and what the text held twice never got in
// (json/parse.h refuses duplicate keys). Line, column and JSON Pointer are worked out from the offset when asked for,
// because they are only wanted when something is wrong.
//
// A document can also come from a text that is not JSON (yaml/yaml.h): then text() is the JSON it was turned into, and
// positions are those in the source.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::json {

enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };

// "null", "boolean", "number", "string", "array", "object".
std::string_view kind_name(Kind kind);

// 1-based; the column counts bytes.
struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

// Where byte `offset` of `text` is; just past the end when it is beyond the text.
Position position_at(std::string_view text, std::size_t offset);

class Document;
struct Member;

// One value of a document, or no value at all (what looking up an absent member gives).
class Node {
 public:
  Node() = default;
  Node(const Document* document, std::uint32_t index) : document_(document), index_(index) {}

  explicit operator bool() const { return document_ != nullptr; }
  bool operator==(const Node&) const = default;  // the same place, not an equal value: see equal()

  Kind kind() const;
  bool is(Kind kind) const { return document_ != nullptr && this->kind() == kind; }
  bool is_null() const { return is(Kind::Null); }
  bool is_boolean() const { return is(Kind::Boolean); }
  bool is_number() const { return is(Kind::Number); }
  bool is_string() const { return is(Kind::String); }
  bool is_array() const { return is(Kind::Array); }
  bool is_object() const { return is(Kind::Object); }

  // Each needs a node of that kind; size() of no node is 0.
  bool boolean() const;
  std::string_view string() const;       // unescaped
  std::string_view number_text() const;  // as it stood in the text
  std::size_t size() const;              // members or elements

  // The member called `name`, or no node; also no node when this is none or is not an object.
  Node operator[](std::string_view name) const;
  // The element at `position`, or no node.
  Node element(std::size_t position) const;

  // Is this exactly the string `text`?
  bool is_text(std::string_view text) const { return is_string() && string() == text; }
  bool is_true() const { return is_boolean() && boolean(); }

  class Elements;
  class Members;
  Elements elements() const;  // of an array; empty for anything else
  Members members() const;    // of an object; empty for anything else

  const Document* document() const { return document_; }
  std::uint32_t index() const { return index_; }
  std::size_t offset() const;   // of its first byte in the text
  Position position() const;    // in the source
  std::string pointer() const;  // JSON Pointer (RFC 6901) from the root

 private:
  std::uint32_t next() const;  // index just past this node's subtree

  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

class Document {
 public:
  Document(Document&&) = default;
  Document& operator=(Document&&) = default;

  Node root() const { return Node(this, 0); }
  std::string_view text() const { return text_; }
  // Did any string use a backslash? If not, the text itself holds every string's characters.
  bool has_escapes() const { return decoded_ != nullptr; }
  // All strings that used one, unescaped, each with a line feed after it.
  std::string_view unescaped_strings() const { return decoded_ ? std::string_view(*decoded_) : std::string_view(); }
  bool is_ascii() const { return ascii_; }
  // Is every number short and without an exponent, so that a double carries it?
  bool has_plain_numbers() const { return plain_numbers_; }
  std::size_t node_count() const { return cell_count_; }

  // Says that the text was made from `source`. `offsets` has the place of each node in it, in document order, those of
  // keys among them. Values stay as they are.
  void set_source(std::string source, std::vector<std::uint32_t> offsets);

 private:
  friend class Node;
  friend class Parser;
  friend class CanonicalWriter;

  struct Cell {
    std::uint32_t at;    // offset of the first byte (a string's opening quote)
    std::uint32_t size;  // string: bytes when unescaped; number: bytes; container: how many; boolean: 0 or 1
    std::uint32_t link;  // container: index just past its subtree; escaped string: offset in decoded_
    Kind kind;
    bool escaped;
    std::uint16_t unused;
  };
  static_assert(sizeof(Cell) == 16);
  struct Source {
    std::string text;
    std::vector<std::uint32_t> offsets;  // by cell
  };

  Document() = default;

  std::string_view text_;
  std::unique_ptr<std::string> owned_;  // the text, when the document keeps it; never moves
  std::unique_ptr<Cell[]> cells_;
  std::uint32_t cell_count_ = 0;
  bool ascii_ = true;
  bool plain_numbers_ = true;
  std::unique_ptr<std::string> decoded_;  // unescaped strings, end to end
  std::unique_ptr<const Source> source_;  // null: the text is the source
};

// --- walking --------------------------------------------------------------------------------------------------------

class Node::Elements {
 public:
  class Iterator {
   public:
    explicit Iterator(Node node) : node_(node) {}
    Node operator*() const { return node_; }
    Iterator& operator++() {
      node_ = Node(node_.document_, node_.next());
      return *this;
    }
    bool operator!=(const Iterator& other) const { return node_.index_ != other.node_.index_; }

   private:
    Node node_;
  };
  Elements(Node first, Node last) : first_(first), last_(last) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }

 private:
  Node first_, last_;
};

struct Member {
  Node key;  // a string
  Node value;
  std::string_view name() const { return key.string(); }
};

class Node::Members {
 public:
  class Iterator {
   public:
    explicit Iterator(Node key) : key_(key) {}
    Member operator*() const { return {key_, Node(key_.document_, key_.index_ + 1)}; }
    Iterator& operator++() {
      key_ = Node(key_.document_, Node(key_.document_, key_.index_ + 1).next());
      return *this;
    }
    bool operator!=(const Iterator& other) const { return key_.index_ != other.key_.index_; }

   private:
    Node key_;
  };
  Members(Node first, Node last) : first_(first), last_(last) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }

 private:
  Node first_, last_;
};

inline Kind Node::kind() const { return document_->cells_[index_].kind; }
inline bool Node::boolean() const { return document_->cells_[index_].size != 0; }
inline std::size_t Node::offset() const { return document_->cells_[index_].at; }

inline std::string_view Node::string() const {
  const Document::Cell& cell = document_->cells_[index_];
  if (cell.escaped) return std::string_view(*document_->decoded_).substr(cell.link, cell.size);
  return {document_->text_.data() + cell.at + 1, cell.size};
}

inline std::string_view Node::number_text() const {
  const Document::Cell& cell = document_->cells_[index_];
  return {document_->text_.data() + cell.at, cell.size};
}

inline std::size_t Node::size() const { return document_ == nullptr ? 0 : document_->cells_[index_].size; }

inline std::uint32_t Node::next() const {
  const Document::Cell& cell = document_->cells_[index_];
  return cell.kind >= Kind::Array ? cell.link : index_ + 1;
}

inline Node::Elements Node::elements() const {
  if (!is_array()) return {Node(), Node()};
  return {Node(document_, index_ + 1), Node(document_, next())};
}

inline Node::Members Node::members() const {
  if (!is_object()) return {Node(), Node()};
  return {Node(document_, index_ + 1), Node(document_, next())};
}

// --- comparing ------------------------------------------------------------------------------------------------------

// Deep equality of JSON values: member order does not count, 1 equals 1.0, nothing is coerced.
bool equal(Node left, Node right);

}  // namespace baton::json
