// SPDX-License-Identifier: Apache-2.0
#include "cli/render.h"

#include <algorithm>

#include "base/text.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

constexpr std::string_view kRed = "\033[1;31m", kYellow = "\033[1;33m", kGreen = "\033[1;32m", kDim = "\033[2m",
                           kBold = "\033[1m", kReset = "\033[0m";
// Of a source line: so much is shown before the caret and after it.
constexpr std::size_t kShownBefore = 60, kShownAfter = 40;

class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string operator()(std::string_view colour, std::string_view text) const {
    return on_ ? std::string(colour) + std::string(text) + std::string(kReset) : std::string(text);
  }

 private:
  bool on_;
};

std::string_view line_at(std::string_view text, std::size_t number) {
  std::size_t start = 0;
  for (std::size_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos) return {};
    start = end + 1;
  }
  std::string_view line = text.substr(start, text.find('\n', start) - start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The part of a line around a column, made printable, and how many columns the caret stands in.
struct Window {
  std::string text;
  std::size_t caret;
};

Window window_of(std::string_view line, std::size_t column) {
  const std::size_t at = std::min(column - 1, line.size());
  std::size_t first = at > kShownBefore ? at - kShownBefore : 0;
  while (first > 0 && (static_cast<unsigned char>(line[first]) & 0xc0) == 0x80) --first;
  std::size_t last = std::min(line.size(), at + kShownAfter);
  while (last < line.size() && (static_cast<unsigned char>(line[last]) & 0xc0) == 0x80) ++last;
  const std::string before = (first > 0 ? "..." : "") + printable(line.substr(first, at - first));
  return {before + printable(line.substr(at, last - at)) + (last < line.size() ? "..." : ""), count_characters(before)};
}

std::string place_text(std::string_view source, const Place& place) {
  std::string out = printable(source, 200);
  if (place.line > 0)
    out += ":" + std::to_string(place.line) + ":" + std::to_string(std::max<std::size_t>(place.column, 1));
  if (!place.pointer.empty()) out += " (" + printable(place.pointer, 200) + ")";
  return out;
}

void append_diagnostic(std::string& out, const Diagnostic& original, std::string_view source, std::string_view text,
                       const Paint& paint) {
  const Diagnostic diagnostic = redacted(original);
  const auto [colour, word] = diagnostic.severity == Severity::Error     ? std::pair(kRed, "Error:")
                              : diagnostic.severity == Severity::Warning ? std::pair(kYellow, "Warning:")
                                                                         : std::pair(kDim, "Note:");
  out += paint(colour, word) + " " + paint(kBold, printable(diagnostic.message)) + "\n";
  out += "  " + std::string(info(diagnostic.code).name) + " at " + place_text(source, diagnostic.place) + "\n";
  const std::string_view line = diagnostic.place.line > 0 && diagnostic.place.column > 0
                                    ? line_at(text, diagnostic.place.line)
                                    : std::string_view();
  // A line that holds a secret is not shown at all: a cut-out part of one could still tell.
  if (!line.empty() && !secrets::holds_secret(line)) {
    const Window window = window_of(line, diagnostic.place.column);
    const std::string number = std::to_string(diagnostic.place.line);
    out += "  " + paint(kDim, number + " |") + " " + window.text + "\n";
    out += "  " + std::string(number.size(), ' ') + " " + paint(kDim, "|") + " " + std::string(window.caret, ' ') +
           paint(colour, "^") + "\n";
  }
  out += "  " + paint(kDim, "help:") + " " + diagnostic.help + "\n";
}

std::string summary_of(const checker::Report& report) {
  std::string out(dialect_name(*report.dialect));
  if (report.handoff) out += ", " + std::string(outcome_name(report.handoff->outcome));
  if (report.handoff && report.dialect == Dialect::AgentExit)
    out += " " + std::string(report.handoff->text(Field::phase_completed)) +
           (report.next_phase ? " -> " + *report.next_phase : "");
  if (report.duplicate) out += ", a duplicate of a packet seen before";
  if (report.resolved) {
    const json::Value* expires = report.resolved->find("expires_at");
    if (expires != nullptr && expires->is_string()) out += ", expires " + expires->string();
  }
  return out;
}

// A path as a relative URI reference.
std::string uri_of(std::string_view path) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  if (path == "<stdin>") return "stdin";
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alphanumeric(c) || std::string_view("/._-~").find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

// SARIF counts columns in UTF-16 units; ours are bytes.
std::size_t utf16_column(std::string_view line, std::size_t column) {
  if (find_invalid_utf8(line) != line.size()) return std::max<std::size_t>(column, 1);
  std::size_t units = 1;
  for (std::size_t at = 0; at < line.size() && at + 1 < column;) units += next_character(line, at) > 0xffff ? 2 : 1;
  return units;
}

// GitHub's escapes: of a message, and of a property in a command.
std::string github_escaped(std::string_view text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') out += "%25";
    else if (c == '\r') out += "%0D";
    else if (c == '\n') out += "%0A";
    else if (property && c == ':') out += "%3A";
    else if (property && c == ',') out += "%2C";
    else out.push_back(c);
  }
  return out;
}

}  // namespace

std::optional<Format> find_format(std::string_view name) {
  if (name == "human") return Format::Human;
  if (name == "json") return Format::Json;
  if (name == "sarif") return Format::Sarif;
  if (name == "github") return Format::Github;
  return std::nullopt;
}

Diagnostic redacted(Diagnostic diagnostic) {
  diagnostic.message = secrets::redact(diagnostic.message);
  diagnostic.help = secrets::redact(diagnostic.help);
  diagnostic.argument = secrets::redact(diagnostic.argument);
  diagnostic.place.pointer = secrets::redact(diagnostic.place.pointer);
  return diagnostic;
}

json::Value redacted(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::String: return secrets::redact(value.string());
    case json::Kind::Array: {
      json::Value out = json::Value::array();
      for (const json::Value& element : value.elements()) out.push(redacted(element));
      return out;
    }
    case json::Kind::Object: {
      json::Value::Object out;
      for (const auto& [name, member] : value.members()) {
        const bool assigned = member.is_string() && secrets::find_assigned(name, member.string());
        out.emplace_back(secrets::redact(name),
                         assigned ? json::Value("[REDACTED:keyword-assignment]") : redacted(member));
      }
      return out;
    }
    default: return value;
  }
}

std::string render_human(const std::vector<Diagnostic>& diagnostics, std::string_view source, std::string_view text,
                         bool colour) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) append_diagnostic(out, diagnostic, source, text, Paint(colour));
  return out;
}

std::string render_human(const Shown& shown, bool colour) {
  const Paint paint(colour);
  std::string out = render_human(shown.report.diagnostics, shown.source, shown.text, colour);
  const std::string source = printable(shown.source, 200);
  if (!shown.report.dialect) return out + source + ": " + paint(kRed, "could not tell") + "\n";
  if (shown.report.valid()) {
    const std::size_t warnings = shown.report.diagnostics.size();
    const std::string counted = warnings == 0   ? ""
                                : warnings == 1 ? ", 1 warning"
                                                : ", " + std::to_string(warnings) + " warnings";
    return out + source + ": " + paint(kGreen, "valid") + " (" + printable(secrets::redact(summary_of(shown.report))) +
           counted + ")\n";
  }
  const auto errors =
      std::count_if(shown.report.diagnostics.begin(), shown.report.diagnostics.end(),
                    [](const Diagnostic& diagnostic) { return diagnostic.severity == Severity::Error; });
  return out + source + ": " + paint(kRed, "not valid") + " (" + std::string(dialect_name(*shown.report.dialect)) +
         ", " + std::to_string(errors) + (errors == 1 ? " error)" : " errors)") + "\n";
}

std::string render_json(const Shown& shown) {
  return json::write(redacted(checker::to_json(shown.report, printable(shown.source)))) + "\n";
}

namespace {

// What GitHub and SARIF call something that is only information.
std::string_view github_word(Severity severity) {
  return severity == Severity::Info ? "notice" : severity_name(severity);
}
std::string_view sarif_level(Severity severity) {
  return severity == Severity::Info ? "note" : severity_name(severity);
}

}  // namespace

std::string render_github(const std::vector<Diagnostic>& diagnostics, std::string_view source) {
  std::string out;
  for (const Diagnostic& original : diagnostics) {
    const Diagnostic diagnostic = redacted(original);
    out += "::" + std::string(github_word(diagnostic.severity)) + " file=" + github_escaped(source, true);
    if (diagnostic.place.line > 0)
      out += ",line=" + std::to_string(diagnostic.place.line) + ",col=" + std::to_string(diagnostic.place.column);
    out += ",title=" + std::string(info(diagnostic.code).name) + "::" + github_escaped(diagnostic.message, false) +
           "%0A" + github_escaped(diagnostic.help, false) + "\n";
  }
  return out;
}

std::string render_sarif(const std::vector<SarifDocument>& documents) {
  using json::Value;
  const auto object = [](std::initializer_list<std::pair<std::string_view, Value>> members) {
    Value out = Value::object();
    for (const auto& [name, value] : members) out.set(name, value);
    return out;
  };
  const auto message = [&](std::string_view text) { return object({{"text", text}}); };

  Value rules = Value::array();
  std::vector<Code> listed;
  Value results = Value::array();
  for (const auto& [source, text, diagnostics] : documents) {
    for (const Diagnostic& original : diagnostics) {
      const Diagnostic diagnostic = redacted(original);
      auto at = std::find(listed.begin(), listed.end(), diagnostic.code);
      if (at == listed.end()) {
        const CodeInfo& row = info(diagnostic.code);
        rules.push(object({{"id", row.name},
                           {"shortDescription", message(plain_pattern(row.message))},
                           {"help", message(plain_pattern(row.help))},
                           {"defaultConfiguration", object({{"level", sarif_level(row.severity)}})}}));
        at = listed.insert(listed.end(), diagnostic.code);
      }
      Value physical = object({{"artifactLocation", object({{"uri", uri_of(source)}})}});
      if (diagnostic.place.line > 0)
        physical.set(
            "region",
            object({{"startLine", diagnostic.place.line},
                    {"startColumn", utf16_column(line_at(text, diagnostic.place.line), diagnostic.place.column)}}));
      Value location = object({{"physicalLocation", physical}});
      if (!diagnostic.place.pointer.empty())
        location.set("logicalLocations", Value::Array{object({{"fullyQualifiedName", diagnostic.place.pointer}})});
      results.push(object({{"ruleId", info(diagnostic.code).name},
                           {"ruleIndex", static_cast<std::size_t>(at - listed.begin())},
                           {"level", sarif_level(diagnostic.severity)},
                           {"message", message(diagnostic.message + "; " + diagnostic.help)},
                           {"locations", Value::Array{location}}}));
    }
  }
  const Value driver = object({{"name", "baton"}, {"version", BATON_VERSION}, {"rules", rules}});
  const Value run =
      object({{"tool", object({{"driver", driver}})}, {"columnKind", "utf16CodeUnits"}, {"results", results}});
  return json::write_pretty(object({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                                    {"version", "2.1.0"},
                                    {"runs", Value::Array{run}}})) +
         "\n";
}

}  // namespace baton::cli
