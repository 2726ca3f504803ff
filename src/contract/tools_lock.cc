// SPDX-License-Identifier: Apache-2.0
#include "contract/tools_lock.h"

#include <algorithm>
#include <set>

#include "base/hidden_characters.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::contract {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kServersMax = 1'000;
constexpr std::size_t kToolsMax = 8'192;  // of one server
constexpr std::size_t kNameBytesMax = 256;
constexpr std::size_t kDifferencesMax = 40;  // of one part of a tool, where not all are asked for
constexpr std::size_t kShownMax = 300;       // characters of a value in a line, likewise
constexpr std::size_t kPlaceMax = 200;       // characters of a place, likewise
constexpr std::size_t kShownBefore = 60;     // bytes before the first difference
constexpr std::size_t kDepthMax = 64;        // of schemas that are compared place by place

bool is_wording_part(std::string_view part) { return part == "description" || part == "title"; }

// The canonical JSON of a value; of one that has none, a text that is no JSON, so that it equals nothing that is approved.
std::string canonical_text(json::Node node) {
  auto text = json::canonical(node, json::Numbers::Exact);
  return text ? std::move(*text)
              : "no canonical form: " + text.error().code + " at " + std::to_string(text.error().offset);
}

json::Value parsed_value(std::string_view text) {
  const auto document = json::parse(text);
  return document ? json::Value::copy(document->root()) : json::Value();
}

json::Value value_of_definition(const Definition& definition) {
  json::Value out = json::Value::object();
  for (const auto& [part, text] : definition) out.set(part, parsed_value(text));
  return out;
}

std::string sha256_of(const Definition& definition) {
  std::string all;
  for (const auto& [part, text] : definition) all += part + "\n" + text + "\n";
  return sha256_hex(all);
}

// --- reading ----------------------------------------------------------------------------------------------------------------------

bool has_only(json::Node node, std::initializer_list<std::string_view> names, std::string& problem,
              const std::string& about) {
  for (const json::Member member : node.members())
    if (std::find(names.begin(), names.end(), member.name()) == names.end()) {
      problem = about + " has `" + printable(member.name(), 60) + "`, which is unknown";
      return false;
    }
  return true;
}

bool read_tool(LockedServer& out, const json::Member& member, std::string& problem, const std::string& server) {
  const std::string about = "the tool `" + printable(member.name(), 80) + "` of the server " + server;
  if (!member.value.is_object() || !member.value["definition"].is_object() || !member.value["sha256"].is_string()) {
    problem = about + " needs `sha256` and `definition`";
    return false;
  }
  if (!has_only(member.value, {"sha256", "definition"}, problem, about)) return false;
  for (const json::Member part : member.value["definition"].members())
    if (std::ranges::find(kDefinitionParts, part.name()) == kDefinitionParts.end()) {
      problem = about + " has `" + printable(part.name(), 60) + "`, which is unknown";
      return false;
    }
  Definition definition = definition_of(member.value["definition"]);
  if (member.value["sha256"].string() != sha256_of(definition)) {
    problem = about + " was edited: its `sha256` is of another definition";
    return false;
  }
  out.tools.emplace(member.name(), std::move(definition));
  return true;
}

bool read_server(ToolsLock& out, const json::Member& member, std::string& problem) {
  const std::string shown = "`" + printable(member.name(), 60) + "`", about = "the server " + shown;
  if (!member.value.is_object() || !member.value["tools"].is_object()) {
    problem = about + " needs `tools`, an object";
    return false;
  }
  if (!has_only(member.value, {"instructions", "tools"}, problem, about)) return false;
  LockedServer server;
  if (const json::Node text = member.value["instructions"]) {
    if (!text.is_string()) {
      problem = about + " has `instructions` that are not a string";
      return false;
    }
    server.instructions = std::string(text.string());
  }
  if (member.value["tools"].size() > kToolsMax) {
    problem = about + " has more than " + std::to_string(kToolsMax) + " tools";
    return false;
  }
  for (const json::Member tool : member.value["tools"].members())
    if (!read_tool(server, tool, problem, shown)) return false;
  out.servers.emplace(member.name(), std::move(server));
  return true;
}

// --- differences ------------------------------------------------------------------------------------------------------------------

std::string step_of(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c == '~') out += "~0";
    else if (c == '/') out += "~1";
    else out += c;
  return out;
}

class Comparison {
 public:
  Comparison(ToolChange& change, Detail detail) : change_(change), detail_(detail) {}

  // A part, as canonical JSON; null where it is absent.
  void compare(const std::string* was, const std::string* is, const std::string& part) {
    kept_ = 0;
    const auto before = was != nullptr ? json::parse_owned(*was) : tl::make_unexpected(json::ParseError{});
    const auto after = is != nullptr ? json::parse_owned(*is) : tl::make_unexpected(json::ParseError{});
    if (before && after) return compare(before->root(), after->root(), part, 0);
    change_.differences.push_back({part, was != nullptr ? *was : "", is != nullptr ? *is : ""});
  }

 private:
  void compare(json::Node was, json::Node is, const std::string& place, std::size_t depth) {
    if (change_.is_cut && kept_ >= kDifferencesMax) return;
    const std::string before = was ? canonical_text(was) : std::string(),
                      after = is ? canonical_text(is) : std::string();
    if (before == after) return;
    if (was.is_object() && is.is_object() && depth < kDepthMax) {
      std::set<std::string, std::less<>> names;
      for (const json::Member member : was.members()) names.emplace(member.name());
      for (const json::Member member : is.members()) names.emplace(member.name());
      for (const std::string& name : names) compare(was[name], is[name], place + "/" + step_of(name), depth + 1);
      return;
    }
    if (detail_ == Detail::Short && kept_ >= kDifferencesMax) {
      change_.is_cut = true;
      return;
    }
    ++kept_;
    change_.differences.push_back({place, before, after});
  }

  ToolChange& change_;
  Detail detail_;
  std::size_t kept_ = 0;  // of this part
};

// --- lines ------------------------------------------------------------------------------------------------------------------------

// Variation selectors and blanks that look like a space, or like nothing: two texts that differ only in these look the same.
bool is_unseen(char32_t c) {
  return is_hidden(c) || (is_blank(c) && c != ' ') || c == 0x2800 || (c >= 0xfe00 && c <= 0xfe0f) ||
         (c >= 0xe0100 && c <= 0xe01ef);
}

std::string shown(std::string_view text, std::size_t characters_max = SIZE_MAX) {
  const std::string line = printable(text, characters_max);
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t start = at;
    const char32_t c = next_character(line, at);
    if (is_unseen(c)) append_escape(out, c);
    else out.append(line, start, at - start);
  }
  return out;
}

bool is_long(std::string_view text) { return text.size() > kShownMax; }

// In bytes; the beginning of a character.
std::size_t first_difference(std::string_view was, std::string_view is) {
  std::size_t at = 0;
  while (at < was.size() && at < is.size() && was[at] == is[at]) ++at;
  while (at > 0 && at < was.size() && (static_cast<unsigned char>(was[at]) & 0xc0u) == 0x80u) --at;
  return at;
}

// Of a long text what is around this place.
std::string window(std::string_view text, std::size_t at) {
  std::size_t from = at > kShownBefore ? at - kShownBefore : 0;
  while (from > 0 && (static_cast<unsigned char>(text[from]) & 0xc0u) == 0x80u) --from;
  return (from > 0 ? "(" + std::to_string(from) + " bytes before) ..." : std::string()) +
         shown(text.substr(from), kShownMax);
}

// "-U+00E9 `é`, +U+043E `о` (2 times)": what else is there, or no longer, of characters beyond ASCII. Empty: nothing.
std::string characters_changed(std::string_view was, std::string_view is) {
  std::map<char32_t, long> counts;
  for (std::size_t at = 0; at < was.size();)
    if (const char32_t c = next_character(was, at); c > 0x7f) --counts[c];
  for (std::size_t at = 0; at < is.size();)
    if (const char32_t c = next_character(is, at); c > 0x7f) ++counts[c];
  std::vector<std::string> parts;
  for (const auto& [c, count] : counts) {
    if (count == 0) continue;
    static constexpr char kDigits[] = "0123456789ABCDEF";
    std::string code, character;
    for (char32_t rest = c; rest != 0 || code.size() < 4; rest >>= 4) code.insert(code.begin(), kDigits[rest & 0x0fu]);
    append_utf8(character, c);
    std::string part = (count > 0 ? "+U+" : "-U+") + code + " `" + shown(character) + "`";
    if (count > 1 || count < -1) part += " (" + std::to_string(count > 0 ? count : -count) + " times)";
    parts.push_back(std::move(part));
  }
  return join(parts, ", ");
}

void add_short(const Difference& one, std::vector<std::string>& out) {
  const std::string place = shown(one.place, kPlaceMax);
  const std::size_t at = first_difference(one.before, one.after);
  const auto value = [&](const std::string& text) { return is_long(text) ? window(text, at) : shown(text); };
  if (!one.before.empty()) out.push_back("- " + place + ": " + value(one.before));
  if (!one.after.empty()) out.push_back("+ " + place + ": " + value(one.after));
}

void add_all(const Difference& one, std::vector<std::string>& out) {
  const std::string place = shown(one.place);
  if (!one.before.empty()) out.push_back("- " + place + ": " + shown(one.before));
  if (!one.after.empty()) out.push_back("+ " + place + ": " + shown(one.after));
  if (one.before.empty() || one.after.empty()) return;
  if (is_long(one.before) || is_long(one.after)) {
    const std::size_t at = first_difference(one.before, one.after);
    out.push_back("  first difference, before: " + window(one.before, at));
    out.push_back("  first difference, after:  " + window(one.after, at));
  }
  if (const std::string characters = characters_changed(one.before, one.after); !characters.empty())
    out.push_back("  characters beyond ASCII: " + characters);
}

// An `execution` that says what holds without it.
bool is_default_execution(json::Node execution) {
  if (!execution.is_object() || execution.size() > 1) return false;
  return execution.size() == 0 || execution["taskSupport"].is_text("forbidden");
}

}  // namespace

Definition definition_of(json::Node tool) {
  Definition out;
  for (const std::string_view part : kDefinitionParts)
    if (const json::Node there = tool[part]; there && (part != "execution" || !is_default_execution(there)))
      out.emplace(part, canonical_text(there));
  return out;
}

const LockedServer* ToolsLock::server(std::string_view name) const {
  const auto found = servers.find(name);
  return found == servers.end() ? nullptr : &found->second;
}

const Definition* ToolsLock::tool(std::string_view server_name, std::string_view name) const {
  const LockedServer* of = server(server_name);
  if (of == nullptr) return nullptr;
  const auto found = of->tools.find(name);
  return found == of->tools.end() ? nullptr : &found->second;
}

LockRead read_tools_lock(std::string_view text) {
  const auto document = json::parse_owned(std::string(text));
  LockRead out;
  if (!document) {
    out.problem = "it is not JSON: " + document.error().what;
    return out;
  }
  const json::Node root = document->root();
  if (!root.is_object() || !root["version"].is_text(kVersion) || !root["servers"].is_object()) {
    out.problem = "it needs `version`, which is \"1\", and `servers`, an object";
    return out;
  }
  if (!has_only(root, {"version", "servers"}, out.problem, "it")) return out;
  if (root["servers"].size() > kServersMax) {
    out.problem = "it has more than " + std::to_string(kServersMax) + " servers";
    return out;
  }
  auto lock = std::make_shared<ToolsLock>();
  for (const json::Member member : root["servers"].members())
    if (!read_server(*lock, member, out.problem)) return out;
  out.lock = std::move(lock);
  return out;
}

json::Value value_of(const ToolsLock& lock) {
  json::Value servers = json::Value::object();
  for (const auto& [name, server] : lock.servers) {
    json::Value one = json::Value::object(), tools = json::Value::object();
    if (server.instructions) one.set("instructions", *server.instructions);
    for (const auto& [tool, definition] : server.tools) {
      json::Value entry = json::Value::object();
      entry.set("sha256", sha256_of(definition));
      entry.set("definition", value_of_definition(definition));
      tools.set(tool, std::move(entry));
    }
    one.set("tools", std::move(tools));
    servers.set(name, std::move(one));
  }
  json::Value out = json::Value::object();
  out.set("version", kVersion);
  out.set("servers", std::move(servers));
  return out;
}

std::string digest_of(const ToolsLock& lock) {
  std::string all = "baton tools lock 1\n";
  for (const auto& [name, server] : lock.servers) {
    all += "server " + sha256_hex(name) + " " +
           (server.instructions ? sha256_hex(*server.instructions) : std::string("none")) + "\n";
    for (const auto& [tool, definition] : server.tools)
      all += "tool " + sha256_hex(tool) + " " + sha256_of(definition) + "\n";
  }
  return "sha256:" + sha256_hex(all);
}

LockMade make_tools_lock(const std::vector<ServerTools>& servers) {
  LockMade out;
  for (const ServerTools& one : servers) {
    LockedServer& server = out.lock.servers[one.server];
    server.instructions = one.instructions;
    for (const json::Node tool : one.tools.elements()) {
      const json::Node name = tool["name"];
      const std::string about = one.server + "/" + (name.is_string() ? printable(name.string(), 80) : "?");
      if (!name.is_string() || name.string().empty() || name.string().size() > kNameBytesMax) {
        out.problems.push_back(about + ": a tool needs a name of 1 to " + std::to_string(kNameBytesMax) + " bytes");
        continue;
      }
      Definition definition = definition_of(tool);
      const auto bad = std::ranges::find_if(definition, [](const auto& part) { return !json::parse(part.second); });
      if (bad != definition.end()) {
        out.problems.push_back(about + ": `" + bad->first + "` holds a number that cannot be compared exactly");
        continue;
      }
      if (server.tools.size() >= kToolsMax) {
        out.problems.push_back(one.server + ": it has more than " + std::to_string(kToolsMax) + " tools");
        break;
      }
      const auto [there, is_new] = server.tools.emplace(name.string(), definition);
      if (!is_new && there->second != definition && out.conflict.empty())
        out.conflict = about + ": the server lists it twice, with different definitions";
    }
  }
  return out;
}

std::optional<ToolChange> change_of_tool(const ToolsLock& lock, std::string_view server, std::string_view tool,
                                         const Definition& now, Detail detail) {
  const Definition* was = lock.tool(server, tool);
  if (was != nullptr && *was == now) return std::nullopt;
  ToolChange out{was == nullptr ? ToolChange::Kind::New : ToolChange::Kind::Changed,
                 std::string(server),
                 std::string(tool),
                 {},
                 was != nullptr};
  Comparison comparison(out, detail);
  for (const std::string_view part : kDefinitionParts) {
    const auto before = was != nullptr ? was->find(part) : now.end();
    const std::string* old_text = was != nullptr && before != was->end() ? &before->second : nullptr;
    const auto after = now.find(part);
    const std::string* new_text = after != now.end() ? &after->second : nullptr;
    if (old_text == new_text || (old_text != nullptr && new_text != nullptr && *old_text == *new_text)) continue;
    const std::size_t first = out.differences.size();
    comparison.compare(old_text, new_text, std::string(part));
    // A title among the hints is a text for people; every other hint says what the tool does.
    const bool only_title = part == "annotations" && old_text != nullptr && new_text != nullptr &&
                            first < out.differences.size() &&
                            std::all_of(
                                out.differences.begin() + static_cast<std::ptrdiff_t>(first), out.differences.end(),
                                [](const Difference& one) { return one.place == "annotations/title"; });
    if (!is_wording_part(part) && !only_title) out.is_wording = false;
  }
  return out;
}

std::optional<ToolChange> change_of_instructions(const ToolsLock& lock, std::string_view server,
                                                 const std::optional<std::string>& now) {
  const LockedServer* known = lock.server(server);
  const std::optional<std::string> was = known != nullptr ? known->instructions : std::nullopt;
  if (was == now) return std::nullopt;
  using Kind = ToolChange::Kind;
  const auto text = [](const std::optional<std::string>& one) { return one ? json::write(json::Value(*one)) : ""; };
  return ToolChange{!was   ? Kind::New
                    : !now ? Kind::Gone
                           : Kind::Changed,
                    std::string(server),
                    {},
                    {{"instructions", text(was), text(now)}},
                    known != nullptr};
}

std::vector<ToolChange> changes_of(const ToolsLock& lock, const ToolsLock& now) {
  std::vector<ToolChange> out;
  for (const auto& [name, server] : now.servers) {
    if (auto change = change_of_instructions(lock, name, server.instructions)) out.push_back(std::move(*change));
    for (const auto& [tool, definition] : server.tools)
      if (auto change = change_of_tool(lock, name, tool, definition, Detail::All)) out.push_back(std::move(*change));
    if (const LockedServer* was = lock.server(name))
      for (const auto& [tool, definition] : was->tools)
        if (!server.tools.contains(tool)) out.push_back({ToolChange::Kind::Gone, name, tool, {}, false});
  }
  return out;
}

std::string parts_of(const ToolChange& change) {
  std::vector<std::string> parts;
  for (const Difference& one : change.differences) {
    std::string part = one.place.substr(0, one.place.find('/'));
    if (parts.empty() || parts.back() != part) parts.push_back(std::move(part));
  }
  return join(parts, ", ");
}

std::string headline_of(const ToolChange& change) {
  const std::string what = change.tool.empty() ? "the instructions of " + shown(change.server)
                                               : shown(change.server) + "/" + shown(change.tool, kNameBytesMax);
  const bool several = change.tool.empty();
  switch (change.kind) {
    case ToolChange::Kind::New: return what + (several ? " are new" : " is new");
    case ToolChange::Kind::Gone: return what + (several ? " are gone" : " is gone");
    default: return what + " changed: " + parts_of(change);
  }
}

std::vector<std::string> lines_of(const ToolChange& change, Detail detail) {
  std::vector<std::string> out;
  for (const Difference& one : change.differences)
    if (detail == Detail::All) add_all(one, out);
    else add_short(one, out);
  if (change.is_cut) out.push_back("(`baton mcp lock --check` prints further differences)");
  return out;
}

json::Value value_of(const ToolChange& change) {
  json::Value out = json::Value::object();
  out.set("server", change.server);
  if (change.tool.empty()) out.set("instructions", true);
  else out.set("tool", change.tool);
  out.set("change", change.kind == ToolChange::Kind::New    ? "new"
                    : change.kind == ToolChange::Kind::Gone ? "gone"
                                                            : "changed");
  out.set("wording_only", change.is_wording);
  json::Value differences = json::Value::array();
  for (const Difference& one : change.differences) {
    json::Value entry = json::Value::object();
    entry.set("place", one.place);
    if (!one.before.empty()) entry.set("before", parsed_value(one.before));
    if (!one.after.empty()) entry.set("after", parsed_value(one.after));
    differences.push(std::move(entry));
  }
  out.set("differences", std::move(differences));
  return out;
}

// --- names ------------------------------------------------------------------------------------------------------------------------

namespace {

std::size_t servers_with(const ToolsLock& lock, std::string_view tool) {
  return static_cast<std::size_t>(
      std::ranges::count_if(lock.servers, [&](const auto& one) { return one.second.tools.contains(tool); }));
}

}  // namespace

bool may_be_bare(std::string_view server, std::string_view tool, const ServersKnown& known) {
  if (server.empty() || tool.empty() || tool.find_first_of(":/") != std::string_view::npos || known.is_reserved)
    return false;
  if (known.lock == nullptr) return known.is_only_server;
  return known.lock->tool(server, tool) != nullptr && servers_with(*known.lock, tool) == 1;
}

std::string why_not_bare(std::string_view server, std::string_view tool, const ServersKnown& known) {
  const std::string bare = "`" + printable(tool, 80) + "`",
                    full = "`" + printable(server, 60) + ":" + printable(tool, 80) + "`";
  std::string out =
      "the contract " + bare + " is not used for the tool of the server `" + printable(server, 60) + "`: ";
  if (server.empty())
    return out + "the client does not name the server; name the contract `:" + printable(tool, 80) + "`";
  if (known.is_reserved)
    return out + "coding agents have a tool of their own with this name; name the contract " + full;
  if (known.lock != nullptr && known.lock->tool(server, tool) != nullptr)
    return out + "tools.lock.json has several servers with a tool of this name; name the contract " + full;
  if (known.lock != nullptr)
    return out +
           "tools.lock.json does not have this tool of this server; run `baton mcp approve-changes`, or name the "
           "contract " +
           full;
  return out + "other servers may offer a tool of this name; name the contract " + full + ", or run `baton mcp lock`";
}

}  // namespace baton::contract
