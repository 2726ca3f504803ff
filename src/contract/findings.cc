// SPDX-License-Identifier: Apache-2.0
#include "contract/findings.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "json/value.h"

namespace baton::contract {
namespace {

constexpr std::size_t kTextMax = 60;  // of the offending text that is shown

// A scalar as it would be written; a list or an object is only named.
std::string text_of(json::Node node) {
  if (node.is_array() || node.is_object()) return {};
  std::string text = node.is_string() ? std::string(node.string()) : json::write(node);
  if (text.size() > kTextMax) {
    text.resize(kTextMax);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0) text.pop_back();
    text += "...";
  }
  return text;
}

}  // namespace

Finding& Findings::keep(Finding finding) {
  // A pack of a thousand faults is no better understood for the second thousand.
  if (list_.size() < limits::kContractFindingsMax) return list_.emplace_back(std::move(finding));
  // But an error is never left out for what is none: a pack that has one must not compile.
  if (finding.diagnostic.severity == Severity::Error)
    for (auto last = list_.rbegin(); last != list_.rend(); ++last)
      if (last->diagnostic.severity != Severity::Error) return *last = std::move(finding);
  return dropped_ = std::move(finding);
}

Finding& Findings::add(Code code, json::Node at, std::initializer_list<Argument> arguments) {
  return keep({file_, report(code, place_of(at), arguments), text_of(at)});
}

Finding& Findings::add_absent(Code code, json::Node parent, std::string_view member,
                              std::initializer_list<Argument> arguments) {
  return keep({file_, report(code, place_of_absent(parent, member), arguments)});
}

Finding& Findings::add(Diagnostic diagnostic) { return keep({file_, std::move(diagnostic)}); }

bool has_errors(const std::vector<Finding>& findings) {
  return std::ranges::any_of(findings, [](const Finding& one) { return one.diagnostic.severity == Severity::Error; });
}

void make_strict(std::vector<Finding>& findings) {
  for (Finding& finding : findings)
    if (finding.diagnostic.severity == Severity::Warning) finding.diagnostic.severity = Severity::Error;
}

void sort(std::vector<Finding>& findings) {
  // Findings of one place stay in the order in which they were made.
  std::vector<std::size_t> order(findings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const Finding& one = findings[i];
    return std::tuple<std::string_view, std::size_t, std::size_t, std::size_t>(one.file, one.diagnostic.place.line,
                                                                               one.diagnostic.place.column, i);
  });
  std::vector<Finding> sorted;
  sorted.reserve(findings.size());
  for (const std::size_t i : order) sorted.push_back(std::move(findings[i]));
  findings = std::move(sorted);
}

}  // namespace baton::contract
