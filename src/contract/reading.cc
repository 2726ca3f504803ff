// SPDX-License-Identifier: Apache-2.0
#include "contract/reading.h"

#include <algorithm>

#include "contract/shapes.h"

namespace baton::contract {

std::string text_in(json::Node object, std::string_view member) {
  const json::Node value = object[member];
  return value.is_string() ? std::string(value.string()) : std::string();
}

std::vector<std::string> texts_in(json::Node object, std::string_view member) {
  std::vector<std::string> out;
  for (const json::Node element : object[member].elements())
    if (element.is_string()) out.emplace_back(element.string());
  return out;
}

bool flag_in(json::Node object, std::string_view member, bool otherwise) {
  const json::Node value = object[member];
  return value.is_boolean() ? value.boolean() : otherwise;
}

std::optional<std::int64_t> whole_in(json::Node object, std::string_view member) {
  const json::Node value = object[member];
  return value.is_number() ? json::to_int64(value.number_text()) : std::nullopt;
}

std::optional<json::Decimal> number_in(json::Node object, std::string_view member) {
  const json::Node value = object[member];
  if (!value.is_number()) return std::nullopt;
  return json::Decimal::from_number(value.number_text());
}

// --- paths --------------------------------------------------------------------------------------------------------------------

std::optional<PathAt> path_at(Findings& findings, json::Node value) {
  if (!value.is_string() || value.string().empty()) return std::nullopt;
  auto path = json::Path::compile(value.string());
  if (path) return PathAt{std::move(*path), std::string(value.string())};
  findings.add(
      path.error().unsupported ? Code::JSONPATH_UNSUPPORTED : Code::JSONPATH_SYNTAX, value,
      {{"path", value.string()}, {"problem", path.error().what}, {"offset", std::to_string(path.error().offset + 1)}});
  return std::nullopt;
}

std::optional<PathAt> path_in(Findings& findings, json::Node object, std::string_view member) {
  return path_at(findings, object[member]);
}

// --- regular expressions ------------------------------------------------------------------------------------------------------

namespace {

// The memory one expression may take when it is compiled and run.
constexpr std::int64_t kRegexBytesMax = 1 << 20;

// Constructs of other dialects that RE2 leaves out because they cannot be matched in linear time, or spells otherwise.
bool is_of_another_dialect(const re2::RE2& regex) {
  const std::string& argument = regex.error_arg();
  switch (regex.error_code()) {
    case re2::RE2::ErrorBadPerlOp:
    case re2::RE2::ErrorBadNamedCapture: return argument.starts_with("(?");
    case re2::RE2::ErrorBadEscape:
      return argument.size() >= 2 && ((argument[1] >= '1' && argument[1] <= '9') || argument[1] == 'k' ||
                                      argument[1] == 'u' || argument[1] == 'c');
    case re2::RE2::ErrorRepeatSize:
    case re2::RE2::ErrorPatternTooLarge: return true;
    default: return false;
  }
}

}  // namespace

std::shared_ptr<const re2::RE2> compile_regex(std::string_view pattern, bool& unsupported, std::string& problem) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kRegexBytesMax);
  auto regex = std::make_shared<const re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (regex->ok()) return regex;
  unsupported = is_of_another_dialect(*regex);
  problem = regex->error();
  return nullptr;
}

std::shared_ptr<const re2::RE2> regex_at(Findings& findings, json::Node value) {
  if (!value.is_string()) return nullptr;
  bool unsupported = false;
  std::string problem;
  auto regex = compile_regex(value.string(), unsupported, problem);
  if (!regex)
    findings.add(unsupported ? Code::REGEX_UNSUPPORTED : Code::REGEX_INVALID, value,
                 {{"pattern", value.string()}, {"problem", problem}});
  return regex;
}

// --- invariants ---------------------------------------------------------------------------------------------------------------

namespace {

constexpr std::array kAllOps = {Op::Equals, Op::Exists, Op::Type,      Op::Contains,  Op::OneOf,     Op::Regex,
                                Op::Gte,    Op::Lte,    Op::LengthGte, Op::LengthLte, Op::EqualsEnv, Op::ExactMatch};

bool is_numeric(Op op) { return op == Op::Gte || op == Op::Lte || op == Op::LengthGte || op == Op::LengthLte; }

// Is the operand of the kind that the operator takes? When not, the shape has said so.
bool takes(Op op, json::Node operand) {
  switch (op) {
    case Op::Equals:
    case Op::Contains: return true;
    case Op::Exists: return operand.is_boolean();
    case Op::OneOf: return operand.is_array();
    case Op::Gte:
    case Op::Lte:
    case Op::LengthGte:
    case Op::LengthLte: return operand.is_number();
    case Op::Type:
    case Op::Regex:
    case Op::EqualsEnv:
    case Op::ExactMatch: return operand.is_string();
  }
  return false;
}

void refuse_contradiction(Findings& findings, json::Node entry, std::string_view least, std::string_view most) {
  const auto low = number_in(entry, least), high = number_in(entry, most);
  if (low && high && *low > *high)
    findings.add(Code::INVARIANT_CONTRADICTION, entry[least],
                 {{"low", least}, {"least", low->text()}, {"high", most}, {"most", high->text()}});
}

}  // namespace

std::vector<Test> tests_in(Findings& findings, json::Node entry, std::span<const Op> ops) {
  std::vector<Test> out;
  for (const Op op : ops) {
    const json::Node operand = entry[name_of(op)];
    if (!operand || !takes(op, operand)) continue;
    Test test{op, json::Value::copy(operand)};
    if (is_numeric(op)) test.number = json::Decimal::from_number(operand.number_text());
    if (op == Op::Regex) {
      test.regex = regex_at(findings, operand);
      if (!test.regex) continue;
    }
    out.push_back(std::move(test));
  }
  refuse_contradiction(findings, entry, "gte", "lte");
  return out;
}

std::optional<Invariant> invariant_at(Findings& findings, json::Node entry, bool has_ref) {
  if (!entry.is_object()) return std::nullopt;
  auto at = path_in(findings, entry, "path");
  std::vector<Test> tests = tests_in(findings, entry, kAllOps);
  refuse_contradiction(findings, entry, "length_gte", "length_lte");
  const bool has_operator =
      has_ref || std::ranges::any_of(kOperatorNames, [&](std::string_view name) { return bool(entry[name]); });
  if (!has_operator) findings.add(Code::INVARIANT_NO_OPERATOR, entry, {});
  if (!at) return std::nullopt;
  return Invariant{std::move(*at), std::move(tests)};
}

std::vector<Invariant> invariants_in(Findings& findings, json::Node object, std::string_view member) {
  std::vector<Invariant> out;
  for (const json::Node entry : object[member].elements())
    if (auto invariant = invariant_at(findings, entry)) out.push_back(std::move(*invariant));
  return out;
}

}  // namespace baton::contract
