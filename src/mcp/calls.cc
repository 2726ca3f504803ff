// SPDX-License-Identifier: Apache-2.0
// The way of a call: proposed, perhaps waited for, begun, forwarded, perhaps tried again, settled, answered.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/look_alikes.h"
#include "base/text.h"
#include "contract/plan.h"
#include "diagnostics/diagnostic.h"
#include "json/canonical.h"
#include "mcp/core.h"
#include "mcp/methods.h"
#include "mcp/output.h"
#include "secrets/mark.h"
#include "session/settle.h"

namespace baton::mcp {

using Kind = OpenRequest::Kind;
using State = Call::State;

namespace {

constexpr std::string_view kApprovalKey = "baton_approval";

Denial denial_of(const Diagnostic& diagnostic) {
  return {std::string(info(diagnostic.code).name), diagnostic.message, diagnostic.help};
}

Outcome timed_out() {
  Outcome out;
  out.kind = Outcome::Kind::Timeout;
  return out;
}

// Reasons for which a tool is kept from a client altogether: it is not to learn that there is one.
bool hides(std::string_view reason) {
  for (const Code code : {Code::no_contract, Code::policy_denied, Code::label_denied, Code::risk_gate_blocked})
    if (info(code).name == reason) return true;
  return reason == "tool_not_granted";
}

// Reasons that do not speak against trying once more: the call has its place in these already.
bool is_of_counting(std::string_view reason) { return reason == info(Code::session_limit_exceeded).name; }

// What a question shows of a call; an operator sees all of it elsewhere. No question names the command that approves.
constexpr std::size_t kShownArguments = 2'000;  // bytes; a question with more is cut, and its answer approves nothing
constexpr std::size_t kShownValue = 100;        // bytes of each text or number where arguments are cut
constexpr std::size_t kShownName = 200;

std::string shown_name(const Call& call) { return with_look_alikes_marked(call.client_name, Where::Machine); }

// Appends a value as it is shown: secrets and look-alikes are marked, and counted in `hidden`. With `is_cut` each text is cut for itself,
// so that a long one hides no other; stops where no more is shown.
void append_shown(std::string& out, json::Node node, std::string_view name, bool is_cut, std::size_t& hidden);

// All arguments as a question shows them. Nothing: they are too long, or a secret in them is not shown.
std::optional<std::string> shown_whole(const Call& call) {
  if (call.arguments.size() > kShownArguments) return std::nullopt;
  const auto arguments = json::parse(call.arguments);
  if (!arguments) return std::nullopt;
  std::string out;
  std::size_t hidden = 0;
  append_shown(out, arguments->root(), {}, false, hidden);
  if (hidden > 0 || out.size() > kShownArguments) return std::nullopt;
  return out;
}

// Can a question show all that the user would approve?
bool is_shown_whole(const Call& call) { return shown_name(call).size() <= kShownName && shown_whole(call).has_value(); }

std::string cut(std::string_view text) {
  if (text.size() <= kShownValue) return std::string(text);
  std::size_t size = kShownValue;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;  // not inside a character
  return std::string(text.substr(0, size)) + "... (" + std::to_string(text.size() - size) + " more bytes)";
}

void append_shown(std::string& out, json::Node node, std::string_view name, bool is_cut, std::size_t& hidden) {
  const auto is_full = [&] { return is_cut && out.size() > 2 * kShownArguments; };
  if (is_full()) return;
  if (node.is_string()) {
    const std::string marked = secrets::marked(name, node.string(), hidden);
    // Quoted first: a line feed is `\n` and a backslash `\\`, so that one does not look like the other.
    out += with_look_alikes_marked(quoted(is_cut ? cut(marked) : marked), where_read(name, marked));
  } else if (node.is_array() || node.is_object()) {
    out += node.is_array() ? '[' : '{';
    const char* separator = "";
    for (const json::Node one : node.elements()) {
      out += std::exchange(separator, ",");
      append_shown(out, one, name, is_cut, hidden);
      if (is_full()) return;
    }
    for (const json::Member one : node.members()) {
      out += std::exchange(separator, ",") +
             with_look_alikes_marked(quoted(is_cut ? cut(one.name()) : std::string(one.name())), Where::Machine) + ':';
      append_shown(out, one.value, one.name(), is_cut, hidden);
      if (is_full()) return;
    }
    out += node.is_array() ? ']' : '}';
  } else {
    out += is_cut ? cut(text_of(node)) : text_of(node);
  }
}

// `hidden` is how many secrets are not shown.
std::string shown_arguments(const Call& call, std::size_t& hidden) {
  if (is_shown_whole(call)) return *shown_whole(call);
  std::string out;
  if (const auto arguments = json::parse(call.arguments)) append_shown(out, arguments->root(), {}, true, hidden);
  return printable(out, kShownArguments);
}

// {"message":...,"requestedSchema":...}: a form without fields, which every client can show. Whoever decides is told what about.
std::string elicitation_params(const Call& call, bool user_is_operator) {
  const std::string& id = call.verdict.approval_id;
  std::string text = "The call of `" + printable(shown_name(call), kShownName) + "`";
  std::size_t hidden = 0;
  if (user_is_operator) text += " with " + shown_arguments(call, hidden);
  if (user_is_operator && is_shown_whole(call)) {
    text += " waits for your approval, " + id + ". Accept to approve it, decline to refuse it.";
  } else {
    text += " waits for the approval " + id + ". ";
    if (user_is_operator && hidden > 0)
      text += std::to_string(hidden) + (hidden == 1 ? " part of its arguments is" : " parts of its arguments are") +
              " hidden, so your answer does not approve it. ";
    else if (user_is_operator)
      text += "Its arguments are too long to be shown whole here, so your answer does not approve it. ";
    if (!call.verdict.can_be_approved)
      text +=
          "It cannot be approved at all: it has parts that cannot be shown. Ask for a call without the secret in it. ";
    text += "An operator decides it. Accept to go on waiting, decline to give it up.";
  }
  return R"({"message":)" + quoted(text) + R"(,"requestedSchema":{"type":"object","properties":{}}})";
}

}  // namespace

Denial unjudged(std::string_view name, const Outcome& outcome, std::size_t bytes_max) {
  if (outcome.bytes != 0)
    return denial_of(
        report(Code::output_too_large, {},
               {{"tool", name}, {"bytes", std::to_string(outcome.bytes)}, {"limit", std::to_string(bytes_max)}}));
  return denial_of(report(Code::output_unjudged, {}, {{"tool", name}, {"problem", outcome.unjudged}}));
}

Denial arguments_too_large(std::string_view name, std::size_t bytes, std::size_t bytes_max) {
  const std::string problem = "the arguments of `" + std::string(name) + "` have " + std::to_string(bytes) +
                              " bytes, and at most " + std::to_string(bytes_max) + " can be judged";
  return denial_of(report(Code::HTTP_BODY_TOO_LARGE, {}, {{"problem", problem}}));
}

namespace {

// How long a task may live is all that a client says of one.
bool is_task_request(json::Node task) {
  if (!task.is_object()) return false;
  for (const json::Member one : task.members())
    if (one.name() != "ttl" || !is_of_task(one)) return false;
  return true;
}

// Can the client be sent away while a person is asked, and come back?
bool comes_back(const Call& call) {
  return call.era == Era::Modern && call.client_can.forms &&
         (call.is_tool() || call.method == "prompts/get" || call.method == "resources/read");
}

// Only these may be answered so. With anything more it is a result like any other, whatever else it says.
bool is_input_required(const Call& call, json::Node result) {
  constexpr auto kKnown = std::to_array<std::string_view>({"resultType", "inputRequests", "requestState"});
  return result["resultType"].is_text("input_required") && !has_more_than(result, kKnown) &&
         (call.is_tool() || call.method == "prompts/get" || call.method == "resources/read");
}

}  // namespace

// --- taken in -----------------------------------------------------------------------------------------------------------------------

void Conversation::Core::client_call(Ticket ticket, Message& message) {
  OpenRequest& request = open_requests.at(ticket);
  const json::Node params = message.params(), name = params["name"], given = params["arguments"];
  if (!name.is_string()) return answer_error(ticket, kInvalidParams, "`name` is not a string");
  if (given && !given.is_object()) return answer_error(ticket, kInvalidParams, "`arguments` is not an object");
  if (is_own_tool(name.string())) return own_call(ticket, name.string(), message);
  const auto owner = catalogue.owner(name.string());
  // Under such a name the contract of an operation would judge it.
  if (!owner || is_named_as_operation(owner->server, owner->tool))
    return answer(ticket, unknown_tool(request.id, name.string()), kInvalidParams);
  Call call;
  call.number = next_number++;
  call.open = ticket;
  call.server = owner->server;
  call.tool = owner->tool;
  call.client_name = name.string();
  call.node_name = name_for_node(owner->server, owner->tool);
  explain_name(owner->server, owner->tool);
  call.arguments = "{}";
  if (given) {
    auto canonical = json::canonical(given, json::Numbers::Exact);
    if (!canonical) return answer_error(ticket, kInvalidParams, "`arguments` holds a number beyond all bounds");
    call.arguments = std::move(*canonical);
    if (const std::size_t depth = depth_of(call.arguments); depth > kJudgedDepthMax)
      return answer_error(ticket, kInvalidParams, "`arguments` is " + too_deep(depth));
  }
  if (given_headers) call.given_headers = std::exchange(given_headers, std::nullopt);
  call.may_be_task = params["task"].is_object();
  std::string sent_params = R"({"name":)" + quoted(call.tool) + R"(,"arguments":)" + call.arguments;
  for (const json::Member member : params.members()) {
    const std::string_view which = member.name();
    if (which == "name" || which == "arguments" || which == "_meta" || which == "requestState" ||
        which == "inputResponses")
      continue;
    // Nobody judges any other member.
    if (governed.enforces && (which != "task" || !is_task_request(member.value))) continue;
    sent_params += ',' + quoted(which) + ':';
    sent_params += text_of(member.value);
  }
  begin_call(std::move(call), message, std::move(sent_params));
}

namespace {

void add_member(std::string& object, std::string_view name, std::string_view value) {
  if (object.back() != '{') object += ',';
  object += quoted(name) + ':';
  object += value;
}

}  // namespace

// `params`: what is sent of them, without `_meta`, what Baton put into the conversation itself, and the closing brace.
void Conversation::Core::begin_call(Call call, Message& message, std::string params) {
  const Ticket ticket = call.open;
  OpenRequest& request = open_requests.at(ticket);
  const json::Node given = message.params();
  call.era = request.era;
  call.revision = request.revision;
  call.client_can = request.era == Era::Modern ? abilities_in(message.meta()[kMetaClientCapabilities]) : client_can;
  request.kind = Kind::Call;
  request.call = call.number;
  request.server = call.server;
  const CallNumber number = call.number;
  if (!request.token.empty()) {
    request.sent_token = unused_token(call.server, request.token);
    by_sent_token[call.server][request.sent_token] = ticket;
    call.token = request.token;
    call.sent_token = request.sent_token;
  }
  if (const json::Node meta = given["_meta"]) {
    std::string text(text_of(meta));
    if (request.sent_token != request.token) {
      Splice renamed = replacing(message.progress_token_node(), request.sent_token);
      renamed.at -= meta.offset();
      text = splice(text, {std::move(renamed)});
    }
    add_member(params, "_meta", text);
  }
  call.params = std::move(params);
  Call& kept = calls.emplace(number, std::move(call)).first->second;
  if (given["requestState"]) {
    if (kept.is_tool() && !says_so_in_headers(kept)) return;
    if (come_back(kept, message, sha256_hex(kept.arguments))) return;
    answer_error(kept.open, kInvalidParams, "`requestState` is not one that was given for this call");
    return end_call(number);
  }
  // Answers without a state answer nothing that was asked and judged here: they are left out, unless nothing of the kind would be judged.
  if (const json::Node unasked = given["inputResponses"]; unasked.is_object() && governed.unasked_answers_pass) {
    std::string others = "{";
    for (const json::Member one : unasked.members())
      if (one.name() != kApprovalKey) add_member(others, one.name(), text_of(one.value));
    add_member(kept.params, "inputResponses", others + "}");
  }
  kept.params += '}';
  const ServerState& server = servers[kept.server];
  if (!kept.is_tool() || server.seen == server.generation || !server.has_tools) return propose(kept);
  ask_pins(kept.server);  // goes on in pinned(), if it has not already
}

void Conversation::Core::own_call(Ticket ticket, std::string_view name, Message& message) {
  OpenRequest& request = open_requests.at(ticket);
  request.kind = Kind::Own;
  const Question question = next_number++;
  if (name == kStatusTool) {
    node_questions.emplace(question, ticket);
    out->push_back(AskStatus{question});
    return;
  }
  const json::Node document = message.params()["arguments"]["document"];
  if (!document.is_string() && !document.is_object())
    return answer_result(
        ticket, text_result(request.era, "`document` is missing: give the handoff as an object or as text", true));
  node_questions.emplace(question, ticket);
  out->push_back(HandOff{question, std::string(document.is_string() ? document.string() : text_of(document))});
}

void Conversation::Core::handed_off(Question question, const NodeAnswer& told) {
  const auto found = node_questions.find(question);
  if (found == node_questions.end()) return;
  const Ticket ticket = found->second;
  node_questions.erase(found);
  if (const auto request = open_requests.find(ticket); request != open_requests.end())
    answer_result(ticket, text_result(request->second.era, told.text, !told.ok));
  look_soon();
}

Denial Conversation::Core::definition_changed(std::size_t server, std::string_view tool, std::string_view what) const {
  Denial out = denial_of(
      report(Code::tool_definition_changed, {}, {{"tool", catalogue.client_name(server, tool)}, {"what", what}}));
  json::Value changed = json::Value::array();
  for (const std::string& member : catalogue.changed(server, tool)) changed.push(member);
  out.details.set("changed", std::move(changed));
  return out;
}

// Why a tool's definition speaks against calling it; in shadow a lock and suspicious texts are only noted.
std::optional<Denial> Conversation::Core::against_definition(std::size_t server, std::string_view tool) const {
  const auto against = catalogue.against(server, tool);
  if (!against) return std::nullopt;
  using Why = Catalogue::Against::Why;
  if (against->why == Why::Changed) return definition_changed(server, tool, against->what);
  if (!governed.enforces) return std::nullopt;
  const std::string name = catalogue.client_name(server, tool);
  Denial out = against->why == Why::NotApproved
                   ? denial_of(report(Code::tool_not_approved, {}, {{"tool", name}, {"what", against->what}}))
                   : denial_of(report(Code::tool_text_suspicious, {}, {{"tool", name}, {"what", against->what}}));
  json::Value changed = json::Value::array();
  for (const std::string& member : against->members) changed.push(member);
  if (!against->members.empty()) out.details.set("changed", std::move(changed));
  return out;
}

// The definitions of a server are known, or could not be read.
void Conversation::Core::pinned(std::size_t server, bool failed, std::string_view problem) {
  std::vector<CallNumber> waiting;
  for (const auto& [number, call] : calls)
    if (call.server == server && call.state == State::Pinning) waiting.push_back(number);
  for (const CallNumber number : waiting) {
    const auto found = calls.find(number);
    if (found == calls.end()) continue;
    Call& call = found->second;
    if (!failed) propose(call);
    else {
      answer_error(call.open, kInternalError,
                   cannot_reach(server) ? unreachable_text(server)
                                        : "nothing was called: the server `" + catalogue.server_name(server) +
                                              "` was asked for the definitions of its tools first, and " +
                                              std::string(problem) + "; try again in a moment");
      end_call(number);
    }
  }
}

void Conversation::Core::propose(Call& call) {
  const auto is_parked = [](const auto& one) {
    return (one.second.state == State::Tasked && !one.second.has_left_node) || one.second.state == State::Suspended;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(calls, is_parked)) >= options.parked_max) {
    answer_error(call.open, kInternalError,
                 "nothing was called: too many calls go on as tasks, or wait for this client; end some of them first");
    return end_call(call.number);
  }
  if (call.is_tool()) {
    if (const auto against = against_definition(call.server, call.tool)) return deny(call, *against);
    if (catalogue.is_full() && !catalogue.is_pinned(call.server, call.tool))
      return deny(call, definition_changed(call.server, call.tool, "there are too many tools to keep track of"));
    if (!says_so_in_headers(call)) return;
  }
  call.state = State::Proposed;
  call.call_id = options.id_prefix + "-call-" + std::to_string(call.number);
  out->push_back(Propose{call.number, proposal_body(call.call_id, call.node_name, call.arguments)});
}

// What headers say about the arguments, in either direction, and names of arguments. The definition says which there are: asked when it is
// known. False: the client was told, and the call is over.
bool Conversation::Core::says_so_in_headers(Call& call) {
  const auto arguments = json::parse(call.arguments);
  const json::Node root = arguments ? arguments->root() : json::Node();
  if (const std::string respelled = catalogue.respelled_argument(call.server, call.tool, root);
      !respelled.empty() && governed.enforces) {
    answer_error(call.open, kInvalidParams,
                 "the argument `" + printable(respelled, 60) + "` differs from one of the tool's only in case");
    end_call(call.number);
    return false;
  }
  call.headers = catalogue.headers(call.server, call.tool, root);
  if (!call.given_headers) return true;
  const std::string problem = catalogue.header_mismatch(call.server, call.tool, root, *call.given_headers);
  if (problem.empty()) return true;
  answer_error(call.open, kHeaderMismatch, problem);
  end_call(call.number);
  return false;
}

// --- the node's word ----------------------------------------------------------------------------------------------------------------

void Conversation::Core::verdict(CallNumber number, Verdict verdict) {
  if (const auto ask = asks.find(number); ask != asks.end()) return ask_verdict(ask->second, std::move(verdict));
  const auto found = calls.find(number);
  if (found == calls.end() || found->second.state != State::Proposed) return;
  Call& call = found->second;
  if (!verdict.call_id.empty()) call.call_id = verdict.call_id;
  const bool is_wanted = open_requests.contains(call.open);
  if (call.verdict.total_ms > 0 && verdict.total_ms == 0) {  // told with the first word on it
    verdict.total_ms = call.verdict.total_ms;
    verdict.retries = std::move(call.verdict.retries);
  }
  call.verdict = std::move(verdict);
  switch (call.verdict.kind) {
    case Verdict::Kind::Begun: {
      // Nothing has happened, and nothing will.
      const auto not_sent = [&](std::string_view why) {
        Outcome outcome;
        outcome.kind = Outcome::Kind::Error;
        outcome.error_code = outcome.error_class = why;
        settle(call, outcome, false);
      };
      if (!is_wanted) {
        not_sent("cancelled");
        return end_call(number);
      }
      if (const auto against = call.is_tool() ? against_definition(call.server, call.tool) : std::nullopt) {
        not_sent(against->rule);
        return deny(call, *against);
      }
      if (cannot_reach(call.server)) {
        not_sent("network");
        answer_error(call.open, kInternalError, unreachable_text(call.server));
        return end_call(number);
      }
      if (!call.request.empty()) {  // a subscription lasts longer than any call: it counts as done
        Outcome outcome;
        outcome.kind = Outcome::Kind::Ok;
        outcome.output.json = "{}";
        settle(call, outcome, false);
        Message request(std::move(call.request), options.client_bytes_max);
        const Ticket open = call.open;
        end_call(number);
        return listen(open, request);
      }
      call.began = now;
      if (call.verdict.total_ms > 0) call.total = arm(number, call.verdict.total_ms);
      return forward(call);
    }
    case Verdict::Kind::Allowed:
      if (!is_wanted) {
        out->push_back(Cancel{number, call.call_id, {}});
        return end_call(number);
      }
      out->push_back(Start{number, start_body(call.call_id)});
      return;
    case Verdict::Kind::Waits:
      if (!is_wanted) {
        out->push_back(Cancel{number, call.call_id, call.verdict.approval_id});
        return end_call(number);
      }
      return wait_for_person(call);
    case Verdict::Kind::Refused:
      if (const std::size_t most = call.verdict.bytes_max; most != 0)
        call.verdict.denial = arguments_too_large(call.client_name, call.arguments.size(), most);
      if (is_wanted && call.is_tool() && !catalogue.was_shown(call.client_name) &&
          (has_listed || hides(call.verdict.denial.rule))) {
        ++counts.denied;
        const std::string& id = open_requests.at(call.open).id;
        answer(call.open, unknown_tool(id, call.client_name), kInvalidParams);
        end_call(number);
        return look_soon();
      }
      deny(call, call.verdict.denial);
      return look_soon();
    case Verdict::Kind::Unreachable: return deny(call, call.verdict.denial);
  }
}

void Conversation::Core::deny(Call& call, const Denial& denial) {
  ++counts.denied;
  const CallNumber number = call.number;
  if (open_requests.contains(call.open)) {
    if (call.is_tool()) {
      answer_result(call.open, denied_result(call.era, denial));
    } else {
      const bool is_unknown =
          call.node_name == name_of(contract::ServerOperation::Request) && denial.rule == info(Code::no_contract).name;
      answer_error(call.open, is_unknown ? kMethodNotFound : kDenied, text_of(denial), denied_data(denial));
    }
  }
  end_call(number);
}

void Conversation::Core::end_call(CallNumber number) {
  const auto found = calls.find(number);
  if (found == calls.end()) return;
  Call& call = found->second;
  disarm(call.total);
  disarm(call.step);
  if (!call.elicitation.empty()) elicitations.erase(call.elicitation);
  if (call.sent != 0) forget_sent(call.sent);
  if (call.state == State::Suspended) std::erase(suspended, number);
  if (auto& tokens = task_tokens[call.server]; !call.sent_token.empty())
    if (const auto by = tokens.find(call.sent_token); by != tokens.end() && by->second == number) tokens.erase(by);
  give_up_asks(number);
  calls.erase(number);
}

// --- asking a person ----------------------------------------------------------------------------------------------------------------

// The client's user decides only what the question showed whole.
bool Conversation::Core::user_decides(const Call& call) const {
  return governed.user_is_operator && is_shown_whole(call);
}

void Conversation::Core::wait_for_person(Call& call) {
  call.state = State::Waiting;
  if (comes_back(call)) return ask_round(call);
  const OpenRequest& request = open_requests.at(call.open);
  out->push_back(AwaitApproval{call.number, call.verdict.approval_id});
  if (call.client_can.forms && call.era == Era::Legacy) {
    call.elicitation = id_for_client();
    elicitations.emplace(call.elicitation, call.number);
    out->push_back(ToClient{
        request.stream,
        mcp::request(call.elicitation, "elicitation/create", elicitation_params(call, governed.user_is_operator)),
        false, 0});
  }
  call.step = arm(call.number, options.progress_every);
}

// The client is told to ask its user and to come back. Nothing is remembered here: the state says it all.
void Conversation::Core::ask_round(Call& call) {
  SealedState state;
  state.session = governed.id;
  state.tool = call.node_name;
  state.arguments_sha256 = sha256_hex(call.arguments);
  state.call_id = call.call_id;
  state.approval_id = call.verdict.approval_id;
  state.upstream = call.verdict.approval_digest;  // needed to decide, where the user does
  state.has_upstream = true;
  state.expires_ms = now + options.state_lifetime;
  state.number = next_number++;
  std::string result = R"({"resultType":"input_required","inputRequests":{)" + quoted(kApprovalKey) +
                       R"(:{"method":"elicitation/create","params":)" +
                       elicitation_params(call, governed.user_is_operator) + R"(}},"requestState":)" +
                       quoted(seal(options.seal_key, state)) + "}";
  const CallNumber number = call.number;
  answer_result(call.open, result);
  end_call(number);
}

bool Conversation::Core::come_back(Call& call, Message& message, std::string_view digest) {
  const json::Node params = message.params(), text = params["requestState"];
  const auto state = text.is_string() ? unseal(options.seal_key, text.string()) : std::nullopt;
  if (!state || state->session != governed.id || state->tool != call.node_name || state->arguments_sha256 != digest)
    return false;
  if (!state->approval_id.empty()) {
    call.call_id = state->call_id;
    call.verdict.call_id = state->call_id;
    call.verdict.approval_id = state->approval_id;
    call.verdict.approval_digest = state->upstream;
    call.params += '}';
    if (state->expires_ms < now) {
      deny(call, denial_of(report(Code::checkpoint_timeout, {})));
      return true;
    }
    const json::Node action = params["inputResponses"][kApprovalKey]["action"];
    if (action.is_text("decline")) {
      if (user_decides(call)) out->push_back(Decide{state->approval_id, state->upstream, false});
      out->push_back(Cancel{call.number, call.call_id, state->approval_id});
      deny(call,
           denial_of(report(Code::checkpoint_denied, {}, {{"suggestion", "the user of this client gave it up"}})));
      return true;
    }
    if (action.is_text("accept") && user_decides(call))
      out->push_back(Decide{state->approval_id, state->upstream, true});
    call.state = State::Waiting;
    out->push_back(AwaitApproval{call.number, state->approval_id});
    call.step = arm(call.number, options.round_after);
    return true;
  }
  // The server asked: the call that it asked about goes on, if it is still that one's turn.
  const auto found = std::ranges::find_if(calls, [&](const auto& one) {
    return one.second.state == State::Suspended && one.second.round == state->number &&
           one.second.call_id == state->call_id;
  });
  if (found == calls.end() || state->expires_ms < now) return false;
  Call& before = found->second;
  if (state->has_upstream) add_member(call.params, "requestState", quoted(state->upstream));
  // The server gets answers to what it asked, and nothing else.
  std::string responses;
  for (const auto& [other, ask] : asks)
    if (const json::Node response = params["inputResponses"][ask.key]; ask.owner == before.number && response)
      responses += (responses.empty() ? "" : ",") + quoted(ask.key) + ":" + std::string(text_of(response));
  if (!responses.empty()) add_member(call.params, "inputResponses", "{" + responses + "}");
  before.params = std::move(call.params) + "}";
  before.open = call.open;
  before.token = call.token;
  before.sent_token = call.sent_token;
  before.headers = std::move(call.headers);
  before.revision = call.revision;
  open_requests.at(call.open).call = before.number;
  calls.erase(call.number);
  std::erase(suspended, before.number);
  if (cannot_reach(before.server)) {
    settle(before, {}, false);
    answer_error(before.open, kInternalError, unreachable_text(before.server));
    end_call(before.number);
    return true;
  }
  before.state = State::Answering;
  if (take_input(before, params["inputResponses"])) input_settled(before.number);
  return true;
}

void Conversation::Core::decision(CallNumber number, Decision decision) {
  if (const auto ask = asks.find(number); ask != asks.end()) return ask_decided(ask->second, decision);
  const auto found = calls.find(number);
  if (found == calls.end() || found->second.state != State::Waiting) return;
  Call& call = found->second;
  disarm(call.step);
  if (!call.elicitation.empty()) {
    // The user need not look at it any more.
    if (elicitations.erase(call.elicitation) != 0)
      out->push_back(
          ToClient{open_requests.at(call.open).stream, cancelled(call.elicitation, "it was decided"), false, 0});
    call.elicitation.clear();
  }
  switch (decision.kind) {
    case Decision::Kind::Approved:
      call.state = State::Proposed;
      out->push_back(Start{number, start_body(call.call_id)});
      return;
    case Decision::Kind::Denied:
      return deny(call,
                  denial_of(report(Code::checkpoint_denied, {},
                                   {{"suggestion", decision.note.empty() ? "go on without it" : decision.note}})));
    case Decision::Kind::Lapsed: return deny(call, denial_of(report(Code::checkpoint_timeout, {})));
    case Decision::Kind::Spent:
      return deny(call, denial_of(report(Code::checkpoint_closed, {}, {{"state", "used already: the call began"}})));
    case Decision::Kind::Unreachable:
      return deny(call,
                  denial_of(report(Code::node_unreachable, {}, {{"problem", "the approval could not be looked at"}})));
    case Decision::Kind::Open:
      if (comes_back(call)) return ask_round(call);
      out->push_back(AwaitApproval{number, call.verdict.approval_id});
      call.step = arm(number, options.progress_every);
  }
}

void Conversation::Core::elicitation_answered(CallNumber number, Message& message) {
  const auto found = calls.find(number);
  if (found == calls.end() || found->second.state != State::Waiting) return;
  Call& call = found->second;
  call.elicitation.clear();
  const json::Node action = message.result()["action"];
  if (action.is_text("accept") && user_decides(call))
    out->push_back(Decide{call.verdict.approval_id, call.verdict.approval_digest, true});
  if (!action.is_text("decline")) return;
  if (user_decides(call)) out->push_back(Decide{call.verdict.approval_id, call.verdict.approval_digest, false});
  out->push_back(LeaveApproval{number});
  out->push_back(Cancel{number, call.call_id, call.verdict.approval_id});
  deny(call, denial_of(report(Code::checkpoint_denied, {}, {{"suggestion", "the user of this client gave it up"}})));
}

// --- under way ----------------------------------------------------------------------------------------------------------------------

void Conversation::Core::forward(Call& call, bool is_retry) {
  call.state = State::Forwarded;
  if (call.attempts == 0 || is_retry) ++call.attempts;  // a round of questions is no attempt of its own
  ++counts.forwarded;
  const OpenRequest& request = open_requests.at(call.open);
  // A server must not see an id twice: what is tried again has one of its own.
  const std::string id = is_retry ? id_for_server(call.server) : unused_id(call.server, request.id);
  std::string bytes =
      R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":)" + quoted(call.method) + R"(,"params":)" + call.params + "}";
  call.sent = send({Sent::Whose::Call, call.server, id, call.number}, std::move(bytes), request.stream, call.method,
                   call.tool, call.revision, 0, call.headers);
}

void Conversation::Core::call_answered(Call& call, Message& message) {
  call.sent = 0;
  if (call.state != State::Forwarded) return;
  const auto request = open_requests.find(call.open);
  const bool is_wanted = request != open_requests.end();
  if (message.kind() == Message::Kind::Result) {
    if (call.is_tool() && is_task(call, message)) return begin_task(call, message);
    if (call.era == Era::Modern && is_wanted && is_input_required(call, message.result())) {
      if (!asks_for_input(call, message)) suspend(call, message);
      return;
    }
    if (is_wanted && has_input_requests(message.result())) {
      Outcome refused;
      refused.unjudged = "it asks the client for input where that is not possible, or says more than that";
      is_refused(call, refused);
      return;
    }
  }
  const std::size_t most = options.output_bytes_max;
  if (is_wanted && error_code_of(message) == kUrlElicitationRequired) {
    Outcome refused;
    refused.unjudged = "it asks the user to open a link; a server asks for that by `elicitation/create`";
    is_refused(call, refused);
    return;
  }
  Outcome outcome = message.kind() == Message::Kind::Error ? outcome_of_error(message.error(), most)
                    : call.is_tool()                       ? outcome_of_result(message.result(), most)
                                                           : outcome_of_other(call.method, message.result(), most);
  if (!is_wanted) {  // late: it is only recorded
    settle(call, outcome, false);
    return end_call(call.number);
  }
  const int code = error_code_of(message);
  std::string held = request->second.id == message.id_text()
                         ? message.take_bytes()
                         : splice(message.bytes(), {replacing(message.id(), request->second.id)});
  if (outcome.kind == Outcome::Kind::Error) return call_failed(call, std::move(outcome), {}, std::move(held), code);
  if (!governed.enforces && !outcome.unjudged.empty()) {  // in shadow it is said, and handed on
    const Denial why = unjudged(call.client_name, outcome, options.output_bytes_max);
    out->push_back(Note{"in shadow: " + why.why});
    settle(call, outcome, false);
    answer(call.open, std::move(held), code);
    return end_call(call.number);
  }
  if (is_refused(call, outcome)) return;
  call.held = std::move(held);
  call.held_code = code;
  settle(call, outcome, true);
}

bool Conversation::Core::is_refused(Call& call, const Outcome& outcome) {
  if (outcome.unjudged.empty()) return false;
  settle(call, outcome, false);
  deny(call, unjudged(call.client_name, outcome, options.output_bytes_max));
  return true;
}

// An attempt that gave an error: is it tried again?
void Conversation::Core::call_failed(Call& call, Outcome outcome, std::optional<json::Decimal> retry_after,
                                     std::string held, int code) {
  call.sent = 0;
  const bool is_wanted = open_requests.contains(call.open);
  session::Attempt attempt;
  attempt.kind = session::Receipt::Error;
  attempt.error = {outcome.error_code, outcome.error_class, outcome.error_message, outcome.http_status};
  attempt.retry_after = std::move(retry_after);
  contract::Tool tool;
  tool.total_ms = call.verdict.total_ms > 0 ? call.verdict.total_ms : INT64_MAX / 2;
  tool.retries = call.verdict.retries;
  const session::Retry again = session::retry(tool, attempt, call.attempts, json::Decimal(now - call.began));
  // A connection that broke says nothing about what happened behind it.
  if (!outcome.http_status && (outcome.error_class == "network" || outcome.error_class == "timeout"))
    outcome.kind = Outcome::Kind::Unknown;
  call.held = std::move(held);
  call.held_code = code;
  if (again.sleep && is_wanted) {
    call.state = State::Sleeping;
    call.last = std::move(outcome);
    call.step = arm(call.number, (*again.sleep * json::Decimal(1000)).rounded_up(tool.total_ms));
    return;
  }
  if (again.timed_out && is_wanted) return out_of_time(call);  // what is recorded is what the client is told
  settle(call, again.timed_out ? timed_out() : outcome, is_wanted);
  if (!is_wanted) end_call(call.number);
}

// The session may have been stopped while it slept.
void Conversation::Core::call_callable(Call& call, const Callable& callable) {
  if (call.state != State::Rechecked) return;
  bool may = callable.known && (callable.refused.empty() || is_of_counting(callable.refused));
  for (const auto& [tool, reason] : callable.removed)
    if (tool == contract::name_in_pack(call.node_name) && !is_of_counting(reason) && !callable.in_flight.contains(tool))
      may = false;
  if (may && !cannot_reach(call.server)) return forward(call, true);
  settle(call, call.last, true);
}

void Conversation::Core::settle(Call& call, const Outcome& outcome, bool awaited) {
  if (awaited) {
    call.state = State::Settling;
    disarm(call.total);
    disarm(call.step);
  }
  std::string body = settle_body(call.call_id, outcome);
  if (awaited) call.settled_bytes = body.size();
  else call.has_left_node = true;
  out->push_back(Settle{call.number, std::move(body), awaited});
  if (!awaited) look_soon();
}

namespace {

Denial too_late(const Call& call) {
  return denial_of(report(Code::call_timed_out, {},
                          {{"tool", call.client_name}, {"total_ms", std::to_string(call.verdict.total_ms)}}));
}

// What was too much: the message of the server, or what its readings make of it.
std::size_t bytes_over(std::size_t limit, const Call& call) {
  return call.held.size() > limit ? call.held.size() : call.settled_bytes;
}

}  // namespace

void Conversation::Core::settled(CallNumber number, Settled settled) {
  if (const auto ask = asks.find(number); ask != asks.end()) return ask_settled(ask->second, settled);
  const auto found = calls.find(number);
  if (found == calls.end() || found->second.state != State::Settling) return;
  Call& call = found->second;
  look_soon();
  // What came after the time of the call: to the node it is over, and the client reads why.
  const bool is_over = !settled.recorded && settled.denial.rule == info(Code::call_not_open).name;
  if (call.is_late && is_over) settled.denial = too_late(call);
  else if (!settled.recorded) settle(call, {}, false);  // nobody knows, and that at least is to be recorded
  if (!settled.recorded && settled.bytes_max != 0)
    settled.denial = denial_of(report(Code::output_too_large, {},
                                      {{"tool", call.client_name},
                                       {"bytes", std::to_string(bytes_over(settled.bytes_max, call))},
                                       {"limit", std::to_string(settled.bytes_max)}}));
  if (!call.after_settling.empty()) return task_settled(call, settled);
  if (governed.enforces && (!settled.recorded || settled.output_blocked)) return deny(call, settled.denial);
  answer(call.open, std::move(call.held), call.held_code);
  end_call(number);
}

void Conversation::Core::out_of_time(Call& call) {
  settle(call, timed_out(), false);
  deny(call, too_late(call));
}

void Conversation::Core::call_rang(Call& call, Timer timer) {
  if (timer == call.total) {
    call.total = 0;
    if (call.state == State::Forwarded) withdraw(call.sent, "the time that its contract gives it is over");
    if (call.state == State::Settling || call.state == State::Proposed) return;
    call.is_late = true;
    if (call.state == State::Tasked)
      return settle(call, timed_out(), false);  // the node decides whether a result that still comes settles it
    return out_of_time(call);
  }
  if (timer != call.step) return;
  call.step = 0;
  switch (call.state) {
    case State::Waiting: {
      if (comes_back(call)) {
        out->push_back(LeaveApproval{call.number});
        return ask_round(call);
      }
      const OpenRequest& request = open_requests.at(call.open);
      if (!request.token.empty())
        out->push_back(ToClient{
            request.stream,
            waiting_progress(request.token, ++call.progress, "waiting for the approval " + call.verdict.approval_id),
            false, 0});
      call.step = arm(call.number, options.progress_every);
      return;
    }
    case State::Sleeping: {
      call.state = State::Rechecked;
      const Question question = next_number++;
      Asking& asking = questions[question];
      asking.why = Asking::Why::Retry;
      asking.call = call.number;
      out->push_back(AskCallable{question});
      return;
    }
    case State::Forwarded:  // cancelled, and no answer came
      settle(call, {}, false);
      return end_call(call.number);
    default: return;
  }
}

void Conversation::Core::call_cancelled(Call& call, std::string_view reason, bool) {
  const CallNumber number = call.number;
  const Ticket ticket = call.open;
  call.open = 0;
  switch (call.state) {
    case State::Forwarded:
      withdraw(call.sent, reason);
      call.step = arm(number, options.cancel_grace);
      break;
    case State::Waiting:
      if (!call.elicitation.empty() && elicitations.contains(call.elicitation))
        out->push_back(ToClient{open_requests.at(ticket).stream, cancelled(call.elicitation, reason), false, 0});
      out->push_back(LeaveApproval{number});
      out->push_back(Cancel{number, call.call_id, call.verdict.approval_id});
      end_call(number);
      break;
    case State::Sleeping:
    case State::Rechecked:
      settle(call, call.last, false);
      end_call(number);
      break;
    case State::Asking:
    case State::Answering:
      settle(call, {}, false);
      end_call(number);
      break;
    case State::Pinning: end_call(number); break;
    default: break;  // Proposed, Settling: the node's word is still to come
  }
  drop(ticket);
}

// --- the server asks the client -----------------------------------------------------------------------------------------------------

void Conversation::Core::suspend(Call& call, Message& message) {
  const OpenRequest& request = open_requests.at(call.open);
  const json::Node upstream = message.result()["requestState"];
  call.state = State::Suspended;
  call.round = next_number++;
  SealedState state;
  state.session = governed.id;
  state.tool = call.node_name;
  state.arguments_sha256 = sha256_hex(call.arguments);
  state.call_id = call.call_id;
  state.has_upstream = upstream.is_string();
  if (state.has_upstream) state.upstream = upstream.string();
  state.expires_ms = now + options.state_lifetime;
  state.number = call.round;
  std::vector<Splice> splices = {setting(message.result(), "requestState", quoted(seal(options.seal_key, state)))};
  if (auto meta = removing_meta(message.result())) splices.push_back(std::move(*meta));
  if (request.id != message.id_text()) splices.push_back(replacing(message.id(), request.id));
  std::string bytes = splice(message.bytes(), std::move(splices));
  const Ticket ticket = call.open;
  call.open = 0;
  call.params.clear();
  suspended.push_back(call.number);
  answer(ticket, std::move(bytes));
  // Whoever did not come back for longest is given up.
  if (suspended.size() <= options.suspended_max) return;
  const CallNumber oldest = suspended.front();
  suspended.pop_front();
  if (const auto found = calls.find(oldest); found != calls.end()) {
    settle(found->second, {}, false);
    end_call(oldest);
  }
}

}  // namespace baton::mcp
