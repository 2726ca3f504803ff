// SPDX-License-Identifier: Apache-2.0
// json::parse against simdjson on the same bytes, and the promises of what is built on it: canonical form, writing,
// pointers, the incremental tracker and unescaper, decimals, paths.
//
// Where the two parsers are meant to differ:
//   both refuse     for whatever reasons: which of several faults is named is not compared
//   only we refuse  a key twice (simdjson keeps both); nesting beyond our limit of 512 (simdjson's is 1,024); a byte
//                   order mark (newer simdjson skips it); half a surrogate pair (simdjson 3.0 lets a lone low half pass)
//   only it refuses whole numbers beyond 64 bits and numbers beyond doubles, which we keep as text
// Anything else that differs ends the run.
#include <simdjson.h>

#include <bit>
#include <cmath>
#include <set>

#include "json/decimal.h"
#include "json/incremental.h"
#include "json/path.h"
#include "json/pointer.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kPointerBytesMax = 2048;  // finding a pointer is a walk, so all pointers are a square

// --- against simdjson -----------------------------------------------------------------------------------------------

bool holds_duplicate_key(dom::element element) {
  if (element.is_array()) {
    for (const dom::element inner : dom::array(element))
      if (holds_duplicate_key(inner)) return true;
  } else if (element.is_object()) {
    std::set<std::string_view> keys;
    for (const dom::key_value_pair member : dom::object(element))
      if (!keys.insert(member.key).second || holds_duplicate_key(member.value)) return true;
  }
  return false;
}

bool is_beyond_simdjson(std::string_view number) {
  if (!std::isfinite(json::to_double(number))) return true;
  if (number.find_first_of(".eE") != std::string_view::npos || json::to_int64(number)) return false;
  if (number.starts_with('-')) return true;
  return number.size() > 20 || (number.size() == 20 && number > "18446744073709551615");
}

bool holds_number_beyond_simdjson(json::Node node) {
  if (node.is_number()) return is_beyond_simdjson(node.number_text());
  for (const json::Node element : node.elements())
    if (holds_number_beyond_simdjson(element)) return true;
  for (const json::Member member : node.members())
    if (holds_number_beyond_simdjson(member.value)) return true;
  return false;
}

void compare_numbers(std::string_view text, dom::element theirs) {
  const double ours = json::to_double(text);
  const auto whole = json::to_int64(text);
  switch (theirs.type()) {
    case dom::element_type::INT64: {
      const std::int64_t value = theirs;
      require(whole == value, "a whole number is simdjson's", text);
      require(ours == static_cast<double>(value), "a whole number's double is simdjson's", text);
      break;
    }
    case dom::element_type::UINT64: {
      const std::uint64_t value = theirs;
      require(!whole && std::to_string(value) == text, "a whole number beyond 63 bits is simdjson's", text);
      require(ours == static_cast<double>(value), "a large whole number's double is simdjson's", text);
      break;
    }
    case dom::element_type::DOUBLE: {
      const double value = theirs;
      require(std::bit_cast<std::uint64_t>(ours) == std::bit_cast<std::uint64_t>(value), "a double is simdjson's",
              text);
      // 1e2 is a whole number to us, a double to simdjson.
      if (whole) require(static_cast<double>(*whole) == value, "a whole number is simdjson's double", text);
      break;
    }
    default: broken("a number is a number to simdjson", text);
  }
}

void compare(json::Node ours, dom::element theirs) {
  switch (ours.kind()) {
    case json::Kind::Null: require(theirs.is_null(), "null is simdjson's null"); break;
    case json::Kind::Boolean:
      require(theirs.is_bool() && bool(theirs) == ours.boolean(), "a boolean is simdjson's");
      break;
    case json::Kind::Number: compare_numbers(ours.number_text(), theirs); break;
    case json::Kind::String:
      require(theirs.is_string() && std::string_view(theirs) == ours.string(), "a string is simdjson's", ours.string());
      break;
    case json::Kind::Array: {
      require(theirs.is_array() && dom::array(theirs).size() == ours.size(), "an array is as long as simdjson's");
      auto element = dom::array(theirs).begin();
      for (const json::Node inner : ours.elements()) compare(inner, *element), ++element;
      break;
    }
    case json::Kind::Object: {
      require(theirs.is_object() && dom::object(theirs).size() == ours.size(), "an object is as large as simdjson's");
      auto member = dom::object(theirs).begin();
      for (const json::Member inner : ours.members()) {
        require(inner.name() == member.key(), "members keep their order", inner.name());
        require(ours[inner.name()] == inner.value, "a member is found by its name", inner.name());
        compare(inner.value, member.value());
        ++member;
      }
      break;
    }
  }
}

void compare_with_simdjson(std::string_view text, const tl::expected<json::Document, json::ParseError>& ours) {
  static dom::parser parser;
  dom::element theirs;
  const simdjson::padded_string padded(text);
  const simdjson::error_code error = parser.parse(padded).get(theirs);
  if (ours && !error) {
    compare(ours->root(), theirs);
  } else if (ours) {
    // simdjson 3.0 says NUMBER_ERROR; newer ones tell large whole numbers apart.
    const bool about_numbers =
        std::string_view(simdjson::error_message(error)).find("umber") != std::string_view::npos ||
        std::string_view(simdjson::error_message(error)).find("integer") != std::string_view::npos;
    require(about_numbers && holds_number_beyond_simdjson(ours->root()),
            "only large numbers are refused by simdjson alone", simdjson::error_message(error));
  } else if (!error) {
    switch (ours.error().fault) {
      case json::Fault::DuplicateKey: require(holds_duplicate_key(theirs), "a key refused as duplicate is one"); break;
      case json::Fault::TooDeep: break;
      case json::Fault::LoneSurrogate:
        require(text.substr(ours.error().offset).starts_with("\\u"), "a lone surrogate is an escape");
        break;
      default:
        require(text.starts_with("\xef\xbb\xbf"), "what simdjson takes is refused for a reason we state",
                ours.error().what);
    }
  }
}

// --- what is built on it --------------------------------------------------------------------------------------------

void check_canonical(json::Node root, json::Numbers numbers) {
  const auto first = json::canonical(root, numbers);
  if (!first) {
    require(first.error().code == (numbers == json::Numbers::Exact ? "JCS_NUMBER_EXPONENT" : "JCS_NUMBER_NOT_FINITE"),
            "a canonical form fails only for its mode's reason", first.error().code);
    return;
  }
  const json::Document again = parsed(*first, "a canonical form is JSON");
  const auto second = json::canonical(again.root(), numbers);
  require(second.has_value(), "a canonical form has a canonical form", *first);
  require(*second == *first, "a canonical form is its own canonical form", *first + " -- " + *second);
  if (numbers == json::Numbers::Exact)
    require(json::equal(root, again.root()), "an exact canonical form is the value", *first);
}

void check_writing(json::Node root) {
  const json::Value copy = json::Value::copy(root);
  for (const std::string& text : {json::write(copy), json::write(root), json::write_pretty(copy), respelled(root)}) {
    const json::Document again = parsed(text, "what is written is JSON");
    require(json::equal(root, again.root()), "what is written is the value", text);
    require(json::equal(copy, json::Value::copy(again.root())), "a copy is the value", text);
  }
}

void check_pointers(json::Node root, json::Node node) {
  const std::string pointer = node.pointer();
  require(json::resolve_pointer(root, pointer) == node, "a node's pointer leads to it", pointer);
  for (const json::Node element : node.elements()) check_pointers(root, element);
  for (const json::Member member : node.members()) check_pointers(root, member.value);
}

// Byte by byte, and passing over plain stretches as the scanners do.
void check_tracker(std::string_view text, json::Node root) {
  if (!root.is_array() && !root.is_object()) return;
  for (const bool skips : {false, true}) {
    json::Tracker tracker;
    std::size_t at = 0;
    while (at < text.size() && tracker.state() == json::Tracker::State::Open) {
      const std::size_t plain = skips ? tracker.plain_prefix(text.substr(at)) : 0;
      if (plain == 0) tracker.take(text[at]);
      at += plain == 0 ? 1 : plain;
    }
    require(tracker.state() != json::Tracker::State::Broken, "the tracker calls no JSON broken");
    require(tracker.state() == json::Tracker::State::Complete, "the tracker sees the end of a document");
    require(tracker.depth() == 0, "nothing is open at the end of a document");
    require(text.find_first_not_of(" \t\r\n", at) == std::string_view::npos, "the tracker sees the end where it is");
  }
}

void check_unescaper(std::string_view text, json::Node string) {
  json::Unescaper unescaper;
  std::string out;
  // The closing quote is the first one that no backslash precedes, counted from the opening one.
  for (std::size_t at = string.offset() + 1; text[at] != '"'; ++at) {
    unescaper.take(text[at], out);
    if (text[at] == '\\') unescaper.take(text[++at], out);
  }
  require(out == string.string(), "the unescaper reads strings as the parser does", string.string());
}

void check_strings(std::string_view text, json::Node node) {
  if (node.is_string()) check_unescaper(text, node);
  for (const json::Node element : node.elements()) check_strings(text, element);
  for (const json::Member member : node.members()) check_unescaper(text, member.key), check_strings(text, member.value);
}

// Neighbouring numbers of an array, in decimals: exact arithmetic does not depend on the order, and nothing overflows.
void check_decimals(json::Node node) {
  std::string_view previous;
  for (const json::Node element : node.elements()) {
    if (!element.is_number()) continue;
    const std::string_view text = element.number_text();
    const json::Decimal right = json::Decimal::from_number(text);
    if (!previous.empty()) {
      const json::Decimal left = json::Decimal::from_number(previous);
      const json::Decimal sum = left + right, product = left * right, difference = left - right;
      require(sum == right + left, "a sum does not depend on the order", text);
      require(product == right * left, "a product does not depend on the order", text);
      require((left <=> right) == (difference <=> json::Decimal()), "comparing is subtracting", text);
      require(sum - right == left, "what is added can be taken away", text);
      require((sum * right) == left * right + right * right, "a product of a sum is the sum of products", text);
      const json::Document shown = parsed(left.text(), "a decimal is shown as a number");
      if (json::is_within_digits(previous) && json::is_within_digits(text)) {
        require((left == right) == json::same_number(previous, text), "equal decimals are the same number", text);
        require(json::same_number(shown.root().number_text(), previous), "a decimal is shown as what it is", previous);
      }
    }
    previous = text;
  }
  for (const json::Node element : node.elements()) check_decimals(element);
}

void check_path(std::string_view text) {
  const auto path = json::Path::compile(text);
  if (!path) {
    require(path.error().offset <= text.size(), "a path's fault lies in it", text);
    return;
  }
  const auto again = json::Path::compile(path->text());
  require(again.has_value() && *again == *path, "a path's own spelling compiles to it", path->text());
}

void run(std::string_view text) {
  check_path(text);
  const auto document = json::parse(text);
  if (!document) require(document.error().offset <= text.size(), "a fault lies in the text", document.error().what);
  compare_with_simdjson(text, document);
  if (!document) return;
  const json::Node root = document->root();
  check_canonical(root, json::Numbers::Rfc8785);
  check_canonical(root, json::Numbers::Exact);
  check_writing(root);
  if (text.size() <= kPointerBytesMax) check_pointers(root, root);
  check_tracker(text, root);
  check_strings(text, root);
  check_decimals(root);
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({reinterpret_cast<const char*>(data), size}); });
}
