// SPDX-License-Identifier: Apache-2.0
// The beginning of a conversation, and the lists: of tools, narrowed; and of everything else where there are several servers.
#include <algorithm>

#include "base/text.h"
#include "contract/plan.h"
#include "contract/tools_lock.h"
#include "hooks/names.h"
#include "json/value.h"
#include "mcp/core.h"
#include "mcp/methods.h"

namespace baton::mcp {

using Kind = OpenRequest::Kind;

namespace {

constexpr std::size_t kListBytesMax = 64u << 20;    // of one list that Baton reads from several servers
constexpr std::size_t kUnlistedShown = 20;          // names of tools in one line of the log
constexpr std::size_t kExplainedMax = 1'000;        // lines about names in one conversation
constexpr std::size_t kResourcesKnownMax = 65'536;  // uris remembered for each of several servers
constexpr std::size_t kListedMax = 10'000;          // prompts or resources of one list whose texts are looked at

// Capabilities of the protocol without anything that has a text, and with what Baton adds.
std::string bare_capabilities(json::Node capabilities) {
  std::string out = R"({"tools":{"listChanged":true})";
  for (const std::string_view name : {"completions", "logging", "prompts", "resources"}) {
    const json::Node one = capabilities[name];
    if (!one.is_object()) continue;
    std::string members;
    for (const std::string_view member : {"listChanged", "subscribe"})
      if (one[member].is_boolean())
        members += (members.empty() ? "" : ",") + quoted(member) + ':' + std::string(text_of(one[member]));
    out += ',' + quoted(name) + ":{" + members + "}";
  }
  return out + "}";
}

std::string carried(Era era, bool of_both) {
  std::string out;
  for (const Revision& one : revisions())
    if (of_both || one.era == era) out += (out.empty() ? "" : ",") + quoted(one.name);
  return "[" + out + "]";
}

}  // namespace

// --- beginnings ---------------------------------------------------------------------------------------------------------------------

void Conversation::Core::note_modern(const Message& message) {
  modern = find_revision(message.meta()[kMetaProtocolVersion].string());
  modern_meta = "{";
  for (const std::string_view name : {kMetaProtocolVersion, kMetaClientCapabilities, kMetaClientInfo})
    if (const json::Node there = message.meta()[name]) {
      if (modern_meta.size() > 1) modern_meta += ',';
      modern_meta += quoted(name) + ':';
      modern_meta += text_of(there);
    }
  modern_meta += '}';
}

std::string Conversation::Core::own_params(std::string_view members) const {
  const bool is_modern = !is_initialized && !modern_meta.empty();
  if (!is_modern && members.empty()) return {};
  std::string out = "{";
  out += members;
  if (is_modern) out += std::string(members.empty() ? "" : ",") + R"("_meta":)" + modern_meta;
  return out + "}";
}

void Conversation::Core::own_request(std::size_t server, OwnRequest own, std::string_view method,
                                     std::string_view params) {
  const std::uint64_t number = next_number++;
  own.method = method;
  own_requests[number] = std::move(own);
  if (cannot_reach(server)) return own_answered(number, server, nullptr);
  send_own(number, params, is_initialized ? agreed : modern);
}

void Conversation::Core::send_own(std::uint64_t number, std::string_view params, const Revision* revision) {
  OwnRequest& own = own_requests.at(number);
  const std::string id = id_for_server(own.server);
  own.ticket = send({Sent::Whose::Own, own.server, id, number}, request(id, own.method, params), kAside, own.method, {},
                    revision);
  // One that was restarted may take as long as it likes: its calls are answered meanwhile, and then it is back.
  if (own.kind != OwnRequest::Kind::Initialize) own.timer = arm(number, time_for(own));
}

// A server may have to be downloaded before it can begin. A client whose `server/discover` fails goes on with `initialize`.
Milliseconds Conversation::Core::time_for(const OwnRequest& own) const {
  return own.method == "initialize" ? options.begin_time : options.list_time;
}

// An answer that still comes is one to nothing.
void Conversation::Core::own_timed_out(std::uint64_t number) {
  OwnRequest& own = own_requests.at(number);
  own.timer = 0;
  if (client_is_gone) return;
  const std::size_t server = own.server;
  const std::string problem =
      "did not answer `" + own.method + "` within " + std::to_string(time_for(own) / 1000) + " s";
  out->push_back(Note{"the server `" + catalogue.server_name(server) + "` " + problem});
  if (own.method != "initialize") withdraw(own.ticket, "it took too long");  // which is never cancelled
  forget_sent(own.ticket);
  if (own.kind == OwnRequest::Kind::List) servers[server].was_left_out = true;
  own_answered(number, server, nullptr, problem);
}

void Conversation::Core::client_initialize(Ticket ticket, Message& message) {
  const json::Node params = message.params();
  initialize_params = params ? std::string(text_of(params)) : "{}";
  client_can = abilities_in(params["capabilities"]);
  OpenRequest& request = open_requests.at(ticket);
  request.kind = Kind::Initialize;
  if (servers.size() == 1) return pass_to_server(ticket, 0, message);
  const std::uint64_t number = next_number++;
  Gathering& gathering = gatherings[number];
  gathering.answers = ticket;
  gathering.method = "initialize";
  gathering.waits_for = servers.size();
  for (std::size_t server = 0; server < servers.size(); ++server)
    own_request(server, {.kind = OwnRequest::Kind::GatheredInitialize, .server = server, .gathering = number},
                "initialize", initialize_params);
}

// What a server says of itself to the model, where the client may have it.
std::string Conversation::Core::instructions_of(std::size_t server, json::Node result) {
  if (!result["instructions"].is_string()) return {};
  std::vector<std::string> notes;
  const bool passes = catalogue.may_have_instructions(server, result["instructions"].string(), notes);
  note_all(std::move(notes));
  return passes || !governed.enforces ? std::string(result["instructions"].string()) : std::string();
}

// The capabilities that Baton adds, and no other. Those with a suspicious text are reduced to what the protocol has, without texts.
std::vector<Splice> Conversation::Core::capability_splices(json::Node result, std::size_t server) {
  const json::Node capabilities = result["capabilities"];
  ServerState& state = servers[server];
  state.has_tools = capabilities["tools"].is_object();
  state.has_prompts = capabilities["prompts"].is_object();
  state.has_resources = capabilities["resources"].is_object();
  if (capabilities.is_object() && !may_say(server, "capabilities", capabilities))
    return {replacing(capabilities, bare_capabilities(capabilities))};
  const std::string tools = R"({"listChanged":true})";
  if (!capabilities.is_object()) return {setting(result, "capabilities", R"({"tools":)" + tools + "}")};
  if (!state.has_tools) return {setting(capabilities, "tools", tools)};
  if (capabilities["tools"]["listChanged"].is_true()) return {};
  return {setting(capabilities["tools"], "listChanged", "true")};
}

void Conversation::Core::add_capabilities(json::Value& all, json::Node result, std::size_t server) {
  const std::string text = splice(result.document()->text(), capability_splices(result, server));
  const auto document = json::parse(text);
  for (const json::Member member : document->root()["capabilities"].members()) {
    if (all.find(member.name()) == nullptr) all.set(member.name(), json::Value::object());
    for (const json::Member inner : member.value.members())
      all.find(member.name())->set(inner.name(), json::Value::copy(inner.value));
  }
}

void Conversation::Core::initialize_answered(Ticket ticket, Message& message) {
  if (message.kind() == Message::Kind::Error) return pass_answer(ticket, message);
  const json::Node version = message.result()["protocolVersion"];
  const Revision* revision = version.is_string() ? find_revision(version.string()) : nullptr;
  if (revision == nullptr || revision->era != Era::Legacy)
    return answer_error(ticket, kInvalidParams, "Unsupported protocol version",
                        R"({"supported":)" + carried(Era::Legacy, false) + R"(,"requested":)" +
                            (version ? std::string(text_of(version)) : "null") + "}");
  agreed = revision;
  if (!agreed->elicitation) client_can.forms = client_can.links = false;
  is_initialized = true;
  std::vector<Splice> splices = capability_splices(message.result(), 0);
  withhold_members(0, "initialize", message.result(), splices);
  pass_answer(ticket, message, std::move(splices));
}

void Conversation::Core::merge_initialized(Gathering& gathering) {
  const Revision* lowest = nullptr;
  json::Value capabilities = json::Value::object();
  std::string instructions;
  if (gathering.failed)
    return answer_error(gathering.answers, kInternalError,
                        "not every server could be begun with: " + gathering.problem);
  for (const auto& [server, text] : gathering.texts) {
    const auto document = json::parse(text);
    const json::Node result = document->root();
    const json::Node version = result["protocolVersion"];
    const Revision* revision = version.is_string() ? find_revision(version.string()) : nullptr;
    if (revision == nullptr || revision->era != Era::Legacy)
      return answer_error(gathering.answers, kInvalidParams, "Unsupported protocol version",
                          R"({"supported":)" + carried(Era::Legacy, false) + R"(,"requested":)" +
                              (version ? std::string(text_of(version)) : "null") + "}");
    lowest = lowest == nullptr ? revision : &older(*lowest, *revision);
    add_capabilities(capabilities, result, server);
    if (const std::string text = instructions_of(server, result); !text.empty())
      instructions += (instructions.empty() ? "" : "\n\n") + catalogue.server_name(server) + ": " + text;
  }
  if (lowest == nullptr) return answer_error(gathering.answers, kInternalError, "there is no server");
  if (capabilities.find("tools") == nullptr) capabilities.set("tools", json::Value::object());
  capabilities.find("tools")->set("listChanged", true);
  agreed = lowest;
  if (!agreed->elicitation) client_can.forms = client_can.links = false;
  is_initialized = true;
  json::Value result = json::Value::object();
  result.set("protocolVersion", lowest->name);
  result.set("capabilities", std::move(capabilities));
  json::Value info = json::Value::object();
  info.set("name", "baton");
  info.set("version", options.version);
  result.set("serverInfo", std::move(info));
  if (!instructions.empty()) result.set("instructions", instructions);
  answer_result(gathering.answers, json::write(result));
}

void Conversation::Core::client_discover(Ticket ticket, Message& message) {
  OpenRequest& request = open_requests.at(ticket);
  request.kind = Kind::Discover;
  if (servers.size() == 1) return pass_to_server(ticket, 0, message);
  const std::uint64_t number = next_number++;
  Gathering& gathering = gatherings[number];
  gathering.answers = ticket;
  gathering.method = "server/discover";
  gathering.waits_for = servers.size();
  for (std::size_t server = 0; server < servers.size(); ++server)
    own_request(server, {.kind = OwnRequest::Kind::GatheredDiscover, .server = server, .gathering = number},
                "server/discover", own_params());
}

void Conversation::Core::discover_answered(Ticket ticket, Message& message) {
  const json::Node versions = message.result()["supportedVersions"];
  if (message.kind() == Message::Kind::Error) return pass_answer(ticket, message);
  if (!versions.is_array())
    return answer_error(ticket, kInternalError, "the server's `supportedVersions` is not a list");
  std::string kept;
  bool is_all = true, is_modern = false;
  for (const json::Node one : versions.elements()) {
    const Revision* revision = one.is_string() ? find_revision(one.string()) : nullptr;
    if (revision == nullptr) {
      is_all = false;
      continue;
    }
    is_modern = is_modern || revision->era == Era::Modern;
    kept += (kept.empty() ? "" : ",") + std::string(text_of(one));
  }
  if (!is_modern)
    return answer_error(ticket, kMethodNotFound, "the server speaks no revision of this kind that Baton carries");
  std::vector<Splice> splices = capability_splices(message.result(), 0);
  if (!is_all) splices.push_back(replacing(versions, "[" + kept + "]"));
  withhold_members(0, "server/discover", message.result(), splices);
  pass_answer(ticket, message, std::move(splices));
}

// One server that does not speak it is enough: nothing is advertised that is not carried to all of them.
void Conversation::Core::merge_discovered(Gathering& gathering) {
  if (gathering.failed || gathering.texts.size() != servers.size())
    return answer_error(gathering.answers, kMethodNotFound, "not every server speaks a revision of this kind");
  json::Value capabilities = json::Value::object();
  std::vector<std::string> common;
  for (const Revision& one : revisions())
    if (one.era == Era::Modern) common.emplace_back(one.name);
  std::string instructions;
  for (const auto& [server, text] : gathering.texts) {
    const auto document = json::parse(text);
    const json::Node result = document->root();
    const auto is_spoken = [&](const std::string& name) {
      for (const json::Node one : result["supportedVersions"].elements())
        if (one.is_text(name)) return true;
      return false;
    };
    std::erase_if(common, [&](const std::string& name) { return !is_spoken(name); });
    add_capabilities(capabilities, result, server);
    if (const std::string text = instructions_of(server, result); !text.empty())
      instructions += (instructions.empty() ? "" : "\n\n") + catalogue.server_name(server) + ": " + text;
  }
  if (common.empty())
    return answer_error(gathering.answers, kMethodNotFound,
                        "there is no revision of this kind that every server speaks");
  if (capabilities.find("tools") == nullptr) capabilities.set("tools", json::Value::object());
  capabilities.find("tools")->set("listChanged", true);
  // What Baton does not carry from several servers is not offered.
  for (const std::string_view other : {"prompts", "resources"})
    if (json::Value* there = capabilities.find(other)) *there = json::Value::object();
  json::Value result = json::Value::object();
  result.set("resultType", "complete");
  json::Value versions = json::Value::array();
  for (const std::string& one : common) versions.push(one);
  result.set("supportedVersions", std::move(versions));
  result.set("capabilities", std::move(capabilities));
  if (!instructions.empty()) result.set("instructions", instructions);
  result.set("ttlMs", 0);
  result.set("cacheScope", "private");
  answer_result(gathering.answers, json::write(result));
}

// --- lists of tools -----------------------------------------------------------------------------------------------------------------

void Conversation::Core::client_tools_list(Ticket ticket, Message& message) {
  if (servers.size() > 1) return gather_list(ticket, "tools/list", "tools");
  OpenRequest& request = open_requests.at(ticket);
  request.kind = Kind::ToolsList;
  request.has_cursor = static_cast<bool>(message.params()["cursor"]);
  if (!servers[0].has_tools) {
    request.kind = Kind::Own;
    return show_tools(ticket, {}, {});
  }
  if (!request.has_cursor) servers[0].chain = servers[0].generation;
  pass_to_server(ticket, 0, message);
}

// A client that ignores case would show another text than the one that was looked at.
bool Conversation::Core::is_respelled(std::size_t server, std::string_view where, json::Node definition) {
  const std::string_view respelled = respelled_in_definition(definition);
  if (respelled.empty()) return false;
  const json::Node name = definition["name"];
  note_dropped("server `" + catalogue.server_name(server) + "`", where,
               "the definition of " + printable(name.is_string() ? name.string() : "?", 200) + " has a member `" +
                   printable(respelled, 60) + "`");
  return true;
}

ToolsPage Conversation::Core::take_apart(std::size_t server, json::Node tools) {
  ToolsPage out;
  for (const json::Node definition : tools.elements()) {
    const json::Node name = definition["name"];
    if (!name.is_string()) continue;
    if (is_respelled(server, "tools/list", definition)) {
      catalogue.note_respelled(server, name.string(), respelled_in_definition(definition));
      continue;
    }
    note_all(catalogue.see(server, definition));
    // What could not be pinned is not shown, nor is what has Baton's own names.
    if (!catalogue.is_pinned(server, name.string()) || (servers.size() == 1 && is_own_tool(name.string()))) continue;
    // Nor is one that a contract could not tell from an operation.
    if (is_named_as_operation(server, name.string())) continue;
    known_tools[std::string(name.string())].insert(server);
    out.entries.push_back({server, std::string(name.string()), definition_for_client(server, "tools", definition)});
  }
  return out;
}

void Conversation::Core::tools_list_answered(Ticket ticket, std::size_t server, Message& message) {
  const json::Node tools = message.result()["tools"];
  if (message.kind() == Message::Kind::Error) return pass_answer(ticket, message);
  if (!tools.is_array()) return answer_error(ticket, kInternalError, no_list(server, "tools"));
  const OpenRequest& request = open_requests.at(ticket);
  ToolsPage page = take_apart(server, tools);
  page.is_last = !message.result()["nextCursor"].is_string();
  page.at = tools.offset();
  page.size = text_of(tools).size();
  if (request.id != message.id_text()) page.splices.push_back(replacing(message.id(), request.id));
  if (request.era == Era::Modern) {
    page.splices.push_back(setting(message.result(), "cacheScope", R"("private")"));
    page.splices.push_back(setting(message.result(), "ttlMs", "0"));
  }
  withhold_members(server, "tools", message.result(), page.splices);
  if (page.is_last && servers[server].chain == servers[server].generation)
    servers[server].seen = servers[server].generation;
  page.bytes = message.take_bytes();
  forget_sent(ticket);
  const Question question = next_number++;
  Asking& asking = questions[question];
  asking.ticket = ticket;
  asking.pages.push_back(std::move(page));
  out->push_back(AskCallable{question});
}

// From the configuration and the lock alone: not from which servers run, nor from what they list now.
contract::ServersKnown Conversation::Core::servers_known(std::string_view tool) const {
  return {.is_only_server = servers.size() == 1 && options.servers_are_all,
          .lock = catalogue.lock(),
          .is_reserved = hooks::is_reserved(tool, options.client)};
}

bool Conversation::Core::is_named_as_operation(std::size_t server, std::string_view tool) const {
  return contract::is_server_operation(tool) ||
         contract::is_server_operation(catalogue.server_name(server) + ":" + std::string(tool));
}

std::string Conversation::Core::name_for_node(std::size_t server, std::string_view tool) const {
  return contract::call_name(catalogue.server_name(server), tool, servers_known(tool),
                             [this](const std::string& name) { return contract_names.contains(name); });
}

// A contract of the tool's bare name is there and is not used: the operator is told once what to change.
void Conversation::Core::explain_name(std::size_t server, std::string_view tool) {
  const std::string& name = catalogue.server_name(server);
  const contract::ServersKnown known = servers_known(tool);
  if (tool.find_first_of(":/") != std::string_view::npos || !contract_names.contains(tool) ||
      contract_names.contains(name + ":" + std::string(tool)) || contract::may_be_bare(name, tool, known))
    return;
  if (known.lock != nullptr && known.lock->tool(name, tool) == nullptr) return;  // it is withheld, and that is said
  if (explained.size() < kExplainedMax && explained.insert(catalogue.full_name(server, tool)).second)
    out->push_back(Note{contract::why_not_bare(name, tool, known)});
}

void Conversation::Core::note_all(std::vector<std::string> lines) {
  for (std::string& line : lines) out->push_back(Note{std::move(line)});
}

std::set<std::string, std::less<>> Conversation::Core::known_among(const Callable& callable) const {
  std::set<std::string, std::less<>> out;
  for (const auto& [tool, owners] : known_tools)
    for (const std::size_t server : owners)
      if (std::string name = name_for_node(server, tool); callable.kept.contains(contract::name_in_pack(name)))
        out.insert(std::move(name));
  return out;
}

// Tools that the client does not get because the pack has no contract for them: one line for each server and set of them.
void Conversation::Core::explain_unlisted(const std::vector<ToolsPage>& pages) {
  std::map<std::size_t, std::set<std::string, std::less<>>> unlisted;
  for (const ToolsPage& page : pages)
    for (const ToolsPage::Entry& entry : page.entries)
      // Of those that the lock withholds, and where a contract of the bare name is not used, the log says more.
      if (!contract_names.contains(contract::name_in_pack(name_for_node(entry.server, entry.tool))) &&
          !contract_names.contains(entry.tool) && !catalogue.against(entry.server, entry.tool))
        unlisted[entry.server].insert(entry.tool);
  for (const auto& [server, tools] : unlisted) {
    std::string names;
    std::size_t shown = 0;
    for (const std::string& tool : tools) {
      if (++shown > kUnlistedShown) break;
      names += (shown == 1 ? "`" : ", `") + printable(tool, 80) + "`";
    }
    if (tools.size() > kUnlistedShown) names += " and " + std::to_string(tools.size() - kUnlistedShown) + " more";
    std::string line = "tools of the server `" + catalogue.server_name(server) +
                       "` are withheld, because the pack has no contract for them: " + names +
                       "; `baton contract new FOLDER --from-mcp` writes contracts to start from";
    if (explained.size() < kExplainedMax && explained.insert(line).second) out->push_back(Note{std::move(line)});
  }
}

void Conversation::Core::show_tools(Ticket ticket, const Callable& callable, std::vector<ToolsPage> pages) {
  const auto found = open_requests.find(ticket);
  if (found == open_requests.end()) return;  // cancelled
  std::string list = "[";
  const auto add = [&](std::string_view text, std::string_view name) {
    if (list.size() > 1) list += ',';
    list += text;
    catalogue.show(name);
  };
  bool is_last = true;
  if (callable.known && governed.enforces) explain_unlisted(pages);
  for (const ToolsPage& page : pages) {
    is_last = page.is_last;
    for (const ToolsPage::Entry& entry : page.entries) {
      const bool is_callable =
          callable.known && callable.kept.contains(contract::name_in_pack(name_for_node(entry.server, entry.tool)));
      if (callable.known) explain_name(entry.server, entry.tool);
      if (governed.enforces && (!is_callable || catalogue.against(entry.server, entry.tool))) continue;
      add(entry.text, catalogue.client_name(entry.server, entry.tool));
    }
  }
  if (is_last)
    for (const std::string_view own : {kStatusTool, kHandoffTool}) add(own_definition(own), own);
  list += ']';
  has_listed = true;
  shown_callable = known_among(callable);
  if (pages.size() == 1 && !pages[0].bytes.empty()) {
    ToolsPage& page = pages[0];
    page.splices.push_back({page.at, page.size, std::move(list)});
    return answer(ticket, splice(page.bytes, std::move(page.splices)));
  }
  std::string result = R"({"tools":)" + list;
  if (found->second.era == Era::Modern) result += R"(,"resultType":"complete","ttlMs":0,"cacheScope":"private")";
  answer_result(ticket, result + "}");
}

void Conversation::Core::callable(Question question, Callable callable) {
  const auto found = questions.find(question);
  if (found == questions.end()) return;
  Asking asking = std::move(found->second);
  questions.erase(found);
  if (callable.known) last_callable = callable;
  if (callable.known && !governed.contracts) {
    contract_names = callable.kept;
    for (const auto& [tool, reason] : callable.removed) contract_names.insert(tool);
  }
  switch (asking.why) {
    // A node that is away for a moment takes no tool from the client's list: a call says why it is refused.
    case Asking::Why::Show:
      return show_tools(asking.ticket, callable.known ? callable : last_callable, std::move(asking.pages));
    case Asking::Why::Look: return looked(callable);
    case Asking::Why::Retry:
      if (const auto call = calls.find(asking.call); call != calls.end()) call_callable(call->second, callable);
  }
}

// --- other lists --------------------------------------------------------------------------------------------------------------------

// `at`: how many are before it in its list. Those that are too many to be looked through are withheld where others are.
bool Conversation::Core::may_list(std::size_t server, json::Node element, std::size_t at) {
  if (!element.is_object()) return !governed.enforces;
  if (is_respelled(server, "a list", element)) return false;
  if (at >= kListedMax) return !governed.held.suspicious_is_withheld || !governed.enforces;
  std::vector<std::string> notes;
  const bool may = catalogue.may_list(server, element, notes);
  note_all(std::move(notes));
  return may || !governed.enforces;
}

std::string Conversation::Core::no_list(std::size_t server, std::string_view member) const {
  return "the answer of the server `" + catalogue.server_name(server) + "` has no list `" + std::string(member) + "`";
}

// Prompts, resources and their templates, without what the pack withholds because of its texts.
void Conversation::Core::list_answered(Ticket ticket, std::size_t server, std::string_view member, Message& message) {
  const json::Node list = message.result()[member];
  if (message.kind() == Message::Kind::Error) return pass_answer(ticket, message);
  if (!list.is_array()) return answer_error(ticket, kInternalError, no_list(server, member));
  std::string kept = "[";
  std::size_t at = 0;
  bool is_same = true;
  for (const json::Node one : list.elements()) {
    if (!may_list(server, one, at++)) {
      is_same = false;
      continue;
    }
    const std::string text = definition_for_client(server, member, one);
    is_same = is_same && text == text_of(one);
    if (kept.size() > 1) kept += ',';
    kept += text;
  }
  std::vector<Splice> splices;
  if (!is_same) splices.push_back(replacing(list, kept + "]"));
  withhold_members(server, member, message.result(), splices);
  pass_answer(ticket, message, std::move(splices));
}

// --- when the set changes -----------------------------------------------------------------------------------------------------------

void Conversation::Core::look_soon() {
  if (has_listed && look_timer == 0 && !client_is_gone) look_timer = arm(0, options.look_after);
}

void Conversation::Core::look() {
  if (!has_listed || client_is_gone) return;
  for (const auto& [question, asking] : questions)
    if (asking.why == Asking::Why::Look) return;
  const Question question = next_number++;
  questions[question].why = Asking::Why::Look;
  out->push_back(AskCallable{question});
}

void Conversation::Core::looked(const Callable& callable) {
  if (!callable.known) return;
  auto known = known_among(callable);
  if (known == shown_callable) return;
  shown_callable = std::move(known);
  tell_tools_changed();
}

void Conversation::Core::tell_tools_changed() {
  if (!has_listed || client_is_gone) return;
  if (is_initialized) {
    out->push_back(ToClient{kAside, notification("notifications/tools/list_changed"), false, 0});
    return;
  }
  for (const auto& [ticket, request] : open_requests)
    if (request.kind == Kind::Listen && request.wants_tools_changed && request.was_acknowledged)
      out->push_back(ToClient{request.stream,
                              notification("notifications/tools/list_changed",
                                           R"({"_meta":{)" + quoted(kMetaSubscriptionId) + ":" + request.id + "}}"),
                              false, 0});
}

// --- subscriptions ------------------------------------------------------------------------------------------------------------------

// The server does not know that Baton tells of its tools: it is said in its place.
void Conversation::Core::acknowledged(std::size_t server, Message& message, Ticket ticket) {
  const json::Node subscription = message.meta()[kMetaSubscriptionId];
  const auto by = by_sent_id[server].find(id_key(subscription));
  const auto found = by == by_sent_id[server].end() ? open_requests.end() : open_requests.find(by->second);
  if (found == open_requests.end() || found->second.kind != Kind::Listen) {
    out->push_back(ToClient{stream_for(server, ticket), message.take_bytes(), false, 0});
    return;
  }
  OpenRequest& request = found->second;
  request.was_acknowledged = true;
  const json::Node honoured = message.params()["notifications"];
  request.server_listens = honoured.is_object() && honoured.size() != 0;
  std::vector<Splice> splices;
  if (request.wants_tools_changed && honoured.is_object() && !honoured["toolsListChanged"].is_true())
    splices.push_back(setting(honoured, "toolsListChanged", "true"));
  if (request.id != id_key(subscription)) splices.push_back(replacing(subscription, request.id));
  std::string bytes = splices.empty() ? message.take_bytes() : splice(message.bytes(), std::move(splices));
  out->push_back(ToClient{request.stream, std::move(bytes), false, 0});
}

bool Conversation::Core::answer_listen(Ticket ticket, bool wants_tools) {
  OpenRequest& request = open_requests.at(ticket);
  request.kind = Kind::Listen;
  request.wants_tools_changed = wants_tools;
  request.server_listens = false;
  request.was_acknowledged = true;
  out->push_back(
      ToClient{request.stream,
               notification("notifications/subscriptions/acknowledged",
                            R"({"_meta":{)" + quoted(kMetaSubscriptionId) + ":" + request.id +
                                R"(},"notifications":{)" + (wants_tools ? R"("toolsListChanged":true)" : "") + "}}"),
               false, 0});
  return true;
}

// A server that has nothing to tell ends the subscription, or does not know of them; Baton still has something to tell.
void Conversation::Core::listen_answered(Ticket ticket, Message& message) {
  OpenRequest& request = open_requests.at(ticket);
  const bool knows_none = message.kind() == Message::Kind::Error && message.error()["code"].is_number() &&
                          message.error()["code"].number_text() == "-32601";
  const bool tells_nothing =
      message.kind() == Message::Kind::Result && (!request.was_acknowledged || !request.server_listens);
  if (!request.wants_tools_changed || !(knows_none || tells_nothing))
    return empty_answered(ticket, request.server, message);
  forget_sent(ticket);
  if (!request.was_acknowledged) answer_listen(ticket, true);
  request.server_listens = false;
}

// --- lists that Baton reads itself --------------------------------------------------------------------------------------------------

OwnRequest Conversation::Core::own_list(std::size_t server, std::uint64_t gathering) const {
  return {.kind = OwnRequest::Kind::List,
          .server = server,
          .gathering = gathering,
          .generation = servers[server].generation};
}

void Conversation::Core::gather_list(Ticket ticket, std::string_view method, std::string_view member) {
  open_requests.at(ticket).kind = Kind::Gathered;
  const std::uint64_t number = next_number++;
  Gathering& gathering = gatherings[number];
  gathering.answers = ticket;
  gathering.method = method;
  gathering.member = member;
  gathering.waits_for = servers.size();
  for (std::size_t server = 0; server < servers.size(); ++server)
    own_request(server, own_list(server, number), method, own_params());
}

void Conversation::Core::ask_pins(std::size_t server) {
  if (servers[server].pinning != 0) return;
  const std::uint64_t number = next_number++;
  servers[server].pinning = number;
  Gathering& gathering = gatherings[number];
  gathering.method = "tools/list";
  gathering.member = "tools";
  gathering.waits_for = 1;
  own_request(server, own_list(server, number), "tools/list", own_params());
}

void Conversation::Core::own_answered(std::uint64_t number, std::size_t server, Message* message,
                                      std::string_view problem) {
  const auto found = own_requests.find(number);
  if (found == own_requests.end()) return;
  OwnRequest own = std::move(found->second);
  own_requests.erase(found);
  disarm(own.timer);
  const bool is_result = message != nullptr && message->kind() == Message::Kind::Result;
  switch (own.kind) {
    case OwnRequest::Kind::Broadcast: return;
    case OwnRequest::Kind::Initialize:
      if (!is_result) {
        servers[server].refuses = message != nullptr;
        out->push_back(
            Note{"the server `" + catalogue.server_name(server) + "` came back and could not be begun with"});
        return;
      }
      servers[server].is_ready = true;
      out->push_back(ToServer{
          server, notification("notifications/initialized"), 0, kAside, "notifications/initialized", {}, {}, agreed});
      return tell_tools_changed();
    default: break;
  }
  const auto gathering = gatherings.find(own.gathering);
  if (gathering == gatherings.end()) return;
  if (own.kind == OwnRequest::Kind::List) {
    if (is_result) return read_page(gathering->second, own, server, *message);
    // A server that has no such list has an empty one.
    if (message == nullptr) gathering->second.failed = true, gathering->second.problem = problem;
    else servers[server].seen = own.generation;
  } else if (is_result) {
    gathering->second.texts.emplace_back(server, text_of(message->result()));
  } else {
    gathering->second.failed = true;
    if (gathering->second.problem.empty()) gathering->second.problem = why_not_begun(own, message, problem);
  }
  if (--gathering->second.waits_for == 0) gathered(own.gathering);
}

std::string Conversation::Core::why_not_begun(const OwnRequest& own, Message* message, std::string_view problem) {
  const std::string who = "the server `" + catalogue.server_name(own.server) + "` ";
  if (message == nullptr) return problem.empty() ? unreachable_text(own.server) : who + std::string(problem);
  const json::Node said = may_say(own.server, "error", message->error()) ? message->error()["message"] : json::Node();
  return who + "answered `" + own.method + "` with the error " + std::to_string(error_code_of(*message)) +
         (said.is_string() ? ", `" + printable(said.string(), 200) + "`" : "");
}

void Conversation::Core::read_page(Gathering& gathering, OwnRequest& own, std::size_t server, Message& message) {
  const json::Node list = message.result()[gathering.member];
  if (!list.is_array()) {
    gathering.failed = true;
    gathering.problem = "sent an answer that has no list `" + gathering.member + "`";
    out->push_back(Note{no_list(server, gathering.member)});
    if (--gathering.waits_for == 0) gathered(own.gathering);
    return;
  }
  gathering.bytes += message.bytes().size();
  if (gathering.member == "tools") {
    ToolsPage page = take_apart(server, list);
    if (gathering.answers != 0) gathering.pages.push_back(std::move(page));
  } else if (gathering.member == "tasks") {
    for (const json::Node task : list.elements())
      if (may_list_task(server, task)) gathering.texts.emplace_back(server, text_of(task));
  } else {
    for (const json::Node element : list.elements()) {
      if (!may_list(server, element, gathering.texts.size())) continue;
      std::string text = definition_for_client(server, gathering.member, element);
      if (const json::Node uri = element["uri"];
          uri.is_string() && servers[server].resources.size() < kResourcesKnownMax)
        servers[server].resources.emplace(uri.string());
      gathering.texts.emplace_back(server, std::move(text));
    }
  }
  const json::Node cursor = message.result()["nextCursor"];
  if (cursor.is_string() && own.pages + 1 < options.pages_max && gathering.bytes < kListBytesMax) {
    ++own.pages;
    return own_request(server, own, gathering.method, own_params(R"("cursor":)" + std::string(text_of(cursor))));
  }
  if (gathering.member == "tools") servers[server].seen = own.generation;
  if (--gathering.waits_for == 0) gathered(own.gathering);
}

void Conversation::Core::gathered(std::uint64_t number) {
  Gathering gathering = std::move(gatherings.at(number));
  gatherings.erase(number);
  if (gathering.answers == 0) {
    for (std::size_t server = 0; server < servers.size(); ++server)
      if (servers[server].pinning == number) {
        servers[server].pinning = 0;
        pinned(server, gathering.failed, gathering.problem);
      }
    return;
  }
  if (!open_requests.contains(gathering.answers)) return;  // cancelled
  if (gathering.method == "initialize") return merge_initialized(gathering);
  if (gathering.method == "server/discover") return merge_discovered(gathering);
  if (gathering.member == "tools") {
    const Question question = next_number++;
    Asking& asking = questions[question];
    asking.ticket = gathering.answers;
    // In the order of the configuration, whoever answered first.
    for (std::size_t server = 0; server < servers.size(); ++server)
      for (ToolsPage& page : gathering.pages)
        if (!page.entries.empty() && page.entries.front().server == server) asking.pages.push_back(std::move(page));
    for (ToolsPage& page : asking.pages) page.is_last = true;
    out->push_back(AskCallable{question});
    return;
  }
  std::string result = "{" + quoted(gathering.member) + ":[";
  bool is_first = true;
  for (const auto& [server, text] : gathering.texts) {
    if (!is_first) result += ',';
    is_first = false;
    result += text;
  }
  result += ']';
  if (open_requests.at(gathering.answers).era == Era::Modern)
    result += R"(,"resultType":"complete","ttlMs":0,"cacheScope":"private")";
  answer_result(gathering.answers, result + "}");
}

// --- several servers: whose is it? --------------------------------------------------------------------------------------------------

bool Conversation::Core::route_named(Ticket ticket, Message& message) {
  const std::string_view method = message.method();
  if (method == "tasks/list") return gather_list(ticket, method, "tasks"), true;
  if (method == "prompts/list") return gather_list(ticket, method, "prompts"), true;
  if (method == "resources/list") return gather_list(ticket, method, "resources"), true;
  if (method == "resources/templates/list") return gather_list(ticket, method, "resourceTemplates"), true;
  if (method == "ping") return answer_result(ticket, "{}"), true;
  if (method == "subscriptions/listen")
    return answer_listen(ticket, message.params()["notifications"]["toolsListChanged"].is_true());
  if (method == "logging/setLevel") {
    const std::string params = message.params() ? std::string(text_of(message.params())) : "";
    for (std::size_t server = 0; server < servers.size(); ++server)
      own_request(server, {.kind = OwnRequest::Kind::Broadcast, .server = server}, method, params);
    return answer_result(ticket, "{}"), true;
  }
  json::Node name = message.params()["name"], uri = message.params()["uri"];
  if (method == "completion/complete") {
    name = message.params()["ref"]["name"];
    uri = message.params()["ref"]["uri"];
  } else if (method != "prompts/get") {
    name = {};
  }
  if (name.is_string()) {
    const auto owner = catalogue.owner(name.string());
    if (!owner) return answer_error(ticket, kInvalidParams, "Unknown prompt: " + std::string(name.string())), true;
    Message renamed(splice(message.bytes(), {replacing(name, quoted(owner->tool))}), options.client_bytes_max);
    client_operation(ticket, owner->server, renamed);
    return true;
  }
  if (uri.is_string()) {
    // Whoever listed it; else the first that has any.
    std::size_t owner = servers.size();
    for (std::size_t server = servers.size(); server-- > 0;)
      if (servers[server].has_resources) owner = server;
    for (std::size_t server = servers.size(); server-- > 0;)
      if (servers[server].resources.contains(std::string(uri.string()))) owner = server;
    if (owner == servers.size()) owner = 0;
    if (needs_no_verdict(method)) pass_to_server(ticket, owner, message);
    else client_operation(ticket, owner, message);
    return true;
  }
  return false;
}

}  // namespace baton::mcp
