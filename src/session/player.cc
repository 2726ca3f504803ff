// SPDX-License-Identifier: Apache-2.0
#include "session/player.h"

#include <algorithm>
#include <array>
#include <set>

#include "contract/scenario_shapes.h"
#include "json/parse.h"
#include "session/settle.h"

namespace baton::session {
namespace {

using contract::Field;
using contract::Form;
using contract::Judged;
using contract::Shape;
using contract::scenario_shapes::kAny;
using contract::scenario_shapes::kBoolean;
using contract::scenario_shapes::kObject;
using contract::scenario_shapes::kObjects;
using contract::scenario_shapes::kText;
using contract::scenario_shapes::kTexts;
using json::Value;

// --- what an entry may hold -----------------------------------------------------------------------------------------------------

constexpr Shape kVerdicts{.form = Form::Map, .expected = "an object of verdicts", .element = &kText};

#define BATON_RESULT_FIELDS                                                                                      \
  Field{"result", kText, "ok, error, timeout or unknown"}, Field{"output", kAny, "what the tool gave"},             \
      Field{"ack", kBoolean, "was it acknowledged"}, Field{"error", kAny, "what went wrong"},                       \
      Field{"attempts", kObjects, "what each attempt would give"}
#define BATON_CALL_FIELDS                                                                                         \
  Field{"call", kText, "a tool"}, Field{"args", kAny, "its arguments"},                                             \
      Field{"args_text", kText, "its arguments as JSON text"}, Field{"as", kText, "a name for later entries"},      \
      Field{"expect", kText, "the verdict"}, Field{"failures", kTexts, "the codes of all failures"},                \
      Field{"detail", kText, "of the first failure"},                                                              \
      Field{"in_flight", kBoolean, "is it a call in flight that forbids it"}, Field{"settles", kText, "what becomes of the call"},          \
      Field{"request_approval", kObject, "what a person is asked"}, Field{"attempts_used", kAny, "attempts made"},  \
      Field{"slept", kAny, "seconds between them"}, Field{"diagnostics", kTexts, "codes that are reported"},        \
      Field{"why", kAny, "said when it differs"}

constexpr std::array kMemberFields = {BATON_CALL_FIELDS, BATON_RESULT_FIELDS};
constexpr Shape kMember{.form = Form::Object, .expected = "a call", .fields = kMemberFields};
constexpr Shape kMembers{.form = Form::List, .expected = "a list of calls", .element = &kMember};

constexpr std::array kEntryFields = {BATON_CALL_FIELDS,
                                     BATON_RESULT_FIELDS,
                                     Field{"step", kMembers, "several calls of one response"},
                                     Field{"text", kBoolean, "a response without calls"},
                                     Field{"preflight", kObject, "the check before the model is asked"},
                                     Field{"approve", kAny, "a call that waits, or true"},
                                     Field{"deny", kAny, "a call that waits, or true"},
                                     Field{"timeout", kAny, "a call that waits, or true"},
                                     Field{"begin", kText, "a call"},
                                     Field{"receipt", kText, "a call"},
                                     Field{"label", kText, "a label"},
                                     Field{"cost", kAny, "a number"},
                                     Field{"kill", kText, "session"},
                                     Field{"close", kAny, "true"},
                                     Field{"check", kBoolean, "nothing happens"},
                                     Field{"request", kObject, "what the model was asked"},
                                     Field{"response", kObject, "what it said"},
                                     Field{"estimate", kAny, "expected cost"},
                                     Field{"outcome", kText, "what the host does with the response"},
                                     Field{"phase", kText, "the phase"},
                                     Field{"killed", kBoolean, "was the session ended"},
                                     Field{"paused", kBoolean, "does it wait for a person"},
                                     Field{"bindings", kObject, "slots"},
                                     Field{"forbidden", kTexts, "all tools that are"},
                                     Field{"session_labels", kTexts, "all of them"},
                                     Field{"tools_visible", kTexts, "all tools that narrowing keeps"},
                                     Field{"counters", kObject, "numbers of the session"},
                                     Field{"decisions", kVerdicts, "verdicts of named calls"}};

constexpr std::array<std::string_view, 13> kActions = {"call", "step",    "text",  "preflight", "approve",
                                                       "deny", "timeout", "begin", "receipt",   "label",
                                                       "cost", "kill",    "close"};

// --- small things -----------------------------------------------------------------------------------------------------------------

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

std::string text_of(const Value& value, std::string_view member) {
  const Value* found = value.find(member);
  return found != nullptr && found->is_string() ? found->string() : std::string();
}

std::set<std::string> set_of(json::Node list) {
  std::set<std::string> out;
  for (const json::Node one : list.elements()) out.insert(text_of(one));
  return out;
}

std::set<std::string> codes_of(const Value* list) {
  std::set<std::string> out;
  if (list != nullptr && list->is_array())
    for (const Value& one : list->elements()) out.insert(one.is_string() ? one.string() : text_of(one, "code"));
  return out;
}

std::string listed(const std::set<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out.append(out.empty() ? "" : ", ").append(name);
  return "[" + out + "]";
}

// What is known of a call that an entry named or made.
struct Known {
  std::string id, tool;
  std::string verdict;  // `allow`, `block:reason`, `checkpoint`
  std::string state;    // pending, committed, ...; with `:reason` of a failure
};

// --- the run ----------------------------------------------------------------------------------------------------------------------

}  // namespace

class Player::Inside {
 public:
  Inside(const Plan& plan, Door& door, bool lets_through) : plan_(plan), door_(door), lets_through_(lets_through) {}

  Judged play(json::Node entry, std::size_t number) {
    judged_ = {number, place_of(entry),
               true,   {},
               {},     entry["why"] && !entry["why"].is_string() ? json::write(entry["why"]) : text_of(entry["why"])};
    diagnostics_.clear();
    killed_ = false;
    offered_.reset();
    act(entry);
    if (entry["diagnostics"]) {
      const std::set<std::string> wanted = set_of(entry["diagnostics"]);
      if (!std::ranges::includes(diagnostics_, wanted)) differ("diagnostics " + listed(wanted), listed(diagnostics_));
    }
    expect_state(entry);
    return std::move(judged_);
  }

  // What happened to other sessions may have ended calls of this one.
  void look_again() {
    const Value view = door_.view();
    const Value* open = view.find("open_calls");
    for (Known& call : calls_) {
      if (call.state != "pending") continue;
      const auto at =
          std::ranges::find_if(open->elements(), [&](const Value& one) { return text_of(one, "call_id") == call.id; });
      if (at == open->elements().end()) call.state = "cancelled";
      else if (text_of(*at, "state") == "unknown") call.state = "unknown";
    }
    std::erase_if(waiting_, [&](const std::string& id) {
      const auto index = find(id);
      return index && calls_[*index].state == "cancelled";
    });
  }

 private:
  void differ(const std::string& expected, const std::string& got) {
    judged_.passed = false;
    judged_.expected.append(judged_.expected.empty() ? "" : "; ").append(expected);
    judged_.got.append(judged_.got.empty() ? "" : "; ").append(got);
  }
  void expect(std::string_view what, json::Node wanted, const std::string& got) {
    if (!wanted) return;
    const std::string text = wanted.is_string() ? std::string(wanted.string()) : json::write(wanted);
    if (text != got) differ(std::string(what) + " " + text, got.empty() ? "none" : got);
  }

  void act(json::Node entry) {
    if (entry["call"]) return step(entry, {entry});
    if (entry["step"]) {
      std::vector<json::Node> members;
      for (const json::Node member : entry["step"].elements()) members.push_back(member);
      return step(entry, members);
    }
    if (entry["text"]) return step(entry, {});
    if (entry["preflight"]) return preflight(entry);
    if (entry["approve"]) return rule(entry, entry["approve"], Ruling::Approved);
    if (entry["deny"]) return rule(entry, entry["deny"], Ruling::Denied);
    if (entry["timeout"]) return rule(entry, entry["timeout"], Ruling::TimedOut);
    if (entry["begin"]) return begin(entry);
    if (entry["receipt"]) return receipt(entry);
    Value answer = Value::object();
    if (entry["label"]) answer = door_.add_label(text_of(entry["label"]));
    else if (entry["cost"]) answer = door_.report_cost(Value::copy(entry["cost"]));
    else if (entry["kill"]) answer = door_.kill();
    else if (entry["close"]) answer = door_.close();
    else return;
    note(answer);
    const std::string refused = text_of(answer, "refused");
    expect("expect", entry["expect"], refused.empty() ? "ok" : "reject:" + refused);
  }

  // A question that expects nothing expects that it is not refused.
  void expect_refusal(json::Node entry, const std::string& refused) {
    if (entry["expect"]) expect("expect", entry["expect"], "reject:" + refused);
    else differ("ok", "reject:" + refused);
  }

  // What every answer may say beside its own.
  void note(const Value& answer) {
    diagnostics_.merge(codes_of(answer.find("diagnostics")));
    if (const Value* killed = answer.find("session_killed"); killed != nullptr && killed->boolean()) killed_ = true;
    for (const std::string& id : codes_of(answer.find("cancelled")))
      for (Known& call : calls_)
        if (call.id == id) call.state = "cancelled";
    if (killed_ || answer.find("cancelled") != nullptr) unsettle();
  }

  // A session that was ended leaves what was under way unknown.
  void unsettle() {
    const Value view = door_.view();
    const Value* open = view.find("open_calls");
    if (open == nullptr) return;
    for (const Value& one : open->elements())
      for (Known& call : calls_)
        if (call.id == text_of(one, "call_id") && text_of(one, "state") == "unknown") call.state = "unknown";
  }

  static std::string verdict_in(const Value& answer) {
    const std::string verdict = text_of(answer, "verdict");
    return verdict == "block" ? "block:" + text_of(answer, "reason") : verdict;
  }

  void step(json::Node entry, const std::vector<json::Node>& members) {
    Value asked = Value::object();
    Value calls = Value::array();
    const std::size_t first = calls_.size();
    for (const json::Node member : members) {
      Known known;
      known.id = member["as"] ? text_of(member["as"]) : "#" + std::to_string(calls_.size() + 1);
      known.tool = text_of(member["call"]);
      Value call = Value::object();
      call.set("call_id", known.id);
      call.set("tool", known.tool);
      if (member["args_text"]) call.set("arguments_text", text_of(member["args_text"]));
      else call.set("arguments", member["args"] ? Value::copy(member["args"]) : Value::object());
      calls.push(std::move(call));
      calls_.push_back(std::move(known));
    }
    if (entry["request"]) asked.set("request", Value::copy(entry["request"]));
    if (entry["response"]) asked.set("response", response(entry["response"], calls));
    asked.set("calls", std::move(calls));
    if (entry["estimate"]) asked.set("estimate", Value::copy(entry["estimate"]));
    const Value answer = door_.propose(asked);
    if (const std::string refused = text_of(answer, "refused"); !refused.empty()) {
      calls_.resize(first);
      return expect_refusal(entry, refused);
    }
    const Value* verdicts = answer.find("calls");
    if (verdicts == nullptr || verdicts->elements().size() != members.size())
      return differ("a verdict for each call", json::write(answer));
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Value& one = verdicts->elements()[i];
      Known& known = calls_[first + i];
      known.id = text_of(one, "call_id");
      known.verdict = verdict_in(one);
      const bool ahead = known.verdict == "allow" || lets_through_;
      if (ahead) known.state = commits_at_once(known.tool) ? "committed" : "pending";
      else known.state = known.verdict == "checkpoint" ? "pending" : "blocked";
      if (known.verdict == "checkpoint" && !lets_through_ && one.find("request_approval") != nullptr &&
          std::ranges::find(waiting_, known.id) == waiting_.end())
        waiting_.push_back(known.id);
      diagnostics_.merge(codes_of(one.find("diagnostics")));
    }
    note(answer);
    expect("outcome", entry["outcome"], text_of(answer, "outcome"));
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Value& one = verdicts->elements()[i];
      const json::Node member = members[i];
      expect_verdict(member, one, calls_[first + i].verdict);
      const bool ahead = calls_[first + i].verdict == "allow" || lets_through_;
      if (ahead && (member["result"] || member["attempts"])) carry_out(member, first + i);
      if (members.size() > 1 && member["diagnostics"]) {
        const std::set<std::string> wanted = set_of(member["diagnostics"]);
        if (!std::ranges::includes(diagnostics_, wanted)) differ("diagnostics " + listed(wanted), listed(diagnostics_));
      }
    }
    // One call may end the session, and others with it.
    for (std::size_t i = 0; i < members.size(); ++i)
      expect("settles", members[i]["settles"], settled_as(members[i]["settles"], calls_[first + i]));
  }

  // `tool_calls` is filled in from the calls when it is absent.
  static Value response(json::Node given, const Value& calls) {
    Value out = Value::copy(given);
    if (out.find("tool_calls") != nullptr) return out;
    Value list = Value::array();
    for (const Value& call : calls.elements()) {
      Value one = Value::object();
      one.set("name", *call.find("tool"));
      if (const Value* arguments = call.find("arguments")) one.set("arguments", *arguments);
      else one.set("arguments", *call.find("arguments_text"));
      list.push(std::move(one));
    }
    out.set("tool_calls", std::move(list));
    return out;
  }

  bool commits_at_once(const std::string& tool) const {
    const auto id = plan_.find_tool(tool);
    return id && plan_.tools[*id].commit == contract::Commit::None;
  }

  void expect_verdict(json::Node entry, const Value& answer, const std::string& verdict) {
    expect("expect", entry["expect"], verdict);
    if (entry["failures"]) {
      const std::set<std::string> wanted = set_of(entry["failures"]), got = codes_of(answer.find("failures"));
      if (wanted != got) differ("failures " + listed(wanted), listed(got));
    }
    if (entry["detail"]) {
      const Value* failures = answer.find("failures");
      expect(
          "detail", entry["detail"],
          failures == nullptr || failures->elements().empty() ? "" : text_of(failures->elements().front(), "detail"));
    }
    if (entry["in_flight"]) {
      const Value* failures = answer.find("failures");
      const Value* got = failures == nullptr || failures->elements().empty()
                             ? nullptr
                             : failures->elements().front().find("in_flight");
      expect("in_flight", entry["in_flight"], got != nullptr && got->boolean() ? "true" : "false");
    }
    if (entry["request_approval"]) {
      const Value* got = answer.find("request_approval");
      for (const json::Member one : entry["request_approval"].members()) {
        const Value* found = got == nullptr ? nullptr : got->find(one.name());
        if (found == nullptr || !json::equal(*found, Value::copy(one.value)))
          differ("request_approval." + std::string(one.name()) + " " + json::write(one.value),
                 found == nullptr ? "none" : json::write(*found));
      }
    }
  }

  // `failed` means any failure; `pending` also what awaits or executes.
  static std::string settled_as(json::Node wanted, const Known& call) {
    const std::string want = text_of(wanted);
    if (want == "failed" && call.state.starts_with("failed")) return want;
    return call.state;
  }

  // For others of its workflow: the call stays pending.
  static bool waits(const Value& answer) { return text_of(answer, "reason") == "resource_busy"; }

  void carry_out(json::Node entry, std::size_t index) {
    if (calls_[index].state == "cancelled") return;
    const Value started = door_.start(calls_[index].id, nullptr);
    note(started);
    if (!text_of(started, "refused").empty()) return;
    if (text_of(started, "verdict") == "block" && !lets_through_) {
      if (!waits(started)) calls_[index].state = "cancelled";
      return;
    }
    settle(entry, index);
  }

  static void copy(Value& out, json::Node entry, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
      if (entry[name]) out.set(name, Value::copy(entry[name]));
  }

  // Makes as many attempts as the contract lets, and settles the call with what is left.
  Value settle(json::Node entry, std::size_t index) {
    Value receipt = Value::object();
    if (entry["attempts"]) receipt = attempt(entry, calls_[index].tool);
    else copy(receipt, entry, {"result", "output", "ack", "error"});
    const Value answer = door_.settle(calls_[index].id, receipt);
    note(answer);
    if (text_of(answer, "refused").empty()) {
      Known& call = calls_[index];
      call.state = text_of(answer, "state");
      if (const std::string reason = text_of(answer, "reason"); !reason.empty()) call.state += ":" + reason;
    }
    return answer;
  }

  Value attempt(json::Node entry, const std::string& tool_name) {
    const auto id = plan_.find_tool(tool_name);
    json::Decimal elapsed;
    std::int64_t made = 0;
    std::vector<json::Decimal> slept;
    Value receipt = Value::object();
    for (const json::Node one : entry["attempts"].elements()) {
      ++made;
      receipt = Value::object();
      copy(receipt, one, {"result", "output", "ack", "error"});
      if (one["ms"].is_number()) elapsed = elapsed + json::Decimal::from_number(one["ms"].number_text());
      const auto document = json::parse_owned(json::write(receipt));
      const ReadReceipt read = read_receipt(document->root());
      Attempt attempt{read.receipt.kind, read.receipt.error, {}};
      if (one["retry_after"].is_number())
        attempt.retry_after = json::Decimal::from_number(one["retry_after"].number_text());
      const Retry again = id ? retry(plan_.tools[*id], attempt, made, elapsed) : Retry{};
      if (again.timed_out) {
        receipt = Value::object();
        receipt.set("result", "timeout");
      }
      if (again.rate_limited) diagnostics_.insert("rate_limited");
      if (!again.sleep || !may_go_on(tool_name)) break;
      if (*again.sleep != json::Decimal() || read.receipt.error.error_class == "rate_limited") {
        slept.push_back(*again.sleep);
        elapsed = elapsed + *again.sleep * json::Decimal(1000);
      }
    }
    if (entry["attempts_used"]) expect("attempts_used", entry["attempts_used"], std::to_string(made));
    if (entry["slept"]) {
      Value list = Value::array();
      for (const json::Decimal& one : slept) list.push(Value::number(one.text()));
      if (!json::equal(list, Value::copy(entry["slept"])))
        differ("slept " + json::write(entry["slept"]), json::write(list));
    }
    return receipt;
  }

  // Before each retry: is the session still open, is nobody waited for, is the tool not forbidden by now?
  bool may_go_on(const std::string& tool) {
    if (lets_through_) return true;
    const Value view = door_.view();
    if (text_of(view, "standing") != "open" || view.find("paused")->boolean()) return false;
    return std::ranges::none_of(view.find("forbidden")->elements(), [&](const Value& one) {
      // What counted as done when it was allowed does not forbid itself.
      return text_of(one, "tool") == tool && !(text_of(one, "by") == tool && commits_at_once(tool));
    });
  }

  void preflight(json::Node entry) {
    const Value answer = door_.preflight(Value::copy(entry["preflight"]));
    if (const std::string refused = text_of(answer, "refused"); !refused.empty()) return expect_refusal(entry, refused);
    note(answer);
    expect_verdict(entry, answer, verdict_in(answer));
    std::set<std::string> kept = codes_of(answer.find("tools"));
    offered_ = std::move(kept);
  }

  std::optional<std::size_t> find(const std::string& id) {
    for (std::size_t i = calls_.size(); i > 0; --i)
      if (calls_[i - 1].id == id) return i - 1;
    return std::nullopt;
  }

  void rule(json::Node entry, json::Node which, Ruling ruling) {
    std::string id = text_of(which);
    if (id.empty()) {
      if (waiting_.empty()) return expect("expect", entry["expect"], "reject:checkpoint_closed");
      id = waiting_.front();
    }
    // Time does what the request says it does.
    const Value answer = door_.rule(id, ruling);
    note(answer);
    if (const std::string refused = text_of(answer, "refused"); !refused.empty())
      return expect("expect", entry["expect"], "reject:" + refused);
    const Value* verdicts = answer.find("calls");
    const Value* own = nullptr;
    std::optional<std::size_t> decided;
    for (const Value& one : verdicts->elements()) {
      const std::string call_id = text_of(one, "call_id");
      const auto index = find(call_id);
      if (call_id == id) {
        own = &one;
        decided = index;
      }
      if (!index) continue;
      Known& call = calls_[*index];
      call.verdict = verdict_in(one);
      if (call.verdict == "checkpoint") continue;
      call.state = call.verdict == "allow" ? (commits_at_once(call.tool) ? "committed" : "pending") : "blocked";
      std::erase(waiting_, call_id);
    }
    std::erase(waiting_, id);
    if (own == nullptr || !decided) return differ("a verdict of the call", json::write(answer));
    expect_verdict(entry, *own, calls_[*decided].verdict);
    if (calls_[*decided].verdict == "allow" && (entry["result"] || entry["attempts"])) carry_out(entry, *decided);
    expect("settles", entry["settles"], settled_as(entry["settles"], calls_[*decided]));
  }

  void begin(json::Node entry) {
    const std::string id = text_of(entry["begin"]);
    std::optional<Value> arguments;
    if (entry["args"]) arguments = Value::copy(entry["args"]);
    const Value answer = door_.start(id, arguments ? &*arguments : nullptr);
    note(answer);
    const auto index = find(id);
    if (const std::string refused = text_of(answer, "refused"); !refused.empty()) {
      expect("expect", entry["expect"], "reject:" + refused);
    } else {
      expect_verdict(entry, answer, verdict_in(answer));
      if (index && text_of(answer, "verdict") == "block" && !waits(answer) && !lets_through_)
        calls_[*index].state = "cancelled";
    }
    if (index) expect("settles", entry["settles"], settled_as(entry["settles"], calls_[*index]));
  }

  void receipt(json::Node entry) {
    const std::string id = text_of(entry["receipt"]);
    const auto index = find(id);
    if (!index) return expect("expect", entry["expect"], "reject:call_not_open");
    const Value answer = settle(entry, *index);
    const std::string refused = text_of(answer, "refused");
    expect("expect", entry["expect"], refused.empty() ? "ok" : "reject:" + refused);
    if (!entry["expect"] && !refused.empty()) differ("ok", "reject:" + refused);
    expect("settles", entry["settles"], settled_as(entry["settles"], calls_[*index]));
  }

  void expect_state(json::Node entry) {
    constexpr std::array<std::string_view, 8> kState = {"phase",     "killed",         "paused",        "bindings",
                                                        "forbidden", "session_labels", "tools_visible", "counters"};
    if (std::ranges::any_of(kState, [&](std::string_view name) { return bool(entry[name]); })) {
      const Value view = door_.view();
      expect("phase", entry["phase"], text_of(view, "phase"));
      if (entry["killed"]) expect("killed", entry["killed"], text_of(view, "standing") == "killed" ? "true" : "false");
      if (entry["paused"]) expect("paused", entry["paused"], view.find("paused")->boolean() ? "true" : "false");
      if (entry["bindings"]) expect_each("bindings", entry["bindings"], *view.find("bindings"));
      if (entry["forbidden"]) {
        std::set<std::string> got;
        for (const Value& one : view.find("forbidden")->elements()) got.insert(text_of(one, "tool"));
        expect_set("forbidden", entry["forbidden"], got);
      }
      if (entry["session_labels"]) expect_set("session_labels", entry["session_labels"], codes_of(view.find("labels")));
      if (entry["tools_visible"])
        expect_set("tools_visible", entry["tools_visible"], offered_ ? *offered_ : codes_of(view.find("tools")));
      if (entry["counters"]) expect_each("counters", entry["counters"], *view.find("counters"));
    }
    for (const json::Member one : entry["decisions"].members()) {
      const auto index = find(std::string(one.name()));
      expect("decision of " + std::string(one.name()), one.value, index ? calls_[*index].verdict : "none");
    }
  }

  void expect_set(std::string_view what, json::Node wanted, const std::set<std::string>& got) {
    if (const std::set<std::string> names = set_of(wanted); names != got)
      differ(std::string(what) + " " + listed(names), listed(got));
  }

  void expect_each(std::string_view what, json::Node wanted, const Value& got) {
    for (const json::Member one : wanted.members()) {
      const Value* found = got.find(one.name());
      if (found == nullptr || !json::equal(*found, Value::copy(one.value)))
        differ(std::string(what) + "." + std::string(one.name()) + " " + json::write(one.value),
               found == nullptr ? "none" : json::write(*found));
    }
  }

 private:
  const Plan& plan_;
  Door& door_;
  const bool lets_through_;
  Judged judged_;
  std::vector<Known> calls_;
  std::vector<std::string> waiting_;  // calls that somebody is asked about, the oldest first
  std::set<std::string> diagnostics_;
  bool killed_ = false;
  std::optional<std::set<std::string>> offered_;  // what the preflight of this entry kept
};

Player::Player(const Plan& plan, Door& door, bool lets_through)
    : inside_(std::make_unique<Inside>(plan, door, lets_through)) {}
Player::~Player() = default;

Judged Player::play(json::Node entry, std::size_t number) { return inside_->play(entry, number); }
void Player::look_again() { inside_->look_again(); }

std::span<const Field> entry_fields() { return kEntryFields; }

void check_entries(contract::Findings& findings, json::Node entries, std::span<const Field> fields,
                   std::span<const std::string_view> more_actions) {
  const Shape shape{.form = Form::Object, .expected = "an entry", .fields = fields};
  for (const json::Node entry : entries.elements()) {
    contract::check_shape(findings, entry, shape, "entry");
    std::size_t actions = entry["check"] ? 1 : 0;
    for (const std::string_view action : kActions) actions += entry[action] ? 1u : 0u;
    for (const std::string_view action : more_actions) actions += entry[action] ? 1u : 0u;
    if (entry.is_object() && actions != 1)
      findings.add(Code::SCENARIO_FILE, entry,
                   {{"problem", "has an entry with " + std::to_string(actions) + " actions"}});
  }
}

}  // namespace baton::session
