// SPDX-License-Identifier: Apache-2.0
#include "mcp/catalogue.h"

#include <algorithm>
#include <deque>

#include "base/text.h"
#include "json/canonical.h"
#include "json/pointer.h"
#include "mcp/header_value.h"
#include "mcp/message.h"
#include "mcp/wording.h"

namespace baton::mcp {
namespace {

constexpr auto& kPartNames = contract::kDefinitionParts;
constexpr std::size_t kNotesMax = 64;  // of one tool in one session
constexpr std::string_view kClientSeparator = "__";

// Texts of a definition that no lock has and no pin covers.
constexpr std::array<std::string_view, 2> kOutsideParts = {"_meta", "icons"};

// Of a part that is absent: of nothing, which no JSON is.
Sha256 digest_of(const contract::Definition& definition, std::string_view part) {
  const auto found = definition.find(part);
  return sha256(found == definition.end() ? std::string_view() : std::string_view(found->second));
}

constexpr std::size_t kHeadersMax = 32;  // of one tool

bool is_header_word(std::string_view text) {
  for (const char c : text)
    if (!is_alphanumeric(c) && c != '-' && c != '_') return false;
  return !text.empty() && text.size() <= 64;
}

constexpr std::size_t kHeaderDepthMax = 8;

// Of what is read of a schema to know the names of its properties: its parts and their properties, and how deep they are.
constexpr std::size_t kPropertiesMax = 4'000;
constexpr std::size_t kPropertyDepthMax = 16;
// Where a schema says more about the same value, or about the elements of a list.
constexpr std::array<std::string_view, 8> kSubschemas = {"items", "prefixItems", "allOf", "anyOf",
                                                         "oneOf", "if",          "then",  "else"};

// Properties that are marked, at whatever depth, as long as nothing but `properties` lies between.
void find_headers(json::Node schema, const std::vector<std::string>& path,
                  std::vector<Catalogue::ArgumentHeader>& out) {
  if (path.size() >= kHeaderDepthMax) return;
  for (const json::Member property : schema["properties"].members()) {
    if (out.size() >= kHeadersMax) return;
    std::vector<std::string> here = path;
    here.emplace_back(property.name());
    const json::Node header = property.value["x-mcp-header"];
    if (header.is_string() && is_header_word(header.string())) out.push_back({here, std::string(header.string())});
    find_headers(property.value, here, out);
  }
}

// What the header of an argument says before it is encoded; nothing: there is none.
std::optional<std::string> said_by(const Catalogue::ArgumentHeader& one, json::Node arguments) {
  json::Node value = arguments;
  for (const std::string& step : one.path) value = value[step];
  if (value.is_string()) return std::string(value.string());
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  std::string text;
  if (!value.is_number() || !json::append_canonical(text, value, json::Numbers::Exact)) return std::nullopt;
  return text;
}

// `42.0` is the number 42.
std::string_view without_zeros(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos || text.find_first_not_of('0', point + 1) != std::string_view::npos) return text;
  return text.substr(0, point);
}

}  // namespace

Catalogue::Catalogue(std::vector<std::string> servers) : servers_(std::move(servers)) {}

std::string Catalogue::client_name(std::size_t server, std::string_view tool) const {
  if (servers_.size() == 1) return std::string(tool);
  return servers_[server] + std::string(kClientSeparator) + std::string(tool);
}

std::string Catalogue::full_name(std::size_t server, std::string_view tool) const {
  return servers_[server] + "/" + std::string(tool);
}

// A server's name may itself hold the separator: the longest name that fits is meant.
std::optional<Catalogue::Owner> Catalogue::owner(std::string_view client_name) const {
  if (servers_.size() == 1) return Owner{0, std::string(client_name)};
  std::optional<Owner> out;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (!client_name.starts_with(servers_[i])) continue;
    const std::string_view rest = client_name.substr(servers_[i].size());
    if (!rest.starts_with(kClientSeparator)) continue;
    if (!out || servers_[i].size() > servers_[out->server].size())
      out = Owner{i, std::string(rest.substr(kClientSeparator.size()))};
  }
  return out;
}

// A deviation counts until the session ends: a list may have a tool twice, and a server may go back to what it said before.
void Catalogue::hold_to_lock(Pin& pin, std::size_t server, json::Node definition, const contract::Definition& parts,
                             std::vector<std::string>& notes) const {
  const std::string_view name = definition["name"].string();
  const auto change = change_of_tool(*held_.lock, servers_[server], name, parts);
  if (!change) return;
  const bool is_new = change->kind == contract::ToolChange::Kind::New;
  const bool passes = change->is_wording && held_.wording_may_change;
  const auto note = [&](std::string line) {
    if (pin.noted.size() < kNotesMax && pin.noted.insert(line).second) notes.push_back(std::move(line));
  };
  note("tools.lock.json: " + headline_of(*change) +
       (passes ? "; the pack lets texts change" : "; it is withheld until `baton mcp approve-changes`"));
  if (!is_new)
    for (const std::string& line : lines_of(*change)) note("  " + line);
  const std::string changed = parts_of(*change);
  std::vector<std::string_view> changed_parts;
  for (const std::string_view part : split(changed, ',')) changed_parts.push_back(trim(part));
  if (passes) return scan_texts(pin, server, definition, changed_parts, notes);
  if (pin.against) return;
  Against against{Against::Why::NotApproved, is_new ? "it is new" : "its " + changed + " changed", {}};
  if (!is_new) against.members.assign(changed_parts.begin(), changed_parts.end());
  pin.against = std::move(against);
}

void Catalogue::scan_texts(Pin& pin, std::size_t server, json::Node definition, std::span<const std::string_view> parts,
                           std::vector<std::string>& notes) const {
  const std::vector<Suspicion> found = suspicions_in(definition, parts);
  if (found.empty()) return;
  const std::string tool = printable(full_name(server, definition["name"].string()), 200);
  for (const Suspicion& one : found) {
    std::string line = "the texts of " + tool + " are suspicious: " + text_of(one);
    if (held_.suspicious_is_withheld) line += "; it is withheld";
    if (pin.noted.size() < kNotesMax && pin.noted.insert(line).second) notes.push_back(std::move(line));
  }
  if (held_.suspicious_is_withheld && !pin.against)
    pin.against = Against{Against::Why::Suspicious, std::string(about(found.front().kind)), {}};
}

void Catalogue::note_once(std::string line, std::vector<std::string>& notes) {
  if (noted_.size() < kNotesMax * servers_.size() && noted_.insert(line).second) notes.push_back(std::move(line));
}

bool Catalogue::may_have_instructions(std::size_t server, std::string_view text, std::vector<std::string>& notes) {
  if (held_.lock) {
    const auto change = change_of_instructions(*held_.lock, servers_[server], std::string(text));
    if (!change) return true;
    const bool passes = change->is_wording && held_.wording_may_change;
    note_once("tools.lock.json: " + headline_of(*change) +
                  (passes ? "; the pack lets texts change" : "; they are withheld until `baton mcp approve-changes`"),
              notes);
    for (const std::string& line : lines_of(*change)) note_once("  " + line, notes);
    if (!passes) return false;
  }
  const std::vector<Suspicion> found = suspicions_in_text(text, "instructions");
  for (const Suspicion& one : found)
    note_once("the instructions of " + servers_[server] + " are suspicious: " + text_of(one) +
                  (held_.suspicious_is_withheld ? "; they are withheld" : ""),
              notes);
  return found.empty() || !held_.suspicious_is_withheld;
}

bool Catalogue::may_say(std::size_t server, std::string_view place, json::Node value, std::vector<std::string>& notes) {
  const std::vector<Suspicion> found = suspicions_in_value(value, place);
  for (const Suspicion& one : found)
    note_once("the texts of " + servers_[server] + " are suspicious: " + text_of(one) +
                  (held_.suspicious_is_withheld ? "; `" + printable(place, 80) + "` is withheld" : ""),
              notes);
  return found.empty() || !held_.suspicious_is_withheld;
}

void Catalogue::note_unknown(std::size_t server, std::string_view whose, std::string_view member,
                             std::vector<std::string>& notes) {
  note_once("the server `" + servers_[server] + "`: `" + printable(member, 60) + "` of " + printable(whose, 200) +
                " is unknown and is left out",
            notes);
}

void Catalogue::note_respelled(std::size_t server, std::string_view tool, std::string_view member) {
  if (respelled_.size() < kToolsMax) respelled_.emplace(Key{server, std::string(tool)}, printable(member, 60));
}

bool Catalogue::may_list(std::size_t server, json::Node element, std::vector<std::string>& notes) {
  const std::vector<Suspicion> found = suspicions_in(element);
  if (found.empty()) return true;
  const json::Node name = element["name"];
  const std::string whose = printable(full_name(server, name.is_string() ? name.string() : "?"), 200);
  for (const Suspicion& one : found)
    note_once("the texts of " + whose + " are suspicious: " + text_of(one) +
                  (held_.suspicious_is_withheld ? "; it is withheld" : ""),
              notes);
  return !held_.suspicious_is_withheld;
}

std::vector<std::string> Catalogue::see(std::size_t server, json::Node definition) {
  const json::Node name = definition["name"];
  std::vector<std::string> notes;
  if (!name.is_string()) return notes;
  std::array<Sha256, kParts> digests;
  const contract::Definition parts = contract::definition_of(definition);
  for (std::size_t i = 0; i < kParts; ++i) digests[i] = digest_of(parts, kPartNames[i]);
  Key key{server, std::string(name.string())};
  const auto found = pins_.find(key);
  if (found == pins_.end()) {
    if (is_full()) return notes;
    Pin pin{digests, 0, {}};
    find_headers(definition["inputSchema"], {}, pin.headers);
    find_properties(definition["inputSchema"], pin.properties);
    if (held_.lock) {
      hold_to_lock(pin, server, definition, parts, notes);
      scan_texts(pin, server, definition, kOutsideParts, notes);
    } else {
      scan_texts(pin, server, definition, kTextParts, notes);
    }
    pins_.emplace(std::move(key), std::move(pin));
    return notes;
  }
  if (held_.lock) hold_to_lock(found->second, server, definition, parts, notes);
  scan_texts(found->second, server, definition, kOutsideParts, notes);
  for (std::size_t i = 0; i < kParts; ++i)
    if (digests[i] != found->second.first[i]) found->second.changed |= static_cast<std::uint8_t>(1u << i);
  return notes;
}

std::optional<Catalogue::Against> Catalogue::against(std::size_t server, std::string_view tool) const {
  const auto found = pins_.find(Key{server, std::string(tool)});
  if (found == pins_.end()) {
    if (!held_.lock) return std::nullopt;
    if (const auto respelled = respelled_.find(Key{server, std::string(tool)}); respelled != respelled_.end())
      return Against{
          Against::Why::NotApproved, why_respelled(respelled->second) + ", and its server has to be fixed", {}};
    // Of what a server does not list there is nothing to compare.
    return Against{Against::Why::NotApproved, "its server does not list it", {}};
  }
  if (found->second.against) return found->second.against;
  if (held_.lock) return std::nullopt;
  std::vector<std::string> members = changed(server, tool);
  if (members.empty()) return std::nullopt;
  std::string what = join(members, ", ");
  return Against{Against::Why::Changed, std::move(what), std::move(members)};
}

std::vector<std::string> Catalogue::changed(std::size_t server, std::string_view tool) const {
  const auto found = pins_.find(Key{server, std::string(tool)});
  std::vector<std::string> out;
  if (found == pins_.end()) return out;
  for (std::size_t i = 0; i < kParts; ++i)
    if ((found->second.changed & (1u << i)) != 0) out.emplace_back(kPartNames[i]);
  return out;
}

ParameterHeaders Catalogue::headers(std::size_t server, std::string_view tool, json::Node arguments) const {
  ParameterHeaders out;
  const auto found = pins_.find(Key{server, std::string(tool)});
  if (found == pins_.end()) return out;
  for (const ArgumentHeader& one : found->second.headers)
    if (const auto said = said_by(one, arguments)) out.emplace_back("Mcp-Param-" + one.header, encoded_value(*said));
  return out;
}

std::string Catalogue::header_mismatch(std::size_t server, std::string_view tool, json::Node arguments,
                                       const ParameterHeaders& given) const {
  const auto found = pins_.find(Key{server, std::string(tool)});
  if (found == pins_.end()) return {};
  for (const ArgumentHeader& one : found->second.headers) {
    const std::string name = "Mcp-Param-" + one.header, lower = to_lower_ascii(name);
    const auto said = said_by(one, arguments);
    const auto is_it = [&](const auto& header) { return to_lower_ascii(header.first) == lower; };
    const auto at = std::ranges::find_if(given, is_it);
    if (at == given.end()) {
      if (said) return "Header mismatch: the header " + name + " is missing";
      continue;
    }
    const auto value = decoded_value(at->second);
    if (!value || std::ranges::count_if(given, is_it) > 1)
      return "Header mismatch: the header " + name + " is not well formed";
    if (!said || (*value != *said && without_zeros(*value) != *said))
      return "Header mismatch: the header " + name + " does not say what the body does";
  }
  return {};
}

void Catalogue::find_properties(json::Node root, Properties& out) {
  struct Part {
    json::Node schema;
    Properties* properties;
    std::size_t depth;
  };
  std::deque<Part> waiting = {{root, &out, 0}};
  for (std::size_t read = 0; !waiting.empty() && read < kPropertiesMax; ++read) {
    const Part part = waiting.front();
    waiting.pop_front();
    const auto add = [&](json::Node schema, Properties* properties) {
      if (schema.is_object() && part.depth < kPropertyDepthMax) waiting.push_back({schema, properties, part.depth + 1});
    };
    read += part.schema["properties"].is_object() ? part.schema["properties"].size() : 0;
    if (read > kPropertiesMax) return;  // half of them would be worse than none
    for (const json::Member property : part.schema["properties"].members()) {
      part.properties->without_case.insert(without_case(property.name()));
      add(property.value, &part.properties->below[std::string(property.name())]);
    }
    for (const std::string_view name : kSubschemas) {
      add(part.schema[name], part.properties);
      for (const json::Node one : part.schema[name].elements()) add(one, part.properties);
    }
    if (const json::Node others = part.schema["additionalProperties"]; others.is_object()) {
      if (part.properties->others.empty()) part.properties->others.emplace_back();
      add(others, &part.properties->others.front());
    }
    if (const json::Node reference = part.schema["$ref"]; reference.is_string() && reference.string().starts_with('#'))
      add(json::resolve_pointer(root, reference.string().substr(1)), part.properties);
  }
}

std::string Catalogue::respelled_among(const Properties& known, json::Node arguments) {
  for (const json::Node element : arguments.elements())
    if (std::string below = respelled_among(known, element); !below.empty()) return below;
  for (const json::Member member : arguments.members()) {
    const auto found = known.below.find(member.name());
    if (found == known.below.end() && known.without_case.contains(without_case(member.name())))
      return std::string(member.name());
    const Properties* const its = found != known.below.end() ? &found->second
                                  : known.others.empty()     ? nullptr
                                                             : &known.others.front();
    if (its == nullptr) continue;
    if (std::string below = respelled_among(*its, member.value); !below.empty()) return below;
  }
  return {};
}

std::string Catalogue::respelled_argument(std::size_t server, std::string_view tool, json::Node arguments) const {
  const auto found = pins_.find(Key{server, std::string(tool)});
  return found == pins_.end() ? std::string() : respelled_among(found->second.properties, arguments);
}

bool Catalogue::is_pinned(std::size_t server, std::string_view tool) const {
  return pins_.contains(Key{server, std::string(tool)});
}

}  // namespace baton::mcp
