// SPDX-License-Identifier: Apache-2.0
// yaml::parse on any bytes: it says what is wrong at a place inside the text, or gives a document that is the same again
// when its JSON is read as YAML; and workspace::read_config on the same bytes.
//
// Where JSON is not quite YAML to libyaml, the JSON is respelled first: characters that YAML calls not printable or that
// YAML 1.1 takes for line breaks are escaped. Keys of more than 1,024 characters are no YAML without `?`.
#include "yaml/yaml.h"

#include <array>

#include "json/pointer.h"
#include "properties.h"
#include "workspace/config.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kPointerBytesMax = 2048;  // finding a pointer is a walk, so all pointers are a square
constexpr std::size_t kKeyCharactersMax = 1000;

void require_places(std::string_view text, const std::vector<Diagnostic>& diagnostics) {
  const auto lines = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  for (const Diagnostic& diagnostic : diagnostics) {
    const std::string_view name = info(diagnostic.code).name;
    require(diagnostic.place.line >= 1 && diagnostic.place.line <= lines, "a fault's line is one of the text", name);
    std::string_view line = text;
    for (std::size_t at = 1; at < diagnostic.place.line; ++at) line.remove_prefix(line.find('\n') + 1);
    line = line.substr(0, line.find('\n'));
    require(diagnostic.place.column >= 1 && diagnostic.place.column <= line.size() + 1,
            "a fault's column is one of its line", name);
    require(json::split_pointer(diagnostic.place.pointer).has_value(), "a fault's pointer is one",
            diagnostic.place.pointer);
  }
}

// Every node's place is in the text, and the pointer leads to the node.
void check_nodes(std::string_view text, json::Node root, json::Node node) {
  const json::Position position = node.position();
  require(position.line >= 1 && position.column >= 1 && position.column <= text.size() + 1, "a node has a place");
  require(json::resolve_pointer(root, node.pointer()) == node, "a node's pointer leads to it", node.pointer());
  for (const json::Node element : node.elements()) check_nodes(text, root, element);
  for (const json::Member member : node.members()) check_nodes(text, root, member.value);
}

bool has_long_key(json::Node node) {
  for (const json::Node element : node.elements())
    if (has_long_key(element)) return true;
  for (const json::Member member : node.members())
    // With quotes, and everything escaped.
    if (6 * member.name().size() > kKeyCharactersMax || has_long_key(member.value)) return true;
  return false;
}

bool is_yaml_printable(char32_t c) {
  return c < 0x7f || (c >= 0xa0 && c != 0x2028 && c != 0x2029 && c != 0xfeff && c != 0xfffe && c != 0xffff);
}

// The same JSON, such characters (which only strings can hold) as escapes.
std::string with_escapes(std::string_view json) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t start = at;
    const char32_t c = next_character(json, at);
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c) & 0xffff);
    if (is_yaml_printable(c)) out += json.substr(start, at - start);
    else out += escape.data();
  }
  return out;
}

void check_again(json::Node root) {
  if (has_long_key(root)) return;
  const auto first = json::canonical(root, json::Numbers::Exact);
  if (!first) {
    require(first.error().code == "JCS_NUMBER_EXPONENT", "only exponents have no canonical form", first.error().code);
    return;
  }
  yaml::Limits limits;
  limits.bytes_max *= 16;  // an escape takes six bytes, a number laid out anew more
  const std::string json = with_escapes(*first);
  const yaml::Parsed again = yaml::parse(json, limits);
  require(again.document.has_value(), "the JSON of a document is YAML",
          again.diagnostics.empty() ? json : again.diagnostics.front().message + ": " + json);
  require(again.diagnostics.empty(), "the JSON of a document leaves no doubt", json);
  const auto second = json::canonical(again.document->root(), json::Numbers::Exact);
  require(second.has_value() && *second == *first, "the JSON of a document, read as YAML, is the document", json);
}

void run(std::string_view text) {
  const yaml::Parsed read = yaml::parse(text);
  require_presentable(read.diagnostics);
  require_places(text, read.diagnostics);
  require(read.document.has_value() != has_errors(read.diagnostics), "a document, or an error");

  const workspace::ReadConfig config = workspace::read_config(text);
  require_presentable(config.diagnostics);
  require_places(text, config.diagnostics);
  require(read.document || has_errors(config.diagnostics), "no configuration without a document");

  if (!read.document) return;
  const json::Node root = read.document->root();
  const json::Document plain = parsed(std::string(read.document->text()), "a document's text is JSON");
  require(json::equal(root, plain.root()), "the document's text is its JSON", read.document->text());
  if (text.size() <= kPointerBytesMax) check_nodes(text, root, root);
  check_again(root);
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({reinterpret_cast<const char*>(data), size}); });
}
