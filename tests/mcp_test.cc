// SPDX-License-Identifier: Apache-2.0
// Conversations through the core of the MCP proxy, played from the files of tests/mcp/: what happens, step by step, and exactly which
// actions follow, in order.
//
// A file is {"cases": [{"about", "options"?, "begin"?, "steps"}]}. A step is what happens (one member names it: client, opened,
// not_opened, server, verdict, settled, callable, decision, handed_off, status, rang, failed, left_off, server_gone, server_back,
// stream_back, stream_gone, client_gone, session_changed, oversized_client, oversized_server; `now` sets the time) and `expect`, all
// actions that follow from it. The session is open, unless the options say that it is to be "asked for".
//
// In what is expected, a string "$name" is whatever is there, bound at first sight and the same from then on (and known to later
// steps); "$_" is anything; {"$contains": "text"} a string with that text in it; {"$lacks": "text"} a value without it. "same" for the
// bytes of a message means: byte for byte what came in. In messages of a client "$meta" stands for what the modern era wants there.
//
// The timers of what Baton itself asks servers are not among the actions, unless the options say `"own_timers": true`.
//
// `begin` plays the usual beginning without a word: initialize (unless "era" is "modern"), then tools/list with `tools`, of which
// `callable` are.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "contract/tools_lock.h"
#include "json/canonical.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "json/value.h"
#include "mcp/conversation.h"
#include "mcp/message.h"

namespace baton::mcp {
namespace {

using json::Node;
using json::Value;

constexpr std::string_view kModernMeta =
    R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}})";
constexpr std::string_view kModernMetaWithElicitation =
    R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}})";

std::string text_in(Node node, std::string_view name, std::string_view otherwise = {}) {
  return std::string(node[name].is_string() ? node[name].string() : otherwise);
}
std::int64_t number_in(Node node, std::string_view name, std::int64_t otherwise = 0) {
  return node[name].is_number() ? json::to_int64(node[name].number_text()).value_or(otherwise) : otherwise;
}

Value message_value(const std::string& bytes) {
  auto document = json::parse(bytes);
  return document ? Value::copy(document->root()) : Value("not JSON: " + bytes);
}

// An action as data, and the bytes it carries.
struct Shown {
  Value value = Value::object();
  std::string bytes;
};

struct Show {
  static Shown one(std::string_view kind) {
    Shown out;
    out.value.set("do", kind);
    return out;
  }
  Shown operator()(const ToClient& a) const {
    Shown out = one("to_client");
    out.value.set("stream", a.stream);
    out.value.set("message", message_value(a.bytes));
    if (a.last) out.value.set("last", true);
    if (a.error_code != 0) out.value.set("error_code", a.error_code);
    out.bytes = a.bytes;
    return out;
  }
  Shown operator()(const Accepted& a) const {
    Shown out = one("accepted");
    out.value.set("stream", a.stream);
    return out;
  }
  Shown operator()(const LeaveOff& a) const {
    Shown out = one("leave_off");
    out.value.set("stream", a.stream);
    out.value.set("retry_after", a.retry_after);
    return out;
  }
  Shown operator()(const ToServer& a) const {
    Shown out = one("to_server");
    out.value.set("server", a.server);
    out.value.set("message", message_value(a.bytes));
    if (a.ticket != 0) out.value.set("ticket", a.ticket);
    if (!a.headers.empty()) {
      Value headers = Value::object();
      for (const auto& [name, value] : a.headers) headers.set(name, value);
      out.value.set("headers", std::move(headers));
    }
    out.bytes = a.bytes;
    return out;
  }
  Shown operator()(const Withdraw& a) const {
    Shown out = one("withdraw");
    out.value.set("server", a.server);
    out.value.set("ticket", a.ticket);
    out.value.set("message", message_value(a.bytes));
    out.bytes = a.bytes;
    return out;
  }
  Shown operator()(const TakeUp& a) const {
    Shown out = one("take_up");
    out.value.set("server", a.server);
    out.value.set("ticket", a.ticket);
    return out;
  }
  Shown operator()(const OpenSession& a) const {
    Shown out = one("open_session");
    if (!a.token.empty()) out.value.set("token", a.token);
    return out;
  }
  Shown operator()(const Propose& a) const { return about_call("propose", a.call, a.body); }
  Shown operator()(const Start& a) const { return about_call("start", a.call, a.body); }
  Shown operator()(const Settle& a) const {
    Shown out = about_call("settle", a.call, a.body);
    if (!a.awaited) out.value.set("awaited", false);
    return out;
  }
  Shown operator()(const Cancel& a) const {
    Shown out = one("cancel");
    out.value.set("call", a.call);
    out.value.set("approval_id", a.approval_id);
    return out;
  }
  Shown operator()(const AskCallable& a) const { return asking("ask_callable", a.question); }
  Shown operator()(const AwaitApproval& a) const {
    Shown out = one("await_approval");
    out.value.set("call", a.call);
    out.value.set("approval_id", a.approval_id);
    return out;
  }
  Shown operator()(const LeaveApproval& a) const {
    Shown out = one("leave_approval");
    out.value.set("call", a.call);
    return out;
  }
  Shown operator()(const Decide& a) const {
    Shown out = one("decide");
    out.value.set("approval_id", a.approval_id);
    out.value.set("digest", a.digest);
    out.value.set("approve", a.approve);
    return out;
  }
  Shown operator()(const HandOff& a) const {
    Shown out = asking("hand_off", a.question);
    out.value.set("document", a.document);
    return out;
  }
  Shown operator()(const AskStatus& a) const { return asking("ask_status", a.question); }
  Shown operator()(const Arm& a) const {
    Shown out = one("arm");
    out.value.set("timer", a.timer);
    out.value.set("after", a.after);
    return out;
  }
  Shown operator()(const Disarm& a) const {
    Shown out = one("disarm");
    out.value.set("timer", a.timer);
    return out;
  }
  Shown operator()(const Note& a) const {
    Shown out = one("note");
    out.value.set("text", a.text);
    return out;
  }
  Shown operator()(const End&) const { return one("end"); }

  static Shown about_call(std::string_view kind, CallNumber call, const std::string& body) {
    Shown out = one(kind);
    out.value.set("call", call);
    out.value.set("body", message_value(body));
    return out;
  }
  static Shown asking(std::string_view kind, Question question) {
    Shown out = one(kind);
    out.value.set("question", question);
    return out;
  }
};

class Player {
 public:
  explicit Player(Node one)
      : conversation_(options_of(one["options"])),
        servers_(server_count(one["options"])),
        shows_own_timers_(one["options"]["own_timers"].is_true()) {
    if (const Node begin = one["begin"]) play_beginning(begin);
  }

  void play(Node step) {
    actions_.clear();
    now_ = number_in(step, "now", now_);
    incoming_.clear();
    happen(step);
    if (!shows_own_timers_) hide_own_timers();
    check(step["expect"]);
  }

  const Conversation& conversation() const { return conversation_; }

 private:
  static constexpr Milliseconds kListTime = 30'000, kBeginTime = 300'000;

  // The time that a server has to answer what Baton itself asks it is left out, but where a case is about it.
  void hide_own_timers() {
    std::erase_if(actions_, [&](const Action& action) {
      if (const auto* disarm = std::get_if<Disarm>(&action)) return own_timers_.contains(disarm->timer);
      const auto* arm = std::get_if<Arm>(&action);
      if (arm == nullptr || (arm->after != kListTime + 1 && arm->after != kBeginTime + 1)) return false;
      own_timers_.insert(arm->timer);
      return true;
    });
  }

  static std::size_t server_count(Node options) { return options["servers"] ? options["servers"].size() : 1; }

  // What the node says of the session's pack: `contracts`, `lock` (server: {instructions, tools}), and what is allowed of texts.
  static void hold(Session& session, Node given) {
    if (given["contracts"]) session.contracts.emplace();
    for (const Node one : given["contracts"].elements()) session.contracts->emplace(one.string());
    session.held.wording_may_change = given["wording_may_change"].is_true();
    session.held.suspicious_is_withheld = given["suspicious_is_withheld"].is_true();
    session.body_bytes_max = static_cast<std::size_t>(number_in(given, "body_bytes_max"));
    if (!given["lock"]) return;
    std::vector<contract::ServerTools> servers;
    for (const json::Member one : given["lock"].members()) {
      servers.push_back({std::string(one.name()), one.value["tools"]});
      if (one.value["instructions"]) servers.back().instructions = std::string(one.value["instructions"].string());
    }
    contract::LockMade made = contract::make_tools_lock(servers);
    EXPECT_TRUE(made.problems.empty());
    // As it comes from a file.
    const contract::LockRead read = contract::read_tools_lock(json::write(contract::value_of(made.lock)));
    EXPECT_EQ(read.problem, "");
    session.held.lock = read.lock;
  }

  static Options options_of(Node given) {
    Options out;
    out.id_prefix = "own";
    if (!given["session"].is_text("asked for")) out.session.emplace().id = "ses_1";
    if (given["given_token"]) {
      out.session_is_given = true;
      if (given["given_token"].is_string()) out.given_token = sha256(given["given_token"].string());
    }
    out.seal_key.fill(7);
    if (given["servers"]) out.servers.clear();
    for (const Node name : given["servers"].elements()) out.servers.emplace_back(name.string());
    out.servers_are_all = !given["among_others"].is_true();
    if (given["client"]) out.client = hooks::client_named(given["client"].string());
    out.discover_needs_session = given["discover_needs_session"].is_true();
    if (out.session) hold(*out.session, given);
    if (given["enforces"]) out.session->enforces = given["enforces"].boolean();
    if (given["unasked_answers_pass"]) out.session->unasked_answers_pass = given["unasked_answers_pass"].boolean();
    if (given["drops_unknown_content"]) out.session->drops_unknown_content = given["drops_unknown_content"].boolean();
    if (given["user_is_operator"]) out.session->user_is_operator = given["user_is_operator"].boolean();
    const Milliseconds apart = given["own_timers"].is_true() ? 0 : 1;  // no other timer has these times
    out.list_time = kListTime + apart;
    out.begin_time = kBeginTime + apart;
    out.held_max = static_cast<std::size_t>(number_in(given, "held_max", 256));
    out.output_bytes_max = static_cast<std::size_t>(number_in(given, "output_bytes_max", 4 << 20));
    out.client_bytes_max = static_cast<std::size_t>(number_in(given, "client_bytes_max", 4 << 20));
    out.open_requests_max = static_cast<std::size_t>(number_in(given, "open_requests_max", 4096));
    out.suspended_max = static_cast<std::size_t>(number_in(given, "suspended_max", 256));
    out.tasks_max = static_cast<std::size_t>(number_in(given, "tasks_max", 1024));
    out.parked_max = static_cast<std::size_t>(number_in(given, "parked_max", 160));
    out.asks_max = static_cast<std::size_t>(number_in(given, "asks_max", 64));
    return out;
  }

  // --- the usual beginning

  template <class Wanted>
  const Wanted& last() const {
    for (auto one = actions_.rbegin(); one != actions_.rend(); ++one)
      if (const auto* found = std::get_if<Wanted>(&*one)) return *found;
    ADD_FAILURE() << "the beginning did not go as usual";
    static const Wanted none;
    return none;
  }

  void play_beginning(Node begin) {
    const bool is_modern = begin["era"].is_text("modern");
    const std::string revision = text_in(begin, "revision", "2025-11-25");
    const std::string capabilities = begin["client"] ? std::string(text_of(begin["client"])) : "{}";
    if (!is_modern) {
      conversation_.from_client(0, 1,
                                R"({"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":")" +
                                    revision + R"(","capabilities":)" + capabilities +
                                    R"(,"clientInfo":{"name":"c","version":"1"}}})",
                                actions_);
      for (std::size_t server = 0; server < servers_; ++server)
        answer_last(server, R"({"protocolVersion":")" + revision +
                                R"(","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}})");
      conversation_.from_client(0, 1, R"({"jsonrpc":"2.0","method":"notifications/initialized"})", actions_);
    }
    if (!begin["tools"]) return;
    actions_.clear();
    const std::string params = is_modern ? R"(,"params":{"_meta":)" + std::string(kModernMeta) + "}" : "";
    conversation_.from_client(0, 1, R"({"jsonrpc":"2.0","id":"list","method":"tools/list")" + params + "}", actions_);
    std::string tools;
    for (const Node tool : begin["tools"].elements())
      tools += (tools.empty() ? "" : ",") +
               (tool.is_string() ? R"({"name":)" + std::string(text_of(tool)) + R"(,"inputSchema":{"type":"object"}})"
                                 : std::string(text_of(tool)));
    for (std::size_t server = 0; server < servers_; ++server)
      answer_last(server, R"({"tools":[)" + tools + "]" +
                              (is_modern ? R"(,"resultType":"complete","ttlMs":1,"cacheScope":"public")" : "") + "}");
    Callable callable;
    callable.known = true;
    for (const Node one : begin["callable"].elements()) callable.kept.emplace(one.string());
    conversation_.callable(0, last<AskCallable>().question, callable, actions_);
    const auto listed = json::parse(last<ToClient>().bytes);
    ASSERT_TRUE(listed && listed->root()["result"]["tools"].is_array()) << last<ToClient>().bytes;
  }

  void answer_last(std::size_t server, const std::string& result) {
    std::string id;
    for (const Action& action : actions_)
      if (const auto* sent = std::get_if<ToServer>(&action); sent != nullptr && sent->server == server)
        id = std::string(Message(sent->bytes).id_text());
    conversation_.from_server(0, server, R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":)" + result + "}", 0,
                              actions_);
  }

  // --- what happens

  std::uint64_t bound(Node node) {
    if (node.is_number()) return static_cast<std::uint64_t>(json::to_int64(node.number_text()).value_or(0));
    const auto found = node.is_string() ? names_.find(std::string(node.string())) : names_.end();
    if (found == names_.end()) {
      ADD_FAILURE() << "nothing is bound to " << (node ? std::string(text_of(node)) : "nothing");
      return 0;
    }
    const auto document = json::parse(found->second);
    return static_cast<std::uint64_t>(json::to_int64(document->root().number_text()).value_or(0));
  }

  // The bytes of a message: a string is them; an object is as it stands in the file, with what is bound put in.
  std::string bytes_of(Node node) {
    if (node.is_string()) return std::string(node.string());
    std::string out(text_of(node));
    const auto put = [&](std::string_view name, std::string_view text) {
      const std::string quoted_name = quoted(name);
      for (std::size_t at = 0; (at = out.find(quoted_name, at)) != std::string::npos; at += text.size())
        out.replace(at, quoted_name.size(), text);
    };
    put("$meta", kModernMeta);
    put("$meta_elicitation", kModernMetaWithElicitation);
    for (const auto& [name, text] : names_) put(name, text);
    return out;
  }

  static Verdict verdict_of(Node step) {
    Verdict out;
    if (const Node node = step["node"])
      return read_verdict(static_cast<int>(number_in(node, "status", 200)), text_of(node["body"]));
    if (const Node node = step["started"])
      return read_started(static_cast<int>(number_in(node, "status", 200)), text_of(node["body"]));
    const std::string kind = text_in(step, "kind");
    if (kind == "begun") out.kind = Verdict::Kind::Begun;
    else if (kind == "allowed") out.kind = Verdict::Kind::Allowed;
    else if (kind == "refused") out.kind = Verdict::Kind::Refused;
    else if (kind == "waits") out.kind = Verdict::Kind::Waits;
    else if (kind != "unreachable") ADD_FAILURE() << "no verdict: " << kind;
    out.call_id = text_in(step, "call_id");
    out.denial = {text_in(step, "rule"), text_in(step, "why"), text_in(step, "instead")};
    out.approval_id = text_in(step, "approval_id");
    out.approval_digest = text_in(step, "digest");
    out.total_ms = number_in(step, "total_ms");
    out.retries.max_attempts = number_in(step, "max_attempts", 1);
    for (const Node word : step["retry_on"].elements()) out.retries.retry_on.emplace_back(word.string());
    out.retries.max_sleep_seconds = json::Decimal(number_in(step, "max_sleep_seconds", 60));
    return out;
  }

  static Settled settled_of(Node step) {
    if (const Node node = step["node"])
      return read_settled(static_cast<int>(number_in(node, "status", 200)), text_of(node["body"]));
    Settled out;
    out.recorded = true;
    out.state = text_in(step, "state", "committed");
    if (step["blocked"]) {
      out.output_blocked = true;
      out.denial = {"output_assertion_failed", text_in(step, "blocked"), "do without it"};
    }
    return out;
  }

  static Callable callable_of(Node step) {
    if (const Node node = step["node"])
      return read_callable(static_cast<int>(number_in(node, "status", 200)), text_of(node["body"]));
    Callable out;
    out.known = true;
    for (const Node one : step["kept"].elements()) out.kept.emplace(one.string());
    for (const Node one : step["removed"].elements())
      out.removed.emplace_back(one.element(0).string(), one.element(1).string());
    out.refused = text_in(step, "refused");
    return out;
  }

  static Decision decision_of(Node step) {
    if (const Node node = step["node"])
      return read_decision(static_cast<int>(number_in(node, "status", 200)), text_of(node["body"]));
    const std::string kind = text_in(step, "kind");
    Decision out;
    out.note = text_in(step, "note");
    if (kind == "approved") out.kind = Decision::Kind::Approved;
    else if (kind == "denied") out.kind = Decision::Kind::Denied;
    else if (kind == "open") out.kind = Decision::Kind::Open;
    else if (kind == "lapsed") out.kind = Decision::Kind::Lapsed;
    else if (kind == "spent") out.kind = Decision::Kind::Spent;
    else out.kind = Decision::Kind::Unreachable;
    return out;
  }

  void happen(Node step) {
    const auto stream = static_cast<Stream>(number_in(step, "stream", 1));
    const auto server = [&](std::string_view name) { return static_cast<std::size_t>(number_in(step, name)); };
    const Ticket ticket = step["ticket"] ? bound(step["ticket"]) : 0;
    if (step["client"]) {
      incoming_ = bytes_of(step["client"]);
      std::optional<ParameterHeaders> headers;
      if (step["headers"]) headers.emplace();
      for (const json::Member one : step["headers"].members()) headers->emplace_back(one.name(), one.value.string());
      conversation_.from_client(now_, stream, incoming_, actions_, std::move(headers));
    } else if (step["opened"]) {
      Session session{.id = "ses_1"};
      if (step["opened"].is_object()) hold(session, step["opened"]);
      conversation_.session_opened(now_, std::move(session), actions_);
    } else if (step["not_opened"]) {
      conversation_.session_refused(now_, step["not_opened"].string(), actions_);
    } else if (step["server"]) {
      incoming_ = bytes_of(step["says"]);
      conversation_.from_server(now_, server("server"), incoming_, ticket, actions_);
    } else if (step["verdict"]) {
      conversation_.verdict(now_, bound(step["verdict"]), verdict_of(step), actions_);
    } else if (step["settled"]) {
      conversation_.settled(now_, bound(step["settled"]), settled_of(step), actions_);
    } else if (step["callable"]) {
      conversation_.callable(now_, bound(step["callable"]), callable_of(step), actions_);
    } else if (step["decision"]) {
      conversation_.decision(now_, bound(step["decision"]), decision_of(step), actions_);
    } else if (step["handed_off"]) {
      conversation_.handed_off(now_, bound(step["handed_off"]), {step["ok"].is_true(), text_in(step, "text")},
                               actions_);
    } else if (step["status"]) {
      conversation_.status(now_, bound(step["status"]), {step["ok"].is_true(), text_in(step, "text")}, actions_);
    } else if (step["rang"]) {
      conversation_.rang(now_, bound(step["rang"]), actions_);
    } else if (step["failed"]) {
      AttemptFailure failure;
      failure.error_class = text_in(step, "class");
      failure.message = text_in(step, "why");
      if (step["http_status"]) failure.http_status = number_in(step, "http_status");
      if (step["retry_after"]) failure.retry_after = json::Decimal(number_in(step, "retry_after"));
      conversation_.attempt_failed(now_, 0, bound(step["failed"]), std::move(failure), actions_);
    } else if (step["left_off"]) {
      conversation_.left_off(now_, 0, bound(step["left_off"]), number_in(step, "retry_after"), actions_);
    } else if (step["server_gone"]) {
      conversation_.server_gone(now_, server("server_gone"), "it ended", actions_, !step["for_good"].is_true());
    } else if (step["server_back"]) {
      conversation_.server_back(now_, server("server_back"), actions_);
    } else if (step["stream_back"]) {
      conversation_.stream_back(now_, static_cast<Stream>(number_in(step, "stream_back")), actions_);
    } else if (step["stream_gone"]) {
      conversation_.stream_gone(now_, static_cast<Stream>(number_in(step, "stream_gone")), actions_);
    } else if (step["client_gone"]) {
      conversation_.client_gone(now_, actions_);
    } else if (step["session_changed"]) {
      conversation_.session_changed(now_, actions_);
    } else if (step["oversized_client"]) {
      conversation_.oversized_from_client(now_, stream, text_in(step, "oversized_client"), text_in(step, "tail"),
                                          actions_);
    } else if (step["oversized_server"]) {
      conversation_.oversized_from_server(now_, 0, text_in(step, "oversized_server"), text_in(step, "tail"), ticket,
                                          actions_);
    } else {
      ADD_FAILURE() << "nothing happens in this step: " << text_of(step);
    }
  }

  // --- what follows

  bool matches(Node want, const Value& got, std::string& why) {
    if (want.is_string() && want.string().starts_with('$')) return binds(want.string(), got, why);
    if (want.is_object() && want.size() == 1 && (want["$contains"] || want["$lacks"])) {
      const std::string text = got.is_string() ? got.string() : json::write(got);
      const Node sought = want["$contains"] ? want["$contains"] : want["$lacks"];
      if ((text.find(sought.string()) != std::string::npos) == static_cast<bool>(want["$contains"])) return true;
      why = text + (want["$contains"] ? " has not " : " has ") + std::string(sought.string());
      return false;
    }
    if (want.is_object() && got.is_object()) {
      for (const json::Member member : want.members()) {
        const Value* there = got.find(member.name());
        if (there == nullptr)
          return why = "there is no `" + std::string(member.name()) + "` in " + json::write(got), false;
        if (!matches(member.value, *there, why)) return false;
      }
      for (const auto& [name, value] : got.members())
        if (!want[name]) return why = "`" + name + "` is there too, in " + json::write(got), false;
      return true;
    }
    if (want.is_array() && got.is_array()) {
      if (want.size() != got.elements().size()) return why = "another number of elements: " + json::write(got), false;
      for (std::size_t i = 0; i < want.size(); ++i)
        if (!matches(want.element(i), got.elements()[i], why)) return false;
      return true;
    }
    if (equal(Value::copy(want), got)) return true;
    why = json::write(got) + " is not " + std::string(text_of(want));
    return false;
  }

  bool binds(std::string_view name, const Value& got, std::string& why) {
    if (name == "$_") return true;
    const auto [at, is_new] = names_.emplace(std::string(name), json::write(got));
    if (is_new || at->second == json::write(got)) return true;
    why = std::string(name) + " was " + at->second + " and is " + json::write(got);
    return false;
  }

  void check(Node expect) {
    std::string all;
    std::vector<Shown> shown;
    for (const Action& action : actions_) {
      shown.push_back(std::visit(Show(), action));
      EXPECT_EQ(shown.back().bytes.find_first_of("\r\n"), std::string::npos) << shown.back().bytes;
      all += "  " + json::write(shown.back().value) + "\n";
    }
    ASSERT_EQ(shown.size(), expect.size()) << "happened:\n" << all;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      std::string why;
      const Node want = expect.element(i);
      if (want["message"].is_text("same")) {
        EXPECT_EQ(shown[i].bytes, incoming_);
        shown[i].value.set("message", "same");
      }
      ASSERT_TRUE(matches(want, shown[i].value, why)) << "action " << i << ": " << why << "\nhappened:\n" << all;
    }
  }

  Conversation conversation_;
  std::size_t servers_;
  const bool shows_own_timers_;
  std::set<Timer> own_timers_;
  Actions actions_;
  Milliseconds now_ = 0;
  std::string incoming_;
  std::map<std::string, std::string> names_;  // to the JSON of what is bound
};

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(BATON_TESTS_DIR) + "/mcp"))
    if (entry.path().extension() == ".json" && !entry.path().stem().string().starts_with("package"))
      out.push_back(entry.path().stem().string());
  std::ranges::sort(out);
  return out;
}

class McpFile : public testing::TestWithParam<std::string> {};

TEST_P(McpFile, Plays) {
  std::ifstream in(std::string(BATON_TESTS_DIR) + "/mcp/" + GetParam() + ".json", std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const std::string bytes = text.str();
  const auto file = json::parse(bytes);
  ASSERT_TRUE(file) << file.error().what << " at " << json::position_at(bytes, file.error().offset).line;
  ASSERT_GT(file->root()["cases"].size(), 0u);
  for (const Node one : file->root()["cases"].elements()) {
    Player player(one);
    for (const Node step : one["steps"].elements()) {
      SCOPED_TRACE(text_in(one, "about") + ", line " + std::to_string(step.position().line));
      player.play(step);
      if (testing::Test::HasFatalFailure()) break;
    }
    if (one["left_open"]) {
      EXPECT_EQ(player.conversation().open_calls(), static_cast<std::size_t>(number_in(one, "left_open")))
          << text_in(one, "about");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, McpFile, testing::ValuesIn(files()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace baton::mcp
