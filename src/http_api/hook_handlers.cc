// SPDX-License-Identifier: Apache-2.0
// Hooks of coding agents: an event as the client says it, and the answer as the client wants to hear it (hooks/event.h). In between the
// use cases of governed sessions, as for everybody else.
//
// Whose session it is: that of the token that is shown; else that of the supervised agent which the hook descends from; else one for each
// session of the client, opened when it is first seen. Its id is made of the client's own, so that the same one is found again, for ever:
// a client's session that ends and comes back goes on with what it has used up (docs/decisions/0049).
//
// What subagents do is done in that session, and is recorded as theirs (docs/decisions/0048).
//
// Nothing waits in a hook: what needs a person is refused with the id of what was asked, and is proposed again by the agent.
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "hooks/facts.h"
#include "hooks/names.h"
#include "hooks/read.h"
#include "hooks/signed_answer.h"
#include "hooks/transcript.h"
#include "hooks/write.h"
#include "http_api/handlers.h"
#include "json/parse.h"
#include "json/value.h"
#include "mcp/answers.h"
#include "runtime/client_sessions.h"
#include "runtime/sighting.h"
#include "session/decide.h"
#include "shell/arguments.h"
#include "shell/relied_on.h"

namespace baton::http_api::handlers {
namespace {

using hooks::Event;
using hooks::Kind;
using hooks::Reply;
using json::Value;
using runtime::Answer;

// How often an agent is asked again for its handoff before its session has failed.
constexpr int kRepairsMax = 2;
constexpr std::size_t kOutputTail = 4096;
// Before the key of what a client calls a session and what is a subagent: in the same memory.
const std::string kDelegated = "delegated\n";

std::string text_in(const Value* value, std::string_view name) {
  const Value* found = value != nullptr && value->is_object() ? value->find(name) : nullptr;
  return found != nullptr && found->is_string() ? found->string() : std::string();
}

const Value* member(const Value* value, std::string_view name) {
  return value != nullptr && value->is_object() ? value->find(name) : nullptr;
}

const Value* first(const Value* list) {
  return list != nullptr && list->is_array() && !list->elements().empty() ? &list->elements().front() : nullptr;
}

std::string sentence(std::string_view rule, std::string_view why, std::string_view instead) {
  std::string out = "Denied by " + std::string(rule) + ": " + std::string(why);
  if (!instead.empty()) out += "; " + std::string(instead);
  return out;
}

std::string sentences(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& one : diagnostics) {
    if (!out.empty()) out += '\n';
    out += std::string(info(one.code).name) + ": " + one.message;
    if (!one.help.empty()) out += " (" + one.help + ")";
  }
  return out;
}

// "an exit signal", for whoever is asked for it.
std::string owed_words(const runtime::OwedWords& owed) {
  switch (owed.dialect) {
    case contract::Owed::AgentContract:
      return "an `agent_contract_handoff` block (your agent_id is " + owed.agent_id + ")";
    case contract::Owed::AgentExit: return "an exit signal";
    default: return "a handoff";
  }
}

// A server of the client that a proxy stands in front of: `NAME`; `NAME=SERVER`, where the proxy calls it otherwise; `NAME=SERVER+SERVER`,
// where the proxy has several servers behind it.
struct Proxied {
  std::string name;
  std::vector<std::string> behind;
};

std::vector<Proxied> proxied_in(std::string_view list) {
  std::vector<Proxied> out;
  for (const std::string_view one : split(list, ',')) {
    const std::size_t at = one.rfind('=');
    Proxied proxied{std::string(one.substr(0, at)), {}};
    if (proxied.name.empty()) continue;
    if (at != std::string_view::npos)
      for (const std::string_view server : split(one.substr(at + 1), '+'))
        if (!server.empty()) proxied.behind.emplace_back(server);
    out.push_back(std::move(proxied));
  }
  return out;
}

class Hook : public std::enable_shared_from_this<Hook> {
 public:
  explicit Hook(AskedPtr asked) : asked_(std::move(asked)) {}

  void run() {
    client_ = hooks::client_named(asked_->id);
    if (!client_)
      return asked_->refuse(
          {report(Code::REQUEST_NOT_FOUND, {}, {{"what", "client"}, {"name", printable(asked_->id, 64)}})});
    if (!is_of_its_session())
      return say(hooks::write_failure(
          *client_, asked_->query.text("event"),
          sentence("session_mismatch", "this event does not come from the session that the hook was made for", "")));
    if (read({})) return go_on();
    // A name that could be two tools: what there are contracts for may tell.
    read_then(asked_, [self = shared_from_this()](const AskedPtr& by) {
      const std::string& session = by->caller.session_id.empty() ? by->caller.agent_session : by->caller.session_id;
      if (self->read(self->cases().server_tools(session, by->query.text("role")))) return self->go_on();
      // Whoever cannot say what it wants does not get it.
      self->say(
          hooks::write_failure(*self->client_, by->query.text("event"), sentence("hook_input", self->problem_, "")));
    });
  }

 private:
  bool read(const std::vector<std::string>& tools) {
    const auto command = [](std::string_view line, std::string_view cwd) {
      return shell::arguments_of(shell::parse(line), cwd);
    };
    std::string_view body = asked_->request().body;
    std::string last_message;
    if (const auto bytes = static_cast<std::size_t>(asked_->query.integer("transcript_bytes").value_or(0));
        bytes != 0 && bytes <= body.size()) {
      last_message = hooks::last_message_in(*client_, body.substr(body.size() - bytes)).value_or("");
      body.remove_suffix(bytes);
    }
    std::vector<std::string> servers;
    for (const Proxied& one : proxied_in(asked_->query.text("proxied"))) servers.push_back(one.name);
    auto read = hooks::read(*client_, asked_->query.text("event"), body,
                            {.command = command, .servers = servers, .tools = tools, .last_message = last_message});
    if (!read) problem_ = read.error();
    else event_ = std::move(*read);
    if (read) find_out_about_proxy();
    return read.has_value();
  }

  void go_on() {
    switch (event_.kind) {
      case Kind::BeforeTool:
        if (is_the_proxys()) return reply({});
        return in_session([](Hook& hook) { hook.name_tool(&Hook::propose); });
      case Kind::AfterTool:
      case Kind::ToolFailed:
        if (is_the_proxys()) return reply({});
        return in_session([](Hook& hook) { hook.name_tool(&Hook::settle_own); });
      case Kind::SessionStart: return in_session([](Hook& hook) { hook.greet(); });
      case Kind::SessionEnd: return in_session([](Hook& hook) { hook.close(); });
      case Kind::Stop: return in_session([](Hook& hook) { hook.stop(); });
      case Kind::SubagentStart:
      case Kind::SubagentStop:
        if (!subagent()) return reply({});  // the client does not say which
        return in_session(
            [](Hook& hook) { hook.event_.kind == Kind::SubagentStart ? hook.begin_subagent() : hook.end_subagent(); });
      default: return reply({});
    }
  }

  // `baton run` makes hooks for one session. A program that carries their events here from elsewhere is another caller.
  bool is_of_its_session() const {
    const std::string wanted = asked_->query.text("session");
    const runtime::Caller& caller = asked_->caller;
    return wanted.empty() || wanted == (caller.session_id.empty() ? caller.agent_session : caller.session_id);
  }

  runtime::UseCases& cases() { return asked_->workings().around.cases; }
  HookMemory& memory() { return asked_->workings().hooks; }

  void reply(const Reply& reply) { say(hooks::write(event_, reply)); }

  // `EXIT OUT_BYTES ERR_BYTES`, a line feed, and that many bytes of each: what baton-hook needs no parser for.
  void say(const hooks::Written& written) {
    net::ServerResponse response;
    response.content_type = "text/plain";
    response.body = std::to_string(written.exit) + ' ' + std::to_string(written.out.size()) + ' ' +
                    std::to_string(written.err.size()) + '\n' + written.out + written.err;
    sign(response);
    asked_->respond(std::move(response));
  }

  // For a hook that knows our key: nobody else can have said this, to this event, now.
  void sign(net::ServerResponse& response) const {
    const net::ServerRequest& request = asked_->request();
    const auto nonce = request.header(hooks::kNonceHeader);
    if (!nonce || !hooks::is_hex_of(trim(*nonce), hooks::kNonceBytes)) return;
    // No hook sends one: somebody has added it, to ask as somebody else.
    if (request.header("Authorization")) return;
    const std::string target = request.query.empty() ? request.path : request.path + "?" + request.query;
    const std::string digest = sha256_hex(
        hooks::signed_request_text(target, trim(request.header("Baton-Session").value_or("")), request.body));
    const auto signature =
        asked_->workings().answer_key.sign(hooks::signed_answer_text(trim(*nonce), digest, response.body));
    response.headers.push_back({std::string(hooks::kSignatureHeader), hex(signature)});
  }

  void deny(std::string_view rule, std::string_view why, std::string_view instead = {}) {
    reply({Reply::Kind::Deny, sentence(rule, why, instead)});
  }

  // Nothing was decided, for a reason that is not the contract's: the store, a session that cannot be opened.
  void fail_with(const std::string& why) { say(hooks::write_failure(event_.client, event_.name, why)); }
  void fail(const Failure& failure) {
    fail_with(sentence(failure.code.empty() ? "node_unreachable" : failure.code, failure.text(), ""));
  }
  void refuse(const std::vector<Diagnostic>& refused) {
    fail_with(sentence(info(refused.front().code).name, refused.front().message, refused.front().help));
  }

  // `then` with what a use case answered, when it did.
  template <class Then>
  runtime::Answered answered(Then then) {
    return [self = shared_from_this(), then](Result<Answer> answer) {
      if (!answer) return self->fail(answer.error());
      if (!answer->refused.empty()) return self->refuse(answer->refused);
      then(*self, std::move(*answer));
    };
  }

  // --- a proxy in front of the server

  // The same call comes by there, and is begun there: here it is proposed, and counted, and afterwards confirmed.
  void find_out_about_proxy() {
    is_proxied_ = is_only_server_ = false;
    if (!event_.is_mcp) return;
    const std::size_t slash = event_.tool.find('/');
    const std::string server = event_.tool.substr(0, slash), tool = event_.tool.substr(slash + 1);
    const std::vector<Proxied> all = proxied_in(asked_->query.text("proxied"));
    const auto found = std::ranges::find(all, server, &Proxied::name);
    if (found == all.end()) return;
    is_proxied_ = true;
    is_only_server_ = all.size() == 1 && found->behind.size() <= 1;
    // Under the name that the proxy has for it.
    if (found->behind.size() == 1) event_.tool = found->behind.front() + "/" + tool;
    for (const std::string& behind : found->behind)
      if (found->behind.size() > 1 && tool.starts_with(behind + "__"))
        event_.tool = behind + "/" + tool.substr(behind.size() + 2);
  }
  // It has a session of its own and decides alone; or it is a tool that the proxy itself offers.
  bool is_the_proxys() const {
    return is_proxied_ && (!is_session_shared() || mcp::is_own_tool(event_.tool.substr(event_.tool.find('/') + 1)));
  }
  bool is_session_shared() const { return !asked_->caller.session_id.empty() || !asked_->caller.agent_session.empty(); }

  // --- whose session

  using Then = void (*)(Hook&);

  void in_session(Then then) {
    const runtime::Caller& caller = asked_->caller;
    if (!caller.session_id.empty() || !caller.agent_session.empty()) {
      // Below a supervised agent one is that agent, whatever its client calls itself: another client's session is no way to limits of
      // its own.
      session_ = caller.session_id.empty() ? caller.agent_session : caller.session_id;
      return then(*this);
    }
    key_ = caller.actor.id + "\n" + asked_->id + "\n" + event_.client_session;
    if (auto known = memory().session(key_)) {
      session_ = std::move(*known);
      // A client that begins again may have been told of the end of the one before.
      if (event_.kind != Kind::SessionStart) return then(*this);
    } else if (may_be_delegated()) {
      return find_parent(then);
    }
    open(then);
  }

  // A subagent of Copilot CLI calls as if it were a session of its own, which never began. What began it is a call of its parent's, which is
  // under way: where there is one such session, it is its parent.
  bool may_be_delegated() const {
    return event_.client == hooks::Client::Copilot &&
           (event_.kind == Kind::BeforeTool || event_.kind == Kind::AfterTool || event_.kind == Kind::ToolFailed);
  }

  void find_parent(Then then) {
    if (auto known = memory().session(kDelegated + key_)) return work_for(std::move(*known), then);
    read_then(asked_, [self = shared_from_this(), then](const AskedPtr& by) {
      const auto own = self->cases().show_session(runtime::client_session_id(self->key_));
      if (!own) return self->fail(own.error());
      if (*own) return self->open(then);
      const auto open = self->cases().list_sessions("open", "", limits::kListedItemsMax);
      if (!open) return self->fail(open.error());
      std::vector<std::string> parents;
      for (const Value& one : open->find("sessions")->elements())
        if (text_in(&one, "actor_id") == by->caller.actor.id && self->is_delegating(text_in(&one, "id")))
          parents.push_back(text_in(&one, "id"));
      // Of several nobody can tell which: it is held to the contract by itself.
      if (parents.size() != 1) return self->open(then);
      self->memory().keep_session(kDelegated + self->key_, parents[0]);
      self->work_for(std::move(parents[0]), then);
    });
  }

  bool is_delegating(const std::string& session) {
    const auto shown = cases().show_session(session);
    const Value* open = shown && *shown ? member((*shown)->find("governed"), "open_calls") : nullptr;
    return open != nullptr && open->is_array() &&
           std::any_of(open->elements().begin(), open->elements().end(), [](const Value& call) {
             return text_in(&call, "tool") == "task" && text_in(&call, "state") == "executing";
           });
  }

  void work_for(std::string parent, Then then) {
    event_.agent_id = event_.client_session;
    session_ = std::move(parent);
    key_.clear();
    then(*this);
  }

  // The roles that a client's sessions have: the one of its name, and the one that it was adopted with. The hook's command line says
  // which; who writes command lines could say any.
  std::vector<std::string> client_roles(const std::string& role) const {
    std::vector<std::string> out = {std::string(hooks::client_name(event_.client))};
    const auto& look = asked_->workings().around.look_at_adoptions;
    if (role.empty() || role == out.front() || !look) return out;
    const auto seen = look();
    const Value* all = seen ? seen->find("adoptions") : nullptr;
    if (all == nullptr || !all->is_array()) return out;
    for (const Value& one : all->elements())
      if (text_in(&one, "client") == out.front() && text_in(&one, "role") == role) out.push_back(role);
    return out;
  }

  void open(Then then) {
    runtime::OpenSession wanted;
    wanted.role = asked_->query.text("role");
    wanted.client_key = key_;
    wanted.also_roles = client_roles(wanted.role);
    cases().open_session(asked_->mutation(), std::move(wanted), answered([then](Hook& self, const Answer& answer) {
                           self.session_ = text_in(answer.body.find("session"), "id");
                           self.memory().keep_session(self.key_, self.session_);
                           then(self);
                         }));
  }

  // A contract names the server of a tool, or is for a tool that only one server can have.
  void name_tool(void (Hook::*then)()) {
    if (!event_.is_mcp) return (this->*then)();
    read_then(asked_, [self = shared_from_this(), then](const AskedPtr&) {
      const std::string& called = self->event_.tool;
      const std::size_t slash = called.find('/');
      const std::string server = called.substr(0, slash), tool = called.substr(slash + 1);
      auto named = self->cases().tool_in_pack(
          self->session_, server, tool,
          {.is_only_server = self->is_only_server_, .is_reserved = hooks::is_reserved(tool, self->event_.client)});
      self->event_.tool = std::move(named.name);
      self->why_not_bare_ = std::move(named.why);
      (*self.*then)();
    });
  }

  // --- before a tool

  // What an approval of the call is bound to is looked at where one may be needed: then files are read, beside the server's threads.
  void propose() {
    const Value* facts = event_.arguments.find(hooks::kFacts);
    const bool is_shell = event_.tool == "Bash" && facts != nullptr && !is_proxied_;
    if (!is_shell || !asked_->workings().around.digest_of_file) return propose_bound();
    read_then(asked_, [self = shared_from_this(), line = text_in(facts, "command"),
                       cwd = text_in(facts, "cwd")](const AskedPtr&) {
      if (self->cases().may_need_approval(self->session_, self->event_.tool)) self->bound_ = self->bound_to(line, cwd);
      self->propose_bound();
    });
  }

  Value bound_to(const std::string& line, const std::string& cwd) const {
    constexpr std::size_t kFilesMax = 32;
    const shell::Parsed parsed = shell::parse(line);
    const shell::ReliedOn relied = shell::relied_on(parsed, shell::effects_of(parsed, cwd), cwd);
    Value files = Value::array();
    std::size_t more = 0;
    const auto look_at = [&](const std::string& path, bool is_sure) {
      if (files.elements().size() >= kFilesMax) return void(++more);
      const std::string found = asked_->workings().around.digest_of_file(path);
      const bool is_digest = found.size() == 64;
      // A word that names no file is a word.
      if (!is_sure && (found == "absent" || found == "folder")) return;
      Value file = Value::object();
      file.set("path", path);
      file.set(is_digest ? "sha256" : "state", found);
      files.push(std::move(file));
    };
    for (const std::string& path : relied.files) look_at(path, true);
    for (const std::string& path : relied.words) look_at(path, false);
    Value out = Value::object();
    if (!cwd.empty()) out.set("cwd", cwd);
    out.set("files", std::move(files));
    if (more > 0) out.set("more_files", more);
    return out;
  }

  void propose_bound() {
    Value call = Value::object(), calls = Value::array(), body = Value::object();
    if (!event_.call_id.empty()) call.set("call_id", event_.call_id);
    call.set("tool", event_.tool);
    call.set("arguments", event_.arguments);
    calls.push(std::move(call));
    body.set("calls", std::move(calls));
    body.set(is_proxied_ ? "other_door" : "start", true);
    body.set("resume", true);
    if (const auto seen = subagent()) {
      Value by = Value::object();
      by.set("id", seen->client_id);
      if (!seen->type.empty()) by.set("type", seen->type);
      body.set("subagent", std::move(by));
    }
    cases().govern_call(asked_->mutation(), session_, json::write(body),
                        answered([](Hook& self, Answer answer) { self.decided(answer.body); }),
                        runtime::UseCases::Facts{event_.reserved, event_.cwd, sighting(), bound_});
  }

  void decided(const Value& body) {
    const Value* call = first(body.find("calls"));
    const std::string verdict = text_in(call, "verdict"), id = text_in(call, "call_id");
    const Value* started = member(call, "started");
    if (started != nullptr && started->kind() == json::Kind::Boolean && started->boolean()) return reply({});
    // The proxy begins it, or waits for the person: it can.
    if (is_proxied_ && (verdict == "allow" || verdict == "checkpoint")) return reply({});
    if (verdict == "allow") {
      Value start = Value::object();
      start.set("call_id", id);
      return cases().start_call(asked_->mutation(), session_, json::write(start),
                                answered([](Hook& self, Answer answer) {
                                  if (text_in(&answer.body, "verdict") == "allow") return self.reply({});
                                  self.refused_by(&answer.body);
                                }));
    }
    if (verdict == "checkpoint") {
      const std::string approval = text_in(member(call, "approval"), "id");
      if (member(member(call, "approval"), "not_shown") != nullptr)
        return deny("checkpoint",
                    "this call needs an operator's approval " + approval +
                        ", and cannot be approved: it has parts that cannot be shown",
                    "propose it without the secret in it (use a variable, a file or a name), or in shorter calls");
      return deny("checkpoint", "this call needs an operator's approval " + approval,
                  "call again with the same arguments after an operator has approved it");
    }
    refused_by(call);
  }

  void refused_by(const Value* call) {
    const Value* failure = first(member(call, "failures"));
    std::string instead = text_in(failure, "help");
    // A way out in words is more to the point than what the rule's help says in general.
    if (const Value* way = member(call, "way_out"); text_in(way, "status") == "found" && !text_in(way, "text").empty())
      instead = text_in(way, "text");
    std::string rule = text_in(failure, "code");
    if (rule.empty()) rule = text_in(call, "reason");
    if (rule == info(Code::no_contract).name && !why_not_bare_.empty()) instead = why_not_bare_;
    // The client goes on with a session that was closed by another door than this one: it is opened again.
    if (rule == info(Code::session_closed).name && !key_.empty() && !reopened_) {
      reopened_ = true;
      memory().forget_session(key_);
      return open([](Hook& hook) { hook.propose(); });  // it has its name already
    }
    deny(rule.empty() ? "engine_error" : rule, text_in(failure, "message"), instead);
  }

  // By what this call is found again afterwards: from the record, so that a restart, or any number of other calls, changes nothing.
  runtime::Sighting sighting() const {
    runtime::Sighting out;
    out.call_id = event_.call_id;
    out.tool = event_.tool;
    out.input_sha256 = runtime::sighted_digest(event_.tool, event_.input);
    out.confirms = is_proxied_;
    return out;
  }

  // --- after a tool

  void settle_own() {
    Value body = Value::object();
    if (is_proxied_) body.set("confirms", true);
    if (event_.failed) {
      body.set("result", "error");
      Value error = Value::object();
      error.set("code", "tool_error");
      error.set("class", "tool_error");
      if (!event_.error.empty()) error.set("message", event_.error.substr(0, 2000));
      body.set("error", std::move(error));
    } else {
      body.set("result", "ok");
      if (event_.output) body.set("output", *event_.output);
    }
    if (event_.exit_code) body.set("exit_code", *event_.exit_code);
    runtime::Sighting seen = sighting();
    if (const auto arguments = json::parse_owned(json::write(event_.arguments)))
      seen.arguments_sha256 = session::digest_of(arguments->root()).value_or("");
    cases().settle_call(
        asked_->mutation(), session_, json::write(body),
        [self = shared_from_this()](Result<Answer> answer) {
          if (!answer) return self->fail(answer.error());
          if (!answer->refused.empty()) return self->look_for_proposal(answer->refused.front().code);
          self->settled(answer->body);
        },
        std::move(seen));
  }

  // A call that was made, and that is none of those that execute.
  void look_for_proposal(Code why) {
    if (is_proxied_) return reply({});  // the proxy has said what became of it
    read_then(asked_, [self = shared_from_this(), waits = why == Code::call_not_open](const AskedPtr&) {
      const auto shown = self->cases().show_session(self->session_);
      const Value* governed = shown && *shown ? (*shown)->find("governed") : nullptr;
      if (text_in(governed, "standing") != "open" || text_in(governed, "mode") != "enforce") return self->reply({});
      self->judge_unhooked(waits);
    });
  }

  void judge_unhooked(bool waits) {
    using Proposed = runtime::UseCases::Proposed;
    const auto was = cases().was_proposed(session_, sighting());
    if (!was) return fail(was.error());
    if (*was == Proposed::Allowed) return reply({});
    // Clients tell of the failure of a call that was refused, and never made, too. Cursor tells a second time, without the id.
    const bool may_be_refused = event_.kind != Kind::AfterTool && (*was == Proposed::Refused || waits);
    if (may_be_refused || event_.name == "PermissionDenied") return reply({});
    if (event_.client == hooks::Client::Cursor && !event_.name.starts_with("postToolUse")) return reply({});
    runtime::UseCases::UnhookedCall call;
    call.call_id = event_.call_id;
    call.tool = event_.tool;
    call.arguments_sha256 = sha256_hex(json::write(event_.arguments));
    call.problem = waits                     ? "nobody had approved it yet"
                   : *was == Proposed::Never ? "nobody was asked before it was made"
                                             : "it had been refused";
    call.subagent = subagent();
    const std::string why = std::string(info(Code::unhooked_call).name) + ": " +
                            report(Code::unhooked_call, {}, {{"tool", call.tool}, {"problem", call.problem}}).message;
    cases().note_unhooked(
        asked_->mutation(), session_, std::move(call), answered([why, waits](Hook& self, const Answer&) {
          if (!waits) return self.reply({Reply::Kind::Context, why});
          // What a person was still to decide about has happened: there is nothing left to hold it to.
          self.cases().kill_session(self.asked_->mutation(), self.session_, why,
                                    self.answered([why](Hook& hook, const Answer&) {
                                      hook.deny(info(Code::unhooked_call).name, why, "this session is over");
                                    }));
        }));
  }

  void settled(const Value& body) {
    const Value* changed = body.find("input_changed");
    if (changed != nullptr && changed->kind() == json::Kind::Boolean && changed->boolean())
      return deny(
          "input_changed",
          "what was run is not what was allowed, so that its outcome counts as unknown and the session is paused",
          "an operator reviews it and may resume the session");
    const Value* failures = body.find("failures");
    if (failures != nullptr && failures->is_array())
      for (const Value& one : failures->elements())
        if (text_in(&one, "code") == info(Code::output_assertion_failed).name)
          return deny(text_in(&one, "code"), text_in(&one, "message"), text_in(&one, "help"));
    reply({});
  }

  // --- the rest

  void greet() {
    read_then(asked_, [self = shared_from_this()](const AskedPtr&) {
      std::string text =
          "This session is held to a contract by Baton (session " + self->session_ +
          "). A call that the contract does not allow is refused with the reason and what to do instead.";
      const auto owed = self->cases().owed_by(self->session_);
      if (owed && owed->dialect != contract::Owed::None && owed->dialect != contract::Owed::Any)
        text += " When you are done, end your message with " + owed_words(*owed) + ".";
      self->reply({Reply::Kind::Context, std::move(text)});
    });
  }

  void close() {
    // A leased one is ended by its handoff, or by whoever supervises it.
    if (key_.empty()) return reply({});
    memory().forget_session(key_);
    cases().close_session(asked_->mutation(), session_,
                          [self = shared_from_this()](const Result<Answer>&) { self->reply({}); });
  }

  // --- subagents

  // Which subagent the event is about, or is of. Copilot CLI says only what kind it is.
  std::optional<runtime::SubagentSeen> subagent() const {
    if (!event_.agent_id.empty()) return runtime::SubagentSeen{event_.agent_id, event_.agent_type};
    const bool about_one = event_.kind == Kind::SubagentStart || event_.kind == Kind::SubagentStop;
    if (about_one && !event_.agent_type.empty())
      return runtime::SubagentSeen{"type:" + event_.agent_type, event_.agent_type};
    return std::nullopt;
  }

  void begin_subagent() {
    cases().start_subagent(asked_->mutation(), session_, *subagent(), answered([](Hook& self, const Answer& answer) {
                             self.reply({Reply::Kind::Context, text_in(&answer.body, "text")});
                           }));
  }

  void end_subagent() {
    cases().end_subagent(asked_->mutation(), session_, *subagent(), event_.last_message,
                         answered([](Hook& self, const Answer& answer) {
                           const std::string again = text_in(&answer.body, "asked_again");
                           if (again.empty()) return self.reply({});
                           self.reply({Reply::Kind::AskAgain, again});
                         }));
  }

  // A session with work owes its handoff in its last words, and so does one whose pack says so.
  void stop() {
    read_then(asked_, [self = shared_from_this()](const AskedPtr&) {
      const auto owed = self->cases().owed_by(self->session_);
      if (!owed) return self->fail(owed.error());
      // Nothing was asked for, or it was handed over already, by a tool or a command: there is nothing more to be said.
      if (owed->dialect == contract::Owed::None) return self->reply({});
      self->owed_ = *owed;
      self->hand_off();
    });
  }

  void hand_off() {
    cases().hand_off(
        asked_->mutation(), session_, event_.last_message, [self = shared_from_this()](Result<Answer> answer) {
          if (!answer) return self->fail(answer.error());
          if (answer->refused.empty()) {
            self->memory().forget_repairs(self->session_);
            // Whoever goes on in the same window afterwards opens it again.
            if (!self->key_.empty() && text_in(&answer->body, "standing") == "closed")
              self->memory().forget_session(self->key_);
            return self->reply({});
          }
          const std::string why = sentences(answer->refused);
          if (self->memory().repair(self->session_) <= kRepairsMax)
            return self->reply({Reply::Kind::AskAgain, "The handoff at the end of your message was not taken:\n" + why +
                                                           "\nEnd your message with " + owed_words(self->owed_) +
                                                           " that holds."});
          std::string tail = self->event_.last_message;
          if (tail.size() > kOutputTail) tail.erase(0, tail.size() - kOutputTail);
          const auto ended = [self](const Result<Answer>&) { self->reply({}); };
          // What no work hangs on has nothing that could be blocked.
          if (!self->owed_.has_work)
            return self->cases().kill_session(self->asked_->mutation(), self->session_, "no handoff could be taken",
                                              ended);
          self->cases().end(self->asked_->mutation(), self->session_, runtime::SessionEnd::Failed, std::move(tail),
                            ended);
        });
  }

  const AskedPtr asked_;
  std::optional<hooks::Client> client_;
  std::string problem_;  // of an event that could not be read
  Event event_;
  std::string session_, key_;
  runtime::OwedWords owed_;
  Value bound_;                  // what an approval is bound to
  std::string why_not_bare_;     // the contract of the bare name is not this tool's
  bool is_only_server_ = false;  // of the servers that are configured, as far as is known
  bool is_proxied_ = false, reopened_ = false;
};

}  // namespace

void take_hook(const AskedPtr& asked) { std::make_shared<Hook>(asked)->run(); }

}  // namespace baton::http_api::handlers
