// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <re2/re2.h>

#include <set>

#include "base/check.h"
#include "base/text.h"
#include "dialects/agent_contract/contract.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "json/pointer.h"

namespace baton::agent_contract {
namespace {

// Equal values have equal texts.
std::string key_of(const json::Value& value) {
  const std::string text = json::write(value);
  const auto document = json::parse(text);
  if (!document) return text;
  return json::canonical(document->root(), json::Numbers::Exact).value_or(text);
}

json::Value unite(const json::Value::Array& current, const json::Value::Array& payload) {
  json::Value out = json::Value::array();
  std::set<std::string> seen;
  for (const auto* list : {&current, &payload})
    for (const json::Value& item : *list)
      if (seen.insert(key_of(item)).second) out.push(item);
  return out;
}

Diagnostic with_pointer(Code code, const std::string& pointer, std::initializer_list<Argument> arguments) {
  Diagnostic diagnostic = report(code, place_named(pointer), arguments);
  diagnostic.argument = pointer;
  diagnostic.has_argument = true;
  return diagnostic;
}

json::Value merge_at(const json::Value& current, const json::Value& payload, const std::string& pointer,
                     std::vector<Diagnostic>& warnings) {
  if (current.kind() != payload.kind()) {
    warnings.push_back(
        with_pointer(Code::HANDOFF_MERGE_TYPE_CHANGED, pointer,
                     {{"from", json::kind_name(current.kind())}, {"to", json::kind_name(payload.kind())}}));
    return payload;
  }
  if (payload.is_array()) return unite(current.elements(), payload.elements());
  if (!payload.is_object()) return payload;
  json::Value out = current;
  for (const auto& [name, value] : payload.members()) {
    json::Value* present = out.find(name);
    if (present == nullptr) {
      out.set(name, value);
      continue;
    }
    std::string inner = pointer;
    json::append_pointer_token(inner, name);
    *present = merge_at(*present, value, inner, warnings);
  }
  return out;
}

bool is_address(int family, const std::string& text) {
  in6_addr parsed{};  // room for either family
  return inet_pton(family, text.c_str(), &parsed) == 1;
}

// A network in CIDR notation is a plan, not a state: it does not count.
bool holds_address(const std::string& text) {
  static const RE2 kIpv4(
      R"((?:^|[^0-9A-Za-z.])((?:[0-9]{1,3}\.){3}[0-9]{1,3})(/[0-9]{1,2}(?:$|[^0-9]))?(?:$|[^0-9A-Za-z.]|\.(?:$|[^0-9])))");
  static const RE2 kIpv6(R"((?:^|[^0-9A-Za-z:.])([0-9A-Fa-f:]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)(/[0-9]{1,3})?)");
  std::string address, network;
  re2::StringPiece rest(text);
  while (RE2::FindAndConsume(&rest, kIpv4, &address, &network))
    if (network.empty() && is_address(AF_INET, address)) return true;
  rest = text;
  while (RE2::FindAndConsume(&rest, kIpv6, &address, &network))
    if (network.empty() && is_address(AF_INET6, address)) return true;
  return false;
}

bool is_live_text(const std::string& text) {
  // An id has a digit: "i-dead" is a word.
  static const RE2 kResource(R"((?:^|[^A-Za-z0-9-])(?:vpc|i|sg)-([0-9a-f]{3,17})(?:$|[^A-Za-z0-9-]))");
  static const RE2 kBalancer(
      R"((?i)[a-z0-9-]+\.(?:elb\.[a-z0-9-]+\.amazonaws\.com|[a-z0-9-]+\.elb\.amazonaws\.com|cloudapp\.azure\.com|cloudapp\.net|lb\.appdomain\.cloud|bc\.googleusercontent\.com))");
  re2::StringPiece rest(text);
  std::string id;
  while (RE2::FindAndConsume(&rest, kResource, &id))
    if (id.find_first_of("0123456789") != std::string::npos) return true;
  return holds_address(text) || RE2::PartialMatch(text, kBalancer);
}

void find_live_state(const json::Value& value, const std::string& pointer, std::vector<Diagnostic>& out) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.members()) {
      std::string inner = pointer;
      json::append_pointer_token(inner, name);
      if (name.ends_with("_status") || name.ends_with("_count") || name.ends_with("_ip")) {
        out.push_back(with_pointer(Code::HANDOFF_PAYLOAD_LIVE_STATE, inner, {}));
        continue;
      }
      find_live_state(member, inner, out);
    }
  } else if (value.is_array()) {
    std::size_t position = 0;
    for (const json::Value& element : value.elements())
      find_live_state(element, pointer + "/" + std::to_string(position++), out);
  } else if (value.is_string() && is_live_text(value.string())) {
    out.push_back(with_pointer(Code::HANDOFF_PAYLOAD_LIVE_STATE, pointer, {}));
  }
}

}  // namespace

Merged merge(const json::Value& current, const json::Value& payload) {
  Merged merged;
  merged.result = merge_at(current, payload, "", merged.warnings);
  find_live_state(payload, "", merged.warnings);
  return merged;
}

}  // namespace baton::agent_contract
