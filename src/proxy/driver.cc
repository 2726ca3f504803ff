// SPDX-License-Identifier: Apache-2.0
#include "proxy/driver.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <optional>
#include <set>
#include <variant>

#include "base/ids.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "contract/tools_lock.h"
#include "json/parse.h"
#include "json/value.h"
#include "proxy/back.h"
#include "proxy/child_back.h"
#include "proxy/http_back.h"
#include "proxy/node_link.h"
#include "proxy/timers.h"
#include "proxy/words.h"

namespace baton::proxy {
namespace {

// Calls that are at the node at one time; further ones wait here for their turn instead of being refused there.
constexpr std::size_t kCallsAtNodeMax = limits::kOpenCallsMax - 16;

}  // namespace

std::unique_ptr<Back> make_back(Shared& shared, const ServerOptions& options, std::size_t server,
                                BackListener& listener) {
  if (options.url.empty()) return std::make_unique<ChildBack>(shared, options, server, listener);
  return std::make_unique<HttpBack>(shared, options, server, listener);
}

class Driver::Core final : public std::enable_shared_from_this<Driver::Core>, public BackListener {
 public:
  Core(Shared& shared, Front& front)
      : shared_(shared),
        front_(&front),
        id_prefix_(mint_id("baton-", shared.random)),
        node_(shared),
        conversation_(conversation_options(shared, id_prefix_)),
        timers_(shared.context, shared.clock, [this](mcp::Timer timer) { rang(timer); }),
        end_timer_(shared.context),
        finish_timer_(shared.context) {
    for (std::size_t server = 0; server < shared_.options.servers.size(); ++server)
      backs_.push_back(make_back(shared_, shared_.options.servers[server], server, *this));
  }

  void detach() {
    front_ = nullptr;
    is_over_ = true;
  }

  // --- the front
  void from_client(mcp::Stream stream, std::string message, std::optional<mcp::ParameterHeaders> parameters) {
    turn([this, stream, message = std::move(message), parameters = std::move(parameters)](mcp::Actions& out) mutable {
      conversation_.from_client(now(), stream, std::move(message), out, std::move(parameters));
    });
  }
  void oversized_from_client(mcp::Stream stream, std::string_view head, std::string_view tail) {
    turn([this, stream, head = std::string(head), tail = std::string(tail)](mcp::Actions& out) {
      conversation_.oversized_from_client(now(), stream, head, tail, out);
    });
  }
  void stream_gone(mcp::Stream stream) {
    turn([this, stream](mcp::Actions& out) { conversation_.stream_gone(now(), stream, out); });
  }
  void stream_back(mcp::Stream stream) {
    turn([this, stream](mcp::Actions& out) { conversation_.stream_back(now(), stream, out); });
  }
  void client_gone() {
    turn([this](mcp::Actions& out) { conversation_.client_gone(now(), out); });
  }
  void client_done() {
    is_done_ = true;
    finish_timer_.expires_after(kFinishWait);
    finish_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      if (const auto core = weak.lock(); core && !error) core->client_gone();
    });
    boost::asio::post(shared_.context, [weak = weak_from_this()] {
      if (const auto core = weak.lock()) core->look_whether_done();
    });
  }
  void front_drained() {
    if (!is_paused_ || (front_ != nullptr && front_->is_full())) return;
    is_paused_ = false;
    for (const auto& back : backs_) back->resume();
  }
  bool is_full() const {
    if (conversation_.holds_much()) return true;
    for (const auto& back : backs_)
      if (back->is_full()) return true;
    return waiting_calls_.size() > kCallsAtNodeMax * 8;
  }
  const mcp::Revision* revision() const { return conversation_.revision(); }

  // --- the servers
  void message(std::size_t server, std::string bytes, mcp::Ticket ticket) override {
    turn([this, server, bytes = std::move(bytes), ticket](mcp::Actions& out) mutable {
      conversation_.from_server(now(), server, std::move(bytes), ticket, out);
    });
  }
  void oversized(std::size_t server, std::string_view head, std::string_view tail, mcp::Ticket ticket) override {
    turn([this, server, head = std::string(head), tail = std::string(tail), ticket](mcp::Actions& out) {
      conversation_.oversized_from_server(now(), server, head, tail, ticket, out);
    });
  }
  void attempt_failed(std::size_t server, mcp::Ticket ticket, mcp::AttemptFailure failure) override {
    turn([this, server, ticket, failure = std::move(failure)](mcp::Actions& out) {
      conversation_.attempt_failed(now(), server, ticket, failure, out);
    });
  }
  void left_off(std::size_t server, mcp::Ticket ticket, mcp::Milliseconds retry_after) override {
    turn([this, server, ticket, retry_after](mcp::Actions& out) {
      conversation_.left_off(now(), server, ticket, retry_after, out);
    });
  }
  void gone(std::size_t server, std::string why, bool returns) override {
    turn([this, server, why = std::move(why), returns](mcp::Actions& out) {
      conversation_.server_gone(now(), server, why, out, returns);
    });
  }
  void back(std::size_t server) override {
    turn([this, server](mcp::Actions& out) { conversation_.server_back(now(), server, out); });
  }
  void drained(std::size_t) override { tell_drained(); }
  void ended(std::size_t) override {
    if (++backs_ended_ == backs_.size()) look_whether_over();
  }

 private:
  using Say = std::function<void(mcp::Actions&)>;

  mcp::Milliseconds now() const { return shared_.clock.monotonic_ns() / 1'000'000; }

  // Something happened: the conversation is told, and what it says is done. What happens while that is being done comes after it.
  template <class F>
  void turn(F&& say) {
    if (is_over_) return;
    if (is_busy_) {
      pending_.emplace_back(std::forward<F>(say));
      return;
    }
    const auto kept = shared_from_this();
    is_busy_ = true;
    mcp::Actions actions = std::move(spare_);
    actions.clear();
    say(actions);
    carry_out(actions);
    while (!pending_.empty() && !is_over_) {
      const Say next = std::move(pending_.front());
      pending_.pop_front();
      actions.clear();
      next(actions);
      carry_out(actions);
    }
    actions.clear();
    spare_ = std::move(actions);
    is_busy_ = false;
    if (is_over_) return;
    look_at_front();
    if (is_done_) look_whether_done();
    if (was_full_) tell_drained();
  }

  void look_at_front() {
    if (front_ == nullptr || is_paused_ || !front_->is_full()) return;
    is_paused_ = true;
    for (const auto& back : backs_) back->pause();
  }

  void tell_drained() {
    if (is_full()) {
      was_full_ = true;
      return;
    }
    was_full_ = false;
    if (front_ != nullptr && !is_over_) front_->server_drained();
  }

  void carry_out(mcp::Actions& actions) {
    for (mcp::Action& action : actions) {
      if (is_over_) return;
      std::visit([this](auto& one) { carry_out(std::move(one)); }, action);
    }
  }

  // --- what the conversation wants done
  void carry_out(mcp::ToClient one) {
    if (front_ != nullptr && !is_ending_) front_->to_client(std::move(one));
  }
  void carry_out(mcp::Accepted one) {
    if (front_ != nullptr && !is_ending_) front_->accepted(one.stream);
  }
  void carry_out(mcp::LeaveOff one) {
    if (front_ != nullptr && !is_ending_) front_->leave_off(one.stream, one.retry_after);
  }
  void carry_out(mcp::ToServer one) {
    const std::size_t server = one.server;
    start_servers();
    backs_[server]->send(std::move(one));
    was_full_ = was_full_ || backs_[server]->is_full();
  }
  void carry_out(mcp::Withdraw one) {
    const std::size_t server = one.server;
    backs_[server]->withdraw(std::move(one));
  }
  void carry_out(mcp::TakeUp one) { backs_[one.server]->take_up(one.ticket); }
  void carry_out(mcp::OpenSession one) {
    is_opening_ = true;
    const bool is_named = !one.token.empty();
    node_.open(std::move(one.token), [this, is_named](NodeLink::Opened opened) {
      is_opening_ = false;
      if (is_over_) return;
      if (is_ending_) return close_session();  // nobody needs it any more
      if (!opened.ok) return session_refused(opened.text, is_named);
      mcp::Session session = session_of(opened.text);
      if (const std::string problem = read_pack(opened.mcp, session); !problem.empty())
        return session_refused(problem, is_named);
      session_opened(std::move(session));
    });
  }
  void carry_out(mcp::Propose one) {
    if (at_node_.size() >= kCallsAtNodeMax) {
      waiting_calls_.push_back(std::move(one));
      was_full_ = was_full_ || is_full();
      return;
    }
    propose(std::move(one));
  }
  void propose(mcp::Propose one) {
    at_node_.insert(one.call);
    node_.propose(std::move(one.body), [this, call = one.call](int status, std::string body) {
      mcp::Verdict verdict = mcp::read_verdict(status, body);
      // One that waits for a person counts again when it starts, under whatever number it does.
      using Kind = mcp::Verdict::Kind;
      if (verdict.kind != Kind::Begun && verdict.kind != Kind::Allowed) left_node(call);
      turn([this, call, verdict = std::move(verdict)](mcp::Actions& out) mutable {
        conversation_.verdict(now(), call, std::move(verdict), out);
      });
    });
  }
  void carry_out(mcp::Start one) {
    at_node_.insert(one.call);
    node_.start(std::move(one.body), [this, call = one.call](int status, std::string body) {
      mcp::Verdict verdict = mcp::read_started(status, body);
      if (verdict.kind != mcp::Verdict::Kind::Begun) left_node(call);
      turn([this, call, verdict = std::move(verdict)](mcp::Actions& out) mutable {
        conversation_.verdict(now(), call, std::move(verdict), out);
      });
    });
  }
  void carry_out(mcp::Settle one) {
    if (!one.awaited)
      return node_.settle(std::move(one.body), [this, call = one.call](int, std::string) { left_node(call); });
    node_.settle(std::move(one.body), [this, call = one.call](int status, std::string body) {
      left_node(call);
      turn([this, call, status, body = std::move(body)](mcp::Actions& out) {
        conversation_.settled(now(), call, mcp::read_settled(status, body), out);
      });
    });
  }
  void carry_out(mcp::Cancel one) {
    node_.leave_approval(one.call);
    left_node(one.call);
  }
  void carry_out(mcp::AskCallable one) {
    node_.ask_callable([this, question = one.question](int status, std::string body) {
      turn([this, question, status, body = std::move(body)](mcp::Actions& out) {
        conversation_.callable(now(), question, mcp::read_callable(status, body), out);
      });
    });
  }
  void carry_out(mcp::AwaitApproval one) {
    node_.await_approval(one.call, std::move(one.approval_id), [this, call = one.call](int status, std::string body) {
      turn([this, call, status, body = std::move(body)](mcp::Actions& out) {
        conversation_.decision(now(), call, mcp::read_decision(status, body), out);
      });
    });
  }
  void carry_out(mcp::LeaveApproval one) { node_.leave_approval(one.call); }
  void carry_out(mcp::Decide one) { node_.decide(one.approval_id, one.digest, one.approve); }
  void carry_out(mcp::HandOff one) {
    node_.hand_off(std::move(one.document), [this, question = one.question](int status, std::string body) {
      turn([this, question, status, body = std::move(body)](mcp::Actions& out) {
        conversation_.handed_off(now(), question, handoff_answer(status, body), out);
      });
    });
  }
  void carry_out(mcp::AskStatus one) {
    node_.show_session([this, question = one.question](int status, std::string body) {
      turn([this, question, status, body = std::move(body)](mcp::Actions& out) {
        conversation_.status(now(), question, status_answer(status, body), out);
      });
    });
  }
  void carry_out(mcp::Arm one) { timers_.arm(one.timer, one.after); }
  void carry_out(mcp::Disarm one) { timers_.disarm(one.timer); }
  void carry_out(mcp::Note one) { shared_.report(one.text); }
  void carry_out(mcp::End one) { end(std::move(one.why)); }

  void rang(mcp::Timer timer) {
    turn([this, timer](mcp::Actions& out) { conversation_.rang(now(), timer, out); });
  }

  // The node has settled it, or never had it: there is room for another.
  void left_node(mcp::CallNumber call) {
    if (at_node_.erase(call) == 0) return;
    while (!waiting_calls_.empty() && at_node_.size() < kCallsAtNodeMax) {
      mcp::Propose next = std::move(waiting_calls_.front());
      waiting_calls_.pop_front();
      propose(std::move(next));
    }
  }

  // --- beginning
  static mcp::Options conversation_options(const Shared& shared, std::string id_prefix) {
    const Options& options = shared.options;
    mcp::Options out;
    out.servers.clear();
    for (const ServerOptions& server : options.servers) out.servers.push_back(server.name);
    out.servers_are_all = options.servers_are_all;
    out.client = options.client;
    out.discover_needs_session = options.discover_needs_session;
    out.session_is_given = !options.node.session_id.empty();
    if (!options.node.session_token.empty()) out.given_token = sha256(options.node.session_token);
    out.id_prefix = std::move(id_prefix);
    out.seal_key = shared.seal_key;
    out.version = options.version;
    out.client_bytes_max = options.client_bytes_max;
    out.server_bytes_max = options.server_bytes_max;
    out.begin_time = options.request_timeout.count();
    out.list_time = std::min(out.list_time, out.begin_time);
    return out;
  }

  // All of them, once there is something to say to one: a client that is refused, or says nothing, starts none.
  void start_servers() {
    if (std::exchange(is_started_, true)) return;
    for (const auto& back : backs_) back->start();
  }

  // What the proxy needs to know of the session's pack; what is wrong with it, or nothing.
  static std::string read_pack(std::string_view body, mcp::Session& session) {
    const auto document = json::parse(body);
    const json::Node root = document ? document->root() : json::Node();
    if (!root["contracts"].is_array()) return "the node's answer about the session's pack has no `contracts`";
    session.contracts.emplace();
    for (const json::Node one : root["contracts"].elements())
      if (one.is_string()) session.contracts->emplace(one.string());
    session.held.wording_may_change = root["wording_changes"].is_text("allow");
    session.held.suspicious_is_withheld = root["suspicious_text"].is_text("withhold");
    if (const json::Node most = root["body_bytes"]; most.is_number())
      session.body_bytes_max = static_cast<std::size_t>(json::to_int64(most.number_text()).value_or(0));
    if (!root["tools_lock"]) return {};
    contract::LockRead lock = contract::read_tools_lock(json::write(root["tools_lock"]));
    session.held.lock = std::move(lock.lock);
    return lock.problem.empty() ? std::string()
                                : "tools.lock.json of the session's pack cannot be used: " + lock.problem;
  }

  void session_opened(mcp::Session session) {
    session.id = node_.session_id();
    node_.follow(id_prefix_,
                 [this] { turn([this](mcp::Actions& out) { conversation_.session_changed(now(), out); }); });
    turn([this, session = std::move(session)](mcp::Actions& out) mutable {
      conversation_.session_opened(now(), std::move(session), out);
    });
    tell_drained();
  }

  void session_refused(const std::string& why, bool is_named) {
    const std::string text = (is_named ? "the session that `" + std::string(mcp::kMetaSession) +
                                             "` names could not be joined, so that nothing goes ahead: "
                                       : "Baton could not open a governed session, so that nothing goes ahead: ") +
                             why;
    // The next request tries again: said once.
    if (std::exchange(refusal_, text) != text) shared_.report(text);
    turn([this, text](mcp::Actions& out) { conversation_.session_refused(now(), text, out); });
    if (is_over_) return;
    tell_drained();
    if (is_named && front_ != nullptr) front_->session_refused();
  }

  // What the session is held to: of one that was opened here, what was asked for; of one that was joined, what it says.
  mcp::Session session_of(std::string_view body) {
    const auto document = json::parse(body);
    json::Node session = document ? document->root()["session"] : json::Node();
    if (session["governed"]) session = session["governed"];
    mcp::Session out;
    out.enforces = !session["mode"].is_string() || session["mode"].is_text("enforce");
    out.drops_unknown_content = session["unknown_content"].is_text("drop");
    out.unasked_answers_pass = session["unasked_answers"].is_text("pass");
    out.user_is_operator = session["client_user_is_operator"].is_true() && !shared_.options.operator_token.empty();
    if (session["client_user_is_operator"].is_true() && !out.user_is_operator &&
        !std::exchange(shared_.said_no_operator, true))
      shared_.report(
          "the pack says that the client's user is the operator, but there is no operator's token here "
          "(--operator-token-file): approvals wait for `baton approvals`");
    return out;
  }

  // --- ending
  void look_whether_done() {
    if (!is_done_ || is_ending_ || is_over_) return;
    if (conversation_.open_requests() != 0 || conversation_.held_messages() != 0) return;
    client_gone();
  }

  void end(std::string why) {
    if (is_ending_) return;
    is_ending_ = true;
    why_ = std::move(why);
    finish_timer_.cancel();
    node_.hurry();
    for (const auto& back : backs_) {
      back->resume();
      back->end();
    }
    end_timer_.expires_after(kEndWait);
    end_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const auto core = weak.lock();
      if (!core || error || core->is_over_) return;
      if (!core->node_.is_quiet()) core->shared_.report("the node was not told of all that happened");
      core->over();
    });
    if (is_opening_) return;  // closed when it is open
    // Settlements first: what is under way when a session is closed may still be settled, but nothing hurries that.
    if (node_.is_quiet()) return close_session();
    node_.when_quiet([this] { close_session(); });
  }

  void close_session() {
    node_.when_quiet({});
    if (!node_.is_own()) {
      is_closed_ = true;
      boost::asio::post(shared_.context, [weak = weak_from_this()] {
        if (const auto core = weak.lock()) core->look_whether_over();
      });
      return;
    }
    node_.close([this](int, std::string) {
      is_closed_ = true;
      look_whether_over();
    });
  }

  void look_whether_over() {
    if (is_over_ || !is_ending_ || !is_closed_ || backs_ended_ < backs_.size()) return;
    over();
  }

  void over() {
    is_over_ = true;
    end_timer_.cancel();
    const auto kept = shared_from_this();
    if (Front* front = std::exchange(front_, nullptr); front != nullptr) front->ended(why_);
  }

  Shared& shared_;
  Front* front_;                 // none: it is gone
  const std::string id_prefix_;  // of the calls that are this conversation's
  NodeLink node_;
  mcp::Conversation conversation_;
  std::vector<std::unique_ptr<Back>> backs_;
  Timers timers_;
  std::string refusal_;  // why there was no session, the last time

  bool is_busy_ = false;
  std::deque<Say> pending_;
  mcp::Actions spare_;

  std::set<mcp::CallNumber> at_node_;
  std::deque<mcp::Propose> waiting_calls_;

  bool is_paused_ = false, was_full_ = false;
  bool is_started_ = false, is_opening_ = false;
  bool is_done_ = false, is_ending_ = false, is_closed_ = false, is_over_ = false;
  std::size_t backs_ended_ = 0;
  std::string why_;
  boost::asio::steady_timer end_timer_, finish_timer_;
};

// --- the outside ------------------------------------------------------------------------------------------------------------------------

std::shared_ptr<Driver> Driver::make(Shared& shared, Front& front) {
  return std::shared_ptr<Driver>(new Driver(std::make_shared<Core>(shared, front)));
}

Driver::Driver(std::shared_ptr<Core> core) : core_(std::move(core)) {}
Driver::~Driver() { core_->detach(); }

void Driver::from_client(mcp::Stream stream, std::string message, std::optional<mcp::ParameterHeaders> parameters) {
  core_->from_client(stream, std::move(message), std::move(parameters));
}
void Driver::oversized_from_client(mcp::Stream stream, std::string_view head, std::string_view tail) {
  core_->oversized_from_client(stream, head, tail);
}
void Driver::stream_gone(mcp::Stream stream) { core_->stream_gone(stream); }
void Driver::stream_back(mcp::Stream stream) { core_->stream_back(stream); }
void Driver::client_gone() { core_->client_gone(); }
void Driver::client_done() { core_->client_done(); }
void Driver::front_drained() { core_->front_drained(); }
bool Driver::is_full() const { return core_->is_full(); }
const mcp::Revision* Driver::revision() const { return core_->revision(); }

}  // namespace baton::proxy
