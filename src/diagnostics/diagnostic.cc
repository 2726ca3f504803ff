// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/diagnostic.h"

#include "base/check.h"
#include "base/text.h"
#include "json/pointer.h"

namespace baton {
namespace {

// The texts of agent-exit quote a value word for word; beyond this nobody reads it, and a message must not be a document.
constexpr std::size_t kArgumentCharactersMax = 4096;

// Only what would break the line is escaped: the texts of agent-exit quote the value as it is.
std::string one_line(std::string_view text) {
  if (find_invalid_utf8(text) != text.size()) return printable(text, kArgumentCharactersMax);
  std::string out;
  std::size_t shown = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (shown++ == kArgumentCharactersMax) return out + "... (" + std::to_string(text.size() - at) + " more bytes)";
    const std::size_t start = at;
    const char32_t c = next_character(text, at);
    if (is_control(c) || c == 0x2028 || c == 0x2029) out += printable(text.substr(start, at - start));
    else out += text.substr(start, at - start);
  }
  return out;
}

// Fills `{name}`; `{{` and `}}` are braces.
std::string fill(std::string_view pattern, std::initializer_list<Argument> arguments) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char c = pattern[at];
    if ((c == '{' || c == '}') && at + 1 < pattern.size() && pattern[at + 1] == c) {
      out.push_back(c);
      ++at;
    } else if (c == '{') {
      const std::size_t end = pattern.find('}', at);
      CHECK(end != std::string_view::npos);
      const std::string_view name = pattern.substr(at + 1, end - at - 1);
      const Argument* found = nullptr;
      for (const Argument& argument : arguments)
        if (argument.first == name) found = &argument;
      CHECK(found != nullptr);
      out += one_line(found->second);
      at = end;
    } else {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace

const std::vector<CodeInfo>& catalogue() {
  static const std::vector<CodeInfo> rows = {
#define DIAGNOSTIC(code, severity, message, help) {Code::code, #code, Severity::severity, message, help},
#include "diagnostics/catalogue.def"
#undef DIAGNOSTIC
  };
  return rows;
}

const CodeInfo& info(Code code) { return catalogue()[static_cast<std::size_t>(code)]; }

const CodeInfo* find_code(std::string_view name) {
  for (const CodeInfo& row : catalogue())
    if (row.name == name) return &row;
  return nullptr;
}

std::string plain_pattern(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    out.push_back(pattern[i]);
    if ((pattern[i] == '{' || pattern[i] == '}') && i + 1 < pattern.size() && pattern[i + 1] == pattern[i]) ++i;
  }
  return out;
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Info: break;
  }
  return "info";
}

Place place_of(json::Node node) {
  const json::Position position = node.position();
  return {node.pointer(), position.line, position.column};
}

Place place_at(std::string_view text, std::size_t offset) {
  const json::Position position = json::position_at(text, offset);
  return {"", position.line, position.column};
}

Place place_named(std::string pointer) { return {std::move(pointer), 0, 0}; }

Place place_of_absent(json::Node parent, std::string_view member) {
  Place place = place_of(parent);
  json::append_pointer_token(place.pointer, member);
  return place;
}

Diagnostic report(Code code, Place place, std::initializer_list<Argument> arguments) {
  const CodeInfo& row = info(code);
  return {code, row.severity, std::move(place), fill(row.message, arguments), fill(row.help, arguments), "", false};
}

tl::unexpected<Failure> failure_of(Code code, std::string doing, std::initializer_list<Argument> arguments) {
  return tl::make_unexpected(Failure{std::move(doing), report(code, {}, arguments).message, info(code).name});
}

bool has_errors(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::Error) return true;
  return false;
}

void make_strict(std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::Warning) diagnostic.severity = Severity::Error;
}

}  // namespace baton
