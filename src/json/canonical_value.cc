// SPDX-License-Identifier: Apache-2.0
// The canonical form of a Value, without the way through text and parse.
#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::json {
namespace {

tl::expected<void, CanonicalError> append_number(std::string& out, const std::string& text, Numbers numbers) {
  // Rare enough in what Baton writes; the one home of number layout is the document's writer.
  const auto document = parse(text);
  CHECK(document && document->root().is_number());
  return append_canonical(out, document->root(), numbers);
}

}  // namespace

tl::expected<void, CanonicalError> append_canonical(std::string& out, const Value& value, Numbers numbers) {
  switch (value.kind()) {
    case Kind::Null: out += "null"; return {};
    case Kind::Boolean: out += value.boolean() ? "true" : "false"; return {};
    case Kind::Number: {
      const std::string& text = value.number_text();
      const bool plain = text.size() <= 15 && std::all_of(text.begin(), text.end(), is_digit) && text[0] != '0';
      if (!plain && text != "0") return append_number(out, text, numbers);
      out += text;
      return {};
    }
    case Kind::String: append_canonical_string(out, value.string()); return {};
    case Kind::Array: {
      out.push_back('[');
      const char* separator = "";
      for (const Value& element : value.elements()) {
        out += separator;
        separator = ",";
        if (auto written = append_canonical(out, element, numbers); !written) return written;
      }
      out.push_back(']');
      return {};
    }
    case Kind::Object: {
      const Value::Object& members = value.members();
      std::vector<const Value::Object::value_type*> sorted;
      sorted.reserve(members.size());
      for (const auto& member : members) sorted.push_back(&member);
      std::sort(sorted.begin(), sorted.end(),
                [](const auto* left, const auto* right) { return utf16_less(left->first, right->first); });
      out.push_back('{');
      const char* separator = "";
      for (const auto* member : sorted) {
        out += separator;
        separator = ",";
        append_canonical_string(out, member->first);
        out.push_back(':');
        if (auto written = append_canonical(out, member->second, numbers); !written) return written;
      }
      out.push_back('}');
      return {};
    }
  }
  CHECK(false);
}

}  // namespace baton::json
