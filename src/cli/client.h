// SPDX-License-Identifier: Apache-2.0
// The client of a node: what every command that needs state goes through. docs/reference/http-api.md is what it
// speaks.
//
// Which node: --node or BATON_NODE (unix:/path, https://host:port, http:// on this machine); else `node.sock` in the
// store's folder, where a node is started in the background when nobody answers; with BATON_IN_PROCESS=1 the store is
// opened in this process instead.
//
// What is presented: --token-file, else BATON_TOKEN, else, for what only an operator may do and only to a node of
// this machine's own, the operator's token in the user's configuration folder (cli/credentials.h). Whoever has none
// is a local agent.
//
// A socket of another user is used only when it was named and looks like the agents' socket of a node (`baton serve
// --agent-socket`): its owner made it for a group of ours, and nobody else can put another one there. The kept operator's
// token is never sent to one.
//
// Whatever changes something carries an idempotency key, so that sending it again after a lost connection is safe.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/socket_path.h"
#include "cli/commands.h"
#include "cli/nodes.h"
#include "cli/stores.h"
#include "cli/world.h"
#include "json/document.h"
#include "json/value.h"
#include "net/http_client.h"

namespace baton::cli {

// As given on the command line.
struct NodeOptions {
  StoreOptions store;
  std::string node, token_file, session_token_file, idempotency_key;
  std::string format = "human";

  bool json() const { return format == "json"; }
};

// What a command does, and so what it presents.
enum class Presents {
  Token,     // a token, if there is one
  Operator,  // an operator's; and the session's if the environment has one: whoever carries that is no operator
  Session,   // the session's token beside whatever else there is
};
// --store, --keys, --node, --token-file and --format (when there is a choice); --session-token-file for Session;
// --idempotency-key for what changes something.
enum class Changes { Nothing, Something };
void add_node_options(Command& command, NodeOptions& options, Presents presents, Changes changes,
                      const std::vector<std::string>& formats = {"human", "json"});

// What a node answered: JSON, always.
struct Answer {
  unsigned status = 0;
  json::Document document;
  bool replayed = false;  // the first answer to this idempotency key, again

  bool ok() const { return status >= 200 && status < 300; }
  json::Node root() const { return document.root(); }
  json::Node operator[](std::string_view name) const { return document.root()[name]; }
};

class Client {
 public:
  enum class Start { IfNone, Never };
  // Finds out where the node is and what to present; asks nothing yet. Failures: NODE_ADDRESS, NODE_NEEDED,
  // CREDENTIAL_*.
  static Result<Client> open(World& world, const NodeOptions& options, Presents presents, Start start = Start::IfNone);

  // Failures: NODE_UNREACHABLE, NODE_START, NODE_ANSWER, HTTP_TIMEOUT. A refusal is no failure: see Answer::ok.
  Result<Answer> get(std::string_view path);
  Result<Answer> post(std::string_view path, const json::Value& body,
                      std::chrono::milliseconds timeout = std::chrono::seconds(30));
  Result<Answer> post_text(std::string_view path, std::string text);  // as it is, whatever it is
  // What is done each time it is asked for: without a key, and never asked for again after a lost connection.
  Result<Answer> post_once(std::string_view path, const json::Value& body);

  // A stream of events, in pieces as they come, until `take` says false or it ends; net/sse.h reads them. Starts no
  // node: ask something first. `last_event_id` may be empty.
  Result<net::HttpAnswer> follow(std::string_view path, const std::string& last_event_id,
                                 const std::function<bool(std::string_view)>& take,
                                 std::chrono::milliseconds idle_timeout);

  // The session whose token is presented; empty when none is.
  const std::string& session_id() const { return session_id_; }
  bool in_process() const { return in_process_; }
  // How the node of this process is run; null: it is another process's.
  const ServeOptions* house() const { return in_process_ ? &serve_ : nullptr; }
  // Where it goes, for people: the socket or the address.
  std::string place() const { return in_process_ ? "this process" : unix_path_.empty() ? base_ : unix_path_; }
  // The key of the next change, when it was not given; for telling the user how to ask again.
  const std::string& idempotency_key() const { return idempotency_key_; }
  // Where it goes and what it shows, for whoever asks the node otherwise. Not for one of this process.
  struct Address {
    std::string url, unix_path, token, session_token, session_id;
  };
  Address address() const { return {base_, unix_path_, token_, session_token_, session_id_}; }
  // What the node's answers to hooks are signed with: its public key. From the key files of this user where the store is a
  // folder of theirs, else as the node says. Empty: a node of an older version.
  Result<std::string> answer_key();
  // The operator's token that this user keeps, for a node of this machine's own; empty: there is none.
  Result<std::string> kept_operator_token() const;
  // What a process that was forked off must do first: a connection names the process that opened it.
  void drop_connection() { http_ = net::HttpClient(); }
  // From now on shows this token.
  void use_token(std::string token) { token_ = std::move(token); }
  // From now on on behalf of this session; an empty token: of none.
  void use_session(std::string token);
  // Another key, for another request of the same command.
  void renew_idempotency_key();

 private:
  explicit Client(World& world) : world_(world) {}
  Result<void> find_node(const NodeOptions& options, Start start);
  Result<void> find_tokens(const NodeOptions& options, Presents presents);
  net::HttpRequest request(std::string_view method, std::string_view path) const;
  Result<Answer> ask(const net::HttpRequest& request);
  Result<void> check_socket() const;
  Result<net::HttpAnswer> send(const net::HttpRequest& request);
  Result<void> start();

  World& world_;
  bool in_process_ = false;
  bool may_start_ = false, started_ = false;
  bool is_named_ = false;         // by --node or BATON_NODE
  ServeOptions serve_;            // of a node that is started, or of this process
  std::string unix_path_, base_;  // "http://localhost", or what --node says, without a slash at the end
  SocketPath socket_;             // `unix_path_` as the kernel takes it
  std::string token_, session_token_, session_id_, idempotency_key_;
  net::HttpClient http_;
};

// --- telling ---------------------------------------------------------------------------------------------------------

// Shows a refusal: like other diagnostics on standard error, or as it is on standard output for JSON. The status: kNo
// when the rules say no, or not to this caller; kCouldNot when the node could not say. `source` and `text` are a
// document that was sent, for the place in it.
int refused(World& world, const NodeOptions& options, const Answer& answer, std::string_view source = {},
            std::string_view text = {});

// The usual end of a command: the failure, the refusal, the answer as JSON, or what `human` prints.
int tell(World& world, const NodeOptions& options, const Result<Answer>& answer,
         const std::function<void(json::Node root)>& human);

// A part of a path or of a query, percent-encoded.
std::string url_part(std::string_view text);

// "90", "90s", "10m", "2h", "30d": in seconds, at most ten years. Nothing (and a message) when it is none; an empty
// text gives nothing without a message.
struct Span {
  bool good = true;
  std::optional<std::int64_t> seconds;
};
Span span_option(World& world, std::string_view option, const std::string& text);

// The origin of the ledger in a store; empty when there is none, or it cannot be told.
std::string ledger_origin(World& world, const std::string& location);

// What the nodes of a store in a folder sign their answers to hooks with: the public key, from the key files of this user.
// Empty: they are not here.
Result<std::string> kept_answer_key(World& world, const StoreOptions& options, const std::string& store);

// Does the store have an operator, whom a node would ask for? Read from the store itself: a node may run there. False where there
// is no store.
Result<bool> has_operator(World& world, const std::string& location);

// For what agents wrote: that it is data, and a line for each part of it that looks like an instruction to a model.
std::string data_lines(json::Node root);

// The text of a member that should be one; what it is instead, as JSON; empty when there is none.
std::string text_of(json::Node node);
// The same, fit to be shown: no secrets, no control characters.
std::string shown(json::Node node, std::size_t characters_max = SIZE_MAX);

}  // namespace baton::cli
