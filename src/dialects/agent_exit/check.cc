// SPDX-License-Identifier: Apache-2.0
// The rules of the exit signal, one function a field, in the order of the format's table.
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_exit/signal.h"
#include "json/parse.h"

namespace baton::agent_exit {
namespace {

using Diagnostics = std::vector<Diagnostic>;

// `1.MINOR.PATCH` in ASCII digits without leading zeros.
bool is_version_1(std::string_view text) {
  if (text.size() > limits::kExitVersionBytesMax) return false;
  const auto parts = split(text, '.');
  if (parts.size() != 3 || parts[0] != "1") return false;
  return std::all_of(parts.begin() + 1, parts.end(), [](std::string_view part) {
    return !part.empty() && (part == "0" || part[0] != '0') && std::all_of(part.begin(), part.end(), is_digit);
  });
}

bool has_host(std::string_view url) {
  std::string_view authority = url.substr(0, url.find_first_of("/?#"));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) authority.remove_prefix(at + 1);
  if (authority.starts_with('[')) return authority.size() > 2;  // an IPv6 address
  return !authority.substr(0, authority.find(':')).empty();
}

template <class Predicate>
bool has_character(std::string_view text, Predicate predicate) {
  for (std::size_t at = 0; at < text.size();)
    if (predicate(next_character(text, at))) return true;
  return false;
}

bool check_length(Diagnostics& out, const Place& place, std::string_view field, std::string_view value,
                  std::size_t max) {
  if (value.size() <= max) return true;
  out.push_back(report(Code::EXIT_FIELD_LENGTH, place,
                       {{"field", field}, {"bytes", std::to_string(value.size())}, {"max", std::to_string(max)}}));
  return false;
}

void check_protocol(Diagnostics& out, const Place& place, std::string_view value) {
  if (value != kProtocol) out.push_back(report(Code::EXIT_PROTOCOL, place, {{"value", value}}));
}

void check_version(Diagnostics& out, const Place& place, std::string_view value) {
  if (!is_version_1(value)) out.push_back(report(Code::EXIT_VERSION, place, {{"value", value}}));
}

void check_phase(Diagnostics& out, const Place& place, std::string_view value) {
  if (!find_phase(value)) out.push_back(report(Code::EXIT_PHASE, place, {{"value", value}}));
}

void check_reason(Diagnostics& out, const Place& place, std::string_view value) {
  if (!find_reason(value)) out.push_back(report(Code::EXIT_REASON, place, {{"value", value}}));
}

void check_pr_url(Diagnostics& out, const Place& place, std::string_view value) {
  check_length(out, place, "pr_url", value, limits::kExitPrUrlBytesMax);
  const auto refuse = [&](const std::string& problem) {
    out.push_back(report(Code::EXIT_PR_URL, place, {{"problem", problem}}));
  };
  constexpr std::string_view kScheme = "https://";
  if (!value.starts_with(kScheme)) refuse("must start with 'https://': got '" + printable(value, 50) + "'");
  else if (!has_host(value.substr(kScheme.size()))) refuse("has no host after 'https://'");
  if (has_character(value, is_control)) refuse("contains a control character");
  if (has_character(value, is_blank)) refuse("contains a blank");
  for (const char c : std::string_view(";|`$"))
    if (value.find(c) != std::string_view::npos)
      refuse("contains potentially dangerous character: '" + std::string(1, c) + "'");
}

void check_evidence_bundle_ref(Diagnostics& out, const Place& place, std::string_view value) {
  check_length(out, place, "evidence_bundle_ref", value, limits::kExitEvidenceRefBytesMax);
  const auto refuse = [&](std::string_view problem) {
    out.push_back(report(Code::EXIT_EVIDENCE_REF, place, {{"problem", problem}}));
  };
  if (value.starts_with('/') || value.find("..") != std::string_view::npos)
    refuse("path traversal detected in evidence_bundle_ref: paths cannot contain '..' or start with '/'");
  if (has_character(value, is_control)) refuse("evidence_bundle_ref contains a control character");
  if (value.find('\\') != std::string_view::npos) refuse("evidence_bundle_ref contains a backslash");
}

void check_notes(Diagnostics& out, const Place& place, std::string_view value) {
  check_length(out, place, "notes", value, limits::kExitNotesBytesMax);
}

struct Rule {
  std::string_view field;
  bool required;
  void (*check)(Diagnostics&, const Place&, std::string_view);
};
constexpr std::array<Rule, 7> kRules = {{
    {"protocol", true, check_protocol},
    {"version", true, check_version},
    {"phase_completed", true, check_phase},
    {"exit_reason", true, check_reason},
    {"pr_url", false, check_pr_url},
    {"evidence_bundle_ref", false, check_evidence_bundle_ref},
    {"notes", false, check_notes},
}};

void check_field(Diagnostics& out, json::Node root, const Rule& rule) {
  const json::Node value = root[rule.field];
  if (!value) {
    if (rule.required)
      out.push_back(report(Code::EXIT_FIELD_MISSING, place_of_absent(root, rule.field), {{"field", rule.field}}));
    return;
  }
  if (value.is_string()) {
    // The place is only wanted when something is wrong, and costs a walk: judge first, then place.
    const std::size_t before = out.size();
    rule.check(out, {}, value.string());
    if (out.size() > before) {
      const Place place = place_of(value);
      for (std::size_t i = before; i < out.size(); ++i) out[i].place = place;
    }
  } else if (rule.required || !value.is_null()) {
    out.push_back(report(Code::EXIT_FIELD_TYPE, place_of(value),
                         {{"field", rule.field}, {"kind", json::kind_name(value.kind())}}));
  }
}

Signal make_signal(json::Node root) {
  Signal signal(*find_phase(root["phase_completed"].string()), *find_reason(root["exit_reason"].string()));
  signal.version = root["version"].string();
  const auto optional = [&](std::string_view name) -> std::optional<std::string> {
    const json::Node value = root[name];
    return value.is_string() ? std::optional<std::string>(value.string()) : std::nullopt;
  };
  signal.pr_url = optional("pr_url");
  signal.evidence_bundle_ref = optional("evidence_bundle_ref");
  signal.notes = optional("notes");
  return signal;
}

Diagnostic json_diagnostic(std::string_view text, const json::ParseError& error) {
  Place place = place_at(text, error.offset);
  if (error.fault == json::Fault::DuplicateKey) {
    const auto open = error.what.find('`');
    const std::string name = error.what.substr(open + 1, error.what.rfind('`') - open - 1);
    return report(Code::EXIT_FIELD_DUPLICATE, std::move(place), {{"field", name}});
  }
  return report(Code::EXIT_JSON, place,
                {{"what", error.what}, {"line", std::to_string(place.line)}, {"column", std::to_string(place.column)}});
}

}  // namespace

Checked check(std::string_view text) {
  Checked checked;
  if (text.size() > limits::kExitSignalBytesMax) {
    checked.diagnostics.push_back(
        report(Code::EXIT_TOO_LARGE, {},
               {{"bytes", std::to_string(text.size())}, {"max", std::to_string(limits::kExitSignalBytesMax)}}));
    return checked;
  }
  // The format names no depth: what nests deeper than the text is long cannot be.
  json::ParseLimits limits;
  limits.depth_max = limits::kExitSignalBytesMax;
  auto document = json::parse(text, limits);
  if (!document) {
    checked.diagnostics.push_back(json_diagnostic(text, document.error()));
    return checked;
  }
  const json::Node root = document->root();
  if (!root.is_object()) {
    checked.diagnostics.push_back(
        report(Code::EXIT_NOT_OBJECT, place_of(root), {{"kind", json::kind_name(root.kind())}}));
    return checked;
  }
  for (const Rule& rule : kRules) check_field(checked.diagnostics, root, rule);
  for (const json::Member member : root.members()) {
    const auto names = [&](const Rule& rule) { return rule.field == member.name(); };
    if (std::any_of(kRules.begin(), kRules.end(), names)) continue;
    if (checked.diagnostics.size() >= limits::kDiagnosticsMax) break;
    checked.diagnostics.push_back(report(Code::EXIT_FIELD_UNKNOWN, place_of(member.value), {{"field", member.name()}}));
  }
  if (checked.diagnostics.empty()) {
    checked.signal = make_signal(root);
    checked.document = std::move(*document);
  }
  return checked;
}

std::vector<Diagnostic> Signal::check() const { return agent_exit::check(write()).diagnostics; }

std::optional<Phase> Checked::next_phase() const {
  return signal ? agent_exit::next_phase(signal->phase_completed, signal->exit_reason) : std::nullopt;
}

bool is_enabled(const char* value) {
  if (value == nullptr) return false;
  const std::string lower = to_lower_ascii(value);
  return lower == "true" || lower == "1" || lower == "yes";
}

Checked check_if_enabled(std::string_view text, const char* flag) {
  if (is_enabled(flag)) return check(text);
  Checked checked;
  checked.diagnostics.push_back(report(Code::EXIT_DISABLED, {}));
  return checked;
}

Verdict accept(const Checked& checked, std::optional<Phase> active_phase, ActorKind actor) {
  if (!checked.valid()) return {checked.diagnostics, std::nullopt};
  const auto refuse = [](Diagnostic diagnostic) { return Verdict{{std::move(diagnostic)}, std::nullopt}; };
  const Place place = place_named("/phase_completed");
  const Signal& signal = *checked.signal;
  if (!active_phase) return refuse(report(Code::EXIT_NO_ACTIVE_PHASE, place));
  if (signal.phase_completed != *active_phase)
    return refuse(report(Code::EXIT_PHASE_MISMATCH, place,
                         {{"claimed", phase_name(signal.phase_completed)}, {"active", phase_name(*active_phase)}}));
  const auto next = next_phase(signal.phase_completed, signal.exit_reason);
  if (!next) return refuse(report(Code::EXIT_TERMINAL, place, {{"phase", phase_name(signal.phase_completed)}}));
  if (signal.phase_completed == Phase::CiPending && signal.exit_reason == Reason::Completed && actor != ActorKind::Ci)
    return refuse(report(Code::EXIT_CI_ACTOR, place, {{"actor", actor_kind_name(actor)}}));
  return {{}, next};
}

}  // namespace baton::agent_exit
