// SPDX-License-Identifier: Apache-2.0
// What a client gets of what servers say of themselves, beside the texts that a lock covers: members that the protocol does not have are left
// out, because neither a lock nor a scan covers them, and clients show to models what they find. In shadow everything is handed on.
#include <algorithm>
#include <span>

#include "base/text.h"
#include "mcp/core.h"
#include "mcp/output.h"

namespace baton::mcp {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kOfTool[] = {"_meta", "annotations", "description",  "execution", "icons",
                                        "name",  "inputSchema", "outputSchema", "title"};
constexpr std::string_view kOfPrompt[] = {"_meta", "arguments", "description", "icons", "name", "title"};
constexpr std::string_view kOfResource[] = {"_meta", "annotations", "description", "icons", "mimeType",
                                            "name",  "size",        "title",       "uri"};
constexpr std::string_view kOfTemplate[] = {"_meta",    "annotations", "description", "icons",
                                            "mimeType", "name",        "title",       "uriTemplate"};
constexpr std::string_view kOfTask[] = {"createdAt",     "lastUpdatedAt", "pollInterval", "status",
                                        "statusMessage", "taskId",        "ttl"};
constexpr std::string_view kOfServer[] = {"description", "icons", "name", "title", "version", "websiteUrl"};
constexpr std::string_view kOfInitialize[] = {"_meta", "capabilities", "instructions", "protocolVersion", "serverInfo"};
constexpr std::string_view kOfDiscover[] = {"_meta",      "cacheScope", "capabilities",      "instructions",
                                            "resultType", "serverInfo", "supportedVersions", "ttlMs"};
constexpr std::string_view kOfEmpty[] = {"_meta", "cacheScope", "resultType",
                                         "ttlMs"};  // of an answer that says only: done
constexpr std::string_view kOfList[] = {"_meta", "cacheScope", "nextCursor", "resultType", "ttlMs"};  // and the list

struct Known {
  std::string_view what;
  Names of_element, of_answer;
};
constexpr Known kKnown[] = {{"tools", kOfTool, kOfList},           {"prompts", kOfPrompt, kOfList},
                            {"resources", kOfResource, kOfList},   {"resourceTemplates", kOfTemplate, kOfList},
                            {"tasks", kOfTask, kOfList},           {"initialize", {}, kOfInitialize},
                            {"server/discover", {}, kOfDiscover},  {"ping", {}, kOfEmpty},
                            {"logging/setLevel", {}, kOfEmpty},    {"resources/unsubscribe", {}, kOfEmpty},
                            {"subscriptions/listen", {}, kOfEmpty}};

const Known& known_of(std::string_view what) { return *std::ranges::find(kKnown, what, &Known::what); }

// Members of every answer that the protocol gives one meaning.
constexpr std::string_view kOfProtocol[] = {"cacheScope", "resultType", "ttlMs"};

bool has(Names names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

void add_member(std::string& object, json::Node key, std::string_view value) {
  if (object.size() > 1) object += ',';
  object += text_of(key);
  object += ':';
  object += value;
}

}  // namespace

std::string Conversation::Core::definition_for_client(std::size_t server, std::string_view list, json::Node element) {
  const Names known = known_of(list).of_element;
  const json::Node name = element["name"];
  const bool is_renamed = servers.size() > 1 && name.is_string() && (list == "tools" || list == "prompts");
  bool is_same = !is_renamed;
  std::string out = "{";
  std::vector<std::string> notes;
  for (const json::Member member : element.members()) {
    if (governed.enforces && !has(known, member.name())) {
      catalogue.note_unknown(server, name.is_string() ? name.string() : "?", member.name(), notes);
      is_same = false;
      continue;
    }
    if (is_renamed && member.name() == "name")
      add_member(out, member.key, quoted(catalogue.client_name(server, name.string())));
    else add_member(out, member.key, text_of(member.value));
  }
  note_all(std::move(notes));
  return is_same ? std::string(text_of(element)) : out + "}";
}

bool Conversation::Core::may_say(std::size_t server, std::string_view place, json::Node value) {
  std::vector<std::string> notes;
  const bool may = catalogue.may_say(server, place, value, notes);
  note_all(std::move(notes));
  return may || !governed.enforces;
}

// The name is needed: the one of the configuration takes the place of one that is withheld.
std::string Conversation::Core::server_info_for_client(std::size_t server, json::Node info,
                                                       std::vector<std::string>& notes) {
  std::string out = "{";
  for (const json::Member member : info.members()) {
    const bool is_known = has(kOfServer, member.name());
    if (!is_known && governed.enforces) catalogue.note_unknown(server, "serverInfo", member.name(), notes);
    if (is_known && catalogue.may_say(server, "serverInfo/" + std::string(member.name()), member.value, notes))
      add_member(out, member.key, text_of(member.value));
    else if (member.name() == "name") add_member(out, member.key, quoted(catalogue.server_name(server)));
    else if (member.name() == "version") add_member(out, member.key, R"("")");
  }
  return out + "}";
}

void Conversation::Core::withhold_members(std::size_t server, std::string_view what, json::Node result,
                                          std::vector<Splice>& splices) {
  const Known& known = known_of(what);
  std::vector<std::string_view> removed;
  std::vector<std::string> notes;
  for (const json::Member member : result.members()) {
    const std::string_view name = member.name();
    bool is_kept = true;
    const bool is_list = name == what && !known.of_element.empty();
    // What Baton puts in the place of a member needs no judgement.
    const bool is_replaced = std::ranges::find(splices, member.value.offset(), &Splice::at) != splices.end();
    if (is_list || is_replaced) continue;
    if (!has(known.of_answer, name) || (has(kOfProtocol, name) && !is_of_protocol(member)) ||
        (name == "nextCursor" && !member.value.is_string() && !member.value.is_null())) {
      if (governed.enforces) catalogue.note_unknown(server, "the answer with `" + std::string(what) + "`", name, notes);
      is_kept = false;
    } else if (name == "instructions") {
      is_kept = member.value.is_text("") || !instructions_of(server, result).empty();
    } else if (name == "_meta" || name == "nextCursor" || (name == "serverInfo" && !member.value.is_object())) {
      is_kept = catalogue.may_say(server, name, member.value, notes);
    } else if (name == "serverInfo") {
      const std::string info = server_info_for_client(server, member.value, notes);
      if (governed.enforces && info != text_of(member.value)) splices.push_back(replacing(member.value, info));
    }
    if (!is_kept && governed.enforces) removed.push_back(name);
  }
  note_all(std::move(notes));
  for (Splice& one : removing(result, removed)) splices.push_back(std::move(one));
}

}  // namespace baton::mcp
