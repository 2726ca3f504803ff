// SPDX-License-Identifier: Apache-2.0
#include "mcp/conversation.h"

#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "mcp/core.h"
#include "mcp/lines.h"
#include "mcp/methods.h"
#include "mcp/output.h"

namespace baton::mcp {

using Kind = OpenRequest::Kind;

namespace {

constexpr std::uint64_t kDroppedNotes = 20;  // how many of them the log has

// A number of more digits is another one to a server that reads numbers as double: it would answer, or speak of, another request.
bool is_exact(std::string_view id) { return id.starts_with('"') || id.size() <= 15; }

}  // namespace

Conversation::Core::Core(Options given)
    : options(std::move(given)),
      catalogue(options.servers),
      servers(options.servers.size()),
      by_sent_id(options.servers.size()),
      by_sent_token(options.servers.size()),
      task_tokens(options.servers.size()) {
  if (!options.session) return;
  standing = Standing::Open;
  hold_to(*options.session);
}

// --- numbers and ids ----------------------------------------------------------------------------------------------------------------

// The client may have chosen such an id itself.
std::string Conversation::Core::id_for_server(std::size_t server) {
  while (true) {
    std::string id = quoted(options.id_prefix + "-" + std::to_string(next_number++));
    if (!by_sent_id[server].contains(id) && !by_sent_token[server].contains(id) && !task_tokens[server].contains(id))
      return id;
  }
}

std::string Conversation::Core::id_for_client() {
  while (true) {
    std::string id = quoted(options.id_prefix + "-to-client-" + std::to_string(next_for_client++));
    if (!asked.contains(id) && !elicitations.contains(id) && !asked_tokens.contains(id)) return id;
  }
}

std::string Conversation::Core::unused_id(std::size_t server, std::string_view wanted) {
  std::string id(wanted);
  return by_sent_id[server].contains(id) || !is_exact(id) ? id_for_server(server) : id;
}

Timer Conversation::Core::arm(std::uint64_t number, Milliseconds after) {
  const Timer timer = next_number++;
  timers.emplace(timer, number);
  out->push_back(Arm{timer, after});
  return timer;
}

void Conversation::Core::disarm(Timer& timer) {
  if (timer == 0) return;
  if (timers.erase(timer) != 0) out->push_back(Disarm{timer});
  timer = 0;
}

void Conversation::Core::rang(Timer timer) {
  const auto found = timers.find(timer);
  if (found == timers.end()) return;
  const std::uint64_t number = found->second;
  timers.erase(found);
  if (number == 0) {
    look_timer = 0;
    look();
    return;
  }
  if (own_requests.contains(number)) return own_timed_out(number);
  if (const auto call = calls.find(number); call != calls.end()) return call_rang(call->second, timer);
  if (const auto ask = asks.find(number); ask != asks.end()) ask_rang(ask->second);
}

std::string Conversation::Core::unused_token(std::size_t server, const std::string& wanted) {
  const bool is_taken = by_sent_token[server].contains(wanted) || task_tokens[server].contains(wanted);
  return is_taken || !is_exact(wanted) ? id_for_server(server) : wanted;
}

std::string Conversation::Core::unreachable_text(std::size_t server) const {
  const ServerState& state = servers[server];
  const std::string name = "the server `" + catalogue.server_name(server) + "`";
  if (state.is_gone && !state.returns)
    return name +
           " ended too often and is not started again: see its lines in the log of `baton mcp`, fix the cause, and "
           "start the client anew";
  if (state.refuses) return name + " ended, was restarted, and refused to begin again: start the client anew";
  return name + " ended and is being restarted: try again in a moment";
}

void Conversation::Core::note_dropped(std::string_view who, std::string_view method, std::string_view why) {
  if (++counts.dropped > kDroppedNotes) return;
  out->push_back(Note{"a message of the " + std::string(who) + " was not let through: `" + printable(method, 100) +
                      "`, " + std::string(why)});
}

Era Conversation::Core::era_of(const Message& message) const {
  return message.meta()[kMetaProtocolVersion] ? Era::Modern : Era::Legacy;
}

// --- answering ----------------------------------------------------------------------------------------------------------------------

Ticket Conversation::Core::open(OpenRequest request) {
  // Calls and questions outlive the requests they were made for, when those are cancelled.
  const std::size_t most = options.open_requests_max;
  if (open_requests.size() >= most || questions.size() + node_questions.size() >= most || own_requests.size() >= most ||
      calls.size() >= most + options.suspended_max + options.tasks_max) {
    std::string bytes = error_message(request.id, kInternalError, "too many requests are open");
    if (request.batch == 0) {
      say(request.stream, std::move(bytes), kInternalError);
      return 0;
    }
    Batch& batch = batches[request.batch];
    batch.answers += (batch.answers.empty() ? "" : ",") + bytes;
    return 0;
  }
  const Ticket ticket = next_number++;
  by_client_id.try_emplace(request.id, ticket);
  ++open_on_stream[request.stream];
  if (request.batch != 0) ++batches[request.batch].left;
  open_requests.emplace(ticket, std::move(request));
  return ticket;
}

void Conversation::Core::say(Stream stream, std::string bytes, int error_code) {
  if (client_is_gone) return;
  const bool last = stream != kAside && !open_on_stream.contains(stream);
  out->push_back(ToClient{stream, std::move(bytes), last, error_code});
}

void Conversation::Core::end_stream_of(Stream stream) {
  const auto count = open_on_stream.find(stream);
  if (count != open_on_stream.end() && --count->second == 0) open_on_stream.erase(count);
}

void Conversation::Core::answer(Ticket ticket, std::string bytes, int error_code) {
  const auto found = open_requests.find(ticket);
  if (found == open_requests.end()) return;
  const Stream stream = found->second.stream;
  const std::uint64_t number = found->second.batch;
  forget(ticket);
  if (number == 0 || client_is_gone) return say(stream, std::move(bytes), error_code);
  Batch& batch = batches[number];
  if (!batch.answers.empty()) batch.answers += ',';
  batch.answers += bytes;
  finish_batch(number);
}

// One of its requests is over.
void Conversation::Core::finish_batch(std::uint64_t number) {
  Batch& batch = batches[number];
  if (--batch.left != 0 || !batch.is_taken_in) return;
  const Stream stream = batch.stream;
  std::string answers = std::move(batch.answers);
  batches.erase(number);
  if (!answers.empty()) return say(stream, "[" + answers + "]");
  if (stream != kAside && stream != taken_in && !open_on_stream.contains(stream)) out->push_back(Accepted{stream});
}

void Conversation::Core::drop(Ticket ticket) {
  const auto found = open_requests.find(ticket);
  if (found == open_requests.end()) return;
  const std::uint64_t number = found->second.batch;
  const Stream stream = found->second.stream;
  forget(ticket);
  if (number != 0) return finish_batch(number);
  if (stream != kAside && stream != taken_in && !open_on_stream.contains(stream)) out->push_back(Accepted{stream});
}

void Conversation::Core::answer_error(Ticket ticket, int code, std::string_view message, std::string_view data) {
  const auto found = open_requests.find(ticket);
  if (found != open_requests.end()) answer(ticket, error_message(found->second.id, code, message, data), code);
}

void Conversation::Core::answer_result(Ticket ticket, std::string_view result) {
  const auto found = open_requests.find(ticket);
  if (found != open_requests.end()) answer(ticket, result_message(found->second.id, result));
}

// Its place among those that wait for an answer is free; what it was sent as stays known, if it was sent.
void Conversation::Core::forget(Ticket ticket) {
  const auto found = open_requests.find(ticket);
  if (found == open_requests.end()) return;
  const OpenRequest& request = found->second;
  if (const auto by = by_client_id.find(request.id); by != by_client_id.end() && by->second == ticket)
    by_client_id.erase(by);
  if (!request.sent_token.empty()) {
    auto& tokens = by_sent_token[request.server];
    if (const auto by = tokens.find(request.sent_token); by != tokens.end() && by->second == ticket) tokens.erase(by);
  }
  forget_sent(ticket);
  end_stream_of(request.stream);
  open_requests.erase(found);
}

// --- sending ------------------------------------------------------------------------------------------------------------------------

Ticket Conversation::Core::send(Sent what, std::string bytes, Stream stream, std::string_view method,
                                std::string_view name, const Revision* revision, Ticket ticket,
                                std::vector<std::pair<std::string, std::string>> headers) {
  if (ticket == 0) ticket = next_number++;
  by_sent_id[what.server][what.id] = ticket;
  ToServer action{what.server,       std::move(bytes),   ticket,  stream, std::string(method),
                  std::string(name), std::move(headers), revision};
  sent.insert_or_assign(ticket, std::move(what));
  out->push_back(std::move(action));
  return ticket;
}

void Conversation::Core::forget_sent(Ticket ticket) {
  const auto found = sent.find(ticket);
  if (found == sent.end()) return;
  auto& ids = by_sent_id[found->second.server];
  if (const auto by = ids.find(found->second.id); by != ids.end() && by->second == ticket) ids.erase(by);
  sent.erase(found);
}

void Conversation::Core::withdraw(Ticket ticket, std::string_view reason) {
  const auto found = sent.find(ticket);
  if (found == sent.end() || servers[found->second.server].is_gone) return;
  out->push_back(Withdraw{found->second.server, ticket, cancelled(found->second.id, reason)});
}

// --- from the client ----------------------------------------------------------------------------------------------------------------

void Conversation::Core::from_client(Stream stream, std::string bytes, std::uint64_t batch) {
  if (client_is_gone) return;
  if (bytes.size() > options.client_bytes_max) return oversized_from_client(stream, bytes, {});
  Message message(std::move(bytes), options.client_bytes_max);
  if (message.meta()[kMetaSession]) return named_from_client(stream, message, batch);
  if (standing != Standing::Open && waits_for_session(message)) return hold(stream, message, {});
  take_in(stream, message, batch);
}

void Conversation::Core::take_in(Stream stream, Message& message, std::uint64_t batch) {
  switch (message.kind()) {
    case Message::Kind::Broken: {
      std::string error = error_message(id_to_answer(message), message.fault_code(), message.fault());
      if (batch == 0) return say(stream, std::move(error), message.fault_code());
      Batch& of = batches[batch];
      of.answers += (of.answers.empty() ? "" : ",") + error;
      return;
    }
    case Message::Kind::Batch:
      if (batch == 0) return client_batch(stream, message);
      batches[batch].answers +=
          (batches[batch].answers.empty() ? "" : ",") + error_message({}, kInvalidRequest, "a batch within a batch");
      return;
    case Message::Kind::Request: return client_request(stream, message, batch);
    case Message::Kind::Notification: client_notification(stream, message); break;
    default:
      if (auto judged = without_unjudged_members(message)) {
        Message bare(std::move(*judged), options.client_bytes_max);
        client_answer(stream, bare);
      } else {
        client_answer(stream, message);
      }
  }
  if (batch == 0 && !open_on_stream.contains(stream)) out->push_back(Accepted{stream});
}

void Conversation::Core::oversized_from_client(Stream stream, std::string_view head, std::string_view tail) {
  if (client_is_gone) return;
  say(stream,
      error_message(id_in_ends(head.substr(0, Lines::kKept), tail), kInvalidRequest,
                    "the message is larger than " + std::to_string(options.client_bytes_max) + " bytes"),
      kInvalidRequest);
}

void Conversation::Core::client_batch(Stream stream, Message& message) {
  if (agreed == nullptr || !agreed->batches)
    return say(stream, error_message({}, kInvalidRequest, "batches are not part of the revision that is spoken"),
               kInvalidRequest);
  const std::uint64_t number = next_number++;
  batches[number].stream = stream;
  const std::vector<std::string> elements = message.elements();
  for (const std::string& element : elements) from_client(stream, element, number);
  Batch& batch = batches[number];
  batch.is_taken_in = true;
  if (batch.left != 0) return;
  std::string answers = std::move(batch.answers);
  batches.erase(number);
  if (!answers.empty()) return say(stream, "[" + answers + "]");
  if (!open_on_stream.contains(stream)) out->push_back(Accepted{stream});
}

void Conversation::Core::client_request(Stream stream, Message& message, std::uint64_t batch) {
  OpenRequest request;
  request.stream = stream;
  request.batch = batch;
  request.id = message.id_text();
  request.method = message.method();
  request.era = era_of(message);
  request.token = message.progress_token();
  request.revision = agreed;
  if (request.era == Era::Modern) {
    const json::Node version = message.meta()[kMetaProtocolVersion];
    request.revision = version.is_string() ? find_revision(version.string()) : nullptr;
    if (request.revision == nullptr || request.revision->era != Era::Modern) {
      std::string supported;
      for (const Revision& one : revisions())
        if (one.era == Era::Modern) supported += (supported.empty() ? "" : ",") + quoted(one.name);
      std::string data = R"({"supported":[)" + supported + R"(],"requested":)" + std::string(text_of(version)) + "}";
      const Ticket refused = open(std::move(request));
      return answer_error(refused, kUnsupportedVersion, "Unsupported protocol version", data);
    }
    note_modern(message);
  }
  // Over HTTP in the modern era two clients of one conversation may have chosen the same id, each on a stream of its own.
  if (const auto same = by_client_id.find(request.id); same != by_client_id.end()) {
    const OpenRequest& other = open_requests.at(same->second);
    if (request.era == Era::Legacy || other.stream == stream) {
      const Ticket refused = open(std::move(request));
      return answer_error(refused, kInvalidRequest, "a request with this id is open");
    }
  }
  const Ticket ticket = open(std::move(request));
  if (ticket == 0) return;
  const std::string_view method = message.method();
  if (method == "tools/call") return client_call(ticket, message);
  if (method == "tools/list") return client_tools_list(ticket, message);
  if (method == "initialize") return client_initialize(ticket, message);
  if (method == "server/discover") return client_discover(ticket, message);
  if (method.starts_with("tasks/") && client_task(ticket, message)) return;
  if (servers.size() > 1) {
    if (route_named(ticket, message)) return;
  } else if (method == "subscriptions/listen") {
    return client_listens(ticket, message);
  }
  if (needs_no_verdict(method)) return pass_to_server(ticket, 0, message);
  client_operation(ticket, 0, message);
}

void Conversation::Core::pass_to_server(Ticket ticket, std::size_t server, Message& message,
                                        std::vector<Splice> splices) {
  OpenRequest& request = open_requests.at(ticket);
  request.server = server;
  if (cannot_reach(server)) return answer_error(ticket, kInternalError, unreachable_text(server));
  Sent what{Sent::Whose::Client, server, unused_id(server, request.id), ticket};
  if (what.id != request.id) splices.push_back(replacing(message.id(), what.id));
  if (!request.token.empty()) {
    request.sent_token = unused_token(server, request.token);
    by_sent_token[server][request.sent_token] = ticket;
    if (request.sent_token != request.token)
      splices.push_back(replacing(message.progress_token_node(), request.sent_token));
  }
  std::string name;
  for (const std::string_view member : {"name", "uri"})
    if (message.params()[member].is_string()) name = message.params()[member].string();
  const Stream stream = request.stream;
  const Revision* revision = request.revision;
  const std::string method = request.method;
  std::string bytes = splices.empty() ? message.take_bytes() : splice(message.bytes(), std::move(splices));
  send(std::move(what), std::move(bytes), stream, method, name, revision, ticket);
}

void Conversation::Core::pass_to_all(Stream stream, Message& message) {
  const std::string bytes = message.bytes();
  for (std::size_t server = 0; server < servers.size(); ++server)
    if (!cannot_reach(server))
      out->push_back(ToServer{server, bytes, 0, stream, std::string(message.method()), {}, {}, agreed});
}

void Conversation::Core::client_notification(Stream stream, Message& message) {
  const std::string_view method = message.method();
  if (!is_client_notification(method, agreed != nullptr ? agreed : modern))
    return note_dropped("client", method, "it has no id, and is not a notification that is known");
  if (method == "notifications/cancelled") return client_cancels(stream, message);
  if (method == "notifications/progress") {
    const auto found = asked_tokens.find(message.progress_token());
    const auto by = found == asked_tokens.end() ? asked.end() : asked.find(found->second);
    if (by == asked.end()) {
      ++counts.unexpected;
      return;
    }
    const AskedOfClient& whose = by->second;
    if (cannot_reach(whose.server)) return;
    std::string bytes = splice(message.bytes(), {replacing(message.progress_token_node(), whose.token)});
    out->push_back(ToServer{whose.server, std::move(bytes), 0, stream, "notifications/progress", {}, {}, agreed});
    return;
  }
  pass_to_all(stream, message);
}

void Conversation::Core::client_cancels(Stream stream, Message& message) {
  const json::Node id = message.params()["requestId"];
  const auto found = by_client_id.find(id_key(id));
  if (found == by_client_id.end()) {
    // Of a task, or over already.
    ++counts.unexpected;
    return;
  }
  const Ticket ticket = found->second;
  OpenRequest& request = open_requests.at(ticket);
  if (request.kind == Kind::Initialize) return;  // never cancelled
  // In the modern era another stream may be another client's, whose ids may be the same: there a request is cancelled by closing its own.
  if (request.era == Era::Modern && request.stream != stream) {
    ++counts.unexpected;
    return;
  }
  const std::string reason =
      message.params()["reason"].is_string() ? std::string(message.params()["reason"].string()) : "";
  if (request.kind == Kind::Call) {
    if (const auto call = calls.find(request.call); call != calls.end())
      return call_cancelled(call->second, reason, true);
  }
  if (const auto by = sent.find(ticket); by != sent.end() && !servers[by->second.server].is_gone) {
    std::string bytes =
        by->second.id == request.id ? message.take_bytes() : splice(message.bytes(), {replacing(id, by->second.id)});
    out->push_back(Withdraw{by->second.server, ticket, std::move(bytes)});
  }
  drop(ticket);
}

void Conversation::Core::client_answer(Stream stream, Message& message) {
  const std::string id(message.id_text());
  if (const auto own = elicitations.find(id); own != elicitations.end()) {
    const CallNumber call = own->second;
    elicitations.erase(own);
    return elicitation_answered(call, message);
  }
  const auto found = asked.find(id);
  if (found == asked.end()) {
    ++counts.unexpected;
    return;
  }
  const AskedOfClient whose = std::move(found->second);
  asked.erase(found);
  if (!whose.sent_token.empty()) asked_tokens.erase(whose.sent_token);
  if (whose.ask != 0) {
    if (const auto ask = asks.find(whose.ask); ask != asks.end()) ask_answered(ask->second, message);
    return;
  }
  if (cannot_reach(whose.server)) return;
  std::string bytes = splice(message.bytes(), {replacing(message.id(), whose.id)});
  out->push_back(ToServer{whose.server, std::move(bytes), 0, stream, {}, {}, {}, agreed});
}

// --- from a server ------------------------------------------------------------------------------------------------------------------

void Conversation::Core::from_server(std::size_t server, std::string bytes, Ticket ticket) {
  if (bytes.size() > options.server_bytes_max) return oversized_from_server(server, bytes, {}, ticket);
  Message message(std::move(bytes), options.server_bytes_max);
  // Only Baton says what it decided; and what nobody can judge is dropped first, where the pack says so.
  if (auto cleaned = without_own_meta(message)) return from_server(server, std::move(*cleaned), ticket);
  if (auto judged = without_unjudged_members(message)) return from_server(server, std::move(*judged), ticket);
  if (governed.drops_unknown_content)
    if (auto known = without_unknown_content(message)) return from_server(server, std::move(*known), ticket);
  switch (message.kind()) {
    case Message::Kind::Broken:
      unreadable_from_server(server, message, ticket, "its answer cannot be read: " + message.fault());
      if (++counts.garbage <= 10)
        out->push_back(
            Note{"the server `" + catalogue.server_name(server) + "` sent what is no message: " + message.fault()});
      return;
    case Message::Kind::Batch: {
      const std::vector<std::string> elements = message.elements();
      for (const std::string& element : elements) {
        if (!element.starts_with('[')) from_server(server, element, ticket);
        else unreadable_from_server(server, Message(element), ticket, "its answer is a batch within a batch");
      }
      return;
    }
    case Message::Kind::Request: return server_asks(server, message, ticket);
    case Message::Kind::Notification: return server_notification(server, message, ticket);
    case Message::Kind::Error:
      if (message.id().is_null())
        return unreadable_from_server(server, message, ticket, "it could not read what it was sent");
      [[fallthrough]];
    default: return server_answer(server, message);
  }
}

void Conversation::Core::oversized_from_server(std::size_t server, std::string_view head, std::string_view tail,
                                               Ticket ticket) {
  out->push_back(Note{"the server `" + catalogue.server_name(server) + "` sent a message larger than " +
                      std::to_string(options.server_bytes_max) + " bytes: it was dropped"});
  if (const std::string id = id_as_read(id_in_ends(head.substr(0, Lines::kKept), tail)); !id.empty()) {
    const auto found = by_sent_id[server].find(id);
    ticket = found == by_sent_id[server].end() ? ticket : found->second;
  } else if (ticket == 0 && by_sent_id[server].size() == 1) {
    ticket = by_sent_id[server].begin()->second;  // nothing else can be meant
  }
  const auto found = sent.find(ticket);
  if (found == sent.end()) return;
  const Sent what = found->second;
  if (what.whose == Sent::Whose::Own) {
    forget_sent(ticket);
    return own_answered(what.number, server, nullptr, "sent an answer that is too large");
  }
  if (what.whose == Sent::Whose::Client)
    return answer_error(ticket, kInternalError,
                        "the answer of the server `" + catalogue.server_name(server) + "` is larger than " +
                            std::to_string(options.server_bytes_max) + " bytes (`--server-megabytes`)");
  const auto call = calls.find(what.number);
  forget_sent(ticket);
  if (call == calls.end()) return;
  settle(call->second, {}, false);
  const std::string most = std::to_string(options.server_bytes_max);
  const Diagnostic why = report(Code::output_too_large, {},
                                {{"tool", call->second.client_name}, {"bytes", "more than " + most}, {"limit", most}});
  deny(call->second, {std::string(info(why.code).name), why.message, why.help});
}

// The open requests whose answer this was. An answer without an id, or a piece of one, is that of the one request that is open.
std::vector<Ticket> Conversation::Core::answered_by(std::size_t server, const Outline& said) {
  if (said.is_after_text && !(said.has_version && said.is_answer)) return {};  // a line of a log
  std::string& piece_id = servers[server].piece_id;
  std::vector<std::string> ids;
  for (const std::string& text : said.ids)
    if (std::string id = id_as_read(text); !id.empty()) ids.push_back(std::move(id));
  if (said.is_piece && !said.is_answer) {
    if (!ids.empty()) piece_id = ids.back();
    return {};
  }
  if (said.is_piece && ids.empty() && by_sent_id[server].contains(piece_id)) ids.push_back(piece_id);
  piece_id.clear();
  std::vector<Ticket> out;
  for (const std::string& id : ids)
    if (const auto found = by_sent_id[server].find(id); found != by_sent_id[server].end()) out.push_back(found->second);
  const bool looks_like_one = said.has_answer_object || (said.has_version && said.is_answer);
  if (ids.empty() && looks_like_one && by_sent_id[server].size() == 1)
    out.push_back(by_sent_id[server].begin()->second);
  return out;
}

// What cannot be read and names an open request was its answer: there will be no other. A request of the server's own is answered.
void Conversation::Core::unreadable_from_server(std::size_t server, const Message& message, Ticket ticket,
                                                const std::string& problem) {
  std::vector<Ticket> answered;
  bool has_others = false;  // messages that are no answers
  for (const Outline& said : outlines_in(message)) {
    if (said.has_method && !said.is_answer) {
      has_others = true;
      const auto id = said.ids.size() == 1 ? json::parse(said.ids[0]) : tl::make_unexpected(json::ParseError{});
      const std::string key = id ? id_key(id->root()) : std::string();
      if (said.is_after_text || said.is_piece || key.empty()) continue;
      const bool is_request = message.root()["method"].is_string() && message.root()["jsonrpc"].is_text("2.0");
      const int code = is_request ? kInvalidParams : message.fault_code();
      out->push_back(ToServer{server, error_message(key, code, message.fault()), 0, kAside, {}, {}, {}, agreed});
      continue;
    }
    for (const Ticket one : answered_by(server, said)) answered.push_back(one);
  }
  if (answered.empty() && ticket != 0 && !has_others) answered.push_back(ticket);  // the transport knows
  for (const Ticket one : answered) answer_failed(server, one, problem);
}

void Conversation::Core::answer_failed(std::size_t server, Ticket ticket, const std::string& problem) {
  const auto found = sent.find(ticket);
  if (found == sent.end() || found->second.server != server) return;
  const Sent what = found->second;
  if (what.whose == Sent::Whose::Client)
    return answer_error(ticket, kInternalError, "the server `" + catalogue.server_name(server) + "`: " + problem);
  forget_sent(ticket);
  if (what.whose == Sent::Whose::Own) return own_answered(what.number, server, nullptr, "failed: " + problem);
  const auto call = calls.find(what.number);
  if (call == calls.end()) return;
  call->second.sent = 0;
  Outcome outcome;
  outcome.unjudged = problem;
  settle(call->second, {}, false);
  deny(call->second, unjudged(call->second.client_name, outcome, options.output_bytes_max));
}

void Conversation::Core::server_answer(std::size_t server, Message& message) {
  // The client has a list without it.
  if (std::exchange(servers[server].was_left_out, false)) tell_tools_changed();
  const auto by = by_sent_id[server].find(std::string(message.id_text()));
  if (by == by_sent_id[server].end()) {
    ++counts.unexpected;
    return;
  }
  const Ticket ticket = by->second;
  const Sent what = sent.at(ticket);
  if (what.whose == Sent::Whose::Own) {
    forget_sent(ticket);
    return own_answered(what.number, server, &message);
  }
  if (what.whose == Sent::Whose::Call) {
    forget_sent(ticket);
    if (const auto call = calls.find(what.number); call != calls.end()) call_answered(call->second, message);
    return;
  }
  const OpenRequest& request = open_requests.at(ticket);
  const bool is_of_task =
      request.kind == Kind::TaskResult || request.kind == Kind::TaskGet || request.kind == Kind::TaskCancel;
  // What the client is asked for is judged in answers to what was judged; these are not.
  if (!is_of_task && (has_input_requests(message.result()) || error_code_of(message) == kUrlElicitationRequired))
    return answer_error(ticket, kDenied,
                        "the server `" + catalogue.server_name(server) +
                            "` asks the client for input in an answer to `" + request.method +
                            "`, which is not possible");
  switch (request.kind) {
    case Kind::Initialize: return initialize_answered(ticket, message);
    case Kind::Discover: return discover_answered(ticket, message);
    case Kind::ToolsList: return tools_list_answered(ticket, server, message);
    case Kind::TaskResult:
    case Kind::TaskGet:
    case Kind::TaskCancel: return task_answered(ticket, server, message);
    case Kind::Listen: return listen_answered(ticket, message);
    default:
      if (request.method == "tasks/list") return task_list_answered(ticket, server, message);
      if (request.method == "prompts/list") return list_answered(ticket, server, "prompts", message);
      if (request.method == "resources/list") return list_answered(ticket, server, "resources", message);
      if (request.method == "resources/templates/list")
        return list_answered(ticket, server, "resourceTemplates", message);
      return empty_answered(ticket, server, message);
  }
}

// 0: it is no error.
int Conversation::Core::error_code_of(const Message& message) {
  if (message.kind() != Message::Kind::Error) return 0;
  const json::Node code = message.error()["code"];
  if (!code.is_number()) return kInternalError;
  return static_cast<int>(json::to_int64(code.number_text()).value_or(kInternalError));
}

// Of a request whose answer says only that it is done.
void Conversation::Core::empty_answered(Ticket ticket, std::size_t server, Message& message) {
  const std::string method = open_requests.at(ticket).method;
  std::vector<Splice> splices;
  if (message.kind() == Message::Kind::Result) withhold_members(server, method, message.result(), splices);
  pass_answer(ticket, message, std::move(splices));
}

// Nobody judges the error of such a request: its texts are scanned like those of a list.
void Conversation::Core::pass_answer(Ticket ticket, Message& message, std::vector<Splice> splices) {
  const OpenRequest& request = open_requests.at(ticket);
  const int code = error_code_of(message);
  if (message.kind() == Message::Kind::Error && !may_say(request.server, "error", message.error()))
    return answer_error(ticket, code,
                        "the server `" + catalogue.server_name(request.server) + "` refused `" + request.method +
                            "`; what it said is withheld, because its text is suspicious");
  if (request.id != message.id_text()) splices.push_back(replacing(message.id(), request.id));
  answer(ticket, splices.empty() ? message.take_bytes() : splice(message.bytes(), std::move(splices)), code);
}

// Over stdio a server does not say what its requests and logs belong to. What was handed to it last is the best guess, and any
// stream of this client is one that it reads.
Stream Conversation::Core::stream_for(std::size_t server, Ticket ticket) const {
  const auto stream_of = [&](const Sent& what, Ticket at) -> std::optional<Stream> {
    Ticket open = at;
    if (what.whose == Sent::Whose::Own) return std::nullopt;
    if (what.whose == Sent::Whose::Call) {
      const auto call = calls.find(what.number);
      if (call == calls.end()) return std::nullopt;
      open = call->second.open;
    }
    const auto found = open_requests.find(open);
    if (found == open_requests.end()) return std::nullopt;
    return found->second.stream;
  };
  if (const auto found = sent.find(ticket); found != sent.end())
    return stream_of(found->second, ticket).value_or(kAside);
  for (auto one = sent.rbegin(); one != sent.rend(); ++one)
    if (one->second.server == server)
      if (const auto stream = stream_of(one->second, one->first)) return *stream;
  return kAside;
}

// A server may only speak of the progress of a request that it has.
bool Conversation::Core::was_sent(const OpenRequest& request, Ticket ticket) const {
  if (request.kind != Kind::Call) return sent.contains(ticket);
  const auto call = calls.find(request.call);
  return call != calls.end() && call->second.state == Call::State::Forwarded;
}

void Conversation::Core::server_notification(std::size_t server, Message& message, Ticket ticket) {
  const std::string_view method = message.method();
  if (!is_server_notification(method, agreed != nullptr ? agreed : modern))
    return note_dropped("server `" + catalogue.server_name(server) + "`", method,
                        "it has no id, and is not a notification that is known");
  if (method == "notifications/tools/list_changed") ++servers[server].generation;
  if (client_is_gone) return;
  const auto pass = [&](Stream stream, std::vector<Splice> splices = {}) {
    std::string bytes = splices.empty() ? message.take_bytes() : splice(message.bytes(), std::move(splices));
    out->push_back(ToClient{stream, std::move(bytes), false, 0});
  };
  if (method == "notifications/progress") {
    const auto found = by_sent_token[server].find(message.progress_token());
    if (found == by_sent_token[server].end()) {
      const auto task = task_tokens[server].find(message.progress_token());
      const auto call = task == task_tokens[server].end() ? calls.end() : calls.find(task->second);
      if (call == calls.end() || call->second.state != Call::State::Tasked) {
        ++counts.unexpected;
        return;
      }
      if (call->second.token == call->second.sent_token) return pass(kAside);
      return pass(kAside, {replacing(message.progress_token_node(), call->second.token)});
    }
    const OpenRequest& request = open_requests.at(found->second);
    if (!was_sent(request, found->second)) {
      ++counts.unexpected;
      return;
    }
    if (request.token == request.sent_token) return pass(request.stream);
    return pass(request.stream, {replacing(message.progress_token_node(), request.token)});
  }
  if (method == "notifications/cancelled") {
    const json::Node id = message.params()["requestId"];
    const std::string text = id_key(id);
    for (auto one = asked.begin(); one != asked.end(); ++one) {
      if (one->second.server != server || one->second.id != text) continue;
      const std::string shown = one->first;
      if (!one->second.sent_token.empty()) asked_tokens.erase(one->second.sent_token);
      const CallNumber number = one->second.ask;
      asked.erase(one);
      if (const auto ask = asks.find(number); ask != asks.end()) give_up(ask->second);
      return pass(stream_for(server, ticket), {replacing(id, shown)});
    }
    for (auto& [number, ask] : asks)
      if (ask.server == server && ask.owner == 0 && ask.id == text && !ask.is_cancelled) return give_up(ask);
    ++counts.unexpected;
    return;
  }
  if (method == "notifications/tasks" || method == "notifications/tasks/status")
    return task_notice(server, message, ticket);
  if (method == "notifications/subscriptions/acknowledged") return acknowledged(server, message, ticket);
  // A notice of a subscription goes where that was asked for.
  if (const json::Node subscription = message.meta()[kMetaSubscriptionId]) {
    const auto by = by_sent_id[server].find(id_key(subscription));
    const auto found = by == by_sent_id[server].end() ? open_requests.end() : open_requests.find(by->second);
    if (found != open_requests.end()) {
      if (found->second.id == id_key(subscription)) return pass(found->second.stream);
      return pass(found->second.stream, {replacing(subscription, found->second.id)});
    }
  }
  if (method == "notifications/message") return pass(stream_for(server, ticket));
  pass(ticket == 0 ? kAside : stream_for(server, ticket));
}

// --- failures and endings -----------------------------------------------------------------------------------------------------------

void Conversation::Core::stream_back(Stream stream) {
  for (const auto& [ticket, what] : sent)
    if (what.left_off && stream_for(what.server, ticket) == stream) out->push_back(TakeUp{what.server, ticket});
}

void Conversation::Core::left_off(std::size_t server, Ticket ticket, Milliseconds retry_after) {
  const auto found = sent.find(ticket);
  if (found == sent.end()) return;  // it is over; a guess would close another's
  found->second.left_off = true;
  const Stream stream = stream_for(server, ticket);
  if (stream != kAside && !client_is_gone) out->push_back(LeaveOff{stream, retry_after});
}

void Conversation::Core::attempt_failed(std::size_t server, Ticket ticket, AttemptFailure failure) {
  const auto found = sent.find(ticket);
  if (found == sent.end()) return;
  const Sent what = found->second;
  const std::string why = "the server `" + catalogue.server_name(server) + "` could not be asked: " + failure.message;
  if (what.whose == Sent::Whose::Client) return answer_error(ticket, kInternalError, why);
  forget_sent(ticket);
  if (what.whose == Sent::Whose::Own)
    return own_answered(what.number, server, nullptr, "could not be asked: " + failure.message);
  const auto call = calls.find(what.number);
  if (call == calls.end()) return;
  Outcome outcome;
  outcome.kind = Outcome::Kind::Error;
  outcome.error_class = failure.error_class;
  outcome.error_code = failure.http_status ? std::to_string(*failure.http_status) : failure.error_class;
  outcome.error_message = failure.message;
  outcome.http_status = failure.http_status;
  const auto request = open_requests.find(call->second.open);
  std::string held = request == open_requests.end() ? "" : error_message(request->second.id, kInternalError, why);
  call_failed(call->second, std::move(outcome), std::move(failure.retry_after), std::move(held), kInternalError);
}

void Conversation::Core::server_gone(std::size_t server, std::string_view why, bool returns) {
  servers[server].is_gone = true;
  servers[server].returns = returns;
  const std::string text = "the server `" + catalogue.server_name(server) + "` is gone: " + std::string(why) +
                           (returns ? "; it is being restarted, try again in a moment" : "");
  std::vector<std::pair<Ticket, Sent>> there;
  for (const auto& [ticket, what] : sent)
    if (what.server == server) there.emplace_back(ticket, what);
  for (const auto& [ticket, what] : there) {
    if (what.whose == Sent::Whose::Client) {
      answer_error(ticket, kInternalError, text);
      continue;
    }
    forget_sent(ticket);
    if (what.whose == Sent::Whose::Own) own_answered(what.number, server, nullptr);
  }
  std::vector<CallNumber> under_way;
  for (const auto& [number, call] : calls)
    if (call.server == server && (call.state == Call::State::Forwarded || call.state == Call::State::Tasked ||
                                  call.state == Call::State::Suspended || call.state == Call::State::Sleeping ||
                                  call.state == Call::State::Rechecked || call.state == Call::State::Asking ||
                                  call.state == Call::State::Answering))
      under_way.push_back(number);
  for (const CallNumber number : under_way) {
    Call& call = calls.at(number);
    settle(call, {}, false);
    answer_error(call.open, kInternalError, text + "; nobody knows whether the call happened");
    end_call(number);
  }
  for (auto one = asked.begin(); one != asked.end();) {
    if (one->second.server != server) {
      ++one;
      continue;
    }
    if (!one->second.sent_token.empty()) asked_tokens.erase(one->second.sent_token);
    say(kAside, cancelled(one->first, text));
    one = asked.erase(one);
  }
  std::vector<CallNumber> its;
  for (const auto& [number, ask] : asks)
    if (ask.server == server && ask.owner == 0) its.push_back(number);
  for (const CallNumber number : its) give_up(asks.at(number));
}

void Conversation::Core::server_back(std::size_t server) {
  ServerState& state = servers[server];
  state.is_gone = state.refuses = false;
  ++state.generation;
  if (!is_initialized) {
    tell_tools_changed();
    return;
  }
  // It knows nothing of the beginning: it is told again, and only then what else there is.
  state.is_ready = false;
  const std::uint64_t number = next_number++;
  own_requests[number] = {.kind = OwnRequest::Kind::Initialize, .server = server, .method = "initialize"};
  send_own(number, initialize_params, nullptr);
}

void Conversation::Core::stream_gone(Stream stream) {
  const auto is_dropped = [&](const HeldMessage& one) { return one.stream == stream && one.era == Era::Modern; };
  for (const HeldMessage& one : held)
    if (is_dropped(one)) held_bytes -= one.bytes.size();
  std::erase_if(held, is_dropped);
  if (stream == kAside || !open_on_stream.contains(stream)) return;
  std::vector<Ticket> on_it;
  for (const auto& [ticket, request] : open_requests)
    if (request.stream == stream) on_it.push_back(ticket);
  for (const Ticket ticket : on_it) {
    OpenRequest& request = open_requests.at(ticket);
    if (request.era == Era::Legacy) {  // not a cancellation: what comes is kept for another stream
      end_stream_of(stream);
      request.stream = kAside;
      ++open_on_stream[kAside];
      continue;
    }
    const auto call = request.kind == Kind::Call ? calls.find(request.call) : calls.end();
    if (call != calls.end()) {
      call_cancelled(call->second, "the client closed the stream", false);
      continue;
    }
    withdraw(ticket, "the client closed the stream");
    drop(ticket);
  }
}

void Conversation::Core::client_gone() {
  if (client_is_gone) return;
  std::vector<CallNumber> all;
  for (const auto& [number, call] : calls) all.push_back(number);
  for (const CallNumber number : all) {
    Call& call = calls.at(number);
    if (call.state == Call::State::Forwarded) withdraw(call.sent, "the client is gone");
    switch (call.state) {
      case Call::State::Forwarded:
      case Call::State::Tasked:
      case Call::State::Suspended:
      case Call::State::Sleeping:
      case Call::State::Rechecked:
      case Call::State::Asking:
      case Call::State::Answering:
        settle(call, {}, false);
        forget_sent(call.sent);
        end_call(number);
        break;
      case Call::State::Waiting: call_cancelled(call, "the client is gone", false); break;
      case Call::State::Pinning: end_call(number); break;
      default: call.open = 0;  // the node's word on it is still to come
    }
  }
  std::vector<Ticket> rest;
  for (const auto& [ticket, request] : open_requests) rest.push_back(ticket);
  for (const Ticket ticket : rest) {
    withdraw(ticket, "the client is gone");
    forget(ticket);
  }
  std::vector<CallNumber> open_asks;
  for (const auto& [number, ask] : asks) open_asks.push_back(number);
  for (const CallNumber number : open_asks)
    if (const auto ask = asks.find(number); ask != asks.end()) give_up(ask->second);
  held.clear();
  asked.clear();
  asked_tokens.clear();
  elicitations.clear();
  batches.clear();
  disarm(look_timer);
  for (auto& [number, own] : own_requests) disarm(own.timer);
  client_is_gone = true;
  out->push_back(End{"the client is gone"});
}

// --- the outside --------------------------------------------------------------------------------------------------------------------

Conversation::Conversation(Options options) : core_(std::make_unique<Core>(std::move(options))) {}
Conversation::~Conversation() = default;
Conversation::Conversation(Conversation&&) noexcept = default;

namespace {

// What every step has to know, for as long as it takes.
template <class Core>
Core& at(Core& core, Milliseconds now, Actions& out) {
  core.now = now;
  core.out = &out;
  return core;
}

}  // namespace

void Conversation::from_client(Milliseconds now, Stream stream, std::string message, Actions& out,
                               std::optional<ParameterHeaders> parameters) {
  core_->given_headers = std::move(parameters);
  core_->taken_in = stream;
  at(*core_, now, out).from_client(stream, std::move(message), 0);
  core_->given_headers.reset();
  core_->taken_in = kAside;
}
void Conversation::oversized_from_client(Milliseconds now, Stream stream, std::string_view head, std::string_view tail,
                                         Actions& out) {
  at(*core_, now, out).oversized_from_client(stream, head, tail);
}
void Conversation::session_opened(Milliseconds now, Session session, Actions& out) {
  at(*core_, now, out).session_opened(std::move(session));
}
void Conversation::session_refused(Milliseconds now, std::string_view why, Actions& out) {
  at(*core_, now, out).session_refused(why);
}
void Conversation::from_server(Milliseconds now, std::size_t server, std::string message, Ticket ticket, Actions& out) {
  if (server < core_->servers.size()) at(*core_, now, out).from_server(server, std::move(message), ticket);
}
void Conversation::oversized_from_server(Milliseconds now, std::size_t server, std::string_view head,
                                         std::string_view tail, Ticket ticket, Actions& out) {
  if (server < core_->servers.size()) at(*core_, now, out).oversized_from_server(server, head, tail, ticket);
}
void Conversation::attempt_failed(Milliseconds now, std::size_t server, Ticket ticket, AttemptFailure failure,
                                  Actions& out) {
  if (server < core_->servers.size()) at(*core_, now, out).attempt_failed(server, ticket, std::move(failure));
}
void Conversation::left_off(Milliseconds now, std::size_t server, Ticket ticket, Milliseconds retry_after,
                            Actions& out) {
  if (server < core_->servers.size()) at(*core_, now, out).left_off(server, ticket, retry_after);
}
void Conversation::verdict(Milliseconds now, CallNumber call, Verdict verdict, Actions& out) {
  at(*core_, now, out).verdict(call, std::move(verdict));
}
void Conversation::settled(Milliseconds now, CallNumber call, Settled settled, Actions& out) {
  at(*core_, now, out).settled(call, std::move(settled));
}
void Conversation::callable(Milliseconds now, Question question, Callable callable, Actions& out) {
  at(*core_, now, out).callable(question, std::move(callable));
}
void Conversation::session_changed(Milliseconds now, Actions& out) { at(*core_, now, out).look(); }
void Conversation::decision(Milliseconds now, CallNumber call, Decision decision, Actions& out) {
  at(*core_, now, out).decision(call, std::move(decision));
}
void Conversation::handed_off(Milliseconds now, Question question, NodeAnswer answer, Actions& out) {
  at(*core_, now, out).handed_off(question, answer);
}
void Conversation::status(Milliseconds now, Question question, NodeAnswer answer, Actions& out) {
  at(*core_, now, out).handed_off(question, answer);
}
void Conversation::rang(Milliseconds now, Timer timer, Actions& out) { at(*core_, now, out).rang(timer); }
void Conversation::server_gone(Milliseconds now, std::size_t server, std::string_view why, Actions& out, bool returns) {
  if (server < core_->servers.size()) at(*core_, now, out).server_gone(server, why, returns);
}
void Conversation::server_back(Milliseconds now, std::size_t server, Actions& out) {
  if (server < core_->servers.size()) at(*core_, now, out).server_back(server);
}
void Conversation::stream_back(Milliseconds now, Stream stream, Actions& out) {
  at(*core_, now, out).stream_back(stream);
}
void Conversation::stream_gone(Milliseconds now, Stream stream, Actions& out) {
  core_->taken_in = stream;
  at(*core_, now, out).stream_gone(stream);
  core_->taken_in = kAside;
}
void Conversation::client_gone(Milliseconds now, Actions& out) { at(*core_, now, out).client_gone(); }

const Revision* Conversation::revision() const { return core_->agreed != nullptr ? core_->agreed : core_->modern; }
std::size_t Conversation::open_requests() const { return core_->open_requests.size(); }
std::size_t Conversation::held_messages() const { return core_->held.size(); }
bool Conversation::holds_much() const { return core_->holds_much(); }
std::size_t Conversation::open_calls() const { return core_->calls.size() + core_->asks.size(); }
const Conversation::Counts& Conversation::counts() const { return core_->counts; }

}  // namespace baton::mcp
