// SPDX-License-Identifier: Apache-2.0
// A compiled pack: everything a session needs to decide, resolved once. Immutable and shared.
//
// Tools, phases and slots are numbers here, paths and regular expressions are compiled, and each tool has the list of the
// checks that can fail for it, in the order in which they are made. Two packs that say the same have the same hash, whatever
// the order of their files and of the members in them, their layout and their comments, on every machine (contract/describe.h).
#pragma once

#include <re2/re2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/decimal.h"
#include "json/path.h"
#include "json/value.h"

namespace baton::contract {

using ToolId = std::uint32_t;   // in the order of the tools' names
using PhaseId = std::uint32_t;  // in the order of session.yaml
using SlotId = std::uint32_t;   // in the order of the slots' names

// --- words ------------------------------------------------------------------------------------------------------------------
// In the order of the words in contract/shapes.h.

enum class SideEffect : std::uint8_t { Read, Write, Destructive, Admin, Financial };
enum class Evidence : std::uint8_t { LocalTransaction, AckOnly, Unverifiable };
enum class Commit : std::uint8_t { Acknowledged, None };
enum class Gate : std::uint8_t { Allow, Block };
enum class Metric : std::uint8_t { Sum, Count, Max, Min, CountDistinct };
enum class Role : std::uint8_t { Ceiling, Floor, Anchor, Initial, Constrained };
enum class Constraint : std::uint8_t {
  LteCeiling,
  GteFloor,
  WithinBand,
  MonotonicDecrease,
  MonotonicIncrease,
  Bounded
};
enum class SharedMode : std::uint8_t { SingleWriter, ExclusivePending, SerialOnly };
enum class ClosePolicy : std::uint8_t { RequestCancel, Terminate, Abandon };
enum class Source : std::uint8_t { Arguments, Output };
// What is done about a handoff that claims what was not seen.
enum class Claims : std::uint8_t { Off, Warn, Require };
// What an MCP operation without a contract gets (Plan::unlisted).
enum class Unlisted : std::uint8_t { Refuse, Record };
// What is done with a content block whose type Baton does not know.
enum class UnknownContent : std::uint8_t { Refuse, Drop };
// What the last words of an agent must hold. `Any` is any document that can be acted on, of a session that has work; one that has none
// owes nothing then.
enum class Owed : std::uint8_t { AgentContract, AgentExit, Any, None };

constexpr bool is_high_risk(SideEffect effect) { return effect >= SideEffect::Destructive; }
constexpr bool is_mutating(SideEffect effect) { return effect != SideEffect::Read; }

std::string_view name_of(SideEffect effect);
std::string_view name_of(Evidence evidence);
std::string_view name_of(Commit commit);
std::string_view name_of(Gate gate);
std::string_view name_of(Metric metric);
std::string_view name_of(Role role);
std::string_view name_of(Constraint constraint);
std::string_view name_of(SharedMode mode);
std::string_view name_of(ClosePolicy policy);
std::string_view name_of(Claims claims);
std::string_view name_of(Unlisted unlisted);
std::string_view name_of(UnknownContent content);
std::string_view name_of(Owed owed);

// --- phases -------------------------------------------------------------------------------------------------------------------

// A set of phases, a bit each.
class PhaseSet {
 public:
  PhaseSet() = default;
  explicit PhaseSet(std::size_t phases) : bits_((phases + 63) / 64) {}
  static PhaseSet all(std::size_t phases);

  bool has(PhaseId phase) const { return (bits_[phase / 64] >> (phase % 64) & 1) != 0; }
  bool add(PhaseId phase);  // true: it was not in it
  bool add(const PhaseSet& other);
  void keep(const PhaseSet& other);
  bool intersects(const PhaseSet& other) const;
  bool empty() const;
  bool operator==(const PhaseSet&) const = default;

  template <class Each>
  void each(const Each& call) const {
    for (std::size_t word = 0; word < bits_.size(); ++word)
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1)
        call(static_cast<PhaseId>(word * 64 + static_cast<std::size_t>(__builtin_ctzll(left))));
  }

 private:
  std::vector<std::uint64_t> bits_;
};

struct Phase {
  std::string name = {};
  bool initial = false, terminal = false;
  PhaseSet next = {};  // where `transitions` leads from here
};

// --- invariants ---------------------------------------------------------------------------------------------------------------

enum class Op : std::uint8_t {
  Equals,
  Exists,
  Type,
  Contains,
  OneOf,
  Regex,
  Gte,
  Lte,
  LengthGte,
  LengthLte,
  EqualsEnv,
  ExactMatch
};
std::string_view name_of(Op op);

struct Test {
  Op op = {};
  json::Value value = {};                      // the operand as it was written
  json::Decimal number = {};                   // of gte, lte, length_gte and length_lte
  std::shared_ptr<const re2::RE2> regex = {};  // of regex
};

// A path that was compiled, and how it was written.
struct PathAt {
  json::Path path = {};
  std::string text = {};
};

enum class Scope : std::uint8_t { Call, Boundary };  // which document an assertion's path starts in
enum class Origin : std::uint8_t { Written, Schema };

struct Invariant {
  PathAt at = {};
  std::vector<Test> tests = {};  // all of them must pass
  std::optional<SlotId> ref = {};
  std::optional<json::Decimal> tolerance = {};
  Scope scope = Scope::Call;
  Origin origin = Origin::Written;
};

// --- a tool -------------------------------------------------------------------------------------------------------------------

struct Retries {
  std::int64_t max_attempts = 1;  // the first included
  std::vector<std::string> retry_on = {};
  bool respect_retry_after = true;
  json::Decimal max_sleep_seconds = {};
};

struct AllowedError {  // all that are there must match
  std::optional<std::string> code = {}, error_class = {};
  std::optional<std::int64_t> http_status;
  std::shared_ptr<const re2::RE2> message;
};

struct Precondition {
  std::optional<ToolId> prior = {};  // absent: it is about the number of steps
  std::vector<Invariant> with_output = {};
  std::optional<PathAt> resource = {}, prior_resource = {};  // the same place unless `prior_path` says otherwise
  std::int64_t steps = 0;
};

struct Bind {
  SlotId slot = {};
  Source source = Source::Arguments;
  PathAt at = {};
};

struct ResponseFormat {
  std::optional<std::string> finish_reason = {};  // normalised: tool_calls, stop, length, ...
  bool content_empty = false;
  std::optional<bool> tool_calls_present = {};
};

struct Checkpoint {
  std::string name = {};                   // of one in session.yaml; empty: the tool's own
  std::vector<Invariant> conditions = {};  // none: always
  bool match_all = false;
  std::optional<SideEffect> side_effect = {};
  json::Decimal timeout_seconds = {};
  bool allow_on_timeout = false;
  struct Shown {
    std::string label = {};
    PathAt at = {};
  };
  std::vector<Shown> context = {};
  std::optional<ToolId> tool = {};  // of one in session.yaml; absent: all
};

// A case that must be decided as it says; not part of what a session needs, and not of the hash.
struct Golden {
  std::string id = {}, input_ref = {};
  json::Value body = {};  // the entry as it is written: the case itself, or what is expected of the one in the file
  std::size_t line = 0;   // of the tool's file
};

// What can be checked of a call, in the order in which it is (spec order; the engine walks a tool's list of these).
enum class Check : std::uint8_t {
  Labels,
  Policy,
  Gate,
  Phase,
  Forbidden,
  Limits,
  Loop,
  ResponseFormat,
  BoundaryAssertions,
  Preconditions,
  Arguments,
  InputAssertions,
  ExecutionConstraints,
  Refs,
  Aggregates,
  Envelopes,
  Resources,
  Checkpoints
};
std::string_view name_of(Check check);

// An entry of forbids_after with `per`: it forbids the tool for calls about the same entity alone. The types are words of JSON Schema.
struct EntityForbid {
  ToolId tool = 0;
  PathAt per = {}, target_per = {};
  std::string type = {}, target_type = {};
};

struct Tool {
  std::string name = {}, file = {};  // the file it was read from
  SideEffect side_effect = SideEffect::Read;
  Evidence evidence = Evidence::LocalTransaction;
  Commit commit = Commit::Acknowledged;
  std::int64_t total_ms = 0;
  Retries retries = {};
  std::vector<AllowedError> allowed_errors = {};
  std::optional<Gate> gate = {};
  bool passes_gate = true;  // what the gate, or else risk_defaults, says
  PhaseSet valid_in = {};   // empty set of no phases when the session has none
  bool names_phases = false;
  std::optional<PhaseId> advances_to = {};
  std::vector<Precondition> preconditions = {};
  std::vector<ToolId> forbids = {};
  std::vector<EntityForbid> forbids_per = {};
  std::vector<Invariant> arguments = {};  // argument_value_invariants, then what the schema says
  std::vector<Invariant> input_assertions = {}, output_assertions = {}, execution_constraints = {};
  std::optional<ResponseFormat> response_format = {};
  std::vector<Invariant> allow = {}, deny = {};  // of principals
  std::vector<Bind> binds = {};
  std::optional<Checkpoint> checkpoint = {};
  std::optional<PathAt> command_path = {};  // the argument that content which was approved is compared with
  std::vector<Golden> golden = {};
  std::shared_ptr<const json::Value> schema = {},
                                     output_schema = {};  // of its arguments and its output, where they are known

  // Worked out from the session.
  std::vector<Check> checks = {};
  std::vector<std::uint32_t> aggregates, envelopes, checkpoints, label_gates,
      rules = {};  // those of the session that concern it
};

// --- the session ----------------------------------------------------------------------------------------------------------------

struct Limits {
  std::optional<std::int64_t> max_steps, max_tool_calls;
  bool narrow = false;  // max_tool_calls_mode
  std::optional<json::Decimal> max_cost = {};
  std::map<ToolId, std::int64_t> max_calls;
  std::optional<std::int64_t> loop_window, loop_threshold;
  std::optional<std::int64_t> consecutive_blocks, consecutive_errors;
};

struct Rule {
  bool allows = false;
  Invariant principal = {};
  bool all_tools = true;
  std::vector<ToolId> tools = {};
};

struct LabelGate {
  std::string label = {}, reason = {};
  bool all_tools = false;
  std::vector<ToolId> tools = {};
  std::vector<std::string> unknown = {};  // names that are no tools of the pack
};

struct ProviderTerm {
  std::vector<std::string> path = {};  // the parts of a dotted name
  std::string text = {};               // as it was written, without the literal
  std::optional<std::string> equals = {};
};
struct Provider {
  std::string name = {};
  using Pattern = std::vector<ProviderTerm>;
  struct Named {
    std::string text = {};
    Pattern terms = {};
  };
  std::vector<Named> block = {}, warn = {};
  bool warn_floating_alias = false;
};

struct Resource {
  std::string name = {}, type = {};
  PathAt at = {};
};

struct Bounds {
  std::optional<json::Decimal> gte = {}, lte = {};
};
struct Aggregate {
  std::string name = {}, reason = {};
  Metric metric = Metric::Count;
  bool all_tools = false;
  std::vector<ToolId> tools = {};
  std::optional<PathAt> at = {};
  Bounds bounds = {};
  struct When {
    SlotId slot = {};
    std::vector<Test> tests = {};  // gte, lte, equals
    Bounds then = {};              // replaces what it names
  };
  std::vector<When> when = {};
};

struct Stage {
  ToolId tool = {};
  Role role = Role::Constrained;
  Source source = Source::Arguments;
  PathAt at = {};
};
struct Envelope {
  std::string name = {}, reason = {};
  Constraint constraint = Constraint::LteCeiling;
  std::optional<json::Decimal> band = {};
  std::vector<Stage> stages = {};
};

struct Suppression {
  std::string check = {}, tool = {}, phase = {}, name = {}, reason = {};
  std::size_t line = 0, column = 0;  // where it stands in session.yaml
};

// What a contract is called that is for the tool of one MCP server alone: calls name such a tool `server/tool`, and a contract, which has
// the name of its file, `server:tool`. Any other name is what it is.
std::string name_in_pack(std::string_view call_name);

// Names of MCP operations that are no tools, in the order of ServerOperation. A contract for one has this name and judges its
// parameters; no tool of a server may have it.
enum class ServerOperation : std::uint8_t {
  ResourcesRead,
  ResourcesSubscribe,
  PromptsGet,
  Completion,
  Sampling,
  Elicitation,
  Roots,
  Request,  // a request of the client with any other method
};
std::string_view name_of(ServerOperation operation);  // "server:resources.read"
bool is_server_operation(std::string_view name);

struct ToolsLock;  // contract/tools_lock.h

struct Plan {
  std::string agent = {};
  std::vector<Tool> tools = {};  // by ToolId
  std::vector<Phase> phases = {};
  std::optional<PhaseId> initial = {};
  std::vector<std::string> slots = {};
  Limits limits = {};
  bool risk_allows[5] = {true, false, false, false, false};  // by SideEffect
  bool default_deny = false;
  std::vector<Rule> rules = {};
  std::vector<LabelGate> label_gates = {};
  std::vector<Provider> providers = {};
  std::vector<Resource> resources = {};
  std::vector<Aggregate> aggregates = {};
  std::vector<Envelope> envelopes = {};
  std::vector<Checkpoint> checkpoints = {};
  bool client_user_is_operator = false;                     // what the user of the agent's MCP client answers decides
  Unlisted unlisted = Unlisted::Refuse;                     // mcp.unlisted
  UnknownContent unknown_content = UnknownContent::Refuse;  // mcp.unknown_content
  Claims claims = Claims::Off;                              // of a handoff, against the calls that were seen
  Owed owed = Owed::Any;                                    // handoff.dialect: in the last words of the agent
  Owed owed_by_subagents = Owed::None;  // handoff.subagents: in the last words of each subagent; AgentContract or None
  bool schema_derived = true;
  // tools.lock.json: what the tools of MCP servers are, as an operator approved them. Null: the pack has none.
  std::shared_ptr<const ToolsLock> tools_lock = {};
  bool wording_may_change = false;           // mcp.wording_changes: texts of a locked definition, not its schemas
  bool suspicious_text_is_withheld = false;  // mcp.suspicious_text
  std::vector<Suppression> suppressions = {};
  bool needs_principal = false;               // some rule or policy asks who it is
  std::vector<std::string> environment = {};  // variables that equals_env names, sorted
  std::string hash = {};                      // sha256:<64 hexadecimal digits>

  std::optional<ToolId> find_tool(std::string_view name) const;  // as a pack, or a call, has it
  std::optional<PhaseId> find_phase(std::string_view name) const;
  std::optional<SlotId> find_slot(std::string_view name) const;
  // May a session go from `from` to `to` by a call that advances there?
  bool is_legal(PhaseId from, PhaseId to) const { return from == to || phases[from].next.has(to); }
};

// May a client's answers reach a server that has asked nothing? Only where every such question would go ahead without a contract.
bool lets_unasked_answers_pass(const Plan& plan);

// --- a workflow -----------------------------------------------------------------------------------------------------------------

struct WorkflowRole {
  std::string name = {}, session_contract = {};
  std::shared_ptr<const Plan> plan = {};
};
struct WorkflowHandoff {
  std::uint32_t from, to;  // roles
  std::vector<std::string> artifacts = {};
  std::optional<ClosePolicy> close_policy = {};
};
struct SharedResource {
  std::string alias = {};
  SharedMode mode = SharedMode::SingleWriter;
};
struct WorkflowPlan {
  std::string name = {};
  std::vector<WorkflowRole> roles = {};
  std::vector<WorkflowHandoff> handoffs = {};
  std::optional<std::int64_t> max_sessions, max_active_sessions, max_total_steps, max_open_handoffs;
  std::optional<json::Decimal> max_total_cost = {};
  std::vector<SharedResource> shared = {};
  bool subtree_kill = false, operator_only_kill = false;
  ClosePolicy close_policy = ClosePolicy::RequestCancel;
  std::string hash = {};
};

}  // namespace baton::contract
