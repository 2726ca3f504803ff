// SPDX-License-Identifier: Apache-2.0
#include "json/document.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "json/decimal.h"
#include "json/pointer.h"

namespace baton::json {

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::Null: return "null";
    case Kind::Boolean: return "boolean";
    case Kind::Number: return "number";
    case Kind::String: return "string";
    case Kind::Array: return "array";
    case Kind::Object: return "object";
  }
  CHECK(false);
}

Position position_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const std::size_t lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t last = before.rfind('\n');
  return {lines + 1, before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1};
}

Node Node::operator[](std::string_view name) const {
  if (!is_object()) return {};
  const Document::Cell* cells = document_->cells_.get();
  const std::uint32_t end = cells[index_].link;
  for (std::uint32_t key = index_ + 1; key < end;) {
    const Document::Cell& cell = cells[key];
    if (cell.size == name.size() && same_text(Node(document_, key).string(), name)) return Node(document_, key + 1);
    const Document::Cell& value = cells[key + 1];
    key = value.kind >= Kind::Array ? value.link : key + 2;
  }
  return {};
}

Node Node::element(std::size_t position) const {
  for (const Node node : elements())
    if (position-- == 0) return node;
  return {};
}

Position Node::position() const {
  if (const auto& source = document_->source_) return position_at(source->text, source->offsets[index_]);
  return position_at(document_->text(), offset());
}

void Document::set_source(std::string source, std::vector<std::uint32_t> offsets) {
  CHECK(offsets.size() == cell_count_);
  source_ = std::make_unique<const Source>(Source{std::move(source), std::move(offsets)});
}

// Cells stand in document order, so the way from the root is, at each level, the child whose subtree holds the index.
std::string Node::pointer() const {
  std::string out;
  Node at = document_->root();
  while (at.index_ != index_) {
    Node inside;
    if (at.kind() == Kind::Object) {
      for (const Member member : at.members()) {
        if (index_ >= member.value.next()) continue;
        append_pointer_token(out, member.name());
        inside = member.value;
        break;
      }
      // A key has no pointer of its own: it is named by the member it opens.
      if (index_ < inside.index_) return out;
    } else {
      std::size_t position = 0;
      for (const Node element : at.elements()) {
        if (index_ < element.next()) {
          out += "/" + std::to_string(position);
          inside = element;
          break;
        }
        ++position;
      }
    }
    CHECK(inside);
    at = inside;
  }
  return out;
}

bool equal(Node left, Node right) {
  if (left.kind() != right.kind()) return false;
  switch (left.kind()) {
    case Kind::Null: return true;
    case Kind::Boolean: return left.boolean() == right.boolean();
    case Kind::Number: return same_number(left.number_text(), right.number_text());
    case Kind::String: return left.string() == right.string();
    case Kind::Array: {
      if (left.size() != right.size()) return false;
      auto other = right.elements().begin();
      for (const Node element : left.elements()) {
        if (!equal(element, *other)) return false;
        ++other;
      }
      return true;
    }
    case Kind::Object: {
      if (left.size() != right.size()) return false;
      for (const Member member : left.members()) {
        const Node other = right[member.name()];
        if (!other || !equal(member.value, other)) return false;
      }
      return true;
    }
  }
  CHECK(false);
}

}  // namespace baton::json
