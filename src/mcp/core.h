// SPDX-License-Identifier: Apache-2.0
// Inside the conversation: its state, and the steps in which it is decided. conversation.cc takes messages in and finds out whose
// they are, joining.cc has the session that they are held to, lists.cc has what is asked at the beginning and the lists of tools,
// calls.cc the way of a call, operations.cc that of other requests that are judged, asks.cc what servers ask the client, tasks.cc
// calls that go on as tasks.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "mcp/catalogue.h"
#include "mcp/conversation.h"
#include "mcp/message.h"
#include "mcp/methods.h"
#include "mcp/outline.h"

namespace baton::mcp {

// A request of the client that is not answered yet.
struct OpenRequest {
  enum class Kind {
    Pass,  // whatever the server says is the answer
    Initialize,
    Discover,
    ToolsList,
    Call,        // tools/call: see calls
    TaskResult,  // tasks/result, tasks/get, tasks/cancel of `task`
    TaskGet,
    TaskCancel,
    Listen,    // subscriptions/listen
    Gathered,  // of several servers: Baton asks each
    Own,       // answered by Baton after asking the node
  };
  Kind kind = Kind::Pass;
  Stream stream = kAside;
  std::string id;  // as it stands in the client's text
  std::string method;
  Era era = Era::Legacy;
  const Revision* revision = nullptr;
  std::uint64_t batch = 0;
  std::size_t server = 0;
  std::string token, sent_token;  // as they stand in texts; empty: none
  CallNumber call = 0;
  std::string task;
  bool has_cursor = false;           // of a list
  bool wants_tools_changed = false;  // of Listen
  bool server_listens = true;        // of Listen: false when only Baton keeps it open
  bool was_acknowledged = false;
};

// A request on its way: whose it is.
struct Sent {
  enum class Whose { Client, Call, Own } whose = Whose::Client;
  std::size_t server = 0;
  std::string id;            // as it was sent
  std::uint64_t number = 0;  // the open request's ticket, the call's number, or that of the own request
  bool left_off = false;     // its answer was, once at least
};

// A request of a server that the client has not answered yet.
struct AskedOfClient {
  std::size_t server = 0;
  std::string id;                 // as the server calls it
  std::string token, sent_token;  // as the server, and as the client, calls it; empty: none
  CallNumber ask = 0;             // by which it was judged; 0: it needs no verdict (ping)
};

// Something that a server wants of the client, judged like a call: a request of its own, or one of the input requests in an answer
// (`owner`: the call that was answered so).
struct Ask {
  enum class State {
    Proposed,  // until the node's verdict
    Waiting,   // for a person
    Held,      // begun, and others of the same answer are not yet
    Asked,     // the client has it
    Settling,  // until the node has recorded the client's answer
  };
  CallNumber number = 0;
  State state = State::Proposed;
  std::size_t server = 0;
  std::string method;
  std::string name;   // of its contract
  std::string id;     // as the server calls it
  std::string bytes;  // the server's message
  Ticket ticket = 0;  // with which it came
  std::string call_id;
  Verdict verdict;
  Timer total = 0;
  CallNumber owner = 0;
  std::string key;            // of an input request
  std::string held;           // the client's answer, for the server
  bool is_cancelled = false;  // nobody wants it any more
};

// One page of a list of tools, taken apart: nothing is parsed again when it is known what is callable.
struct ToolsPage {
  struct Entry {
    std::size_t server = 0;
    std::string tool;  // as its server calls it
    std::string text;  // of the definition, with the client's name in it
  };
  std::vector<Entry> entries;
  std::string bytes;             // the whole answer, of one server
  std::size_t at = 0, size = 0;  // of its `tools`
  std::vector<Splice> splices;   // of everything else that changes in it
  bool is_last = true;
};

struct Call {
  enum class State {
    Pinning,    // until the server's definitions are known
    Proposed,   // until the node's verdict
    Waiting,    // for a person
    Forwarded,  // the server has it
    Sleeping,   // until it is tried again
    Rechecked,  // may it be tried again?
    Settling,   // until the node has recorded what became of it
    Tasked,     // it goes on as a task
    Asking,     // what the server asks the client for is being judged
    Suspended,  // the client has what the server asks it for
    Answering,  // what the client answered is being judged
  };
  CallNumber number = 0;
  State state = State::Pinning;
  Ticket open = 0;  // the client's request; 0: nobody waits for an answer
  Ticket sent = 0;
  std::size_t server = 0;
  std::string method = "tools/call";  // any other: an operation, which has no tool
  std::string tool, client_name, node_name;
  std::string request;    // a message that is forwarded as it is once it may be (subscriptions/listen)
  std::string params;     // as they are sent, but for the id
  std::string arguments;  // canonical
  std::string call_id;
  ParameterHeaders headers;                            // as they are sent
  std::optional<ParameterHeaders> given_headers = {};  // as they came, where the client's transport has any
  Era era = Era::Legacy;
  const Revision* revision = nullptr;
  ClientAbilities client_can = {};
  std::string token, sent_token;  // of the client's request; empty: none
  bool may_be_task = false;       // the client asked for one
  Verdict verdict;
  std::int64_t attempts = 0;
  Milliseconds began = 0;
  std::string held;  // the answer for the client, while it is being settled
  int held_code = 0;
  std::string after_settling;  // the task whose result this is
  Timer total = 0, step = 0;   // the call's time; whatever else is waited for
  std::int64_t progress = 0;
  std::string elicitation;  // id of the request by which the client's user was told
  std::uint64_t round = 0;  // the number its requestState has
  Outcome last = {};        // of the attempt before
  std::size_t settled_bytes = 0;
  bool has_left_node = false;  // settled, whatever may still come
  bool is_late = false;        // its time is over, and it goes on as a task

  bool is_tool() const { return method == "tools/call"; }
};

// A list that Baton reads itself, from one server or from all of them.
struct Gathering {
  Ticket answers = 0;                                      // the client's request that it is for; 0: to pin definitions
  std::string method, member;                              // tools/list, tools
  std::vector<ToolsPage> pages;                            // of tools
  std::vector<std::pair<std::size_t, std::string>> texts;  // of other lists: server and element
  std::size_t waits_for = 0;                               // servers
  std::size_t bytes = 0;
  bool failed = false;
  std::string problem;  // then
};

struct OwnRequest {
  enum class Kind { List, Initialize, GatheredInitialize, GatheredDiscover, Broadcast } kind = Kind::List;
  std::size_t server = 0;
  std::uint64_t gathering = 0;
  std::size_t pages = 0;
  std::uint64_t generation = 0;
  std::string method = {};
  Ticket ticket = 0;  // with which it was sent
  Timer timer = 0;    // when it rings, the server has not answered in time
};

struct ServerState {
  bool is_gone = false;
  bool returns = true;        // of one that is gone: it is being started again
  bool is_ready = true;       // false: it is told again what it was told at the beginning
  bool refuses = false;       // it was, and did not take it
  bool was_left_out = false;  // of a list, because it did not answer in time
  bool has_tools = true;      // as far as is known
  bool has_prompts = true, has_resources = true;
  std::uint64_t generation = 1, seen = 0;  // of its definitions: now, and when they were last read whole
  std::uint64_t chain = 0;                 // the generation of the list whose pages the client reads
  std::uint64_t pinning = 0;               // the gathering that reads them now
  std::set<std::string> resources;         // uris that it listed, of several servers
  std::string piece_id;                    // that it wrote on a line of its own: the answer may follow
};

// A message with the result of a task, while that is judged.
struct HeldTask {
  Ticket ticket = 0;  // the client's request; 0: a notice
  Stream stream = kAside;
  Era era = Era::Legacy;
  std::string bytes;
  std::vector<Splice> splices;
  std::size_t at = 0, size = 0;  // of the result, or the error object, in it
  bool is_error = false;
  int code = 0;  // of a message that is an error
  Sha256 output = {};
};

struct TaskState {
  CallNumber call = 0;  // still open; 0: settled
  std::string tool;
  Era era = Era::Legacy;
  bool passes = false;  // settled, and its output may be handed on
  Sha256 output = {};   // what was, or is being, judged
  Denial denial = {};   // why it is not handed on
  std::vector<HeldTask> waiting = {};
};

// A message of the client that waits for the session; the name of one is out of it.
struct HeldMessage {
  Stream stream = kAside;
  std::string bytes;
  std::optional<ParameterHeaders> headers;
  Era era = Era::Legacy;
};

// Why a result is not handed on: it is too large, or it has something that nobody can judge.
Denial unjudged(std::string_view name, const Outcome& outcome, std::size_t bytes_max);
// Why a call is refused whose arguments, `bytes` of them, are more than the node accepts.
Denial arguments_too_large(std::string_view name, std::size_t bytes, std::size_t bytes_max);

class Conversation::Core {
 public:
  explicit Core(Options options);

  // --- conversation.cc: messages and whose they are
  void from_client(Stream stream, std::string bytes, std::uint64_t batch);
  void take_in(Stream stream, Message& message, std::uint64_t batch);
  void oversized_from_client(Stream stream, std::string_view head, std::string_view tail);
  void client_batch(Stream stream, Message& message);
  void client_request(Stream stream, Message& message, std::uint64_t batch);
  void client_notification(Stream stream, Message& message);
  void client_answer(Stream stream, Message& message);
  void client_cancels(Stream stream, Message& message);
  void pass_to_server(Ticket ticket, std::size_t server, Message& message, std::vector<Splice> splices = {});
  void pass_to_all(Stream stream, Message& message);

  void from_server(std::size_t server, std::string bytes, Ticket ticket);
  void oversized_from_server(std::size_t server, std::string_view head, std::string_view tail, Ticket ticket);
  std::vector<Ticket> answered_by(std::size_t server, const Outline& said);
  void unreadable_from_server(std::size_t server, const Message& message, Ticket ticket, const std::string& problem);
  void answer_failed(std::size_t server, Ticket ticket, const std::string& problem);
  void server_answer(std::size_t server, Message& message);
  void server_notification(std::size_t server, Message& message, Ticket ticket);
  static int error_code_of(const Message& message);
  void empty_answered(Ticket ticket, std::size_t server, Message& message);
  void pass_answer(Ticket ticket, Message& message, std::vector<Splice> splices = {});
  Stream stream_for(std::size_t server, Ticket ticket) const;

  Ticket open(OpenRequest request);  // 0: refused, and answered
  // Answers an open request, which is over then. `bytes` has the client's id.
  void answer(Ticket ticket, std::string bytes, int error_code = 0);
  void answer_error(Ticket ticket, int code, std::string_view message, std::string_view data = {});
  void answer_result(Ticket ticket, std::string_view result);
  void say(Stream stream, std::string bytes, int error_code = 0);
  void forget(Ticket ticket);  // without an answer; drop() also where it is one of a batch
  void drop(Ticket ticket);
  void finish_batch(std::uint64_t number);
  void end_stream_of(Stream stream);
  std::string unused_id(std::size_t server, std::string_view wanted);  // wanted, or one of Baton's own
  std::string id_for_server(std::size_t server);  // an id or token that nothing open at this server has
  std::string id_for_client();                    // the same for the client; servers never see one and never choose one
  Ticket send(Sent sent, std::string bytes, Stream stream, std::string_view method, std::string_view name,
              const Revision* revision, Ticket ticket = 0,
              std::vector<std::pair<std::string, std::string>> headers = {});
  void forget_sent(Ticket ticket);
  void withdraw(Ticket ticket, std::string_view reason);
  void attempt_failed(std::size_t server, Ticket ticket, AttemptFailure failure);
  void left_off(std::size_t server, Ticket ticket, Milliseconds retry_after);
  void server_gone(std::size_t server, std::string_view why, bool returns);
  void server_back(std::size_t server);
  void stream_back(Stream stream);
  void stream_gone(Stream stream);
  void client_gone();
  bool cannot_reach(std::size_t server) const { return servers[server].is_gone || !servers[server].is_ready; }
  std::string unreachable_text(std::size_t server) const;
  std::string unused_token(std::size_t server, const std::string& wanted);
  bool was_sent(const OpenRequest& request, Ticket ticket) const;
  // A message without a verdict that is not let through: said in the log, the first times.
  void note_dropped(std::string_view who, std::string_view method, std::string_view why);
  Timer arm(std::uint64_t number, Milliseconds after);
  void disarm(Timer& timer);
  void rang(Timer timer);
  Era era_of(const Message& message) const;

  // --- joining.cc: the session
  void named_from_client(Stream stream, Message& message, std::uint64_t batch);
  bool waits_for_session(const Message& message) const;
  void hold(Stream stream, Message& message, std::string token);
  void refuse(Stream stream, const Message& message, std::uint64_t batch, int code, std::string_view why);
  void hold_to(Session session);
  void session_opened(Session session);
  void session_refused(std::string_view why);
  bool holds_much() const { return held.size() >= options.held_max / 2 || held_bytes >= options.held_bytes_max / 2; }

  // --- definitions.cc: what a client gets of what servers say of themselves
  // An element of `list` ("tools", "prompts", ...) without members that the protocol does not have, under the client's name for it.
  std::string definition_for_client(std::size_t server, std::string_view list, json::Node element);
  // Takes out of an answer, to `what` ("initialize", or a list), what the protocol does not have there and what the pack withholds. After
  // all other splices of the answer.
  void withhold_members(std::size_t server, std::string_view what, json::Node result, std::vector<Splice>& splices);
  // Does the client get a value that a server says, whatever texts it has? The log has those that are suspicious.
  bool may_say(std::size_t server, std::string_view place, json::Node value);
  std::string server_info_for_client(std::size_t server, json::Node info, std::vector<std::string>& notes);

  // --- lists.cc: beginnings and lists
  void client_initialize(Ticket ticket, Message& message);
  void initialize_answered(Ticket ticket, Message& message);
  void client_discover(Ticket ticket, Message& message);
  void discover_answered(Ticket ticket, Message& message);
  void client_tools_list(Ticket ticket, Message& message);
  void tools_list_answered(Ticket ticket, std::size_t server, Message& message);
  bool is_respelled(std::size_t server, std::string_view where, json::Node definition);
  bool may_list(std::size_t server, json::Node element, std::size_t at);
  void list_answered(Ticket ticket, std::size_t server, std::string_view member, Message& message);
  void gather_list(Ticket ticket, std::string_view method, std::string_view member);
  // `message` null: there will be none, because of `problem`.
  void own_answered(std::uint64_t number, std::size_t server, Message* message, std::string_view problem = {});
  void read_page(Gathering& gathering, OwnRequest& own, std::size_t server, Message& message);
  void gathered(std::uint64_t number);
  void ask_pins(std::size_t server);
  std::string why_not_begun(const OwnRequest& own, Message* message, std::string_view problem);
  OwnRequest own_list(std::size_t server, std::uint64_t gathering) const;
  ToolsPage take_apart(std::size_t server, json::Node tools);
  // Has the tool the name of an operation (server:resources.read, ...), with or without the name of its server?
  bool is_named_as_operation(std::size_t server, std::string_view tool) const;
  std::string name_for_node(std::size_t server, std::string_view tool) const;
  contract::ServersKnown servers_known(std::string_view tool) const;
  void explain_unlisted(const std::vector<ToolsPage>& pages);
  void explain_name(std::size_t server, std::string_view tool);
  void note_all(std::vector<std::string> lines);
  std::string instructions_of(std::size_t server, json::Node result);
  void show_tools(Ticket ticket, const Callable& callable, std::vector<ToolsPage> pages);
  void callable(Question question, Callable callable);
  void look();
  void looked(const Callable& callable);
  void look_soon();
  std::set<std::string, std::less<>> known_among(const Callable& callable) const;
  void merge_initialized(Gathering& gathering);
  void merge_discovered(Gathering& gathering);
  void own_request(std::size_t server, OwnRequest own, std::string_view method, std::string_view params);
  void send_own(std::uint64_t number, std::string_view params, const Revision* revision);
  void own_timed_out(std::uint64_t number);
  Milliseconds time_for(const OwnRequest& own) const;
  bool answer_listen(Ticket ticket, bool wants_tools);
  void tell_tools_changed();
  void acknowledged(std::size_t server, Message& message, Ticket ticket);
  void listen_answered(Ticket ticket, Message& message);
  void note_modern(const Message& message);
  std::string own_params(std::string_view members = {}) const;  // of a request of Baton's own, in the era spoken
  std::vector<Splice> capability_splices(json::Node result, std::size_t server);
  void add_capabilities(json::Value& all, json::Node result, std::size_t server);
  std::string no_list(std::size_t server, std::string_view member) const;
  bool route_named(Ticket ticket, Message& message);

  // --- operations.cc
  void client_operation(Ticket ticket, std::size_t server, Message& message);
  void client_listens(Ticket ticket, Message& message);
  void listen(Ticket ticket, Message& message);

  // --- asks.cc
  void server_asks(std::size_t server, Message& message, Ticket ticket);
  void propose(Ask& ask, std::string_view arguments);
  void ask_verdict(Ask& ask, Verdict verdict);
  void ask_decided(Ask& ask, const Decision& decision);
  void ask_begun(Ask& ask);
  void ask_refused(Ask& ask, const Denial& denial);
  void ask_client(Ask& ask);
  void ask_answered(Ask& ask, Message& message);
  void ask_settled(Ask& ask, const Settled& settled);
  void ask_rang(Ask& ask);
  void end_ask(CallNumber number);
  void give_up(Ask& ask);  // nobody wants it any more: what began is settled
  void give_up_asks(CallNumber owner);
  void settle(const Ask& ask, const Outcome& outcome, bool awaited);
  void answer_server(const Ask& ask, std::string bytes);
  bool asks_for_input(Call& call, Message& message);  // true: it does, and is being judged or was refused
  void input_decided(CallNumber owner);
  void input_refused(CallNumber owner, std::string_view method, const Denial& denial);
  bool take_input(Call& call, json::Node responses);  // false: it was refused
  void input_settled(CallNumber owner);
  std::string judged_params(std::size_t server, json::Node params, std::string& problem) const;

  // --- calls.cc
  void begin_call(Call call, Message& message, std::string params);
  void client_call(Ticket ticket, Message& message);
  bool is_refused(Call& call, const Outcome& outcome);  // it cannot be judged: recorded and said
  void own_call(Ticket ticket, std::string_view name, Message& message);
  bool come_back(Call& call, Message& message, std::string_view digest);
  void propose(Call& call);
  bool says_so_in_headers(Call& call);
  void verdict(CallNumber number, Verdict verdict);
  bool user_decides(const Call& call) const;
  void wait_for_person(Call& call);
  void ask_round(Call& call);
  void decision(CallNumber number, Decision decision);
  void forward(Call& call, bool is_retry = false);
  void call_answered(Call& call, Message& message);
  void call_failed(Call& call, Outcome outcome, std::optional<json::Decimal> retry_after, std::string held, int code);
  void settle(Call& call, const Outcome& outcome, bool awaited);
  void settled(CallNumber number, Settled settled);
  void deny(Call& call, const Denial& denial);  // the client gets it, and the call is over
  void out_of_time(Call& call);                 // recorded as a timeout; the client is told so, and the call is over
  void end_call(CallNumber number);
  void call_cancelled(Call& call, std::string_view reason, bool passes_on);
  void call_rang(Call& call, Timer timer);
  void call_callable(Call& call, const Callable& callable);
  void suspend(Call& call, Message& message);
  void elicitation_answered(CallNumber number, Message& message);
  void handed_off(Question question, const NodeAnswer& answer);
  void pinned(std::size_t server, bool failed, std::string_view problem);
  void count_denial() { ++counts.denied; }
  Denial definition_changed(std::size_t server, std::string_view tool, std::string_view what) const;
  std::optional<Denial> against_definition(std::size_t server, std::string_view tool) const;

  // --- tasks.cc
  static std::string task_key(std::size_t server, std::string_view id);
  bool is_task(const Call& call, Message& message);
  void begin_task(Call& call, Message& message);
  bool client_task(Ticket ticket, Message& message);
  void task_answered(Ticket ticket, std::size_t server, Message& message);
  bool may_list_task(std::size_t server, json::Node task) const;
  void task_list_answered(Ticket ticket, std::size_t server, Message& message);
  void task_notice(std::size_t server, Message& message, Ticket ticket);
  void task_ended(const std::string& key, std::string_view how);
  void end_task(TaskState& task);
  void task_result(const std::string& key, json::Node result, Message& message, Ticket ticket, Stream stream);
  void task_error(const std::string& key, json::Node error, Message& message, Ticket ticket, Stream stream);
  void judge_task(const std::string& key, json::Node place, const Outcome& outcome, Message& message, Ticket ticket,
                  Stream stream);
  void task_settled(Call& call, const Settled& settled);
  void hand_on(HeldTask held, bool is_blocked, const Denial& denial);

  // --- state
  Options options;
  Milliseconds now = 0;
  Actions* out = nullptr;
  // Of the message that is being taken in, or of the stream that is given up.
  Stream taken_in = kAside;
  std::optional<ParameterHeaders> given_headers = {};
  Counts counts;
  Catalogue catalogue;
  std::vector<ServerState> servers;

  enum class Standing { None, Asked, Open } standing = Standing::None;  // of the session
  Session governed;
  std::optional<Sha256> named;   // the hash of the token by which the session is, or is to be, joined
  bool must_name = false;        // one that was named could not be joined: whoever names none gets none
  std::deque<HeldMessage> held;  // Standing::Asked
  std::size_t held_bytes = 0;

  const Revision* agreed = nullptr;  // legacy
  const Revision* modern = nullptr;  // of the newest modern request
  bool is_initialized = false;       // an initialize was answered
  bool client_is_gone = false;
  ClientAbilities client_can = {};    // legacy
  std::string initialize_params;      // of the client
  std::string modern_meta;            // of the client's newest request: what Baton's own need
  std::uint64_t next_number = 1;      // of everything that is numbered
  std::uint64_t next_for_client = 1;  // of ids and tokens that the client sees

  std::map<Ticket, OpenRequest> open_requests;
  std::unordered_map<std::string, Ticket> by_client_id;
  std::unordered_map<Stream, std::size_t> open_on_stream;
  struct Batch {
    Stream stream = kAside;
    std::size_t left = 0;
    bool is_taken_in = false;  // all of its messages have been looked at
    std::string answers;
  };
  std::map<std::uint64_t, Batch> batches;
  std::map<Ticket, Sent> sent;
  std::vector<std::unordered_map<std::string, Ticket>> by_sent_id;     // of each server
  std::vector<std::unordered_map<std::string, Ticket>> by_sent_token;  // to the client's request
  // The client sees only ids and tokens of id_for_client(), whatever a server chose: no server can have its question answered in place of
  // another's, or of Baton's own.
  std::unordered_map<std::string, AskedOfClient> asked;       // by the id that the client sees
  std::unordered_map<std::string, std::string> asked_tokens;  // the token that the client sees, to that id
  std::unordered_map<std::string, CallNumber> elicitations;   // Baton's own
  std::map<CallNumber, Call> calls;
  std::map<CallNumber, Ask> asks;
  std::vector<std::unordered_map<std::string, CallNumber>> task_tokens;  // of each server: of calls that are tasks
  std::deque<CallNumber> suspended;
  std::unordered_map<Timer, std::uint64_t> timers;  // the number of a call or of an own request; 0: of the look
  Timer look_timer = 0;
  std::map<std::uint64_t, Gathering> gatherings;
  std::map<std::uint64_t, OwnRequest> own_requests;
  struct Asking {
    enum class Why { Show, Look, Retry } why = Why::Show;
    Ticket ticket = 0;
    CallNumber call = 0;
    std::vector<ToolsPage> pages;
  };
  std::map<Question, Asking> questions;
  Callable last_callable;                     // what the node answered last; not `known` before its first answer
  std::map<Question, Ticket> node_questions;  // of Baton's own tools
  bool has_listed = false;
  std::set<std::string, std::less<>> shown_callable;  // by the node's names, among those known
  std::map<std::string, std::set<std::size_t>, std::less<>>
      known_tools;                                    // as servers call them, and the servers that have them
  std::set<std::string, std::less<>> contract_names;  // that the node has told of
  std::set<std::string> explained;                    // names about which the log has a line
  std::unordered_map<std::string, TaskState> tasks;
  std::deque<std::string> task_order;
};

}  // namespace baton::mcp
