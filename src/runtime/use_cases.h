// SPDX-License-Identifier: Apache-2.0
// The use cases of work: one transaction each, one file each (runtime/use_cases/*.cc). A use case reads rows, asks a pure rule
// (work/rules.h, dialects/), and appends the events it gives; the tables follow by the fold. It is the only place that sees
// clock, store and rules together.
//
// Every mutating call may carry an idempotency key: the same key of the same actor with the same request gives the first
// answer again and does nothing; with another request it is refused (IDEMPOTENCY_CONFLICT).
//
// All calls return at once; `done` is called once, after the durable commit, on the writer's thread or the caller's: it must
// not block. STORE_BUSY when too much is waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/sha256.h"
#include "contract/compile.h"
#include "contract/tools_lock.h"
#include "diagnostics/diagnostic.h"
#include "handoff/handoff.h"
#include "json/value.h"
#include "protection/protection.h"
#include "runtime/ledger.h"
#include "runtime/sighting.h"
#include "runtime/writer.h"
#include "session/state.h"
#include "store/store.h"
#include "work/item.h"
#include "work/reading.h"
#include "work/rules.h"
#include "workflow/family.h"
#include "workspace/config.h"

namespace baton::runtime {

// What a token says of the sessions that are opened with it. An agent says neither who it acts for nor in which role; a program that
// serves several users does, with a token of kind `host`.
struct TokenGrant {
  bool is_host = false;                 // names the role, one of `roles`, and the principal of each session
  std::vector<std::string> roles = {};  // empty: the default ones (work/reading.h); of a host: any
  std::string principal_blob = {};      // SHA-256 of the encrypted bytes of whom it acts for; empty: it does not say
  std::int64_t principal_bytes = 0;     // how many bytes those are
  std::string principal_sha256 = {};    // keyed, of the principal's canonical form
};

// Who calls, as the edge found out (runtime/access.h).
struct Caller {
  work::Actor actor;
  std::string token_id = {};  // what it is who it is by: its own, or the one its session was claimed with; empty: none
  std::vector<std::string> scopes = {"*"};
  std::string session_id = {};  // of a session token that was presented and is right; else empty
  bool supervised = false;      // descends from a supervised agent, or carries a session token
  std::string agent_session =
      {};                 // of the supervised agent it descends from, when it shows no token of a session; else empty
  TokenGrant grant = {};  // of that token; of a supervised caller it is never a host's
};

// `limits.per_actor` is not for operators and the node itself. A session that an operator opened is its agent's.
bool is_exempt(const Caller& caller);

struct Mutation {
  Caller caller;
  std::string idempotency_key = {};  // empty: none
  std::string request_sha256 = {};   // of method, path and body: tells a retry from another request
};

struct Answer {
  std::vector<Diagnostic> refused = {};              // not empty: nothing was done, and `body` says nothing
  json::Value body = json::Value::object();          // what the caller is told: docs/reference/http-api.md
  std::optional<Acknowledgement::Place> entry = {};  // the entry that records it; nothing when nothing was recorded
  bool replayed = false;                             // the first answer to an idempotency key, again
  bool created = false;                              // something new has an address
  std::int64_t retry_seconds = 0;                    // refused: by then it may be accepted; 0: time does not help
};
using Answered = std::function<void(Result<Answer>)>;

struct ClaimRequest {
  std::string work_id = {};              // empty: the next of these phases
  std::vector<work::Phase> phases = {};  // empty: all that the role takes
  std::string role = {};                 // empty: whatever role the phase has
  std::int64_t ttl = 0;                  // nanoseconds; 0: the policy's
};

enum class SessionEnd { Abandoned, Failed };

// What the last words of an agent must hold, now: by its session's pack, and by what it has still to hand over.
struct OwedWords {
  contract::Owed dialect =
      contract::Owed::None;  // None: nothing; the session is over, or has no work and its pack asks for none
  contract::Owed subagents =
      contract::Owed::None;   // of each subagent, as long as the session is open: AgentContract or None
  bool has_work = false;      // an item, which it holds
  std::string agent_id = {};  // that a block of the dialect agent-contract must carry
};

// A session that is held to a pack.
struct OpenSession {
  std::string session_id = {};  // of a leased session that it governs; empty: a new one without a work item
  std::string pack = {};        // its hash; empty: the one that is active for the role
  std::string role = {};        // empty: the leased session's, or `agent`
  std::vector<std::string> labels = {};
  session::Mode mode = session::Mode::Enforce;
  session::Gate gate = session::Gate::RejectAll;
  std::optional<json::Value> principal = {};
  std::vector<std::string> unwrapped = {};  // tools whose executor Baton does not stand in front of
  // Of a session that belongs to one of a coding agent's own: whose, and what it calls it. The same key finds the same session, for ever
  // and on every node: one that is open is given as it is; one that was closed is reopened, with all that it has used up; one that was
  // killed stays so.
  std::string client_key = {};
  // Roles that the edge vouches for beside the caller's own: of a hook, the client's.
  std::vector<std::string> also_roles = {};
};

// A subagent of a session's agent, as the client tells of it.
struct SubagentSeen {
  std::string client_id = {};  // what the client calls it: one of its own in the session
  std::string type = {};       // and its kind; may be empty
};

struct StartWorkflow {
  std::string workflow = {};  // its name, or its hash
  std::string role = {};      // of the first session; empty: the first that the workflow has
  OpenSession session = {};   // how that one is opened; pack and role are the workflow's
};
struct OfferRequest {
  std::string to = {};                            // a role
  json::Value artifacts = json::Value::object();  // {name: value}; a string is text, null is none
  std::int64_t expires_seconds = 0;               // 0: it does not
  std::vector<std::string> resources = {};  // aliases: what the session owns of these becomes the child's at the claim
};
struct ClaimHandoff {
  std::string handoff_id = {};
  OpenSession session = {};
};
struct KillWorkflow {
  std::string workflow_id = {}, session_id = {};  // the session is not looked at when all of it is meant
  workflow::Scope scope = workflow::Scope::Session;
  std::string reason = {};
};

struct ApprovalDecision {
  std::string approval_id;
  bool approve = false;
  std::string digest = {};  // of what was shown; it must be the approval's
  std::string note = {};
};

struct TokenRequest {
  std::string actor_id;
  work::ActorKind kind = work::ActorKind::Agent;
  std::vector<std::string> scopes = {"*"};
  std::vector<std::string> names = {};  // UAIX ids it speaks for
  std::optional<Time> expires_at = {};
  std::string note = {};
  bool recovers = false;  // the passphrase of an operator is lost: recorded beside it (operator.recovered)
  bool is_host = false;   // kind `host`: an agent's, for a program that serves several users
  std::vector<std::string> roles = {};        // TokenGrant
  std::optional<json::Value> principal = {};  // an object: whom its sessions act for
  bool is_first = false;  // of the first operator: refused where there is or was one (ACCESS_OPERATOR_EXISTS)
};

// A webhook delivery whose signature was right, reduced to what rules need.
struct CiDelivery {
  std::string delivery_id;
  std::string kind;                          // "workflow_run", "check_suite", "check_run", "pull_request", other
  std::string action, repository;            // "completed"; "owner/name"
  std::vector<std::uint64_t> pull_requests;  // numbers
  std::string name, conclusion, commit;
  std::optional<Time> at;        // when it happened, by the sender
  std::string body_sha256 = {};  // of what was signed, hexadecimal: the id is a header, which nobody signed
};

struct ProcessMark {
  std::string boot_id;
  std::int64_t pid = 0;
  std::uint64_t started = 0;    // clock ticks after boot
  std::string session_id = {};  // whose agent it is
};

// A token somebody presented, and what is known of it. The text is `baton_<kind letter>_<32 hex: id>_<43 base64url: secret>`; the store
// has the SHA-256 of the secret.
struct Token {
  std::string id;
  std::string actor_id;
  work::ActorKind kind = work::ActorKind::Agent;
  std::vector<std::string> scopes, names;
  Time created_at;
  std::optional<Time> expires_at, revoked_at;
  std::string created_by, note;
  std::string secret_sha256;  // hexadecimal
  TokenGrant grant = {};
};

// What a read path gives: what is there, or why it is withheld; or what its reader has to be given first (UseCases::gain_labels).
struct ReadAnswer {
  std::optional<json::Value> value = {};
  std::optional<Diagnostic> withheld = {};
  std::vector<std::string> adds = {};
};

// Who reads, in one read or one stream.
struct ReadingAs {
  work::Clearance clearance;
  std::string session_id = {}, work_id = {};  // for which it reads; empty: none

  // Its session's own stream, or its item's.
  bool owns(std::string_view stream) const;
};

class UseCases {
 public:
  // Everything given outlives this.
  UseCases(store::Store& store, Ledger& ledger, Clock& clock, Random& random, const workspace::Config& config);
  ~UseCases();

  // --- work ---------------------------------------------------------------------------------------------------------------
  void create(const Mutation& by, work::NewWork asked, Answered done);  // an empty id: W-1, W-2, ...
  // Gives {"work": null, "session": null} when there is none to claim: nothing is recorded then.
  void claim(const Mutation& by, ClaimRequest asked, Answered done);
  void unblock(const Mutation& by, std::string work_id, std::optional<work::Phase> to, std::string note, Answered done);
  void answer(const Mutation& by, std::string work_id, std::string text, Answered done);
  void abort(const Mutation& by, std::string work_id, std::string reason, Answered done);
  void report_ci(const Mutation& by, std::string work_id, work::CiReport report, Answered done);
  void see_commit(const Mutation& by, std::string work_id, std::string commit, Answered done);
  // Durable: a body that was taken in the last 30 days changes nothing, whatever id it comes with ("duplicate": true); another
  // body with an id that was used is ignored, which is recorded. Older than 24 h: refused.
  void take_delivery(const CiDelivery& delivery, Answered done);

  // --- sessions -----------------------------------------------------------------------------------------------------------
  void renew(const Mutation& by, std::string session_id, std::int64_t ttl, Answered done);
  void release(const Mutation& by, std::string session_id, std::string reason, Answered done);
  void end(const Mutation& by, std::string session_id, SessionEnd how, std::string output, Answered done);
  // A handoff in any accepted dialect, as the agent wrote it: an exit signal, an agent-contract block (alone or in a message), a
  // UAIX packet. Flag, size, syntax, fields, session, lease, phase: refused in that order. The same document again gives the
  // first receipt, while it is among the last 32 that were taken of the session.
  void hand_off(const Mutation& by, std::string session_id, std::string text, Answered done);
  // The same of CI, which has no session: an exit signal that completes CI_PENDING.
  void hand_off_as_ci(const Mutation& by, std::string work_id, std::string text, Answered done);
  void register_process(const Mutation& by, std::string session_id, ProcessMark process, Answered done);

  // --- governed sessions: decided by session/decide.h, recorded before anything happens ------------------------------------
  // Makes a pack usable, and the one for a role. `expected` empty, or the hash it must have. PACK_INVALID, PACK_SECRET.
  // `folder`: where its files lie, for them to be protected from agents; empty: not told.
  void activate_pack(const Mutation& by, contract::PackSource pack, std::string role, std::string expected,
                     Answered done, std::string folder = {});
  // PACK_UNKNOWN, PRINCIPAL_REQUIRED, EXECUTION_CONSTRAINT_UNWRAPPED, SESSION_GOVERNED (it is already), SESSION_OPTIONS.
  void open_session(const Mutation& by, OpenSession asked, Answered done);
  // A response with its calls, as JSON (session/door.h); `start: true` begins what is allowed in the same commit. `other_door: true` leaves
  // that to another door, whose proposal of the same tool with the same arguments is then this call, and is not counted again. What is blocked is an
  // answer, not a refusal. Refused: SESSION_UNKNOWN, SESSION_NOT_YOURS, SESSION_GOVERNED, CALL_DUPLICATE, SESSION_OPTIONS.
  // `facts`: from a door that has read the event of a coding agent; only then may arguments hold facts (hooks/facts.h).
  struct Facts {
    std::string reserved =
        {};                // a member of the tool's input that has the name of a fact; not empty: the call is refused
    std::string cwd = {};  // where the client makes the call; empty: it does not say
    std::optional<Sighting> sighting = {};  // of the one call that is proposed
    // What an approval of the one call is bound to beside its arguments: {cwd, files[{path, sha256 | state}]}. Null: nothing. An approved
    // call begins only with the same.
    json::Value bound = {};
  };
  void govern_call(const Mutation& by, std::string session_id, std::string step, Answered done,
                   std::optional<Facts> facts = std::nullopt);
  // {call_id, arguments?}: what is really handed over. CALL_UNKNOWN, call_not_open. `waits`: when it is busy it is tried again for the
  // same question, so that an idempotency key is for the answer at the end.
  void start_call(const Mutation& by, std::string session_id, std::string start, Answered done, bool waits = false);
  // {call_id, result, output?, ack?, error?}. CALL_UNKNOWN, call_not_open. With `input_changed: true` something else was done than was
  // judged: what became of the call is unknown, and the session is paused until an operator resumes it. With `confirms: true` it is
  // said by a door that left the beginning to another: only what none has begun is settled by it.
  // With a sighting the call is the one that find_sighted() gives, and CALL_UNKNOWN when there is none; if its input has changed, `result`
  // and output are left out, and it is settled as with `input_changed`, which the answer then has too.
  void settle_call(const Mutation& by, std::string session_id, std::string receipt, Answered done,
                   std::optional<Sighting> seen = std::nullopt);
  void add_label(const Mutation& by, std::string session_id, std::string label, Answered done);
  void report_cost(const Mutation& by, std::string session_id, json::Decimal cost, Answered done);
  // What an agent that the session's agent started does is done in the session; calls name it by `subagent` {id, type}. It begins, and is
  // known from then on: {subagent{agent_id, ...}, owes?, text} with what it is to be told.
  void start_subagent(const Mutation& by, std::string session_id, SubagentSeen seen, Answered done);
  // It would end, with these last words. Where it owes a handoff they are searched for it: {subagent{}, handoff?{}}, or asked_again with
  // what it is to be told; after two repairs it ends as blocked. What is wrong with its words is no refusal.
  void end_subagent(const Mutation& by, std::string session_id, SubagentSeen seen, std::string last_words,
                    Answered done);
  // A call was made that was not allowed: an alarm, which is recorded and shown. The session goes on. SESSION_ENDED.
  struct UnhookedCall {
    std::string call_id = {}, tool = {}, arguments_sha256 = {}, problem = {};
    std::optional<SubagentSeen> subagent = {};
  };
  void note_unhooked(const Mutation& by, std::string session_id, UnhookedCall call, Answered done);
  // By an operator, who has looked at what a session was paused for. SESSION_ENDED, SESSION_GOVERNED (it is not paused).
  void resume_session(const Mutation& by, std::string session_id, std::string note, Answered done);
  void kill_session(const Mutation& by, std::string session_id, std::string reason, Answered done);
  void close_session(const Mutation& by, std::string session_id, Answered done);
  // Could a call that was told to wait (resource_busy) begin now, as far as others of its workflow go? True also where only beginning it
  // can tell.
  Result<bool> is_turn_of(const std::string& session_id, const std::string& call_id);
  // Nothing is recorded: what it says is about now.
  Result<Answer> preflight(const Caller& caller, const std::string& session_id, const std::string& asked);

  // --- workflows: decided by workflow/family.h ------------------------------------------------------------------------------
  // Makes a workflow with the packs of its roles usable. WORKFLOW_INVALID, PACK_SECRET.
  void activate_workflow(const Mutation& by, contract::WorkflowSource source, std::string expected, Answered done,
                         std::string folder = {});
  // The workflow and its first session. WORKFLOW_UNKNOWN, WORKFLOW_ROLE, and what open_session refuses.
  void start_workflow(const Mutation& by, StartWorkflow asked, Answered done);
  // By the session. handoff_not_declared, handoff_artifact_missing, handoff_resource_unknown, workflow_limit_exceeded, session_closed, session_killed.
  void offer(const Mutation& by, std::string session_id, OfferRequest asked, Answered done);
  // A new session of the role it was offered to. HANDOFF_UNKNOWN, handoff_not_open, workflow_limit_exceeded, workflow_killed.
  void claim_handoff(const Mutation& by, ClaimHandoff asked, Answered done);
  // A UAIX packet that acknowledges the one by which a handoff was offered, from whom it was for: accept claims it, reject declines it,
  // defer leaves it. UAIX_UNATTRIBUTED, HANDOFF_UNKNOWN, and what those refuse.
  void acknowledge(const Mutation& by, std::string packet, Answered done);
  // Decline: by whoever could claim it. Cancel: by the session that offered it, or an operator. handoff_not_open.
  void end_offer(const Mutation& by, std::string handoff_id, workflow::Event event, Answered done);
  // By an operator; of itself and what is below it, by a session; of all of it as the workflow says. kill_not_permitted,
  // kill_scope_disabled.
  void kill_workflow(const Mutation& by, KillWorkflow asked, Answered done);
  // With a caller: as it may see it. Without one, here and below: all of it, for the node itself.
  Result<json::Value> list_workflows(std::size_t limit, const std::string& after);
  // Everything about one: its sessions, handoffs, and who holds what. Nothing: there is none.
  Result<std::optional<json::Value>> show_workflow(const std::string& workflow_id);
  Result<std::optional<json::Value>> show_workflow(const Caller& caller, const std::string& workflow_id);
  Result<json::Value> list_handoffs(std::string_view stage, std::string_view role, std::size_t limit);
  // What was handed to the session: {artifacts[]}, or one of them with its content. ARTIFACT_UNKNOWN, SESSION_NOT_YOURS.
  Result<Answer> artifacts(const Caller& caller, const std::string& session_id, const std::string& name);

  // APPROVAL_UNKNOWN, APPROVAL_CLOSED, APPROVAL_DIGEST, APPROVAL_OWN, APPROVAL_NOT_SHOWN.
  void decide_approval(const Mutation& by, ApprovalDecision decision, Answered done);

  Result<json::Value> list_packs();
  Result<json::Value> list_sessions(std::string_view standing, std::string_view after, std::size_t limit);
  Result<json::Value> list_approvals(std::string_view state, std::size_t limit);
  Result<json::Value> list_approvals(const Caller& caller, std::string_view state, std::size_t limit);
  Result<std::optional<json::Value>> show_approval(std::string_view id);
  Result<std::optional<json::Value>> show_approval(const Caller& caller, std::string_view id);

  // The fast lane for reads (docs/decisions/0040): from now until it is closed, or these are gone. Only on a store that this process alone
  // writes. Closing waits until all that was answered is recorded.
  void open_fast_lane();
  void close_fast_lane();
  std::uint64_t fast_reads() const;  // that were decided on it

  // The free space of the store's file system in bytes, or nothing when it cannot be found out. With less than the configuration's
  // `limits.disk_free_bytes`, what begins work is refused: STORE_DISK_LOW. Before anything is asked; without it there is no limit.
  using FreeBytes = std::function<std::optional<std::uint64_t>()>;
  void watch_disk(FreeBytes free_bytes);
  // As of the last look, at most a second ago. Nothing: it is not watched.
  struct DiskState {
    std::uint64_t floor = 0;
    std::optional<std::uint64_t> free;  // nothing: it cannot be found out, which counts as enough
    bool is_low = false;
  };
  std::optional<DiskState> disk();

  // What no agent may touch, beside what is protected by its name everywhere, and the folders of packs that are active. Before anything is
  // asked.
  Result<void> protect(protection::Paths paths);

  // What equals_env is compared with, instead of the process's environment: for tests.
  void use_environment(std::map<std::string, std::string> variables);

  // --- tokens ---------------------------------------------------------------------------------------------------------------
  void create_token(const Mutation& by, TokenRequest asked, Answered done);  // body.token is the text, this once
  // Sessions that were claimed with it end, and what they held is free again; body.sessions_ended says how many.
  void revoke_token(const Mutation& by, std::string token_id, Answered done);

  // --- notes ----------------------------------------------------------------------------------------------------------------
  // What people record themselves (runtime/notes.h), all or none; body.entries says where: [{sequence, hash}].
  void note(const Mutation& by, std::string stream, std::string type, std::vector<json::Value> notes, Answered done);

  // --- time -----------------------------------------------------------------------------------------------------------------
  // Records what has become due, at most `limit` items; body.settled says how many. Also forgets idempotency keys and delivery
  // ids that are old enough.
  void sweep(std::size_t limit, Answered done);
  // When the next thing becomes due.
  Result<std::optional<Time>> next_deadline();

  // --- reading: from the last commit ------------------------------------------------------------------------------------------
  Result<json::Value> list(std::optional<work::Phase> phase, std::string_view after, std::size_t limit);
  Result<std::optional<json::Value>> show(std::string_view work_id);
  // With a caller: as it may see it; what is withheld is left out, and `withheld` says why.
  Result<json::Value> list(const Caller& caller, std::optional<work::Phase> phase, std::string_view after,
                           std::size_t limit);
  Result<ReadAnswer> show(const Caller& caller, std::string_view work_id);
  // What a call of an MCP server's tool is called under the session's pack (contract/tools_lock.h): `server/tool`, or the bare name. `why`: for
  // whoever reads the refusal, when there is a contract of the bare name that is not the one for this tool.
  struct NamedTool {
    std::string name;
    std::string why = {};
  };
  NamedTool tool_in_pack(const std::string& session_id, const std::string& server, const std::string& tool,
                         contract::ServersKnown known);
  // What a proxy needs to know of the session's pack: `contracts` (names), `tools_lock` where it has one, `wording_changes`,
  // `suspicious_text`, `body_bytes`. Nothing: there is no such governed session.
  Result<std::optional<json::Value>> mcp_of_session(std::string_view session_id);
  // What was decided about a call that is none of those that execute, by what a hook says of it afterwards. Allowed: it was begun, and
  // this is told late or twice. Refused: also one that nobody began. From the ledger: for the rare case.
  enum class Proposed { Never, Refused, Allowed };
  Result<Proposed> was_proposed(const std::string& session_id, const Sighting& seen);
  // Does the contract of the tool have a checkpoint, so that a call may need approval? False where that cannot be told.
  bool may_need_approval(const std::string& session_id, std::string_view tool);
  // MCP tools that the session's pack has contracts for, as `server:tool`; of no session, or one that is not there, that of the role's pack.
  std::vector<std::string> server_tools(const std::string& session_id, const std::string& role);
  Result<std::optional<json::Value>> show_session(std::string_view session_id);
  Result<OwedWords> owed_by(std::string_view session_id);  // for whoever sees an agent, or a subagent, stop
  Result<json::Value> list_context(const Caller& caller);
  Result<ReadAnswer> show_context(const Caller& caller, std::string_view section);
  Result<ReadAnswer> context_history(const Caller& caller, std::string_view section, std::size_t limit);
  // The session that the caller reads for has these labels from now on, and its item too: it is about to read what has them, `read`
  // (a stream's name). READ_LABELLED: it has no session that is open.
  void gain_labels(const Mutation& by, std::vector<std::string> labels, std::string read, Answered done);
  // Who a caller reads as. `can_gain`: what it reads may add labels.
  Result<ReadingAs> reading_as(const Caller& caller, bool can_gain = true);
  // The labels of what an entry says, by its stream; sorted. They only grow, so that those of now are enough. Nothing: it is never for
  // agents.
  Result<std::optional<std::vector<std::string>>> labels_of_entry(std::string_view stream, std::string_view payload);
  Result<json::Value> list_tokens();
  // For runtime/access.h. What the entries behind `after` say of tokens, in their order; how many entries there are. LEDGER_CONTENT: one was
  // altered.
  Result<std::uint64_t> read_token_entries(
      std::uint64_t after, const std::function<void(std::string_view type, std::string_view payload)>& take);
  Result<std::vector<ProcessMark>> all_processes();
  Result<json::Value> counts();  // items by phase, sessions by state: for status and metrics

  // --- refusals ---------------------------------------------------------------------------------------------------------------
  // Every refusal is an entry, but only one a second for each actor (or session): the rest are counted, and the count is in the
  // next. Audit only: no rule reads them. `what` is `work.signal_refused` or `access.refused`.
  void note_refusal(std::string_view what, const Caller& caller, std::string_view subject,
                    const std::vector<Diagnostic>& refused);

  // The token of a session: derived from the ledger's key, so that nothing of it is kept and a retried claim gives it again.
  std::string session_token(std::string_view session_id) const;  // `baton_s_<session id>_<43 base64url>`
  // The session a token text names, when it is genuine (compared in constant time); says nothing about its state.
  std::optional<std::string> session_of_token(std::string_view text) const;

  const workspace::Config& config() const;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// The text of a new token and what is kept of it; and the way back: the id and the hash of a text that has the form of a token.
struct TokenText {
  std::string id, secret_sha256;
};
std::optional<TokenText> parse_token(std::string_view text);

}  // namespace baton::runtime
