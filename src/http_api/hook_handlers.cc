// SPDX-License-Identifier: Apache-2.0
// Hooks of coding agents: an event as the client says it, and the answer as the client wants to hear it (hooks/event.h). In between the
// use cases of governed sessions, as for everybody else.
//
// Whose session it is: that of the token that is shown; else one for each session of the client, opened when it is first seen. Opening
// carries a key made of the client's own id for it, so that the same one is found again after a restart.
//
// Nothing waits in a hook: what needs a person is refused with the id of what was asked, and is proposed again by the agent.
#include <array>

#include "base/sha256.h"
#include "base/text.h"
#include "hooks/names.h"
#include "hooks/read.h"
#include "hooks/write.h"
#include "http_api/handlers.h"
#include "json/value.h"
#include "shell/arguments.h"

namespace baton::http_api::handlers {
namespace {

using hooks::Event;
using hooks::Kind;
using hooks::Reply;
using json::Value;
using runtime::Answer;

// How often an agent is asked again for its handoff before its session has failed.
constexpr int kRepairsMax = 2;
// A client that comes back to a session which was closed gets another one: so often.
constexpr int kGenerationsMax = 64;
constexpr std::size_t kOutputTail = 4096;

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

bool is_in_list(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

class Hook : public std::enable_shared_from_this<Hook> {
 public:
  explicit Hook(AskedPtr asked) : asked_(std::move(asked)) {}

  void run() {
    const auto client = hooks::client_named(asked_->id);
    if (!client)
      return asked_->refuse(
          {report(Code::REQUEST_NOT_FOUND, {}, {{"what", "client"}, {"name", printable(asked_->id, 64)}})});
    const auto command = [](std::string_view line, std::string_view cwd) {
      return shell::arguments_of(shell::parse(line), cwd);
    };
    auto read =
        hooks::read(*client, asked_->query.text("event"), asked_->request().body, {.command = command, .servers = {}});
    // Whoever cannot say what it wants does not get it.
    if (!read)
      return say(hooks::write_failure(*client, asked_->query.text("event"), sentence("hook_input", read.error(), "")));
    event_ = std::move(*read);
    switch (event_.kind) {
      case Kind::BeforeTool:
        // The proxy in front of that server decides, with the same session.
        if (event_.is_mcp && is_in_list(asked_->query.text("proxied"), event_.tool.substr(0, event_.tool.find('/'))))
          return reply({});
        return in_session([](Hook& hook) { hook.name_tool(&Hook::propose); });
      case Kind::AfterTool:
      case Kind::ToolFailed:
        if (event_.is_mcp && is_in_list(asked_->query.text("proxied"), event_.tool.substr(0, event_.tool.find('/'))))
          return reply({});
        return in_session([](Hook& hook) { hook.name_tool(&Hook::settle_own); });
      case Kind::SessionStart: return in_session([](Hook& hook) { hook.greet(); });
      case Kind::SessionEnd: return in_session([](Hook& hook) { hook.close(); });
      case Kind::Stop: return in_session([](Hook& hook) { hook.stop(); });
      default: return reply({});
    }
  }

 private:
  runtime::UseCases& cases() { return asked_->workings().around.cases; }
  HookMemory& memory() { return asked_->workings().hooks; }

  void reply(const Reply& reply) { say(hooks::write(event_, reply)); }

  // `EXIT OUT_BYTES ERR_BYTES`, a line feed, and that many bytes of each: what baton-hook needs no parser for.
  void say(const hooks::Written& written) {
    net::ServerResponse response;
    response.content_type = "text/plain";
    response.body = std::to_string(written.exit) + ' ' + std::to_string(written.out.size()) + ' ' +
                    std::to_string(written.err.size()) + '\n' + written.out + written.err;
    asked_->respond(std::move(response));
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

  // --- whose session

  using Then = void (*)(Hook&);

  void in_session(Then then) {
    if (!asked_->caller.session_id.empty()) {
      session_ = asked_->caller.session_id;
      return then(*this);
    }
    key_ = asked_->caller.actor.id + "\n" + asked_->id + "\n" + event_.client_session;
    if (auto known = memory().session(key_)) {
      session_ = std::move(*known);
      // A client that begins again may have been told of the end of the one before.
      if (event_.kind != Kind::SessionStart) return then(*this);
    }
    open(1, then);
  }

  void open(int generation, Then then) {
    runtime::Mutation by = asked_->mutation();
    by.idempotency_key = "hook-" + sha256_hex(key_) + "-" + std::to_string(generation);
    by.request_sha256 = sha256_hex(by.idempotency_key);
    runtime::OpenSession wanted;
    wanted.role = asked_->query.text("role");
    cases().open_session(by, std::move(wanted), answered([generation, then](Hook& self, Answer answer) {
                           self.session_ = text_in(answer.body.find("session"), "id");
                           if (!answer.replayed) return self.opened(then);
                           // It was opened before: is it still?
                           read_then(self.asked_, [kept = self.shared_from_this(), generation, then](const AskedPtr&) {
                             kept->look(generation, then);
                           });
                         }));
  }

  void look(int generation, Then then) {
    const auto shown = cases().show_session(session_);
    if (!shown) return fail(shown.error());
    const Value* governed = *shown ? (*shown)->find("governed") : nullptr;
    // Killed is killed: whoever comes back is told so by the refusal of whatever it wants.
    if (text_in(governed, "standing") != "closed" || generation >= kGenerationsMax) return opened(then);
    open(generation + 1, then);
  }

  void opened(Then then) {
    memory().keep_session(key_, session_);
    then(*this);
  }

  // A contract may be for a server's tool alone, or for a tool of that name.
  void name_tool(void (Hook::*then)()) {
    if (!event_.is_mcp) return (this->*then)();
    // A contract for one of the client's own tools is none for a server's tool that has its name.
    const std::string bare = event_.tool.substr(event_.tool.find('/') + 1);
    if (bare == "Bash" || hooks::shape_of(event_.client, bare).shape != hooks::Shape::Plain) return (this->*then)();
    read_then(asked_, [self = shared_from_this(), then](const AskedPtr&) {
      self->event_.tool = self->cases().tool_in_pack(self->session_, self->event_.tool);
      (*self.*then)();
    });
  }

  // --- before a tool

  void propose() {
    Value call = Value::object(), calls = Value::array(), body = Value::object();
    if (!event_.call_id.empty()) call.set("call_id", event_.call_id);
    call.set("tool", event_.tool);
    call.set("arguments", event_.arguments);
    calls.push(std::move(call));
    body.set("calls", std::move(calls));
    body.set("start", true);
    body.set("resume", true);
    cases().govern_call(asked_->mutation(), session_, json::write(body),
                        answered([](Hook& self, Answer answer) { self.decided(answer.body); }));
  }

  void decided(const Value& body) {
    const Value* call = first(body.find("calls"));
    const std::string verdict = text_in(call, "verdict"), id = text_in(call, "call_id");
    const Value* started = member(call, "started");
    if (started != nullptr && started->kind() == json::Kind::Boolean && started->boolean()) return begun(id);
    if (verdict == "allow") {
      Value start = Value::object();
      start.set("call_id", id);
      return cases().start_call(asked_->mutation(), session_, json::write(start),
                                answered([id](Hook& self, Answer answer) {
                                  if (text_in(&answer.body, "verdict") == "allow") return self.begun(id);
                                  self.refused_by(&answer.body);
                                }));
    }
    if (verdict == "checkpoint") {
      const std::string approval = text_in(member(call, "approval"), "id");
      return deny(
          "checkpoint", "a person must approve this call first (approval " + approval + ")",
          "call again with the same arguments after it is approved: `baton approvals approve " + approval + "`");
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
    deny(rule.empty() ? "engine_error" : rule, text_in(failure, "message"), instead);
  }

  // Nothing is said: the client's own permissions still count.
  void begun(const std::string& id) {
    memory().keep_call(session_, event_.call_id, {id, sha256_hex(json::write(event_.input))});
    reply({});
  }

  // --- after a tool

  void settle_own() { settle_call(event_.call_id); }

  void settle_call(const std::string& seen_as) {
    const auto begun = memory().take_call(session_, seen_as);
    const std::string id = begun ? begun->call_id : seen_as;
    Value body = Value::object();
    body.set("call_id", id);
    if (begun && begun->input_sha256 != sha256_hex(json::write(event_.input))) {
      // Something else was done than what was judged. What, nobody here knows.
      body.set("result", "unknown");
      is_changed_ = true;
    } else if (event_.failed) {
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
    cases().settle_call(asked_->mutation(), session_, json::write(body),
                        [self = shared_from_this()](Result<Answer> answer) {
                          if (!answer) return self->fail(answer.error());
                          if (!answer->refused.empty()) return self->find_open(answer->refused);
                          self->settled(answer->body);
                        });
  }

  // The node was started again since, or the call that began was one that a person had approved under another id.
  void find_open(const std::vector<Diagnostic>& refused) {
    if (looked_) return reply({});
    looked_ = true;
    read_then(asked_, [self = shared_from_this(), refused](const AskedPtr&) {
      const auto shown = self->cases().show_session(self->session_);
      const Value* open = shown && *shown ? member((*shown)->find("governed"), "open_calls") : nullptr;
      std::string found;
      int count = 0;
      if (open != nullptr && open->is_array())
        for (const Value& one : open->elements())
          if (text_in(&one, "tool") == self->event_.tool && text_in(&one, "state") == "executing") {
            found = text_in(&one, "call_id");
            ++count;
          }
      // Of several nobody can tell which: they stay open, and are unknown when their time is over.
      if (count != 1) return self->reply({});
      self->settle_call(found);
    });
  }

  void settled(const Value& body) {
    if (is_changed_)
      return deny("input_changed", "what was run is not what was allowed, so that its outcome counts as unknown",
                  "run it again as it was allowed");
    const Value* failures = body.find("failures");
    if (failures != nullptr && failures->is_array())
      for (const Value& one : failures->elements())
        if (text_in(&one, "code") == info(Code::output_assertion_failed).name)
          return deny(text_in(&one, "code"), text_in(&one, "message"), text_in(&one, "help"));
    reply({});
  }

  // --- the rest

  void greet() {
    reply({Reply::Kind::Context,
           "This session is held to a contract by Baton (session " + session_ +
               "). A call that the contract does not allow is refused with the reason and what to do instead."});
  }

  void close() {
    // A leased one is ended by its handoff, or by whoever supervises it.
    if (!asked_->caller.session_id.empty()) return reply({});
    memory().forget_session(key_);
    cases().close_session(asked_->mutation(), session_,
                          [self = shared_from_this()](const Result<Answer>&) { self->reply({}); });
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
            // Whoever goes on in the same window afterwards is in another session.
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
  Event event_;
  std::string session_, key_;
  runtime::OwedWords owed_;
  bool looked_ = false, is_changed_ = false;
};

}  // namespace

void take_hook(const AskedPtr& asked) { std::make_shared<Hook>(asked)->run(); }

}  // namespace baton::http_api::handlers
