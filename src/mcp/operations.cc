// SPDX-License-Identifier: Apache-2.0
// Requests of the client other than tools/call that are judged: reading and subscribing to resources, getting prompts, completion, and
// every method that is not known. Each goes the way of a call (calls.cc), under the name of its operation and with its parameters as
// arguments. A contract for `server:request` sees {"method", "params"}.
#include "json/canonical.h"
#include "mcp/core.h"
#include "mcp/methods.h"

namespace baton::mcp {

using contract::ServerOperation;
using Kind = OpenRequest::Kind;

namespace {

// Members of parameters that are no part of what is asked.
bool is_aside(std::string_view name) { return name == "_meta" || name == "requestState" || name == "inputResponses"; }

// The canonical form of parameters; empty: `problem` says why they cannot be judged.
std::string canonical_of(const std::string& text, std::string& problem) {
  // What is put around parameters may be too deep to be parsed, as they were not themselves.
  if (const std::size_t depth = depth_of(text); depth > kJudgedDepthMax) {
    problem = "the parameters are " + too_deep(depth);
    return {};
  }
  const auto document = json::parse(text);
  if (document)
    if (auto out = json::canonical(document->root(), json::Numbers::Exact)) return std::move(*out);
  problem = "the parameters hold a number beyond all bounds";
  return {};
}

}  // namespace

// The parameters as a contract judges them: with several servers, the one that is asked is among them. Empty: `problem` says why not.
std::string Conversation::Core::judged_params(std::size_t server, json::Node params, std::string& problem) const {
  std::string members;
  const auto add = [&](std::string_view name, std::string_view value) {
    members += (members.empty() ? "" : ",") + quoted(name) + ':';
    members += value;
  };
  for (const json::Member member : params.members()) {
    if (is_aside(member.name())) continue;
    if (member.name() == "server") {
      problem = "`server` is not a parameter of this request";
      return {};
    }
    add(member.name(), text_of(member.value));
  }
  if (servers.size() > 1) add("server", quoted(catalogue.server_name(server)));
  return canonical_of("{" + members + "}", problem);
}

void Conversation::Core::client_operation(Ticket ticket, std::size_t server, Message& message) {
  const std::string method(message.method());
  const ServerOperation operation = operation_of_client(method);
  if (const std::string_view known = look_alike(method); !known.empty()) {
    note_dropped("client", method, "it is not `" + std::string(known) + "`");
    return answer_error(ticket, kMethodNotFound, "Method not found; did you mean `" + std::string(known) + "`?");
  }
  if (cannot_reach(server)) return answer_error(ticket, kInternalError, unreachable_text(server));
  Call call;
  call.number = next_number++;
  call.open = ticket;
  call.server = server;
  call.method = method;
  call.client_name = method;
  call.node_name = name_of(operation);
  const json::Node params = message.params();
  for (const std::string_view member : {"name", "uri"})
    if (params[member].is_string()) call.tool = params[member].string();
  std::string problem, sent = "{";
  if (operation == ServerOperation::Request) {
    std::string judged = R"({"method":)" + quoted(method);
    if (params) judged += R"(,"params":)" + std::string(text_of(params));
    if (servers.size() > 1) judged += R"(,"server":)" + quoted(catalogue.server_name(server));
    call.arguments = canonical_of(judged + "}", problem);
  } else {
    call.arguments = judged_params(server, params, problem);
  }
  if (!problem.empty()) return answer_error(ticket, kInvalidParams, problem);
  // What was judged is what is sent: the same canonical text, without the server's name.
  std::string members;
  for (const json::Member member : params.members())
    if (!is_aside(member.name()))
      members += (members.empty() ? "" : ",") + quoted(member.name()) + ':' + std::string(text_of(member.value));
  sent = canonical_of("{" + members + "}", problem);
  if (!problem.empty()) return answer_error(ticket, kInvalidParams, problem);
  sent.pop_back();
  begin_call(std::move(call), message, std::move(sent));
}

// A subscription to resources is one of `server:resources.subscribe`; any other only says that lists have changed.
void Conversation::Core::client_listens(Ticket ticket, Message& message) {
  const json::Node resources = message.params()["notifications"]["resourceSubscriptions"];
  if (!resources || (resources.is_array() && resources.size() == 0)) return listen(ticket, message);
  if (!resources.is_array())
    return answer_error(ticket, kInvalidParams, "`resourceSubscriptions` is not a list of texts");
  for (const json::Node one : resources.elements())
    if (!one.is_string()) return answer_error(ticket, kInvalidParams, "`resourceSubscriptions` is not a list of texts");
  if (cannot_reach(0)) return answer_error(ticket, kInternalError, unreachable_text(0));
  OpenRequest& request = open_requests.at(ticket);
  Call call;
  call.number = next_number++;
  call.open = ticket;
  call.method = message.method();
  call.client_name = call.method;
  call.node_name = name_of(ServerOperation::ResourcesSubscribe);
  call.era = request.era;
  call.revision = request.revision;
  // One is judged as in the legacy era; of several a rule about `$.uri` can be true of none.
  std::string problem;
  call.arguments = canonical_of(resources.size() == 1 ? R"({"uri":)" + std::string(text_of(resources.element(0))) + "}"
                                                      : R"({"uris":)" + std::string(text_of(resources)) + "}",
                                problem);
  if (!problem.empty()) return answer_error(ticket, kInvalidParams, problem);
  call.request = message.bytes();
  request.kind = Kind::Call;
  request.call = call.number;
  const CallNumber number = call.number;
  propose(calls.emplace(number, std::move(call)).first->second);
}

void Conversation::Core::listen(Ticket ticket, Message& message) {
  OpenRequest& request = open_requests.at(ticket);
  request.kind = Kind::Listen;
  request.call = 0;
  request.wants_tools_changed = message.params()["notifications"]["toolsListChanged"].is_true();
  pass_to_server(ticket, 0, message);
}

}  // namespace baton::mcp
