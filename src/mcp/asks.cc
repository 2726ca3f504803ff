// SPDX-License-Identifier: Apache-2.0
// What servers want of the client: sampling, elicitation, roots. In the legacy era a server sends a request; in the modern era it
// answers a call with the requests (`input_required`). Either is judged by the contract of its operation before the client gets it,
// and the client's answer is recorded and judged before the server gets that.
#include <algorithm>

#include "base/text.h"
#include "diagnostics/diagnostic.h"
#include "mcp/core.h"
#include "mcp/methods.h"
#include "mcp/output.h"

namespace baton::mcp {

using State = Ask::State;

namespace {

constexpr std::size_t kInputsMax = 16;  // of one answer

Denial denial_of(const Diagnostic& diagnostic) {
  return {std::string(info(diagnostic.code).name), diagnostic.message, diagnostic.help};
}

// The client gets the keys of input requests, and nobody judges them.
bool is_short_key(std::string_view key) {
  constexpr std::size_t kKeyBytesMax = 64;
  return !key.empty() && key.size() <= kKeyBytesMax && std::ranges::all_of(key, [](char c) {
    return is_alphanumeric(c) || std::string_view("._:/-").find(c) != std::string_view::npos;
  });
}
constexpr std::string_view kNoShortKey = "the key of a request has other than 1 to 64 of A-Z a-z 0-9 . _ : / -";

Outcome cancelled_outcome() {
  Outcome out;
  out.kind = Outcome::Kind::Error;
  out.error_code = out.error_class = "cancelled";
  return out;
}

}  // namespace

// --- a request of a server --------------------------------------------------------------------------------------------------------

void Conversation::Core::server_asks(std::size_t server, Message& message, Ticket ticket) {
  const std::string id = message.id_text(), method(message.method());
  const auto refuse = [&](int code, std::string_view why) {
    out->push_back(ToServer{server, error_message(id, code, why), 0, kAside, {}, {}, {}, agreed});
  };
  if (client_is_gone) return refuse(kInternalError, "the client is gone");
  if (asks.size() >= options.asks_max || asks.size() + asked.size() >= options.open_requests_max)
    return refuse(kInternalError, "too many requests are open");
  for (const auto& [number, ask] : asks)
    if (ask.server == server && ask.id == id && !ask.is_cancelled)
      return refuse(kInvalidRequest, "a request with this id is open");
  for (const auto& [shown, one] : asked)
    if (one.server == server && one.id == id) return refuse(kInvalidRequest, "a request with this id is open");
  Ask ask;
  ask.server = server;
  ask.method = method;
  ask.id = id;
  ask.ticket = ticket;
  if (method == "ping") {
    ask.bytes = message.take_bytes();
    return ask_client(ask);
  }
  const auto known = operation_of_server(method);
  if (!known) {
    note_dropped("server `" + catalogue.server_name(server) + "`", method, "no server may ask a client for it");
    return refuse(kMethodNotFound, "Method not found");
  }
  const bool has_begun = is_initialized && standing == Standing::Open;
  if (const std::string_view missing = undeclared(has_begun ? client_can : ClientAbilities(), *known, message.params());
      !missing.empty())
    return refuse(kMethodNotFound, "the client has not declared `" + std::string(missing) + "`");
  if (message.params()["task"]) return refuse(kInvalidParams, "tasks of the client are not supported");
  std::string problem = unclear_ask(message.root());
  std::string arguments;
  if (problem.empty()) arguments = judged_params(server, message.params(), problem);
  if (!problem.empty()) return refuse(kInvalidParams, problem);
  ask.number = next_number++;
  ask.name = name_of(*known);
  ask.bytes = message.take_bytes();
  const CallNumber number = ask.number;
  propose(asks.emplace(number, std::move(ask)).first->second, arguments);
}

void Conversation::Core::propose(Ask& ask, std::string_view arguments) {
  ask.call_id = options.id_prefix + "-call-" + std::to_string(ask.number);
  out->push_back(Propose{ask.number, proposal_body(ask.call_id, ask.name, arguments)});
}

void Conversation::Core::settle(const Ask& ask, const Outcome& outcome, bool awaited) {
  out->push_back(Settle{ask.number, settle_body(ask.call_id, outcome), awaited});
}

void Conversation::Core::answer_server(const Ask& ask, std::string bytes) {
  if (cannot_reach(ask.server)) return;
  out->push_back(ToServer{ask.server, std::move(bytes), 0, kAside, {}, {}, {}, agreed});
}

void Conversation::Core::end_ask(CallNumber number) {
  const auto found = asks.find(number);
  if (found == asks.end()) return;
  disarm(found->second.total);
  asks.erase(found);
}

// --- the node's word --------------------------------------------------------------------------------------------------------------

void Conversation::Core::ask_verdict(Ask& ask, Verdict verdict) {
  if (ask.state != State::Proposed) return;
  const CallNumber number = ask.number;
  if (!verdict.call_id.empty()) ask.call_id = verdict.call_id;
  if (ask.verdict.total_ms > 0 && verdict.total_ms == 0) verdict.total_ms = ask.verdict.total_ms;
  ask.verdict = std::move(verdict);
  switch (ask.verdict.kind) {
    case Verdict::Kind::Begun:
      if (!ask.is_cancelled) return ask_begun(ask);
      settle(ask, cancelled_outcome(), false);
      return end_ask(number);
    case Verdict::Kind::Allowed:
      if (!ask.is_cancelled) {
        out->push_back(Start{number, start_body(ask.call_id)});
        return;
      }
      out->push_back(Cancel{number, ask.call_id, {}});
      return end_ask(number);
    case Verdict::Kind::Waits:
      if (!ask.is_cancelled) {
        ask.state = State::Waiting;
        out->push_back(AwaitApproval{number, ask.verdict.approval_id});
        return;
      }
      out->push_back(Cancel{number, ask.call_id, ask.verdict.approval_id});
      return end_ask(number);
    case Verdict::Kind::Refused:
      if (const std::size_t most = ask.verdict.bytes_max; most != 0)
        ask.verdict.denial = arguments_too_large(ask.name, ask.bytes.size(), most);
      [[fallthrough]];
    case Verdict::Kind::Unreachable: return ask_refused(ask, Denial(ask.verdict.denial));
  }
}

void Conversation::Core::ask_decided(Ask& ask, const Decision& decision) {
  if (ask.state != State::Waiting) return;
  switch (decision.kind) {
    case Decision::Kind::Approved:
      ask.state = State::Proposed;
      out->push_back(Start{ask.number, start_body(ask.call_id)});
      return;
    case Decision::Kind::Denied:
      return ask_refused(
          ask, denial_of(report(Code::checkpoint_denied, {},
                                {{"suggestion", decision.note.empty() ? "go on without it" : decision.note}})));
    case Decision::Kind::Lapsed: return ask_refused(ask, denial_of(report(Code::checkpoint_timeout, {})));
    case Decision::Kind::Spent:
      return ask_refused(
          ask, denial_of(report(Code::checkpoint_closed, {}, {{"state", "used already: the request was made"}})));
    case Decision::Kind::Unreachable:
      return ask_refused(
          ask, denial_of(report(Code::node_unreachable, {}, {{"problem", "the approval could not be read"}})));
    case Decision::Kind::Open: out->push_back(AwaitApproval{ask.number, ask.verdict.approval_id});
  }
}

void Conversation::Core::ask_begun(Ask& ask) {
  if (ask.owner != 0) {
    ask.state = State::Held;
    return input_decided(ask.owner);
  }
  ask.state = State::Asked;
  if (ask.verdict.total_ms > 0) ask.total = arm(ask.number, ask.verdict.total_ms);
  ask_client(ask);
}

void Conversation::Core::ask_refused(Ask& ask, const Denial& denial) {
  ++counts.denied;
  const Ask refused = std::move(ask);
  asks.erase(refused.number);
  if (refused.is_cancelled) return;
  if (refused.owner != 0) return input_refused(refused.owner, refused.method, denial);
  answer_server(refused, error_message(refused.id, kDenied, text_of(denial), denied_data(denial)));
}

// --- the client is asked ----------------------------------------------------------------------------------------------------------

void Conversation::Core::ask_client(Ask& ask) {
  Message message(std::move(ask.bytes), options.server_bytes_max);
  std::string shown = id_for_client();
  std::vector<Splice> splices = {replacing(message.id(), shown)};
  AskedOfClient whose{ask.server, ask.id, message.progress_token(), {}, ask.number};
  if (!whose.token.empty()) {
    whose.sent_token = id_for_client();
    splices.push_back(replacing(message.progress_token_node(), whose.sent_token));
    asked_tokens[whose.sent_token] = shown;
  }
  asked.emplace(std::move(shown), std::move(whose));
  std::string bytes = splice(message.bytes(), std::move(splices));
  out->push_back(ToClient{stream_for(ask.server, ask.ticket), std::move(bytes), false, 0});
}

void Conversation::Core::ask_answered(Ask& ask, Message& message) {
  if (ask.state != State::Asked) return;
  const Outcome outcome = message.kind() == Message::Kind::Error
                              ? outcome_of_error(message.error(), options.output_bytes_max)
                              : outcome_of_other(ask.method, message.result(), options.output_bytes_max);
  if (!outcome.unjudged.empty()) {
    settle(ask, outcome, false);
    const Denial denial = unjudged(ask.name, outcome, options.output_bytes_max);
    answer_server(ask, error_message(ask.id, kDenied, text_of(denial), denied_data(denial)));
    return end_ask(ask.number);
  }
  ask.held = splice(message.bytes(), {replacing(message.id(), ask.id)});
  ask.state = State::Settling;
  disarm(ask.total);
  settle(ask, outcome, true);
}

void Conversation::Core::ask_settled(Ask& ask, const Settled& settled) {
  if (ask.state != State::Settling) return;
  if (!settled.recorded) settle(ask, {}, false);
  const bool is_blocked = governed.enforces && (!settled.recorded || settled.output_blocked);
  if (is_blocked) ++counts.denied;
  const Ask over = std::move(ask);
  asks.erase(over.number);
  if (over.is_cancelled) return;
  if (over.owner != 0) {
    if (is_blocked) return input_refused(over.owner, over.method, settled.denial);
    return input_settled(over.owner);
  }
  if (is_blocked)
    return answer_server(over, error_message(over.id, kDenied, text_of(settled.denial), denied_data(settled.denial)));
  answer_server(over, over.held);
}

// The time that its contract gives it is over.
void Conversation::Core::ask_rang(Ask& ask) {
  ask.total = 0;
  if (ask.state != State::Asked || ask.owner != 0) return;
  for (auto one = asked.begin(); one != asked.end(); ++one) {
    if (one->second.ask != ask.number) continue;
    if (!one->second.sent_token.empty()) asked_tokens.erase(one->second.sent_token);
    say(kAside, cancelled(one->first, "the client did not answer in time"));
    asked.erase(one);
    break;
  }
  Outcome outcome;
  outcome.kind = Outcome::Kind::Timeout;
  settle(ask, outcome, false);
  const Denial denial = denial_of(
      report(Code::call_timed_out, {}, {{"tool", ask.name}, {"total_ms", std::to_string(ask.verdict.total_ms)}}));
  answer_server(ask, error_message(ask.id, kDenied, text_of(denial), denied_data(denial)));
  end_ask(ask.number);
}

void Conversation::Core::give_up(Ask& ask) {
  switch (ask.state) {
    case State::Proposed:
    case State::Settling:  // the node's word is still to come
      ask.is_cancelled = true;
      ask.owner = 0;
      return;
    case State::Waiting:
      out->push_back(LeaveApproval{ask.number});
      out->push_back(Cancel{ask.number, ask.call_id, ask.verdict.approval_id});
      break;
    case State::Held: settle(ask, cancelled_outcome(), false); break;
    case State::Asked: settle(ask, {}, false); break;  // what the client did is not known
  }
  end_ask(ask.number);
}

// --- input that an answer asks for -------------------------------------------------------------------------------------------------

void Conversation::Core::give_up_asks(CallNumber owner) {
  std::vector<CallNumber> all;
  for (const auto& [number, ask] : asks)
    if (ask.owner == owner) all.push_back(number);
  for (const CallNumber number : all) give_up(asks.at(number));
}

bool Conversation::Core::asks_for_input(Call& call, Message& message) {
  const json::Node inputs = message.result()["inputRequests"];
  if (!inputs || (inputs.is_object() && inputs.size() == 0)) return false;
  const CallNumber owner = call.number;
  const auto refuse = [&](std::string_view problem) {
    Outcome outcome;
    outcome.unjudged = "the server asks the client for input, and " + std::string(problem);
    settle(call, {}, false);
    deny(call, unjudged(call.client_name, outcome, options.output_bytes_max));
    return true;
  };
  if (!inputs.is_object()) return refuse("`inputRequests` is not an object");
  if (inputs.size() > kInputsMax || asks.size() + inputs.size() > options.asks_max)
    return refuse("it asks for too much at once");
  std::vector<std::pair<CallNumber, std::string>> proposals;
  for (const json::Member input : inputs.members()) {
    const json::Node method = input.value["method"], params = input.value["params"];
    const auto known = method.is_string() ? operation_of_server(method.string()) : std::nullopt;
    if (!known || (params && !params.is_object())) return refuse("no server may ask a client for that");
    if (const std::string_view missing = undeclared(call.client_can, *known, params); !missing.empty())
      return refuse("the client has not declared `" + std::string(missing) + "`");
    std::string problem = is_short_key(input.name()) ? unclear_ask(input.value) : std::string(kNoShortKey);
    if (problem.empty() && input.value.size() != (params ? 2u : 1u))
      problem = "a request has more than `method` and `params`";
    std::string arguments;
    if (problem.empty()) arguments = judged_params(call.server, params, problem);
    if (!problem.empty()) return refuse(problem);
    proposals.emplace_back(next_number++, std::move(arguments));
  }
  call.state = Call::State::Asking;
  call.held = message.take_bytes();
  const Message held(call.held, options.server_bytes_max);
  std::size_t at = 0;
  for (const json::Member input : held.result()["inputRequests"].members()) {
    Ask ask;
    ask.number = proposals[at].first;
    ask.server = call.server;
    ask.method = input.value["method"].string();
    ask.name = name_of(*operation_of_server(ask.method));
    ask.owner = owner;
    ask.key = input.name();
    propose(asks.emplace(ask.number, std::move(ask)).first->second, proposals[at].second);
    ++at;
  }
  return true;
}

// One of the input requests of an answer has begun: the client gets the answer when all have.
void Conversation::Core::input_decided(CallNumber owner) {
  const auto found = calls.find(owner);
  if (found == calls.end() || found->second.state != Call::State::Asking) return;
  for (const auto& [number, ask] : asks)
    if (ask.owner == owner && ask.state != State::Held) return;
  for (auto& [number, ask] : asks)
    if (ask.owner == owner) ask.state = State::Asked;
  Call& call = found->second;
  Message message(std::move(call.held), options.server_bytes_max);
  call.held.clear();
  suspend(call, message);
}

void Conversation::Core::input_refused(CallNumber owner, std::string_view method, const Denial& denial) {
  const auto found = calls.find(owner);
  if (found == calls.end()) return;
  Denial why = denial;
  why.why = "the server asked for `" + std::string(method) + "`: " + why.why;
  settle(found->second, {}, false);
  deny(found->second, why);
}

bool Conversation::Core::take_input(Call& call, json::Node responses) {
  const CallNumber owner = call.number;
  std::vector<CallNumber> all;
  for (const auto& [number, ask] : asks)
    if (ask.owner == owner && ask.state == State::Asked) all.push_back(number);
  std::vector<std::pair<CallNumber, Outcome>> outcomes;
  for (const CallNumber number : all) {
    const Ask& ask = asks.at(number);
    const json::Node response = responses[ask.key];
    Outcome outcome;
    if (!response) {
      outcome.kind = Outcome::Kind::Error;
      outcome.error_code = "no_answer";
      outcome.error_class = "client_error";
    } else if (outcome = outcome_of_other(ask.method, response, options.output_bytes_max); !outcome.unjudged.empty()) {
      const Denial denial = unjudged(ask.name, outcome, options.output_bytes_max);
      input_refused(owner, ask.method, denial);
      return false;
    }
    outcomes.emplace_back(number, std::move(outcome));
  }
  for (const auto& [number, outcome] : outcomes) {
    Ask& ask = asks.at(number);
    const bool is_answered = outcome.kind == Outcome::Kind::Ok;
    settle(ask, outcome, is_answered);
    if (is_answered) ask.state = State::Settling;
    else end_ask(number);
  }
  return true;
}

// One of the client's answers is recorded: the server gets them when all are.
void Conversation::Core::input_settled(CallNumber owner) {
  const auto found = calls.find(owner);
  if (found == calls.end() || found->second.state != Call::State::Answering) return;
  for (const auto& [number, ask] : asks)
    if (ask.owner == owner) return;
  Call& call = found->second;
  if (!open_requests.contains(call.open)) {
    settle(call, {}, false);
    return end_call(owner);
  }
  if (cannot_reach(call.server)) {
    settle(call, {}, false);
    answer_error(call.open, kInternalError, unreachable_text(call.server));
    return end_call(owner);
  }
  forward(call);
}

}  // namespace baton::mcp
