// SPDX-License-Identifier: Apache-2.0
// A conversation of one client with one or several servers, governed: everything that is decided about a message, and nothing
// that is done. It is fed what happens and says what is to be done, in order. It reads no clock, no file, no socket and has no
// thread; whoever carries it out (the proxy, a test, a fuzzer) is its world.
//
//   Conversation conversation(options);
//   Actions out;
//   conversation.from_client(now, stream, std::move(line), out);
//   for (Action& action : out) carry_out(std::move(action));   // in this order
//
// Times (`now`) are milliseconds of any clock that does not go back; only differences count. Answers to what was asked of the
// node may come in any order and at any later time; each question is answered exactly once (an answer to something that is
// over is ignored, so that whoever carries out need not keep track of it).
//
// --- what is promised --------------------------------------------------------------------------------------------------------------
//
//   1. No tools/call reaches a server without the verdict Begun for exactly those arguments. The same is true of every other request
//      of the client, by its parameters, but for those that begin the conversation, list what there is, or ask about a call that was
//      judged (needs_no_verdict() in mcp/methods.h). What is sent is Baton's own serialisation of the judged value (params.arguments,
//      or params, canonical; of a tools/call the other members of params as the client had them). A message without an id is a
//      notification that is known, or is dropped.
//   2. A result, or an error, of what was judged reaches the client after the node has recorded it. One that an assertion blocks does
//      not: not in an answer, not in the result of a task, not in a notice about one. Nor does one that nobody can judge.
//   3. Every request of the client is answered at most once, and exactly once unless it was cancelled or the client went.
//   4. No request of a server reaches the client without the verdict Begun for exactly those parameters, be it a message of its own or
//      part of an answer (`input_required`); only `ping` needs none. What the client has not declared, and what is not known, is
//      refused. The client's answer reaches the server after the node has recorded it, unless an assertion blocks it.
//   5. What needs no verdict passes as its own bytes, in both directions: fields, extensions, known notifications. Ids and progress
//      tokens of the client are changed only where two that are open at once would be the same. A server's request always has an id, and a
//      progress token, of Baton's own for the client: no server can choose the id of Baton's own questions, or of another server's.
//      Progress passes only for a request that the server has. No member of a `_meta` that begins with `dev.baton` comes from a server
//      to the client.
//   6. Memory is bounded by the limits in Options, whatever is sent.
//   7. Where the node cannot be reached nothing goes ahead, and the answer says so.
//   8. Nothing is asked of the node before OpenSession was answered, and a message that names a session (kMetaSession) goes ahead in
//      that one or not at all. The name, which is a token, is taken out of every message before anything else is done with it: it is in
//      no other action than OpenSession.
//
// --- the session -------------------------------------------------------------------------------------------------------------------
//
// The first request decides: one that names a session joins it; one that names none, and needs one, gets a session that is opened
// for this conversation. Only `server/discover` and `ping` need none, so that a client that only looks leaves nothing behind. What
// comes while the session is being opened waits, in its order. When it cannot be opened, whatever waits is answered so, and the
// next request tries again; but a conversation that named a session never gets another because that one could not be joined.
//
// --- streams and tickets ------------------------------------------------------------------------------------------------------------
//
// A stream is where messages to the client go: on stdio there is one, whatever its number; over HTTP each POST is one, and kAside
// is the stream for what belongs to no request (legacy: the one of GET). A ticket is one request on its way to a server: it goes
// out with ToServer and comes back with whatever the transport knows to belong to it (over HTTP: what came in answer to
// that POST); 0 where it knows nothing (stdio). Requests that Baton makes itself have the stream kAside.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/sha256.h"
#include "hooks/event.h"
#include "mcp/catalogue.h"
#include "mcp/header_value.h"
#include "mcp/node.h"
#include "mcp/revision.h"
#include "mcp/sealed_state.h"

namespace baton::mcp {

using Stream = std::uint64_t;
using Ticket = std::uint64_t;
using CallNumber = std::uint64_t;  // of a call in this conversation; never used twice
using Question = std::uint64_t;    // of something else that is asked of the node; never used twice
using Timer = std::uint64_t;       // never used twice
using Milliseconds = std::int64_t;

inline constexpr Stream kAside = 0;

// --- what is to be done -------------------------------------------------------------------------------------------------------------

// A message for the client, without a line feed. `last`: no request of this stream is open any more (over HTTP: end the answer).
// `error_code`: of a message that is an error, for the HTTP status of the modern era (http_status_of); else 0.
struct ToClient {
  Stream stream = kAside;
  std::string bytes;
  bool last = false;
  int error_code = 0;
};

// What came on this stream needs no answer, or none any more because it was cancelled (over HTTP: 202, or the end of the stream). Not
// said of a stream on which a request is open.
struct Accepted {
  Stream stream = kAside;
};

// Over HTTP, legacy: the server has closed the answer to a request of this stream before its end, to be asked for the rest later. The
// client is to do the same: close the stream, not end it, and let it come back after so many milliseconds.
struct LeaveOff {
  Stream stream = kAside;
  Milliseconds retry_after = 0;
};

// A message for a server, without a line feed. `ticket` is 0 for notifications and answers; `stream` is the client's stream it
// belongs to. For an HTTP transport: `method` and `name` (of a tool, prompt or resource, as that server calls it) are what
// Mcp-Method and Mcp-Name say, `headers` what else has to be said about arguments (Mcp-Param-..., encoded already), `revision`
// what MCP-Protocol-Version says (null: not agreed yet).
struct ToServer {
  std::size_t server = 0;
  std::string bytes;
  Ticket ticket = 0;
  Stream stream = kAside;
  std::string method = {}, name = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  const Revision* revision = nullptr;
};

// A request that is not wanted any more. On stdio, and in the legacy era: send `bytes` (notifications/cancelled). Over HTTP in
// the modern era: close that request's answer instead.
struct Withdraw {
  std::size_t server = 0;
  Ticket ticket = 0;
  std::string bytes;
};

// A client came back for the answer to a request that the server has left (LeaveOff): it is not to wait for our own time.
struct TakeUp {
  std::size_t server = 0;
  Ticket ticket = 0;
};

// The governed session is needed from now on. An empty token: open one, or take the one that was chosen beforehand; else join the open
// session whose token this is. Answer with session_opened(...) or session_refused(...).
struct OpenSession {
  std::string token;
};
// POST /v1/sessions/{id}/calls with `body`; answer with verdict(call, read_verdict(...)).
struct Propose {
  CallNumber call = 0;
  std::string body;
};
// POST /v1/sessions/{id}/start (with wait_seconds, where calls take turns); answer with verdict(call, read_started(...)).
struct Start {
  CallNumber call = 0;
  std::string body;
};
// POST /v1/sessions/{id}/settle. `awaited`: answer with settled(call, read_settled(...)); else nobody waits for it. It is to be
// tried again where the node cannot be reached just then: what happened must not be forgotten.
struct Settle {
  CallNumber call = 0;
  std::string body;
  bool awaited = true;
};
// A call that waited for a person is not wanted any more. The approval stays; nothing is begun on it.
struct Cancel {
  CallNumber call = 0;
  std::string call_id, approval_id;
};
// POST /v1/sessions/{id}/preflight; answer with callable(question, read_callable(...)).
struct AskCallable {
  Question question = 0;
};
// GET /v1/approvals/{id} until it is decided; answer with decision(call, read_decision(...)) when it is. LeaveApproval ends it.
struct AwaitApproval {
  CallNumber call = 0;
  std::string approval_id;
};
struct LeaveApproval {
  CallNumber call = 0;
};
// The client's user decided, and the pack says that this user is the operator (Session::user_is_operator).
struct Decide {
  std::string approval_id, digest;
  bool approve = false;
};
// POST /v1/sessions/{id}/handoff with the document; answer with handed_off(question, ...).
struct HandOff {
  Question question = 0;
  std::string document;
};
// GET /v1/sessions/{id} and what else tells how the session stands; answer with status(question, ...).
struct AskStatus {
  Question question = 0;
};
// Call rang(timer) after so many milliseconds.
struct Arm {
  Timer timer = 0;
  Milliseconds after = 0;
};
struct Disarm {
  Timer timer = 0;
};
// A line for the log: garbage from a server, definitions that changed.
struct Note {
  std::string text;
};
// The conversation is over: close everything.
struct End {
  std::string why;
};

using Action =
    std::variant<ToClient, Accepted, LeaveOff, ToServer, Withdraw, TakeUp, OpenSession, Propose, Start, Settle, Cancel,
                 AskCallable, AwaitApproval, LeaveApproval, Decide, HandOff, AskStatus, Arm, Disarm, Note, End>;
using Actions = std::vector<Action>;

// --- how it is set up ---------------------------------------------------------------------------------------------------------------

// The governed session that a conversation is held to.
struct Session {
  std::string id;
  bool enforces = true;           // false: in shadow, where no output is held back
  bool user_is_operator = false;  // the pack says that the client's user decides approvals
  std::optional<std::set<std::string, std::less<>>> contracts =
      {};                     // names of its pack's; not given: learned from the node's answers
  Catalogue::Held held = {};  // what definitions are held to
  // The pack's mcp.unknown_content: blocks of types that are not known are dropped from results. False: such a result is refused.
  bool drops_unknown_content = false;
  // What the node accepts: a result with more is not handed on, also where what is judged of it is small. 0: not known.
  std::size_t body_bytes_max = 0;
  // Answers that come with a call, and that no server asked for here, reach the server: nothing of the kind has a contract.
  bool unasked_answers_pass = false;
};

struct Options {
  std::vector<std::string> servers = {"server"};  // their names; prefixes where there are several
  std::optional<Session> session = {};            // open already; none: OpenSession asks for it
  bool servers_are_all = true;               // false: the client has further servers, each behind a proxy of its own
  std::optional<hooks::Client> client = {};  // whose own tools' names no server's tool may use; not given: not known
  bool discover_needs_session = false;       // the pack has a lock, to which instructions are held
  bool session_is_given = false;             // chosen beforehand, whichever it is: a message may name no other
  Sha256 given_token = {};                   // the hash of that one's token, where it has been given by one
  std::string id_prefix;                     // random: ids of Baton's own requests and calls begin so
  SealKey seal_key = {};                     // random, of this process
  std::string version = "0";                 // of Baton, for serverInfo where there are several servers

  std::size_t client_bytes_max = 4u << 20;               // one message of the client
  std::size_t server_bytes_max = limits::kJsonBytesMax;  // one message of a server
  // A result that is judged: what the node accepts, without what is said beside it.
  std::size_t output_bytes_max = limits::kCallOutputBytesMax - (64u << 10);
  std::size_t open_requests_max = 4096;     // of the client, at one time
  std::size_t suspended_max = 256;          // calls that wait for the client to come back
  std::size_t tasks_max = 1024;             // remembered
  std::size_t pages_max = 64;               // of one list that Baton reads itself
  std::size_t held_max = 256;               // messages that wait for the session
  std::size_t held_bytes_max = 16u << 20;   // of those together, or the largest alone
  Milliseconds progress_every = 5'000;      // while a call waits for a person
  Milliseconds round_after = 25'000;        // a client that came back about an approval is kept this long
  Milliseconds cancel_grace = 10'000;       // how long the answer to a cancelled call is waited for
  Milliseconds look_after = 50;             // after a call, before it is asked what is callable now
  Milliseconds state_lifetime = 3'600'000;  // of a requestState
  // Of what Baton itself asks a server: `server/discover` and a page of a list; `initialize`.
  Milliseconds list_time = 30'000, begin_time = 300'000;
  // Calls that go on as tasks or wait for the client to come back, and what servers ask the client. Each has a place at the node, which has
  // few (limits::kOpenCallsMax): others would wait behind them for as long as they last.
  std::size_t parked_max = 160;
  std::size_t asks_max = 64;
};

// A request to a server failed below the protocol: the connection, its time, an HTTP status that is no answer.
struct AttemptFailure {
  std::string error_class;  // network, timeout, rate_limited, server_error, client_error
  std::optional<std::int64_t> http_status = {};
  std::optional<json::Decimal> retry_after = {};  // seconds
  std::string message;
};

// An answer of the node in words.
struct NodeAnswer {
  bool ok = false;
  std::string text;  // for the model: a receipt, how the session stands, or what is wrong with the document
};

// --- the conversation ---------------------------------------------------------------------------------------------------------------

class Conversation {
 public:
  explicit Conversation(Options options);
  ~Conversation();
  Conversation(Conversation&&) noexcept;

  // (a) A message of the client, whole, without its line feed. Anything at all: what is no message is answered so.
  // `parameters`: over HTTP in the modern era, the headers that say something about arguments (none is nothing said); a call whose
  // arguments say something else is refused.
  void from_client(Milliseconds now, Stream stream, std::string message, Actions& out,
                   std::optional<ParameterHeaders> parameters = {});
  // One that was larger than Options::client_bytes_max and was not kept (mcp/lines.h).
  void oversized_from_client(Milliseconds now, Stream stream, std::string_view head, std::string_view tail,
                             Actions& out);

  // The answers to OpenSession. `why`: a sentence for the client's user, without the token.
  void session_opened(Milliseconds now, Session session, Actions& out);
  void session_refused(Milliseconds now, std::string_view why, Actions& out);

  // (b) A message of a server.
  void from_server(Milliseconds now, std::size_t server, std::string message, Ticket ticket, Actions& out);
  void oversized_from_server(Milliseconds now, std::size_t server, std::string_view head, std::string_view tail,
                             Ticket ticket, Actions& out);
  void attempt_failed(Milliseconds now, std::size_t server, Ticket ticket, AttemptFailure failure, Actions& out);
  // Over HTTP: the server closed its answer in good order before it came to its end; it will be taken up again after so long.
  void left_off(Milliseconds now, std::size_t server, Ticket ticket, Milliseconds retry_after, Actions& out);

  // (c), (d) The node's word on a call.
  void verdict(Milliseconds now, CallNumber call, Verdict verdict, Actions& out);
  void settled(Milliseconds now, CallNumber call, Settled settled, Actions& out);
  // (e) What is callable now.
  void callable(Milliseconds now, Question question, Callable callable, Actions& out);
  // Something happened in the session that this conversation did not do (an event of the node): the set may have changed.
  void session_changed(Milliseconds now, Actions& out);
  // (f) A person decided, or it was no longer asked.
  void decision(Milliseconds now, CallNumber call, Decision decision, Actions& out);
  // (g)
  void handed_off(Milliseconds now, Question question, NodeAnswer answer, Actions& out);
  void status(Milliseconds now, Question question, NodeAnswer answer, Actions& out);
  // (h)
  void rang(Milliseconds now, Timer timer, Actions& out);

  // (i) A server is gone: its process ended, its endpoint forgot the session. What was open there is answered with an error, calls
  // under way are settled as unknown. When it is there again it is told what it was told at the beginning (initialize), and the
  // client that its tools may have changed.
  // `returns`: it is being started again.
  void server_gone(Milliseconds now, std::size_t server, std::string_view why, Actions& out, bool returns = true);
  void server_back(Milliseconds now, std::size_t server, Actions& out);
  // Legacy: the client came back to a stream that it, or LeaveOff, had closed.
  void stream_back(Milliseconds now, Stream stream, Actions& out);
  // The client closed a stream. In the modern era that cancels what is open on it; in the legacy era it does not, and what was meant
  // for it goes to kAside.
  void stream_gone(Milliseconds now, Stream stream, Actions& out);
  // The client is gone for good. Calls under way are settled as unknown; the last action is End.
  void client_gone(Milliseconds now, Actions& out);

  // --- for logs and tests
  const Revision* revision()
      const;  // agreed on with the client; null: not yet (legacy), or the newest request's (modern)
  std::size_t open_requests() const;  // of the client
  std::size_t held_messages() const;  // of the client, that wait for the session
  bool holds_much() const;            // of those: no more should come
  std::size_t open_calls() const;     // that the node knows to be proposed, waiting or under way
  struct Counts {
    std::uint64_t garbage = 0;     // messages of servers that were none
    std::uint64_t unexpected = 0;  // answers to nothing that was asked, of either side
    std::uint64_t dropped = 0;     // messages that nobody may send without a verdict, of either side
    std::uint64_t forwarded = 0;   // tools/call that reached a server
    std::uint64_t denied = 0;
  };
  const Counts& counts() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace baton::mcp
