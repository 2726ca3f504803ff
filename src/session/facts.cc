// SPDX-License-Identifier: Apache-2.0
#include "session/facts.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "contract/facts.h"
#include "json/canonical.h"
#include "json/value.h"

namespace baton::session {
namespace {

constexpr std::string_view kKeyedHash = "keyed_hash";
constexpr std::string_view kLongText = "long_text", kLongValue = "long_value";
constexpr std::string_view kKeyedPrefix = R"({"keyed_hash":)", kLongTextPrefix = R"({"long_text":)",
                           kLongValuePrefix = R"({"long_value":)";

bool is_hash_of(json::Node value) {
  return value.is_object() && value.size() == 1 &&
         (value[kKeyedHash].is_string() || value[kLongText].is_string() || value[kLongValue].is_string());
}

// Whole numbers of up to fifteen digits are their own canonical form.
bool is_plain(std::string_view number) {
  std::string_view digits = number;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.size() > 15 || (digits[0] == '0' && number.size() > 1)) return false;
  for (const char c : digits)
    if (c < '0' || c > '9') return false;
  return true;
}

// The name that says what a value is: the last one on the way to it.
std::string_view name_in(const json::Path& path) {
  std::string_view name;
  for (const json::Path::Step& step : path.steps())
    if (const auto* member = std::get_if<std::string>(&step)) name = *member;
  return name;
}

}  // namespace

Fact fact_of(json::Node value, const contract::PathAt& at, const Hiding* hiding) {
  if (!value) return {};
  if (value.is_number() && is_plain(value.number_text())) return std::string(value.number_text());
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  if (value.is_null()) return "null";
  if (hiding != nullptr)
    if (auto hidden = hiding->hidden(value, name_in(at.path))) return std::move(*hidden);
  std::string out;
  if (value.is_number() && json::is_within_digits(value.number_text())) {
    CHECK(json::append_canonical(out, value, json::Numbers::Exact));
    return out;  // however long: it may have to be added up
  }
  if (value.is_string()) json::append_canonical_string(out, value.string());
  else if (auto done = json::append_canonical(out, value, json::Numbers::Exact); !done) {
    // An exponent of more than nine digits has no canonical form: it is compared as it was written.
    out = value.is_number() ? std::string(value.number_text()) : json::write(value);
  }
  if (out.size() <= limits::kFactBytesMax) return out;
  return R"({")" + std::string(value.is_string() ? kLongText : kLongValue) + R"(":"sha256:)" + sha256_hex(out) +
         R"("})";
}

bool is_hidden(const Fact& fact) {
  return fact.starts_with(kKeyedPrefix) || fact.starts_with(kLongTextPrefix) || fact.starts_with(kLongValuePrefix);
}

bool is_scalar(const Fact& fact) {
  if (fact.empty()) return false;
  if (fact[0] == '{') return fact.starts_with(kKeyedPrefix) || fact.starts_with(kLongTextPrefix);
  return fact[0] != '[' && fact[0] != 'n';
}

bool is_entity(const Fact& fact, std::string_view type) {
  if (!is_scalar(fact)) return false;
  if (type == "boolean") return fact == "true" || fact == "false";
  if (type == "number") return is_number(fact);
  if (type == "integer") return is_number(fact) && json::is_integer(fact);
  return fact[0] == '"' || fact[0] == '{';  // what is hidden, or long, is a text
}

std::optional<json::Decimal> number_of(const Fact& fact) {
  if (!is_number(fact) || !json::is_within_digits(fact)) return std::nullopt;
  return json::Decimal::from_number(fact);
}

Values Values::of_call(json::Node arguments) {
  Values out(arguments, false);
  out.facts_ = contract::facts_in(arguments);
  return out;
}

json::Node Values::at(const contract::PathAt& path) const {
  if (!root_) return {};
  if (is_text_ && path.path.steps().empty()) return root_["text"];
  if (!record_) return facts_ ? contract::resolve(path.path, root_, facts_) : path.path.resolve(root_);
  const json::Node recorded = root_[path.path.text()];
  return recorded || !document_ ? recorded : contract::resolve_recorded(path.path, document_);
}

bool Values::names_fact(const contract::PathAt& path) const {
  return contract::names_fact(record_ ? contract::facts_in(document_) : facts_, path.path);
}

bool Values::is_hidden(json::Node value) const { return record_ && is_hash_of(value); }

}  // namespace baton::session
