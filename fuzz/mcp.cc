// SPDX-License-Identifier: Apache-2.0
// The core of the MCP proxy, fed with any sequence of what clients, servers, the node, people and clocks may do. Whatever that is:
//   a tools/call reaches a server only after Begun for exactly those arguments, and as often as that allows
//   so does every other request that needs a verdict; what has no id is a notification that is known
//   a request of a server reaches the client only after Begun
//   nothing that a server says in a `_meta` of Baton's reaches the client
//   a request of the client is answered at most once
//   nothing of an output reaches the client before it is recorded, and never when it is blocked
//   what goes out is one line of JSON
//   what is remembered stays within the limits
#include <deque>
#include <map>
#include <set>

#include "mcp/conversation.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/outline.h"
#include "mcp/output.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

using mcp::Message;
namespace m = mcp;

constexpr std::string_view kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}})";
constexpr std::size_t kMost = 8;

class World {
 public:
  explicit World(Input input) : input_(input), conversation_(options()) {}

  void run() {
    while (!input_.rest().empty()) {
      step();
      take_in();
      check_limits();
    }
    conversation_.client_gone(now_, actions_);
    take_in();
  }

 private:
  m::Options options() {
    const std::uint8_t choice = input_.choice();
    m::Options out;
    servers_ = 1 + choice % 2;
    out.servers = servers_ == 1 ? std::vector<std::string>{"s"} : std::vector<std::string>{"s", "t"};
    m::Session session{.id = "ses", .user_is_operator = (choice & 2) != 0};
    is_open_ = (choice & 8) == 0;
    if (is_open_) out.session = std::move(session);
    out.held_max = kMost;
    out.id_prefix = "own";
    out.open_requests_max = kMost;
    out.suspended_max = out.tasks_max = 2;
    out.pages_max = 3;
    out.client_bytes_max = 1u << 16;
    out.server_bytes_max = 1u << 16;
    out.output_bytes_max = (choice & 4) != 0 ? 64 : 1u << 16;
    return out;
  }

  // --- what happens

  void step() {
    const std::uint8_t what = input_.choice(), which = input_.choice();
    now_ += which;
    switch (what % 19) {
      case 0: return from_client(std::string(input_.part()));
      case 1:
      case 2: return from_client(request(which));
      case 3: return from_server(which);
      case 4:
      case 5: return answer_of_server(which);
      case 6:
      case 7: return give_verdict(which);
      case 8: return give_settled(which);
      case 9: return give_callable(which);
      case 10: return give_decision(which);
      case 11:
        if (!timers_.empty()) {
          const auto at = std::next(timers_.begin(), which % timers_.size());
          const m::Timer timer = *at;
          timers_.erase(at);
          conversation_.rang(now_, timer, actions_);
        }
        return;
      case 12:
        if (!questions_.empty()) {
          conversation_.handed_off(now_, questions_.front(), {which % 2 == 0, "text"}, actions_);
          questions_.pop_front();
        }
        return;
      case 13:
        if (which % 2 == 0) return conversation_.server_gone(now_, (which / 2) % servers_, "gone", actions_);
        return conversation_.server_back(now_, (which / 2) % servers_, actions_);
      case 14: return from_client(m::cancelled(std::to_string(which % 8), ""));
      case 15:
        if (!sent_.empty()) {
          const auto at = std::next(sent_.begin(), which % sent_.size());
          m::AttemptFailure failure;
          failure.error_class = which % 3 == 0 ? "network" : "rate_limited";
          if (which % 3 == 1) failure.http_status = 429;
          conversation_.attempt_failed(now_, at->second.server, at->first, std::move(failure), actions_);
        }
        return;
      case 16:
        if (!asked_.empty()) {
          const std::string id = asked_.front();
          asked_.pop_front();
          return from_client(
              m::result_message(id, which % 2 == 0 ? R"({"action":"accept"})" : R"({"action":"decline"})"));
        }
        return;
      case 17:
        if (!std::exchange(opens_, false)) return;
        if (which % 4 == 0) return conversation_.session_refused(now_, "no", actions_);
        is_open_ = true;
        return conversation_.session_opened(now_, {.id = "ses"}, actions_);
      default:
        if (which % 4 == 0) return conversation_.stream_gone(now_, 1 + which % 3, actions_);
        if (which % 4 == 1) return conversation_.session_changed(now_, actions_);
        if (which % 4 == 2)
          return conversation_.oversized_from_server(
              now_, which % servers_, m::result_message(std::to_string(which % 8), "{"), "", 0, actions_);
        if (which == 255) conversation_.client_gone(now_, actions_);
    }
  }

  void from_server(std::uint8_t which) {
    const std::string id = std::to_string(which % 4);
    constexpr std::string_view kParams = R"({"x":1,"_meta":{"dev.baton/decision":1,"progressToken":1}})";
    std::string text;
    switch ((which / 4) % 8) {
      case 0: text = m::request(id, "roots/list", kParams); break;
      case 1: text = m::request(id, "sampling/createMessage", kParams); break;
      case 2: text = m::request(id, "vendor/x", kParams); break;
      case 3: text = m::notification("sampling/createMessage", kParams); break;
      case 4: text = m::notification("notifications/progress", R"({"progressToken":1,"progress":1})"); break;
      case 5:
        text = m::notification("notifications/message", R"({"_m\u0065ta":{"d\u0065v.baton\/decision":1},"data":"x"})");
        break;
      case 6: text = m::request(id, "ping"); break;
      default: text = std::string(input_.part());
    }
    conversation_.from_server(now_, which % servers_, std::move(text), 0, actions_);
  }

  void from_client(std::string text) {
    count_ids(text);
    conversation_.from_client(now_, 1 + input_.choice() % 3, std::move(text), actions_);
  }

  // How often each id may be answered.
  void count_ids(const std::string& text) {
    const Message message(text, 1u << 16);
    if (message.kind() == Message::Kind::Batch) {
      for (const std::string& element : message.elements()) count_ids(element);
      ++may_be_answered_["null"];
      return;
    }
    const bool is_broken = message.kind() == Message::Kind::Broken;
    const std::string id = is_broken ? m::id_to_answer(message) : std::string(message.id_text());
    ++may_be_answered_[id.empty() ? "null" : id];
  }

  std::string request(std::uint8_t which) {
    const std::string id = std::to_string(which % 8);
    const bool is_modern = (which & 8) != 0;
    std::string meta =
        is_modern ? std::string(kMeta) : R"("_meta":{"progressToken":)" + std::to_string(which % 3) + "}";
    if (which % 8 == 6) meta.insert(meta.find('{') + 1, R"("dev.baton\u002fsession":"t",)");
    if (which % 8 == 7) meta.insert(meta.find('{') + 1, R"("dev.baton/session":"u",)");
    const std::string tool = servers_ == 1 ? (which & 16 ? "a" : "b") : (which & 16 ? "s__a" : "t__b");
    switch (which / 32) {
      case 0:
        return m::request(
            id, "initialize",
            R"({"protocolVersion":"2025-03-26","capabilities":{"elicitation":{},"roots":{},"sampling":{}}})");
      case 1:
        switch (input_.choice() % 6) {
          case 0: return m::notification("tools/call", R"({"name":"a","arguments":{"x":1}})");
          case 1: return m::request(id, "Tools/call ", R"({"name":"a","arguments":{"x":1}})");
          case 2: return m::request(id, "resources/read", R"({"uri":"a:b",)" + meta + "}");
          case 3: return m::request(id, "vendor/x", "{" + meta + "}");
          case 4:
            return m::request(id, "subscriptions/listen",
                              R"({"notifications":{"resourceSubscriptions":["a:b"]},)" + meta + "}");
          default: return m::request(id, "tools/list", "{" + meta + "}");
        }
      case 2: return m::request(id, "tasks/result", R"({"taskId":"T",)" + meta + "}");
      case 3: return m::request(id, "tasks/get", R"({"taskId":"T",)" + meta + "}");
      case 4:
        return m::request(id, "subscriptions/listen", R"({"notifications":{"toolsListChanged":true},)" + meta + "}");
      case 5:
        if (!state_.empty())
          return m::request(
              id, "tools/call",
              R"({"name":")" + tool + R"(","arguments":{"x":1},"requestState":)" + state_ + "," + meta + "}");
        return m::request(id, "tools/call", R"({"name":"baton_status",)" + meta + "}");
      default:
        return m::request(
            id, "tools/call",
            R"({"name":")" + tool + R"(","arguments":{"x":1},)" + (which % 2 == 0 ? R"("task":{},)" : "") + meta + "}");
    }
  }

  void answer_of_server(std::uint8_t which) {
    if (sent_.empty()) return;
    const auto at = std::next(sent_.begin(), which % sent_.size());
    const auto [server, id, key] = at->second;
    sent_.erase(at);
    const std::string token = "SECRET" + std::to_string(++tokens_) + ".";
    unjudged_.insert(token);
    std::string result;
    switch (input_.choice() % 9) {
      case 0: result = R"({"content":[{"type":"text","text":")" + token + R"("}]})"; break;
      case 1: result = R"({"content":[],"structuredContent":{"v":")" + token + R"("}})"; break;
      case 2: result = R"({"content":[{"type":"text","text":")" + token + R"("}],"isError":true})"; break;
      case 3:
        result =
            R"({"resultType":"input_required","inputRequests":{"k":{"method":"elicitation/create","params":{"_meta":{"dev.baton/x":1}}}},"requestState":"u"})";
        ++allowed_[key];
        break;
      case 4: result = R"({"task":{"taskId":"T","status":"working"}})"; break;
      case 5: result = R"({"resultType":"task","taskId":"T","status":"working"})"; break;
      case 6:
        result = R"({"tools":[{"name":"a","inputSchema":{}},{"name":"b","description":"d","inputSchema":{}}]})";
        break;
      case 7: result = R"({"protocolVersion":"2025-03-26","capabilities":{"tools":{}}})"; break;
      default:
        result =
            R"({"taskId":"T","status":"completed","result":{"content":[],"structuredContent":")" + token + R"("}})";
    }
    // Only what answers a call or asks about a task has an output in it; and one inside is none but of a task.
    if (key.empty() || (key != "task" && result.starts_with(R"({"taskId")"))) unjudged_.erase(token);
    conversation_.from_server(now_, server, m::result_message(id, result), 0, actions_);
  }

  void give_verdict(std::uint8_t which) {
    if (proposed_.empty()) return;
    const auto at = std::next(proposed_.begin(), which % proposed_.size());
    const auto [call, key] = *at;
    proposed_.erase(at);
    m::Verdict verdict;
    switch ((which / 16) % 6) {
      case 0: verdict.kind = m::Verdict::Kind::Refused; break;
      case 1:
        verdict.kind = m::Verdict::Kind::Waits;
        verdict.approval_id = "apr";
        break;
      case 2: verdict.kind = m::Verdict::Kind::Unreachable; break;
      case 3: verdict.kind = m::Verdict::Kind::Allowed; break;
      default:
        verdict.kind = m::Verdict::Kind::Begun;
        verdict.total_ms = which % 2 == 0 ? 1000 : 0;
        verdict.retries.max_attempts = 1 + which % 2;
        verdict.retries.retry_on = {"tool_error", "network"};
        allowed_[key] += verdict.retries.max_attempts;
        if (const auto operation = operations_.find(call); operation != operations_.end()) {
          begun_[operation->second] += verdict.retries.max_attempts;
          for (const char* method : {"roots/list", "sampling/createMessage", "elicitation/create"})
            if (name_of(*m::operation_of_server(method)) == operation->second) ++begun_[method];
        }
    }
    verdict.denial = {"no_contract", "why", "instead"};
    conversation_.verdict(now_, call, std::move(verdict), actions_);
  }

  void give_settled(std::uint8_t which) {
    if (settling_.empty()) return;
    const auto [call, body] = settling_.front();
    settling_.pop_front();
    m::Settled settled;
    settled.recorded = which % 4 != 0;
    settled.output_blocked = which % 4 == 1;
    settled.denial = {"output_assertion_failed", "no", ""};
    if (settled.recorded && !settled.output_blocked)
      std::erase_if(unjudged_, [&](const std::string& token) { return body.find(token) != std::string::npos; });
    conversation_.settled(now_, call, std::move(settled), actions_);
  }

  void give_callable(std::uint8_t which) {
    if (callable_.empty()) return;
    m::Callable callable;
    callable.known = which % 5 != 0;
    for (const char* name : {"a", "b", "s:a", "t:b"})
      if (which & 8) callable.kept.emplace(name);
    conversation_.callable(now_, callable_.front(), std::move(callable), actions_);
    callable_.pop_front();
  }

  void give_decision(std::uint8_t which) {
    if (awaited_.empty()) return;
    const m::CallNumber call = awaited_.front();
    awaited_.pop_front();
    conversation_.decision(now_, call, {static_cast<m::Decision::Kind>(which % 5), "note"}, actions_);
  }

  // --- what follows

  void take_in() {
    m::Actions actions;
    actions.swap(actions_);
    for (m::Action& action : actions) std::visit([this](const auto& one) { take(one); }, action);
  }

  void check_line(const std::string& bytes) {
    require(bytes.find_first_of("\r\n") == std::string::npos, "what goes out is one line", bytes);
    json::ParseLimits limits;
    require(json::parse(bytes, limits).has_value(), "what goes out is JSON", bytes);
  }

  void take(const m::ToClient& action) {
    check_line(action.bytes);
    check_meta(action.bytes);
    for (const std::string& token : unjudged_)
      require(action.bytes.find(token) == std::string::npos, "no output reaches the client unless it may",
              action.bytes);
    const Message message(action.bytes);
    if (message.kind() == Message::Kind::Batch) {
      for (const std::string& element : message.elements()) answered(Message(element));
      return;
    }
    answered(message);
  }

  // Only decisions of Baton's own have such a member: an error or a result that says so in its text.
  void check_meta(const std::string& bytes) {
    const Message message(bytes);
    if (!m::without_own_meta(message)) return;
    const json::Node inner = message.result()["result"] ? message.result()["result"] : message.params()["result"];
    for (const json::Node result : {message.result(), inner}) {
      const json::Node text = result["content"].element(0)["text"];
      if (text.is_string() && text.string().starts_with("Denied by ")) return;
    }
    for (const json::Node error : {message.error(), message.result()["error"], message.params()["error"]}) {
      const json::Node text = error["message"];
      if (text.is_string() && text.string().starts_with("Denied by ")) return;
    }
    require(message.kind() == Message::Kind::Batch, "no server speaks for Baton", bytes);
  }

  void answered(const Message& message) {
    if (message.is_request()) {
      asked_.emplace_back(message.id_text());
      // Baton's own questions have ids of their own; `ping` needs no verdict.
      if (message.method() != "ping" && !message.id_text().starts_with("\"own"))
        require(begun_[std::string(message.method())]-- > 0, "a server's request is judged before the client has it",
                message.bytes());
    }
    if (asked_.size() > 4) asked_.pop_front();
    if (!message.is_answer()) return;
    const std::string id = message.id_text().empty() ? "null" : std::string(message.id_text());
    require(may_be_answered_[id]-- > 0, "a request is answered at most once", message.bytes());
    if (const json::Node state = message.result()["requestState"]; state.is_string()) state_ = m::text_of(state);
  }

  void take(const m::ToServer& action) {
    check_line(action.bytes);
    const Message message(action.bytes);
    require(!message.meta()[m::kMetaSession], "no server learns the name of a session", action.bytes);
    if (message.kind() == Message::Kind::Notification)
      require(m::is_client_notification(message.method(), nullptr), "what has no id is a known notification",
              action.bytes);
    if (!message.is_request()) return;
    const json::Node subscribed = message.params()["notifications"]["resourceSubscriptions"];
    if (message.method() != "tools/call" &&
        (!m::needs_no_verdict(message.method()) || (subscribed.is_array() && subscribed.size() != 0)))
      require(begun_[operation_key(message.method())]-- > 0, "a request is judged before a server has it",
              action.bytes);
    std::string key;
    if (message.method() == "tools/call") {
      key = key_of(action.server, message.params()["name"].string(), m::text_of(message.params()["arguments"]));
      ++sends_[key];
      require(sends_[key] <= allowed_[key] + allowed_["any"], "a call is forwarded only as it has begun", action.bytes);
    }
    if (message.method() == "tasks/get") key = "task";
    if (message.method() == "tasks/result") key = "result of a task";
    sent_[action.ticket] = {action.server, std::string(message.id_text()), key};
    if (sent_.size() > 32) sent_.erase(sent_.begin());
  }

  static std::string operation_key(std::string_view method) {
    if (method == "subscriptions/listen") return std::string(name_of(contract::ServerOperation::ResourcesSubscribe));
    return std::string(name_of(m::operation_of_client(method)));
  }

  // By its server's names.
  static std::string key_of(std::size_t server, std::string_view tool, std::string_view arguments) {
    return std::to_string(server) + " " + std::string(tool) + " " + std::string(arguments);
  }

  void take(const m::OpenSession&) {
    require(!is_open_ && !opens_, "a session is asked for once");
    opens_ = true;
  }
  void take(const m::Propose& action) {
    require(is_open_, "nothing is asked of the node without a session");
    check_line(action.body);
    const auto body = json::parse(action.body);
    const json::Node call = body->root()["calls"].element(0);
    std::string_view tool = call["tool"].string();
    if (contract::is_server_operation(tool)) operations_[action.call] = tool;
    std::size_t server = 0;
    if (servers_ == 2 && tool.starts_with("t/")) server = 1;
    if (servers_ == 2 && !tool.starts_with("t/") && !tool.starts_with("s/")) server = tool == "b" ? 1 : 0;
    if (servers_ == 2 && tool.find('/') != std::string_view::npos) tool.remove_prefix(2);
    keys_[action.call] = key_of(server, tool, m::text_of(call["arguments"]));
    proposed_[action.call] = keys_[action.call];
  }
  void take(const m::Start& action) {
    check_line(action.body);
    // A call that came back about an approval was proposed under another number: it may be any.
    const auto known = keys_.find(action.call);
    proposed_[action.call] = known != keys_.end() ? known->second : "any";
  }
  void take(const m::Settle& action) {
    check_line(action.body);
    if (action.awaited) settling_.emplace_back(action.call, action.body);
  }
  void take(const m::AwaitApproval& action) { awaited_.push_back(action.call); }
  void take(const m::AskCallable& action) {
    require(is_open_, "nothing is asked of the node without a session");
    callable_.push_back(action.question);
  }
  void take(const m::HandOff& action) {
    require(is_open_, "nothing is asked of the node without a session");
    questions_.push_back(action.question);
  }
  void take(const m::AskStatus& action) {
    require(is_open_, "nothing is asked of the node without a session");
    questions_.push_back(action.question);
  }
  void take(const m::Arm& action) { timers_.insert(action.timer); }
  void take(const m::Disarm& action) {
    require(timers_.erase(action.timer) == 1, "a timer is disarmed that was armed");
  }
  void take(const m::Withdraw& action) { check_line(action.bytes); }
  template <class Other>
  void take(const Other&) {}

  void check_limits() {
    require(conversation_.open_requests() <= kMost, "open requests are bounded");
    require(conversation_.held_messages() <= kMost, "messages that wait for the session are bounded");
    // Calls, those suspended and those that are tasks; and what servers ask, as much again.
    require(conversation_.open_calls() <= 2 * kMost + 4 + 1 + kMost, "open calls are bounded");
    require(timers_.size() <= 3 * (kMost + 5) + 1, "timers are bounded");
  }

  Input input_;
  bool is_open_ = true, opens_ = false;  // the session
  std::size_t servers_ = 1;
  m::Conversation conversation_;
  m::Actions actions_;
  m::Milliseconds now_ = 0;
  std::map<std::string, std::int64_t> may_be_answered_;
  struct OnItsWay {
    std::size_t server;
    std::string id, key;
  };
  std::map<m::Ticket, OnItsWay> sent_;
  std::map<m::CallNumber, std::string> keys_, proposed_, operations_;
  std::map<std::string, std::int64_t> begun_;  // by operation, and by method of what servers ask
  std::map<std::string, std::int64_t> allowed_, sends_;
  std::deque<std::pair<m::CallNumber, std::string>> settling_;
  std::deque<m::Question> callable_, questions_;
  std::deque<m::CallNumber> awaited_;
  std::deque<std::string> asked_;
  std::set<m::Timer> timers_;
  std::set<std::string> unjudged_;
  std::string state_;
  std::size_t tokens_ = 0;
};

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  return baton::fuzz::fuzz_one([&] { baton::fuzz::World({data, size}).run(); });
}
