// SPDX-License-Identifier: Apache-2.0
// Calls that go on as tasks: the server answers with a handle, and the result is fetched later (tasks/result in the legacy era,
// tasks/get or a notice in the modern one). The call is under way until then, and its output is judged wherever it comes.
//
// A task that is not known here has no judged output: what comes for it is not handed on.
#include <algorithm>
#include <array>

#include "diagnostics/diagnostic.h"
#include "mcp/core.h"
#include "mcp/methods.h"
#include "mcp/output.h"

namespace baton::mcp {

using Kind = OpenRequest::Kind;
using State = Call::State;

namespace {

constexpr std::string_view kRelatedTask = "io.modelcontextprotocol/related-task";
constexpr std::size_t kWaitingMax = 16;  // messages with one result, while it is being judged

Denial unjudged(std::string_view tool, std::string_view problem) {
  const Diagnostic why = report(Code::output_unjudged, {}, {{"tool", tool}, {"problem", problem}});
  return {std::string(info(why.code).name), why.message, why.help};
}

constexpr auto kInResult = std::to_array<std::string_view>({"task", "resultType"});

// With anything more than a handle it is a result like any other, whatever else it says.
json::Node task_id_in(json::Node result) {
  if (const json::Node task = result["task"]; task["taskId"].is_string())
    return has_more_than(result, kInResult) || !is_only_task(task) ? json::Node() : task["taskId"];
  if (!result["taskId"].is_string() || !result["resultType"].is_text("task")) return {};
  return is_only_task(result) ? result["taskId"] : json::Node();
}

// Null is as good as nothing.
json::Node present(json::Node node) { return node.is_null() ? json::Node() : node; }

// What is said of a task, with the members that a task has and its output, which is judged: nobody judges the others. A task that has a
// result has no error: of the two only the result is judged. Nothing: it has no others.
std::optional<Splice> without_others(json::Node said) {
  constexpr auto kWithResult = std::to_array<std::string_view>({"result", "inputRequests"});
  constexpr auto kWithError = std::to_array<std::string_view>({"error", "inputRequests"});
  const std::span<const std::string_view> known = present(said["result"]) ? kWithResult : kWithError;
  std::string out = "{";
  bool has_others = false;
  for (const json::Member one : said.members()) {
    const bool is_known = one.name() == "_meta"
                              ? !removing_meta(said)
                              : is_of_task(one) || std::ranges::find(known, one.name()) != known.end();
    has_others = has_others || !is_known;
    if (!is_known) continue;
    out += (out.size() > 1 ? "," : "") + quoted(one.name()) + ':';
    out += text_of(one.value);
  }
  if (!has_others) return std::nullopt;
  return replacing(said, out + "}");
}

// Does an answer name a task in one of its places, and another than this? The result of a task is a tool's, whose members are its own.
bool says_another_task(json::Node result, bool is_of_tool, std::string_view id) {
  const auto is_other = [&](json::Node said) { return said && !said.is_text(id); };
  if (is_other(result["_meta"][kRelatedTask]["taskId"])) return true;
  return !is_of_tool && (is_other(result["taskId"]) || is_other(result["task"]["taskId"]));
}

}  // namespace

std::string Conversation::Core::task_key(std::size_t server, std::string_view id) {
  return std::to_string(server) + '/' + std::string(id);
}

// In the legacy era only the answer to a call that asked for a task can begin one.
bool Conversation::Core::is_task(const Call& call, Message& message) {
  return (call.era == Era::Modern || call.may_be_task) && task_id_in(message.result());
}

void Conversation::Core::begin_task(Call& call, Message& message) {
  const std::string id(task_id_in(message.result()).string());
  for (std::size_t other = 0; other < servers.size(); ++other) {
    if (other == call.server || !tasks.contains(task_key(other, id))) continue;
    Outcome refused;  // the client could not ask for the one and not get the other
    refused.unjudged = "its task has the id of another server's task";
    is_refused(call, refused);
    return;
  }
  const std::string key = task_key(call.server, id);
  disarm(call.step);
  call.state = State::Tasked;
  call.params.clear();
  if (const auto before = tasks.find(key); before != tasks.end()) end_task(before->second);
  else task_order.push_back(key);
  TaskState& task = tasks[key];
  task = {};
  task.call = call.number;
  task.tool = call.client_name;
  task.era = call.era;
  if (!call.sent_token.empty()) task_tokens[call.server][call.sent_token] = call.number;
  const Ticket ticket = call.open;
  call.open = 0;
  if (const auto request = open_requests.find(ticket); request != open_requests.end()) {
    std::vector<Splice> splices;
    if (auto meta = removing_meta(message.result())) splices.push_back(std::move(*meta));
    if (request->second.id != message.id_text()) splices.push_back(replacing(message.id(), request->second.id));
    answer(ticket, splices.empty() ? message.take_bytes() : splice(message.bytes(), std::move(splices)));
  }
  if (tasks.size() <= options.tasks_max) return;
  const auto oldest = tasks.find(task_order.front());
  task_order.pop_front();
  if (oldest == tasks.end()) return;
  end_task(oldest->second);
  tasks.erase(oldest);
}

// Its result will not come: nobody knows.
void Conversation::Core::end_task(TaskState& task) {
  if (const auto call = calls.find(task.call); call != calls.end()) {
    settle(call->second, {}, false);
    end_call(task.call);
  }
  task.call = 0;
  for (HeldTask& held : task.waiting) answer_error(held.ticket, kInternalError, "the task is gone");
  task.waiting.clear();
}

// --- asked about --------------------------------------------------------------------------------------------------------------------

bool Conversation::Core::client_task(Ticket ticket, Message& message) {
  const std::string_view method = message.method();
  // The modern era has neither: a task's result comes with tasks/get.
  if (open_requests.at(ticket).era == Era::Modern && (method == "tasks/result" || method == "tasks/list"))
    return answer_error(ticket, kMethodNotFound, "Method not found"), true;
  if (method == "tasks/list") return false;
  const json::Node id = message.params()["taskId"];
  if (!id.is_string()) {
    if (!needs_no_verdict(method)) return false;
    return answer_error(ticket, kInvalidParams, "`taskId` is not a text"), true;
  }
  std::size_t server = 0;
  std::string key;
  for (std::size_t at = 0; at < servers.size() && key.empty(); ++at)
    if (tasks.contains(task_key(at, id.string()))) {
      server = at;
      key = task_key(at, id.string());
    }
  OpenRequest& request = open_requests.at(ticket);
  if (method == "tasks/result") request.kind = Kind::TaskResult;
  if (method == "tasks/get") request.kind = Kind::TaskGet;
  if (method == "tasks/cancel") request.kind = Kind::TaskCancel;
  request.task = key;
  // A task that is not known here is no call of this conversation.
  if (key.empty()) return answer_error(ticket, kInvalidParams, "Unknown task: " + std::string(id.string())), true;
  // tasks/update and what else there is: judged like any request. It is for the server that has the task.
  if (request.kind == Kind::Pass) return client_operation(ticket, server, message), true;
  pass_to_server(ticket, server, message);
  return true;
}

void Conversation::Core::task_answered(Ticket ticket, std::size_t server, Message& message) {
  const OpenRequest& request = open_requests.at(ticket);
  const std::string key = request.task;
  if (message.kind() == Message::Kind::Error) {
    // The error of tasks/result is that of the call. Any other is about the question: its code is passed, its words are not.
    if (request.kind == Kind::TaskResult) return task_error(key, message.error(), message, ticket, kAside);
    if (!governed.enforces) return pass_answer(ticket, message);
    return answer_error(ticket, error_code_of(message), "the server refused what it was asked about the task");
  }
  const json::Node result = message.result();
  // The output of another task would be judged, and handed on, as this one's.
  if (says_another_task(result, request.kind == Kind::TaskResult, std::string_view(key).substr(key.find('/') + 1)))
    return answer_error(ticket, kInternalError,
                        "the server `" + catalogue.server_name(server) + "` answered about another task");
  if (has_input_requests(result))
    return answer_error(ticket, kDenied, "the task asks the client for input, which is not supported for tasks");
  // Whatever it answers, an output is one.
  if (request.kind == Kind::TaskResult || result["content"] || result["structuredContent"])
    return task_result(key, result, message, ticket, kAside);
  if (auto others = without_others(result)) {
    Message known(splice(message.bytes(), {std::move(*others)}), options.server_bytes_max);
    return task_answered(ticket, server, known);
  }
  if (const json::Node inner = present(result["result"])) return task_result(key, inner, message, ticket, kAside);
  if (result["status"].is_text("cancelled")) task_ended(key, "cancelled");
  else if (request.kind == Kind::TaskCancel) task_ended(key, "");
  if (const json::Node inner = present(result["error"])) return task_error(key, inner, message, ticket, kAside);
  pass_answer(ticket, message);
}

bool Conversation::Core::may_list_task(std::size_t server, json::Node task) const {
  const json::Node id = task["taskId"];
  return id.is_string() && tasks.contains(task_key(server, id.string())) && is_only_task(task);
}

// Of the tasks of this conversation what a handle has; of no other.
void Conversation::Core::task_list_answered(Ticket ticket, std::size_t server, Message& message) {
  const json::Node list = message.result()["tasks"];
  if (message.kind() == Message::Kind::Error) return pass_answer(ticket, message);
  if (!list.is_array()) return answer_error(ticket, kInternalError, no_list(server, "tasks"));
  std::string kept = "[";
  for (const json::Node one : list.elements()) {
    if (!may_list_task(server, one)) continue;
    kept += (kept.size() > 1 ? "," : "") + std::string(text_of(one));
  }
  std::vector<Splice> splices = {replacing(list, kept + "]")};
  withhold_members(server, "tasks", message.result(), splices);
  pass_answer(ticket, message, std::move(splices));
}

void Conversation::Core::task_notice(std::size_t server, Message& message, Ticket ticket) {
  if (auto others = without_others(message.params())) {
    Message known(splice(message.bytes(), {std::move(*others)}), options.server_bytes_max);
    return task_notice(server, known, ticket);
  }
  const json::Node params = message.params(), id = params["taskId"];
  const std::string key = id.is_string() ? task_key(server, id.string()) : std::string();
  Stream stream = ticket == 0 ? kAside : stream_for(server, ticket);
  if (const json::Node subscription = message.meta()[kMetaSubscriptionId]) {
    const auto by = by_sent_id[server].find(id_key(subscription));
    if (by != by_sent_id[server].end()) stream = stream_for(server, by->second);
  }
  if (has_input_requests(params))
    return note_dropped("server `" + catalogue.server_name(server) + "`", message.method(),
                        "the task asks the client for input");
  if (const json::Node inner = present(params["result"])) return task_result(key, inner, message, 0, stream);
  if (params["status"].is_text("cancelled")) task_ended(key, "cancelled");
  if (const json::Node inner = present(params["error"])) return task_error(key, inner, message, 0, stream);
  if (!tasks.contains(key)) {  // of another server's task, or of none: the client would take it for one of its own
    ++counts.unexpected;
    return;
  }
  out->push_back(ToClient{stream, message.take_bytes(), false, 0});
}

// It ended without a result; `how` empty: it was asked to, and did not say whether it did.
void Conversation::Core::task_ended(const std::string& key, std::string_view how) {
  const auto found = tasks.find(key);
  const auto call = found == tasks.end() ? calls.end() : calls.find(found->second.call);
  if (call == calls.end() || call->second.state != State::Tasked) return;
  if (how.empty()) return settle(call->second, {}, false);  // a result that still comes settles it
  Outcome outcome;
  outcome.kind = Outcome::Kind::Error;
  outcome.error_code = outcome.error_class = how;
  settle(call->second, outcome, false);
  end_call(call->first);
  found->second.call = 0;
  found->second.denial = unjudged(found->second.tool, "the task ended before without a result");
}

// --- judged -------------------------------------------------------------------------------------------------------------------------

void Conversation::Core::task_result(const std::string& key, json::Node result, Message& message, Ticket ticket,
                                     Stream stream) {
  judge_task(key, result, outcome_of_result(result, options.output_bytes_max), message, ticket, stream);
}

void Conversation::Core::task_error(const std::string& key, json::Node error, Message& message, Ticket ticket,
                                    Stream stream) {
  Outcome outcome = outcome_of_error(error, options.output_bytes_max);
  if (json::Node code = error["code"];
      code.is_number() && json::to_int64(code.number_text()) == kUrlElicitationRequired)
    outcome = {}, outcome.unjudged = "it asks the user to open a link; a server asks for that by `elicitation/create`";
  judge_task(key, error, outcome, message, ticket, stream);
}

// `place`: the result, or the error object, in the message. What was judged of it is in `outcome`.
void Conversation::Core::judge_task(const std::string& key, json::Node place, const Outcome& outcome, Message& message,
                                    Ticket ticket, Stream stream) {
  HeldTask held;
  held.ticket = ticket;
  held.stream = stream;
  held.is_error = place == message.error() || place == message.result()["error"] || place == message.params()["error"];
  held.code = error_code_of(message);
  held.at = place.offset();
  held.size = text_of(place).size();
  if (ticket != 0) {
    const OpenRequest& request = open_requests.at(ticket);
    held.era = request.era;
    if (request.id != message.id_text()) held.splices.push_back(replacing(message.id(), request.id));
    forget_sent(ticket);
  } else {
    held.era = Era::Modern;
  }
  std::string judged = outcome.kind == Outcome::Kind::Ok ? "ok" : "error";
  for (const JudgedOutput& one : outcome.also) judged += one.json + "\n";
  judged += outcome.output.json;
  held.output = sha256(outcome.unjudged.empty() ? std::string_view(judged) : text_of(place));
  held.bytes = message.take_bytes();
  const auto found = tasks.find(key);
  if (found == tasks.end())
    return hand_on(std::move(held), governed.enforces, unjudged("a task", "it is not known here"));
  TaskState& task = found->second;
  const auto call = calls.find(task.call);
  if (call == calls.end()) {  // judged before: the same passes again, and nothing else
    const bool is_same = task.passes && held.output == task.output;
    return hand_on(std::move(held), governed.enforces && !is_same,
                   task.passes ? unjudged(task.tool, "it is not what was judged before") : task.denial);
  }
  if (!outcome.unjudged.empty()) {
    task.denial = mcp::unjudged(task.tool, outcome, options.output_bytes_max);
    settle(call->second, outcome, false);
    end_call(call->first);
    task.call = 0;
    return hand_on(std::move(held), governed.enforces, task.denial);
  }
  if (task.waiting.size() >= kWaitingMax) {
    if (ticket != 0) answer_error(ticket, kInternalError, "the task's result is being judged");
    return;
  }
  task.waiting.push_back(std::move(held));
  if (call->second.state != State::Tasked) return;
  task.output = task.waiting.back().output;
  call->second.after_settling = key;
  settle(call->second, outcome, true);
}

void Conversation::Core::task_settled(Call& call, const Settled& settled) {
  const CallNumber number = call.number;
  const auto found = tasks.find(call.after_settling);
  end_call(number);
  if (found == tasks.end()) return;
  TaskState& task = found->second;
  task.call = 0;
  task.passes = settled.recorded && !settled.output_blocked;
  task.denial = settled.denial;
  std::vector<HeldTask> waiting = std::move(task.waiting);
  task.waiting.clear();
  const TaskState judged = task;
  for (HeldTask& held : waiting) {
    const bool is_same = judged.passes && held.output == judged.output;
    hand_on(std::move(held), governed.enforces && !is_same,
            judged.passes ? unjudged(judged.tool, "it is not what was judged before") : judged.denial);
  }
}

void Conversation::Core::hand_on(HeldTask held, bool is_blocked, const Denial& denial) {
  if (is_blocked) {
    ++counts.denied;
    std::string refusal = denied_result(held.era, denial);
    if (held.is_error)
      refusal = R"({"code":)" + std::to_string(kDenied) + R"(,"message":)" + quoted(text_of(denial)) + R"(,"data":)" +
                denied_data(denial) + "}";
    if (held.code != 0) held.code = kDenied;
    held.splices.push_back({held.at, held.size, std::move(refusal)});
  }
  std::string bytes = held.splices.empty() ? std::move(held.bytes) : splice(held.bytes, std::move(held.splices));
  if (held.ticket != 0) return answer(held.ticket, std::move(bytes), held.code);
  if (!client_is_gone) out->push_back(ToClient{held.stream, std::move(bytes), false, 0});
}

}  // namespace baton::mcp
