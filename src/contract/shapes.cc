// SPDX-License-Identifier: Apache-2.0
#include "contract/shapes.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace baton::contract {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> kSideEffects = {"read", "write", "destructive", "admin", "financial"};
constexpr std::array<std::string_view, 3> kEvidence = {"local_transaction", "ack_only", "unverifiable"};
constexpr std::array<std::string_view, 2> kCommit = {"acknowledged", "none"};
constexpr std::array<std::string_view, 2> kGate = {"allow", "block"};
constexpr std::array<std::string_view, 5> kMetrics = {"sum", "count", "max", "min", "count_distinct"};
constexpr std::array<std::string_view, 5> kRoles = {"ceiling", "floor", "anchor", "initial", "constrained"};
constexpr std::array<std::string_view, 6> kConstraints = {"lte_ceiling",        "gte_floor",          "within_band",
                                                          "monotonic_decrease", "monotonic_increase", "bounded"};
constexpr std::array<std::string_view, 6> kTypes = {"string", "number", "integer", "boolean", "object", "array"};
constexpr std::array<std::string_view, 3> kSharedModes = {"single_writer", "exclusive_pending", "serial_only"};
constexpr std::array<std::string_view, 3> kClosePolicies = {"request_cancel", "terminate", "abandon"};
constexpr std::array<std::string_view, 12> kOperators = {"equals",     "exists",     "type",       "contains",
                                                         "one_of",     "regex",      "gte",        "lte",
                                                         "length_gte", "length_lte", "equals_env", "exact_match"};
constexpr std::array<std::string_view, 3> kClaimsWords = {"off", "warn", "require"};
constexpr std::array<std::string_view, 2> kUnlistedWords = {"refuse", "record"};
constexpr std::array<std::string_view, 2> kUnknownContentWords = {"refuse", "drop"};
constexpr std::array<std::string_view, 4> kOwedWords = {"agent-contract", "agent-exit", "any", "none"};
constexpr std::array<std::string_view, 2> kOwedBySubagents = {"agent-contract", "none"};
constexpr std::array<std::string_view, 2> kWordingWords = {"refuse", "allow"};
constexpr std::array<std::string_view, 2> kSuspiciousWords = {"warn", "withhold"};
constexpr std::array<std::string_view, 2> kSources = {"arguments", "output"};
constexpr std::array<std::string_view, 2> kOnTimeout = {"deny", "allow"};
constexpr std::array<std::string_view, 2> kMatch = {"any", "all"};
constexpr std::array<std::string_view, 2> kScopes = {"boundary", "call"};
constexpr std::array<std::string_view, 2> kContent = {"empty", "allowed"};
constexpr std::array<std::string_view, 2> kProviderModes = {"recorded", "live"};
constexpr std::array<std::string_view, 2> kLimitModes = {"block", "narrow"};
constexpr std::array<std::string_view, 3> kVerdicts = {"allow", "block", "checkpoint"};
constexpr std::array<std::string_view, 1> kBindFrom = {"arguments"};
constexpr std::array<std::string_view, 1> kWorkflowKill = {"operator_only"};
constexpr std::array<std::string_view, 1> kVersions = {"1.0"};
constexpr std::array<std::string_view, 1> kAlways = {"always"};

// --- scalars --------------------------------------------------------------------------------------------------------------

constexpr Shape kAny;
constexpr Shape kBoolean{.form = Form::Boolean, .expected = "true or false"};
constexpr Shape kNumber{.form = Form::Number, .expected = "a number"};
constexpr Shape kText{.form = Form::Text, .expected = "a string that is not empty", .not_empty = true};
constexpr Shape kAnyText{.form = Form::Text, .expected = "a string"};
constexpr Shape kTexts{.form = Form::List, .expected = "a list of strings", .element = &kText};
constexpr Shape kToolList{
    .form = Form::List, .expected = "a list of at least one tool", .element = &kText, .not_empty = true};
constexpr Shape kPath{.form = Form::Text, .expected = "a path such as `$.order.id`", .not_empty = true};
constexpr Shape kPaths{.form = Form::List, .expected = "a list of paths", .element = &kPath};
constexpr Shape kRegex{.form = Form::Text, .expected = "a regular expression in RE2's syntax"};

constexpr Shape enumeration(Words words, std::string_view expected, Code wrong = Code::FIELD_TYPE) {
  return {.form = Form::Text, .expected = expected, .values = words, .wrong = wrong};
}
constexpr Shape at_least(Form form, std::int64_t minimum, std::string_view expected, Code wrong) {
  return {.form = form, .expected = expected, .has_minimum = true, .minimum = minimum, .wrong = wrong};
}
constexpr Shape above(Form form, std::int64_t minimum, std::string_view expected, Code wrong) {
  return {.form = form,
          .expected = expected,
          .has_minimum = true,
          .above_minimum = true,
          .minimum = minimum,
          .wrong = wrong};
}
constexpr Shape object(std::span<const Field> fields, std::string_view expected = "an object") {
  return {.form = Form::Object, .expected = expected, .fields = fields};
}
constexpr Shape list_of(const Shape& element, std::string_view expected) {
  return {.form = Form::List, .expected = expected, .element = &element};
}
constexpr Shape map_of(const Shape& element, std::string_view expected) {
  return {.form = Form::Map, .expected = expected, .element = &element};
}

constexpr Shape kToolName{.form = Form::Text,
                          .expected = "a tool name: 1 to 128 of letters, digits and `_.:-`",
                          .fits = is_tool_name,
                          .pattern = "^[A-Za-z0-9_.:-]{1,128}$",
                          .wrong = Code::TOOL_NAME_INVALID};
constexpr Shape kReason{.form = Form::Text, .expected = "a sentence that says why", .not_empty = true};
constexpr Shape kVersion = enumeration(kVersions, "\"1.0\", in quotes", Code::SCHEMA_VERSION_UNSUPPORTED);
constexpr Shape kSideEffect = enumeration(kSideEffects, "a side effect");
constexpr Shape kAllowBlock = enumeration(kGate, "allow or block");

// --- invariants -----------------------------------------------------------------------------------------------------------

constexpr Shape kExists{.form = Form::Boolean, .expected = "true (is there, and not null) or false"};
constexpr Shape kType = enumeration(kTypes, "the name of a type");
constexpr Shape kOneOf{.form = Form::List,
                       .expected = "a list of at least one value",
                       .element = &kAny,
                       .not_empty = true,
                       .empty = Code::ONE_OF_EMPTY};
constexpr Shape kLength = at_least(Form::Integer, 0, "a whole number of at least 0", Code::FIELD_TYPE);

constexpr std::string_view kPathAbout = "where the value is: `$`, `.name`, `['name']` and `[n]`";
constexpr Field kPathField{"path", kPath, kPathAbout, true};
constexpr Field kEqualsField{"equals", kAny, "the value is this one: deep equality, 1 equals 1.0"};
constexpr Field kExistsField{"exists", kExists, "true: it is there and not null; false: it is not"};
constexpr Field kTypeField{"type", kType, "the JSON type; 3.0 is an integer"};
constexpr Field kContainsField{"contains", kAny, "a string holds this text, or a list this element"};
constexpr Field kOneOfField{"one_of", kOneOf, "the value is one of these"};
constexpr Field kRegexField{"regex", kRegex,
                            "the string holds a match of this expression (RE2; anchor it with ^ and $)"};
constexpr Field kGteField{"gte", kNumber, "a number of at least this"};
constexpr Field kLteField{"lte", kNumber, "a number of at most this"};
constexpr Field kLengthGteField{"length_gte", kLength, "at least so many characters or elements"};
constexpr Field kLengthLteField{"length_lte", kLength, "at most so many characters or elements"};
constexpr Field kEqualsEnvField{"equals_env", kText,
                                "the string is the value of this environment variable when the session begins"};
constexpr Field kExactMatchField{"exact_match", kAnyText, "the string is this one, byte for byte"};

// An operator that is not for this place is told apart from a word that is none.
Code unknown_in_invariant(std::string_view name) {
  const bool known = std::ranges::find(kOperators, name) != kOperators.end() || name == "ref" || name == "tolerance";
  return known ? Code::INVARIANT_OPERATOR_NOT_ALLOWED : Code::UNKNOWN_FIELD;
}
constexpr Shape invariant(std::span<const Field> fields, Words any_of) {
  return {.form = Form::Object,
          .expected = "an object with `path` and at least one operator",
          .fields = fields,
          .unknown = unknown_in_invariant,
          .any_of = any_of};
}

constexpr std::array<std::string_view, 11> kFullOperators = {
    "equals", "exists", "type", "contains", "one_of", "regex", "gte", "lte", "length_gte", "length_lte", "equals_env"};
constexpr std::array kFullFields = {kPathField,     kEqualsField,    kExistsField,    kTypeField,
                                    kContainsField, kOneOfField,     kRegexField,     kGteField,
                                    kLteField,      kLengthGteField, kLengthLteField, kEqualsEnvField};
constexpr Shape kInvariant = invariant(kFullFields, kFullOperators);
constexpr Shape kInvariants = list_of(kInvariant, "a list of invariants");

constexpr Shape kScope = enumeration(kScopes, "boundary or call");
constexpr std::array kAssertionFields = {kPathField,
                                         kEqualsField,
                                         kExistsField,
                                         kTypeField,
                                         kContainsField,
                                         kOneOfField,
                                         kRegexField,
                                         kGteField,
                                         kLteField,
                                         kLengthGteField,
                                         kLengthLteField,
                                         kEqualsEnvField,
                                         Field{"scope", kScope,
                                               "which document the path starts in, where its first name would say "
                                               "otherwise: the model's request or response, or the call"}};
constexpr Shape kAssertion = invariant(kAssertionFields, kFullOperators);
constexpr Shape kAssertions = list_of(kAssertion, "a list of assertions");

constexpr std::array<std::string_view, 7> kValueOperators = {"exact_match", "type", "regex", "one_of",
                                                             "gte",         "lte",  "ref"};
constexpr Shape kTolerance{.form = Form::Number, .expected = "a fraction of at least 0 and less than 1"};
constexpr std::array kValueFields = {
    kPathField,
    kExactMatchField,
    kTypeField,
    kRegexField,
    kOneOfField,
    kGteField,
    kLteField,
    Field{"ref", kText, "the value equals the slot of this name, which a `binds` entry fills"},
    Field{"tolerance", kTolerance, "with `ref`: how far the number may be from the slot's, as a fraction of it"}};
constexpr Shape kValueInvariant = invariant(kValueFields, kValueOperators);
constexpr Shape kValueInvariants = list_of(kValueInvariant, "a list of argument invariants");

constexpr std::array<std::string_view, 4> kConditionOperators = {"gte", "lte", "equals", "one_of"};
constexpr std::array kConditionFields = {kPathField, kGteField, kLteField, kEqualsField, kOneOfField};
constexpr Shape kCondition = invariant(kConditionFields, kConditionOperators);

constexpr std::array<std::string_view, 10> kMatcherOperators = {"equals", "exists", "type", "contains",   "one_of",
                                                                "regex",  "gte",    "lte",  "length_gte", "length_lte"};
constexpr std::array kMatcherFields = {kPathField,     kEqualsField,    kExistsField,   kTypeField,
                                       kContainsField, kOneOfField,     kRegexField,    kGteField,
                                       kLteField,      kLengthGteField, kLengthLteField};
constexpr Shape kMatcher = invariant(kMatcherFields, kMatcherOperators);

// --- a tool's contract: what it is and does -----------------------------------------------------------------------------------

constexpr Shape kTotalMs = above(Form::Integer, 0, "a whole number of milliseconds above 0", Code::TIMEOUT_INVALID);
constexpr std::array kTimeoutFields = {
    Field{"total_ms", kTotalMs, "over all attempts and the pauses between them", true}};
constexpr Shape kTimeouts = object(kTimeoutFields);

constexpr Shape kMaxAttempts{.form = Form::Integer,
                             .expected = "a whole number from 1 to 20, the first attempt included",
                             .has_minimum = true,
                             .has_maximum = true,
                             .minimum = 1,
                             .maximum = 20,
                             .wrong = Code::RETRY_INVALID};
constexpr std::array kRetryFields = {
    Field{"max_attempts", kMaxAttempts, "how often it may be tried, the first time included", true},
    Field{"retry_on", kTexts,
          "error classes (timeout, network, rate_limited, server_error, client_error, tool_error) or exact codes that "
          "are tried again",
          true}};
constexpr Shape kRetries = object(kRetryFields);

constexpr Shape kSleep = at_least(Form::Number, 0, "a number of seconds of at least 0", Code::RATE_LIMIT_INVALID);
constexpr std::array kOn429Fields = {
    Field{"respect_retry_after", kBoolean, "wait as long as the answer asks for", true},
    Field{"max_sleep_seconds", kSleep, "but never longer than this", true}};
constexpr Shape kOn429 = object(kOn429Fields);
constexpr std::array kRateLimitFields = {Field{"on_429", kOn429, "what to do when the tool answers 429", true}};
constexpr Shape kRateLimits = object(kRateLimitFields);

constexpr std::array kAssertionListFields = {
    Field{"input_invariants", kAssertions, "must hold of the model's request, or of the call's arguments", true},
    Field{"output_invariants", kAssertions, "must hold of the model's response, or of the tool's output", true}};
constexpr Shape kAssertionLists = object(kAssertionListFields);

constexpr Shape kVerdict = enumeration(kVerdicts, "allow, block or checkpoint");
constexpr std::array kExpectFields = {Field{"verdict", kVerdict, "what is decided", true},
                                      Field{"reason", kText, "the code of the first check that fails"}};
constexpr Shape kExpect = object(kExpectFields);
constexpr Shape kObjectValue{.form = Form::Map, .expected = "an object", .element = &kAny};
constexpr std::array kHistoryFields = {Field{"tool", kText, "a call that was committed before", true},
                                       Field{"arguments", kObjectValue, "what it was called with"},
                                       Field{"output", kAny, "what it answered"}};
constexpr Shape kHistoryCall = object(kHistoryFields);
constexpr Shape kHistory = list_of(kHistoryCall, "a list of calls");
constexpr Shape kProviderMode = enumeration(kProviderModes, "recorded or live");
constexpr Shape kProviderModeList = list_of(kProviderMode, "a list of `recorded` and `live`");
constexpr Field kCaseArguments{"arguments", kAny, "the call's arguments"};
constexpr Field kCasePrincipal{"principal", kAny, "on whose behalf"};
constexpr Field kCaseLabels{"labels", kTexts, "labels of the session"};
constexpr Field kCaseBindings{"bindings", kObjectValue, "slots that are filled"};
constexpr Field kCasePhase{"phase", kText, "the phase the session is in"};
constexpr Field kCaseHistory{"history", kHistory, "calls that were committed before"};
constexpr Field kCaseOutput{"output", kAny, "what the tool answers"};
constexpr std::array kGoldenFields = {
    Field{"id", kText, "a name of its own within the file", true},
    Field{"input_ref", kText, "a JSON file under `golden/` that holds the case"},
    Field{"expect_ok", kBoolean, "with `input_ref`: does the call go ahead?"},
    Field{"expected_error", kText, "with `expect_ok: false`: the code it is refused with"},
    Field{"provider_modes", kProviderModeList, "where the case is meaningful"},
    kCaseArguments,
    kCasePrincipal,
    kCaseLabels,
    kCaseBindings,
    kCasePhase,
    kCaseHistory,
    kCaseOutput,
    Field{"expect", kExpect, "what must be decided"}};
// The same in a file: what must be decided stands with the name of the file.
constexpr std::array kGoldenFileFields = {kCaseArguments, kCasePrincipal, kCaseLabels, kCaseBindings,
                                          kCasePhase,     kCaseHistory,   kCaseOutput};
constexpr Shape kGolden = object(kGoldenFields, "an object with `id` and either `input_ref` or `expect`");
constexpr Shape kGoldenCases = list_of(kGolden, "a list of cases");

constexpr Shape kStatus{.form = Form::Integer,
                        .expected = "an HTTP status from 100 to 599",
                        .has_minimum = true,
                        .has_maximum = true,
                        .minimum = 100,
                        .maximum = 599};
constexpr std::array<std::string_view, 4> kErrorMatchers = {"code", "class", "http_status", "message_regex"};
constexpr std::array kAllowedErrorFields = {
    Field{"code", kText, "the error's code"}, Field{"class", kText, "its class"},
    Field{"http_status", kStatus, "its HTTP status"},
    Field{"message_regex", kRegex, "an expression that its message holds a match of"},
    Field{"note", kAnyText, "why it is expected"}};
constexpr Shape kAllowedErrorObject{
    .form = Form::Object,
    .expected = "an object with at least one of `code`, `class`, `http_status`, `message_regex`",
    .fields = kAllowedErrorFields,
    .any_of = kErrorMatchers};
constexpr std::array kAllowedErrorForms = {&kText, &kAllowedErrorObject};
constexpr Shape kAllowedError{
    .form = Form::Either, .expected = "a code, or an object that matches errors", .alternatives = kAllowedErrorForms};
constexpr Shape kAllowedErrors = list_of(kAllowedError, "a list of errors");

// --- a tool's contract: when and with what it may be called ---------------------------------------------------------------------

constexpr Shape kPhaseList{.form = Form::List,
                           .expected = "a list of at least one phase",
                           .element = &kText,
                           .not_empty = true,
                           .empty = Code::PHASE_LIST_EMPTY};
constexpr std::array kTransitionFields = {
    Field{"valid_in_phases", kPhaseList, "the phases in which the tool can be called; absent: all"},
    Field{"advances_to", kText, "the phase the session is in once the call has succeeded; absent: it stays"}};
constexpr Shape kToolTransitions = object(kTransitionFields);

constexpr Shape kBindFromShape = enumeration(kBindFrom, "arguments");
constexpr std::array kResourceFields = {
    Field{"bind_from", kBindFromShape, "where both values are looked up: arguments", true},
    Field{"path", kPath, "where the value is that says which entity it is about", true},
    Field{"prior_path", kPath, "where it is in the earlier call's arguments, if elsewhere"}};
constexpr Shape kResourceOf = object(kResourceFields);
constexpr Shape kStepCount = at_least(Form::Integer, 1, "a whole number of at least 1", Code::PRECONDITION_SHAPE);
constexpr std::array kStepCountFields = {Field{"gte", kStepCount, "at least so many steps came before", true}};
constexpr Shape kStepCountObject = object(kStepCountFields);
constexpr std::array kPreconditionFields = {
    Field{"requires_prior_tool", kText, "a call of this tool was committed in an earlier step"},
    Field{"with_output", kInvariants, "and the latest one's output holds these"},
    Field{"resource", kResourceOf, "and it was about the same entity"},
    Field{"requires_step_count", kStepCountObject, "so many steps came before"}};
constexpr Shape kPrecondition =
    object(kPreconditionFields, "an object with `requires_prior_tool` or `requires_step_count`");
constexpr Shape kPreconditions = list_of(kPrecondition, "a list of preconditions");

constexpr Shape kContentRule = enumeration(kContent, "empty or allowed");
constexpr std::array kResponseFields = {
    Field{"finish_reason", kText, "what the response must end with; the providers' words are one"},
    Field{"content_when_tool_calls", kContentRule, "may there be text beside the calls?"},
    Field{"tool_calls_present", kBoolean, "must there be a call?"}};
constexpr Shape kResponseFormat = object(kResponseFields);

constexpr std::array kConstraintFields = {
    Field{"arguments", kInvariants, "must hold of the arguments that are handed to the tool", true}};
constexpr Shape kExecutionConstraints = object(kConstraintFields);

constexpr std::array kPolicyEntryFields = {Field{"principal", kMatcher, "who it is about", true}};
constexpr Shape kPolicyEntry = object(kPolicyEntryFields, "an object with `principal`");
constexpr Shape kPolicyEntries = list_of(kPolicyEntry, "a list of policy entries");
constexpr std::array kToolPolicyFields = {Field{"allow", kPolicyEntries, "one of these must match, if there are any"},
                                          Field{"deny", kPolicyEntries, "none of these may match"}};
constexpr Shape kToolPolicy = object(kToolPolicyFields);

constexpr Shape kBindSource = enumeration(kSources, "arguments or output", Code::BIND_SOURCE);
constexpr std::array kBindFields = {Field{"name", kText, "the slot's name, its own in the whole pack", true},
                                    Field{"source", kBindSource, "arguments (default) or output"},
                                    Field{"path", kPath, "where the value is", true}};
constexpr Shape kBind = object(kBindFields);
constexpr Shape kBinds = list_of(kBind, "a list of slots");

constexpr Shape kAlwaysWord = enumeration(kAlways, "always");
constexpr Shape kConditions{.form = Form::List,
                            .expected = "a list of at least one condition",
                            .element = &kCondition,
                            .not_empty = true,
                            .empty = Code::CHECKPOINT_WHEN_EMPTY};
constexpr std::array kWhenForms = {&kAlwaysWord, &kConditions};
constexpr Shape kWhen{
    .form = Form::Either, .expected = "`always`, or a list of conditions", .alternatives = kWhenForms};
constexpr Shape kMatchShape = enumeration(kMatch, "any or all");
constexpr Shape kOnTimeoutShape = enumeration(kOnTimeout, "deny or allow");
constexpr Shape kApprovalSeconds =
    at_least(Form::Number, 30, "a number of seconds of at least 30", Code::CHECKPOINT_TIMEOUT_MIN);
constexpr std::array kContextFields = {Field{"path", kPath, "what of the arguments is shown", true},
                                       Field{"label", kText, "what it is called there; absent: the path"}};
constexpr Shape kContextEntry = object(kContextFields);
constexpr Shape kContext = list_of(kContextEntry, "a list of what is shown");
constexpr Field kWhenField{"when", kWhen, "`always`, or conditions on the arguments", true,
                           Code::CHECKPOINT_WHEN_REQUIRED};
constexpr Field kWhenSideEffectField{"when_side_effect", kSideEffect, "and only of tools with this side effect"};
constexpr Field kMatchField{"match", kMatchShape, "any (default) or all of the conditions"};
constexpr Field kTimeoutSecondsField{"timeout_seconds", kApprovalSeconds, "how long somebody has to decide", true};
constexpr Field kOnTimeoutField{"on_timeout", kOnTimeoutShape,
                                "what happens when nobody does: deny (default) or allow"};
constexpr Field kContextField{"context", kContext, "what the one who decides is shown of the arguments"};
constexpr std::array kCheckpointFields = {kWhenField,           kWhenSideEffectField, kMatchField,
                                          kTimeoutSecondsField, kOnTimeoutField,      kContextField};
constexpr Shape kCheckpoint = object(kCheckpointFields);

constexpr std::array kForbidFields = {
    Field{"tool", kText, "a tool", true},
    Field{"per", kPath, "where the arguments name an entity: only calls about the same one are forbidden", true},
    Field{"target_per", kPath, "where the arguments of that tool name it; absent: as in `per`"}};
constexpr Shape kForbidObject = object(kForbidFields);
constexpr std::array kForbidForms = {&kText, &kForbidObject};
constexpr Shape kForbid{
    .form = Form::Either, .expected = "a tool, or an object with `tool` and `per`", .alternatives = kForbidForms};
constexpr Shape kForbids = list_of(kForbid, "a list of tools");

constexpr Shape kEvidenceShape = enumeration(kEvidence, "an evidence class");
constexpr Shape kCommitShape = enumeration(kCommit, "acknowledged or none");
constexpr std::array kToolFields = {
    Field{"tool", kToolName, "the tool's name: that of the function, and of this file", true},
    Field{"side_effect", kSideEffect, "what a call can do: read, write, destructive, admin or financial", true},
    Field{"evidence_class", kEvidenceShape,
          "what shows that it happened: an output that says so (local_transaction), an acknowledgement (ack_only), "
          "nothing (unverifiable)",
          true},
    Field{"commit_requirement", kCommitShape, "when it counts as having happened: when acknowledged, or at once (none)",
          true},
    Field{"timeouts", kTimeouts, "how long a call may take", true},
    Field{"retries", kRetries, "what is tried again", true},
    Field{"rate_limits", kRateLimits, "what is done when the tool asks for patience", true},
    Field{"assertions", kAssertionLists, "what must hold before and after", true},
    Field{"golden_cases", kGoldenCases, "examples with the decision they must get", true},
    Field{"allowed_errors", kAllowedErrors,
          "errors that are part of normal work and do not count towards the circuit breaker", true},
    Field{"gate", kAllowBlock, "allow or block, whatever risk_defaults says of the side effect"},
    Field{"transitions", kToolTransitions, "in which phases it can be called, and to which it leads"},
    Field{"preconditions", kPreconditions, "what must have happened before; all of them"},
    Field{"forbids_after", kForbids,
          "tools that cannot be called while a call of this one is open, nor any more once it was made"},
    Field{"argument_value_invariants", kValueInvariants, "what the arguments must be"},
    Field{"response_format_invariants", kResponseFormat, "what the model's response must look like"},
    Field{"execution_constraints", kExecutionConstraints,
          "what the arguments must be at the moment they are handed over"},
    Field{"policy", kToolPolicy, "who may"},
    Field{"binds", kBinds, "values that are kept, for `ref` in other tools' invariants"},
    Field{"schema_derived", kBoolean, "take bounds from the tool's JSON Schema (default: true)"},
    Field{"schema_derived_exclude", kPaths, "but not for these paths and what is below them"},
    Field{"checkpoint", kCheckpoint, "when a person must approve"},
    Field{"command_path", kPath,
          "the argument that says exactly what is done: content that a person approved permits one call with it"}};

// --- session.yaml -----------------------------------------------------------------------------------------------------------

constexpr std::array kPhaseFields = {Field{"name", kText, "its name", true},
                                     Field{"initial", kBoolean, "the session begins in it; exactly one"},
                                     Field{"terminal", kBoolean, "the session may end in it; at least one"}};
constexpr Shape kPhase = object(kPhaseFields);
constexpr Shape kPhases = list_of(kPhase, "a list of phases");
constexpr Shape kPhaseTransitions = map_of(kTexts, "an object: from each phase to a list of phases");

constexpr Shape kCount = at_least(Form::Integer, 1, "a whole number of at least 1", Code::LIMIT_INVALID);
constexpr Shape kCost = above(Form::Number, 0, "a number above 0", Code::LIMIT_INVALID);
constexpr Shape kPerTool = map_of(kCount, "an object: from each tool to a whole number");
constexpr Shape kLimitMode = enumeration(kLimitModes, "block or narrow");
constexpr Shape kWindow = at_least(Form::Integer, 1, "a whole number of at least 1", Code::LOOP_INVALID);
constexpr Shape kThreshold = at_least(Form::Integer, 2, "a whole number of at least 2", Code::LOOP_INVALID);
constexpr std::array kLoopFields = {Field{"window", kWindow, "how many steps are looked at", true},
                                    Field{"threshold", kThreshold, "the same call so often is a loop", true}};
constexpr Shape kLoop = object(kLoopFields);
constexpr std::array kBreakerFields = {
    Field{"consecutive_blocks", kCount, "steps with a block, one after another, that end the session"},
    Field{"consecutive_errors", kCount, "errors, one after another, that end the session"}};
constexpr Shape kBreaker = object(kBreakerFields);
constexpr std::array kLimitFields = {
    Field{"max_steps", kCount, "how many steps a session may have"},
    Field{"max_tool_calls", kCount, "how many calls, failed ones included"},
    Field{"max_tool_calls_mode", kLimitMode,
          "then: block (default), or narrow, so that the model can still answer in words"},
    Field{"max_cost_per_session", kCost, "what it may cost, in the host's unit"},
    Field{"max_calls_per_tool", kPerTool, "how many calls of single tools"},
    Field{"loop_detection", kLoop, "the same call again and again is refused"},
    Field{"circuit_breaker", kBreaker, "what goes wrong too often ends the session"}};
constexpr Shape kLimits = object(kLimitFields);

constexpr std::array kRiskFields = {
    Field{"read", kAllowBlock, "default: allow"}, Field{"write", kAllowBlock, "default: block"},
    Field{"destructive", kAllowBlock, "default: block"}, Field{"admin", kAllowBlock, "default: block"},
    Field{"financial", kAllowBlock, "default: block"}};
constexpr Shape kRisk = object(kRiskFields);

constexpr std::array kRuleBodyFields = {Field{"principal", kMatcher, "who it is about", true},
                                        Field{"tools", kToolList, "of which tools; absent: of all"}};
constexpr Shape kRuleBody = object(kRuleBodyFields);
constexpr std::array kRuleFields = {Field{"deny", kRuleBody, "these may not"},
                                    Field{"allow", kRuleBody, "of these tools, only these may"},
                                    Field{"tools", kToolList, "the same as inside"}};
constexpr Shape kRule = object(kRuleFields, "an object with `deny` or `allow`");
constexpr Shape kRules = list_of(kRule, "a list of rules");
constexpr std::array kGateFields = {Field{"when_label", kText, "the label that closes the gate", true},
                                    Field{"deny_tools", kToolList, "what is closed; `*` is everything", true},
                                    Field{"reason", kReason, "what the agent is told", true}};
constexpr Shape kLabelGate = object(kGateFields);
constexpr Shape kLabelGates = list_of(kLabelGate, "a list of gates");
constexpr std::array kSessionPolicyFields = {
    Field{"default_deny", kBoolean, "what no rule allows is denied (default: false)"},
    Field{"rules", kRules, "who may what"}, Field{"label_gates", kLabelGates, "what a label in the session closes"}};
constexpr Shape kSessionPolicy = object(kSessionPolicyFields);

constexpr std::array kProviderFields = {
    Field{"block_incompatible", kTexts, "requests that are refused: `path=value + word`"},
    Field{"warn_incompatible", kTexts, "requests that are only remarked on"},
    Field{"warn_floating_alias", kBoolean, "remark on a model name without a version"}};
constexpr Shape kProvider = object(kProviderFields);
constexpr Shape kProviders = map_of(kProvider, "an object with a member for each provider");

constexpr std::array kExtractFields = {Field{"path", kPath, "where in the arguments", true}};
constexpr Shape kExtract = object(kExtractFields);
constexpr std::array kResourceKindFields = {Field{"type", kText, "what kind of thing it is", true},
                                            Field{"extract_from", kExtract, "which one a call is about", true}};
constexpr Shape kResource = object(kResourceKindFields);
constexpr Shape kResources = map_of(kResource, "an object with a member for each resource");

constexpr Shape kMetric = enumeration(kMetrics, "a metric", Code::AGGREGATE_METRIC);
constexpr std::array kToolOrToolsForms = {&kText, &kTexts};
constexpr Shape kToolOrTools{
    .form = Form::Either, .expected = "a tool, a list of tools, or `*`", .alternatives = kToolOrToolsForms};
constexpr std::array kBoundFields = {Field{"binding", kText, "the slot that is looked at", true},
                                     kGteField,
                                     kLteField,
                                     kEqualsField,
                                     Field{"then_gte", kNumber, "the lower bound instead"},
                                     Field{"then_lte", kNumber, "the upper bound instead"}};
constexpr Shape kBound = object(kBoundFields);
constexpr Shape kBounds = list_of(kBound, "a list of conditional bounds");
constexpr Shape kAggregateReason{.form = Form::Text,
                                 .expected = "a sentence that says why",
                                 .not_empty = true,
                                 .empty = Code::AGGREGATE_REASON_REQUIRED};
constexpr std::array kAggregateFields = {
    Field{"name", kText, "its name", true},
    Field{"metric", kMetric, "sum, count, max, min or count_distinct", true},
    Field{"tool", kToolOrTools, "over the calls of which tool, or tools; `*` is all", true},
    Field{"path", kPath, "over which value of the arguments; count needs none"},
    Field{"gte", kNumber, "never below"},
    Field{"lte", kNumber, "never above"},
    Field{"reason", kAggregateReason, "what the agent is told", true, Code::AGGREGATE_REASON_REQUIRED},
    Field{"when", kBounds, "other bounds while a slot has some value; the first that holds"}};
constexpr Shape kAggregate = object(kAggregateFields);
constexpr Shape kAggregates = list_of(kAggregate, "a list of aggregates");

constexpr Shape kStageRole = enumeration(kRoles, "a role");
constexpr Shape kStageSource = enumeration(kSources, "arguments or output");
constexpr std::array kStageFields = {
    Field{"tool", kText, "the tool whose value it is", true}, Field{"path", kPath, "where the value is", true},
    Field{"role", kStageRole, "ceiling, floor, anchor, initial or constrained", true},
    Field{"source", kStageSource, "of a stage that gives a reference: arguments (default) or output"}};
constexpr Shape kStage = object(kStageFields);
constexpr Shape kStages = list_of(kStage, "a list of at least two stages");
constexpr Shape kConstraint = enumeration(kConstraints, "a constraint");
constexpr Shape kBand = at_least(Form::Number, 0, "a fraction of at least 0", Code::ENVELOPE_BAND_REQUIRED);
constexpr Shape kEnvelopeReason{.form = Form::Text,
                                .expected = "a sentence that says why",
                                .not_empty = true,
                                .empty = Code::ENVELOPE_REASON_REQUIRED};
constexpr std::array kEnvelopeFields = {
    Field{"name", kText, "its name", true},
    Field{"stages", kStages, "what gives the reference and what is held to it, in order", true},
    Field{"constraint", kConstraint,
          "lte_ceiling, gte_floor, bounded, within_band, monotonic_decrease or monotonic_increase", true},
    Field{"band", kBand, "of within_band: how far, as a fraction of the anchor"},
    Field{"reason", kEnvelopeReason, "what the agent is told", true, Code::ENVELOPE_REASON_REQUIRED}};
constexpr Shape kEnvelope = object(kEnvelopeFields);
constexpr Shape kEnvelopes = list_of(kEnvelope, "a list of envelopes");

constexpr std::array kSessionCheckpointFields = {Field{"name", kText, "its name", true},
                                                 Field{"tool", kText, "the tool it is for; `*` is all", true},
                                                 kWhenField,
                                                 kWhenSideEffectField,
                                                 kMatchField,
                                                 kTimeoutSecondsField,
                                                 kOnTimeoutField,
                                                 kContextField};
constexpr Shape kSessionCheckpoint = object(kSessionCheckpointFields);
constexpr Shape kSessionCheckpoints = list_of(kSessionCheckpoint, "a list of checkpoints");
constexpr std::array kApprovalsFields = {
    Field{"client_user_is_operator", kBoolean,
          "what the user of the agent's MCP client answers is the operator's decision (default: false)"}};
constexpr Shape kApprovals = object(kApprovalsFields);

constexpr Shape kUnlisted = enumeration(kUnlistedWords, "refuse or record");
constexpr Shape kUnknownContent = enumeration(kUnknownContentWords, "refuse or drop");
constexpr Shape kWordingChanges = enumeration(kWordingWords, "refuse or allow");
constexpr Shape kSuspiciousText = enumeration(kSuspiciousWords, "warn or withhold");
constexpr std::array kMcpFields = {
    Field{"unlisted", kUnlisted,
          "an MCP operation other than a tool call that has no contract: refuse (default), or record and let through"},
    Field{"unknown_content", kUnknownContent,
          "a content block of a type that Baton does not know: refuse the result (default), or drop the block"},
    Field{"wording_changes", kWordingChanges,
          "whether a tool may be called when only texts of its locked definition changed (default: refuse)"},
    Field{"suspicious_text", kSuspiciousText,
          "what the proxy does with a tool whose texts look like instructions to a model (default: warn)"}};
constexpr Shape kMcp = object(kMcpFields);

constexpr Shape kClaims = enumeration(kClaimsWords, "off, warn or require");
constexpr Shape kOwed = enumeration(kOwedWords, "agent-contract, agent-exit, any or none");
constexpr Shape kOwedOfSubagents = enumeration(kOwedBySubagents, "agent-contract or none");
constexpr std::array kHandoffOwedFields = {
    Field{"dialect", kOwed,
          "what the last words of the agent must hold; any (default): whatever hands over the work it has"},
    Field{"subagents", kOwedOfSubagents, "what the last words of each of its subagents must hold (default: none)"}};
constexpr Shape kHandoffOwed = object(kHandoffOwedFields);

constexpr Shape kSuppressionReason{.form = Form::Text,
                                   .expected = "a sentence that says why",
                                   .not_empty = true,
                                   .empty = Code::SUPPRESSION_REASON_REQUIRED};
constexpr std::array kSuppressFields = {
    Field{"check", kText, "the check that is not to be reported", true}, Field{"tool", kText, "only of this tool"},
    Field{"phase", kText, "only of this phase"},
    Field{"name", kText, "only of the aggregate, envelope, checkpoint or slot of this name"},
    Field{"reason", kSuppressionReason, "why it is meant to be so", true, Code::SUPPRESSION_REASON_REQUIRED}};
constexpr Shape kSuppress = object(kSuppressFields);
constexpr Shape kSuppressions = list_of(kSuppress, "a list of suppressions");
constexpr std::array kGraphFields = {Field{"suppress", kSuppressions, "findings that are meant to be so"}};
constexpr Shape kGraph = object(kGraphFields);

constexpr std::array kSessionFields = {
    Field{"schema_version", kVersion, "\"1.0\"", true},
    Field{"agent", kText, "the agent's name", true},
    Field{"phases", kPhases, "the phases of a session"},
    Field{"transitions", kPhaseTransitions, "from which phase to which it can go"},
    Field{"session_limits", kLimits, "how much a session may do"},
    Field{"risk_defaults", kRisk, "which side effects are allowed unless a tool's gate says otherwise"},
    Field{"policy", kSessionPolicy, "who may what, and what labels close"},
    Field{"provider_constraints", kProviders, "requests that a provider does not take"},
    Field{"resources", kResources, "what calls are about, for workflows"},
    Field{"aggregates", kAggregates, "bounds over all calls of a session"},
    Field{"envelopes", kEnvelopes, "values that must stay within what an earlier call set"},
    Field{"checkpoints", kSessionCheckpoints, "when a person must approve"},
    Field{"approvals", kApprovals, "who that person may be"},
    Field{"handoff", kHandoffOwed, "which handoff the agent owes when it ends"},
    Field{"claims", kClaims,
          "what of a handoff is not borne out by the calls that were seen: off (default), warn or require"},
    Field{"mcp", kMcp, "what the MCP proxy refuses, records and withholds"},
    Field{"schema_derived", kBoolean, "take bounds from the tools' JSON Schemas (default: true)"},
    Field{"graph_analysis", kGraph, "about the checks of the whole pack"}};

// --- workflow.yaml ------------------------------------------------------------------------------------------------------------

constexpr std::array kRoleFields = {
    Field{"name", kText, "its name", true},
    Field{"session_contract", kText, "the session.yaml of its pack, from this file", true, Code::ROLE_SESSION_MISSING}};
constexpr Shape kRole = object(kRoleFields);
constexpr Shape kRoleList = list_of(kRole, "a list of roles");
constexpr Shape kClosePolicy = enumeration(kClosePolicies, "a close policy", Code::PARENT_CLOSE_POLICY);
constexpr std::array kHandoffFields = {
    Field{"from", kText, "the role that hands over", true}, Field{"to", kText, "the role that takes over", true},
    Field{"requires_artifacts", kTexts, "what must be handed over with it"},
    Field{"parent_close_policy", kClosePolicy, "what becomes of the child when the parent ends"}};
constexpr Shape kHandoff = object(kHandoffFields);
constexpr Shape kHandoffs = list_of(kHandoff, "a list of handoffs");
constexpr Shape kWorkflowCount =
    at_least(Form::Integer, 1, "a whole number of at least 1", Code::WORKFLOW_LIMIT_INVALID);
constexpr Shape kWorkflowCost = above(Form::Number, 0, "a number above 0", Code::WORKFLOW_LIMIT_INVALID);
constexpr std::array kWorkflowLimitFields = {
    Field{"max_sessions", kWorkflowCount, "sessions that were ever begun"},
    Field{"max_active_sessions", kWorkflowCount, "sessions at the same time"},
    Field{"max_total_steps", kWorkflowCount, "steps of all sessions together"},
    Field{"max_total_cost", kWorkflowCost, "what all sessions together may cost"},
    Field{"max_open_handoffs", kWorkflowCount, "handoffs that have not ended"}};
constexpr Shape kWorkflowLimits = object(kWorkflowLimitFields);
constexpr Shape kSharedMode = enumeration(kSharedModes, "a mode", Code::SHARED_RESOURCE_MODE);
constexpr std::array kSharedFields = {
    Field{"alias", kText, "a resource that a role's session.yaml names", true},
    Field{"mode", kSharedMode, "single_writer, exclusive_pending or serial_only", true}};
constexpr Shape kShared = object(kSharedFields);
constexpr Shape kSharedResources = list_of(kShared, "a list of shared resources");
constexpr std::array kDefaultPolicyFields = {
    Field{"default", kClosePolicy, "request_cancel (default), terminate or abandon", true}};
constexpr Shape kDefaultPolicy = object(kDefaultPolicyFields);
constexpr Shape kWorkflowKillShape = enumeration(kWorkflowKill, "operator_only");
constexpr std::array kCancellationFields = {
    Field{"subtree_kill", kBoolean, "may a session be killed with all below it?"},
    Field{"workflow_kill", kWorkflowKillShape,
          "who may kill the workflow: operator_only; absent: any of its sessions too"},
    Field{"parent_close_policy", kDefaultPolicy, "the same as at the top"}};
constexpr Shape kCancellation = object(kCancellationFields);
constexpr std::array kWorkflowFields = {
    Field{"schema_version", kVersion, "\"1.0\"", true},
    Field{"workflow", kText, "the workflow's name", true},
    Field{"roles", kRoleList, "who takes part", true},
    Field{"handoffs", kHandoffs, "who hands over to whom"},
    Field{"workflow_limits", kWorkflowLimits, "how much all sessions together may do"},
    Field{"shared_resources", kSharedResources, "what two sessions must not change at the same time"},
    Field{"cancellation", kCancellation, "what can be ended, and by whom"},
    Field{"parent_close_policy", kDefaultPolicy, "what becomes of children when their parent ends"}};

}  // namespace

const Shape kToolShape = object(kToolFields);
const Shape kSessionShape = object(kSessionFields);
const Shape kWorkflowShape = object(kWorkflowFields);
const Shape kGoldenFileShape = object(kGoldenFileFields);

const Words kSideEffectNames = kSideEffects, kEvidenceNames = kEvidence, kCommitNames = kCommit, kGateNames = kGate,
            kMetricNames = kMetrics, kRoleNames = kRoles, kConstraintNames = kConstraints, kTypeNames = kTypes,
            kSharedModeNames = kSharedModes, kClosePolicyNames = kClosePolicies, kOperatorNames = kOperators,
            kClaimsNames = kClaimsWords, kOwedNames = kOwedWords, kUnlistedNames = kUnlistedWords,
            kUnknownContentNames = kUnknownContentWords;

bool is_tool_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == ':' ||
           c == '-';
  });
}

}  // namespace baton::contract
