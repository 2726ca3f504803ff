// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/limits.h"
#include "base/text.h"
#include "claims/claims.h"
#include "claims/commands.h"
#include "hooks/facts.h"
#include "shell/effects.h"

namespace baton::claims {
namespace {

using json::Node;
using json::Value;
using State = SeenCall::State;

constexpr std::size_t kClaimCharacters = 200, kSeenCharacters = 120;

std::string quoted(std::string_view text, std::size_t characters = kSeenCharacters) {
  return "`" + printable(text, characters) + "`";
}

std::string text_in(const Value& object, std::string_view name) {
  const Value* found = object.is_object() ? object.find(name) : nullptr;
  return found != nullptr && found->is_string() ? found->string() : std::string();
}

std::vector<std::string> texts_in(const Value& object, std::string_view name) {
  std::vector<std::string> out;
  const Value* found = object.is_object() ? object.find(name) : nullptr;
  if (found == nullptr) return out;
  if (found->is_string()) out.push_back(found->string());
  if (found->is_array())
    for (const Value& one : found->elements())
      if (one.is_string()) out.push_back(one.string());
  return out;
}

// The first of these members that is a text.
std::string first_text(Node object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (object[name].is_string()) return std::string(object[name].string());
  return {};
}

std::string_view bare_name(std::string_view tool) {
  const std::size_t at = tool.find_last_of("/:");
  return at == std::string_view::npos ? tool : tool.substr(at + 1);
}

// A shell of a client is `Bash`; a server's tool is taken for one that has a command and a name that says so.
bool is_shell(const SeenCall& call) {
  if (call.tool == "Bash") return true;
  const std::string name = to_lower_ascii(bare_name(call.tool));
  for (const std::string_view word : {"bash", "shell", "exec", "terminal", "run_command", "run_script"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

std::string how_ended(const SeenCall& call) {
  if (call.exit_code) return "ended with exit code " + std::to_string(*call.exit_code);
  return call.state == State::Failed ? "failed" : "ended";
}

// A call with what is asked of it more than once.
struct Looked {
  const SeenCall* call;
  std::optional<Line> line;         // of a shell
  std::vector<std::string> paths;   // that it looks at, or of a file tool also writes
  std::vector<std::string> writes;  // outside of folders for what passes
  std::optional<bool> ended_well;   // nothing: nobody knows
  bool says_where = false;          // the folder it ran in is known

  bool is_over() const { return call->state == State::Ended || call->state == State::Failed; }
  bool may_have_run() const { return is_over() || call->state == State::Open || call->state == State::Unknown; }
};

bool is_passing(std::string_view path) {
  for (const std::string_view folder : {"/tmp", "/var/tmp", "/dev", "/proc"})
    if (shell::is_within(path, folder)) return true;
  return false;
}

class Judge {
 public:
  Judge(Node block, const Seen& seen) : evidence_(block["evidence_report"]) {
    report_.calls = seen.calls.size();
    report_.calls_cut = seen.cut;
    for (const SeenCall& call : seen.calls) look_at(call);
  }

  Report run() {
    each("commands_run", [&](Node entry, Claim& claim) { return command(entry, claim); });
    each("files_checked", [&](Node entry, Claim& claim) { return file(entry, claim); });
    verification();
    if (report_.is_unseen())
      for (Claim& claim : report_.claims) claim.why = "no call of this session was seen";
    return std::move(report_);
  }

 private:
  void look_at(const SeenCall& call) {
    // What Baton derived, where it did; an entry from before facts had a member of their own has them among the arguments.
    const Value* derived = call.arguments.is_object() ? call.arguments.find(hooks::kFacts) : nullptr;
    const Value& facts = derived != nullptr && derived->is_object() ? *derived : call.arguments;
    Looked out{&call, std::nullopt, texts_in(facts, "paths"), {}, std::nullopt};
    if (const std::string line = text_in(facts, "command"); derived == &facts && !line.empty()) out.line.emplace(line);
    else if (is_shell(call))
      for (const std::string_view name : {"command", "cmd", "script"})
        if (const std::string text = text_in(call.arguments, name); !text.empty() && !out.line) out.line.emplace(text);
    out.says_where = out.line && !text_in(facts, "cwd").empty();
    if (out.line) out.paths = out.line->read_paths(text_in(facts, "cwd"));
    else
      for (const std::string_view name : {"path", "file", "file_path", "filePath", "filename", "absolute_path",
                                          "notebook_path", "uri", "files", "relative_path"})
        for (std::string& text : texts_in(call.arguments, name)) {
          if (text.starts_with("file://")) text.erase(0, 7);
          out.paths.push_back(std::move(text));
        }
    for (std::string& path : texts_in(facts, "writes"))
      if (!is_passing(path)) out.writes.push_back(std::move(path));
    // A server's tool that writes is known by its name alone.
    if (const std::string name = to_lower_ascii(bare_name(call.tool)); facts.find("writes") == nullptr)
      for (const std::string_view word : {"write", "edit", "create", "patch", "replace", "delete", "move"})
        if (name.find(word) != std::string::npos && !out.paths.empty()) out.writes = out.paths;
    if (call.exit_code) out.ended_well = *call.exit_code == 0;
    else if (call.state == State::Failed) out.ended_well = false;
    if (const std::string cwd = text_in(facts, "cwd"); cwd.starts_with('/'))
      if (std::ranges::find(folders_, cwd) == folders_.end()) folders_.push_back(cwd);
    looked_.push_back(std::move(out));
  }

  // --- lists

  template <class Each>
  void each(std::string_view list, const Each& judge) {
    std::size_t at = 0;
    for (const Node entry : evidence_[list].elements()) {
      Claim claim;
      claim.pointer = "/evidence_report/" + std::string(list) + "/" + std::to_string(at++);
      if (report_.claims.size() >= limits::kClaimsMax) {
        ++report_.left_out;
        continue;
      }
      if (judge(entry, claim)) keep(std::move(claim));
    }
  }

  void keep(Claim claim) {
    claim.claim = printable(claim.claim, kClaimCharacters);
    report_.claims.push_back(std::move(claim));
  }

  // --- commands

  // False: nothing is claimed.
  bool command(Node entry, Claim& claim) {
    std::string text, result;
    if (entry.is_string()) text = entry.string();
    else if (entry.is_object()) {
      text = first_text(entry, {"command", "cmd"});
      result = first_text(entry, {"result", "output", "status", "outcome"});
      for (const std::string_view name : {"exit_code", "exitCode"})
        if (entry[name].is_number()) result += " exit " + std::string(entry[name].number_text());
    }
    claim.claim = result.empty() ? text : text + " -> " + result;
    if (text.empty()) {
      claim.claim = "(no text)";
      claim.why = "it names no command";
      return true;
    }
    Named named = named_in(text);
    if (named.is_none) return false;
    if (const Says says = outcome_in(result); says != Says::Nothing) named.says = says;
    judge_command(named, claim, false);
    return true;
  }

  // Of the readings of a text the one that comes out best for whoever wrote it: the text was meant one way.
  void judge_command(const Named& named, Claim& claim, bool is_check) {
    std::optional<Claim> best;
    for (const std::vector<std::string>& commands : named.readings) {
      Claim reading = claim;
      reading.verdict = Verdict::Proven;
      for (const std::string& one : commands) {
        Claim part = claim;
        judge_one(one, named.says, part, is_check);
        // All of them are claimed: the worst counts.
        if (part.verdict == Verdict::Proven && reading.verdict != Verdict::Proven) continue;
        if (part.verdict == Verdict::Unproven && reading.verdict == Verdict::Contradicted) continue;
        reading = std::move(part);
      }
      if (!best || rank(reading) >= rank(*best)) best = std::move(reading);
    }
    if (best) claim = std::move(*best);
  }

  // What was found at all says more than that nothing was.
  static int rank(const Claim& claim) {
    if (claim.verdict == Verdict::Proven) return 3;
    if (claim.verdict == Verdict::Contradicted) return 2;
    return claim.call_id.empty() ? 0 : 1;
  }

  struct Run {
    const Looked* looked = nullptr;
    Line::Shows shows = Line::Shows::Not;
    std::string hidden = {};
    std::size_t at = 0;  // among the calls
  };

  // A tool by its name, or a command of a shell.
  std::vector<Run> runs_of(const std::string& text, const shell::Parsed& wanted) const {
    std::vector<Run> out;
    for (std::size_t at = 0; at < looked_.size(); ++at) {
      const Looked& one = looked_[at];
      if (!one.line) {
        if (text == one.call->tool || text == bare_name(one.call->tool))
          out.push_back({&one, Line::Shows::Ended, {}, at});
        continue;
      }
      const auto found = one.line->find(wanted, one.ended_well);
      if (found) out.push_back({&one, found->shows, found->why, at});
    }
    return out;
  }

  void judge_one(const std::string& text, Says says, Claim& claim, bool is_check) {
    const shell::Parsed wanted = shell::parse(text);
    const std::vector<Run> runs = runs_of(text, wanted);
    if (is_check || says == Says::Passed)
      if (const std::string why = asks_only(wanted); !why.empty()) return set(claim, Verdict::Unproven, nullptr, why);
    if (is_check)
      if (const std::string why = checks_nothing(wanted); !why.empty())
        return set(claim, Verdict::Unproven, nullptr, why);
    if (runs.empty()) return not_seen(wanted, claim);
    if (says == Says::Nothing) return judge_ran(runs, claim);
    judge_ended(runs, says, claim, is_check);
  }

  static void set(Claim& claim, Verdict verdict, const SeenCall* call, std::string why) {
    claim.verdict = verdict;
    claim.call_id = call == nullptr ? std::string() : call->id;
    claim.why = std::move(why);
  }

  void not_seen(const shell::Parsed& wanted, Claim& claim) const {
    std::string why = "no call that was seen ran it";
    if (const std::string_view program = program_of(wanted); !program.empty())
      for (auto one = looked_.rbegin(); one != looked_.rend(); ++one)
        if (one->line && one->may_have_run())
          if (const auto run = one->line->run_of(program)) {
            why += "; what was seen is " + quoted(*run);
            break;
          }
    set(claim, Verdict::Unproven, nullptr, why + cut());
  }

  std::string cut() const {
    return report_.calls_cut ? " (only the newest " + std::to_string(report_.calls) + " calls were looked at)" : "";
  }

  static std::string refusal(const SeenCall& call) {
    return "it was refused" + (call.refused_by.empty() ? "" : " (" + call.refused_by + ")");
  }

  // That it was run, however it ended.
  static void judge_ran(const std::vector<Run>& runs, Claim& claim) {
    for (auto run = runs.rbegin(); run != runs.rend(); ++run)
      if (run->looked->is_over() && run->shows != Line::Shows::Not)
        return set(
            claim, Verdict::Proven, run->looked->call,
            run->shows == Line::Shows::Ended ? "it " + how_ended(*run->looked->call) : "it was run; " + run->hidden);
    judge_not_run(runs, claim);
  }

  static void judge_not_run(const std::vector<Run>& runs, Claim& claim) {
    const Run& last = runs.back();
    const SeenCall& call = *last.looked->call;
    if (std::ranges::all_of(runs, [](const Run& run) { return run.looked->call->state == State::Refused; }))
      return set(claim, Verdict::Contradicted, &call, refusal(call));
    for (auto run = runs.rbegin(); run != runs.rend(); ++run)
      if (run->looked->is_over()) return set(claim, Verdict::Unproven, run->looked->call, run->hidden);
    set(claim, Verdict::Unproven, &call,
        call.state == State::Open      ? "it has not ended yet"
        : call.state == State::Unknown ? "what became of it is not known"
                                       : "it was not begun");
  }

  // How it ended: the last run of which that is known decides.
  void judge_ended(const std::vector<Run>& runs, Says says, Claim& claim, bool is_check) const {
    const bool wants_pass = says == Says::Passed;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      const Looked& looked = *run->looked;
      if (!looked.is_over() || run->shows != Line::Shows::Ended) continue;
      // A server's tool says by its answer whether it went well.
      const std::optional<bool> ended_well =
          looked.line ? looked.ended_well : std::optional(looked.call->state == State::Ended);
      if (!ended_well) continue;
      if (*ended_well != wants_pass)
        return set(claim, Verdict::Contradicted, looked.call, "its last run " + how_ended(*looked.call));
      if (is_check)
        if (const std::string changed = changed_since(run->at); !changed.empty())
          return set(claim, Verdict::Unproven, looked.call, "it is stale: " + changed + " was changed after it");
      return set(claim, Verdict::Proven, looked.call, "it " + how_ended(*looked.call));
    }
    // It was run, and nothing says how it ended.
    for (auto run = runs.rbegin(); run != runs.rend(); ++run)
      if (run->looked->is_over() && run->shows != Line::Shows::Not)
        return set(claim, Verdict::Unproven, run->looked->call,
                   run->shows == Line::Shows::Run ? run->hidden : "the client does not tell how it ended");
    judge_not_run(runs, claim);
  }

  // A file that was written by a call after this one.
  std::string changed_since(std::size_t at) const {
    for (std::size_t later = at + 1; later < looked_.size(); ++later) {
      const Looked& one = looked_[later];
      if (one.may_have_run() && one.call->state != State::Failed && !one.writes.empty())
        return quoted(one.writes.front());
    }
    return {};
  }

  // --- files

  // Ways to read it: as it is, without the place in it, without what is said of it.
  static std::vector<std::string> paths_named(std::string_view text) {
    std::vector<std::string> out;
    const auto add = [&](std::string_view path) {
      path = trim(path);
      while (path.starts_with("./")) path.remove_prefix(2);
      if (!path.empty() && std::ranges::find(out, path) == out.end()) out.emplace_back(path);
    };
    text = trim(text);
    if (const std::size_t begin = text.find('`'); begin != std::string_view::npos)
      if (const std::size_t end = text.find('`', begin + 1); end != std::string_view::npos)
        text = text.substr(begin + 1, end - begin - 1);
    add(text);
    for (const std::string_view mark : {" (", " - ", " -> ", " \xe2\x80\x94 ", " \xe2\x80\x93 ", ": ", ", "})
      if (const std::size_t at = text.find(mark); at != std::string_view::npos && at > 0) text = text.substr(0, at);
    add(text);
    if (const std::size_t hash = text.rfind("#L"); hash != std::string_view::npos) text = text.substr(0, hash);
    for (std::size_t colon = text.rfind(':'); colon != std::string_view::npos && colon > 0 && colon + 1 < text.size();
         colon = text.rfind(':')) {
      const std::string_view place = text.substr(colon + 1);
      if (!std::ranges::all_of(place, [](char c) { return is_digit(c) || c == '-' || c == 'L' || c == ','; })) break;
      text = text.substr(0, colon);
    }
    add(text);
    return out;
  }

  bool is_the_file(const Looked& one, std::string_view seen, const std::string& named) const {
    if (named.starts_with('/')) return seen == shell::normalised("/", named);
    for (const std::string& folder : folders_)
      if (seen == shell::normalised(folder, named)) return true;
    // A file tool does not say from where: then a path that ends so is it.
    return !one.says_where && (seen == named || seen.ends_with("/" + named));
  }

  bool looks_at(const Looked& one, std::string named) const {
    const bool is_folder = named.size() > 1 && named.ends_with('/');
    if (is_folder) named.pop_back();
    for (const std::string& seen : one.paths) {
      const bool is_it =
          is_the_file(one, seen, named) ||
          (is_folder && (seen.find("/" + named + "/") != std::string::npos || seen.starts_with(named + "/")));
      if (is_it) return true;
    }
    return false;
  }

  bool file(Node entry, Claim& claim) {
    std::string text =
        entry.is_string() ? std::string(entry.string()) : first_text(entry, {"path", "file", "file_path", "name"});
    claim.claim = text.empty() ? "(no text)" : text;
    if (text.empty()) {
      claim.why = "it names no file";
      return true;
    }
    if (named_in(text).is_none) return false;
    const SeenCall *failed = nullptr, *refused = nullptr, *open = nullptr;
    for (const std::string& named : paths_named(text))
      for (auto one = looked_.rbegin(); one != looked_.rend(); ++one) {
        if (!looks_at(*one, named)) continue;
        // grep that finds nothing has looked all the same.
        const bool has_looked = one->call->state == State::Ended ||
                                (one->line && one->call->state == State::Failed && one->call->exit_code);
        if (has_looked) {
          set(claim, Verdict::Proven, one->call, "looked at by " + one->call->tool);
          return true;
        }
        const State state = one->call->state;
        (state == State::Failed ? failed : state == State::Refused ? refused : open) = one->call;
      }
    if (open != nullptr)
      set(claim, Verdict::Unproven, open, "what became of the call that was to look at it is not known");
    else if (failed != nullptr) set(claim, Verdict::Contradicted, failed, "the call that was to look at it failed");
    else if (refused != nullptr) set(claim, Verdict::Contradicted, refused, refusal(*refused));
    else set(claim, Verdict::Unproven, nullptr, "no call that was seen looked at it" + cut());
    return true;
  }

  // --- the check that is said to have passed

  void verification() {
    const Node given = evidence_["verification"];
    if (!given.is_object() || to_lower_ascii(first_text(given, {"result"})) != "pass") return;
    Claim claim;
    claim.pointer = "/evidence_report/verification";
    std::vector<std::pair<std::string, std::string>> named;  // pointer, text
    for (const std::string_view name : {"command", "cmd", "check"})
      if (given[name].is_string()) named.emplace_back(claim.pointer + "/" + std::string(name), given[name].string());
    std::size_t at = 0;
    for (const Node one : given["commands"].elements()) {
      if (one.is_string()) named.emplace_back(claim.pointer + "/commands/" + std::to_string(at), one.string());
      ++at;
    }
    if (named.empty() && given["method"].is_string())
      named.emplace_back(claim.pointer + "/method", given["method"].string());
    if (named.empty()) {
      claim.claim = "pass";
      claim.why = "it names no command";
      return keep(std::move(claim));
    }
    for (const auto& [pointer, text] : named) {
      if (report_.claims.size() > limits::kClaimsMax) break;
      Claim one;
      one.pointer = pointer;
      one.claim = text;
      Named command = named_in(text);
      command.says = Says::Passed;
      if (command.is_none || command.readings.empty()) one.why = "it names no command";
      else judge_command(command, one, true);
      keep(std::move(one));
    }
  }

  const Node evidence_;
  Report report_;
  std::vector<Looked> looked_;
  std::vector<std::string> folders_;  // in which commands were run
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::Proven: return "proven";
    case Verdict::Unproven: return "unproven";
    case Verdict::Contradicted: return "contradicted";
  }
  return "";
}

std::size_t Report::count(Verdict verdict) const {
  const auto count = static_cast<std::size_t>(std::ranges::count(claims, verdict, &Claim::verdict));
  return verdict == Verdict::Unproven ? count + left_out : count;
}

Report judge(Node block, const Seen& seen) { return Judge(block, seen).run(); }

std::vector<Diagnostic> diagnostics_of(const Report& report) {
  std::vector<Diagnostic> out;
  const std::size_t wrong = report.count(Verdict::Unproven) + report.count(Verdict::Contradicted);
  if (wrong == 0) return out;
  if (report.is_unseen()) {
    out.push_back(
        baton::report(Code::CLAIM_UNSEEN, place_named("/evidence_report"), {{"count", std::to_string(wrong)}}));
    return out;
  }
  for (const Claim& claim : report.claims) {
    if (claim.verdict == Verdict::Proven) continue;
    if (out.size() == limits::kClaimDiagnosticsMax) break;
    const std::string why = claim.why + (claim.call_id.empty() ? "" : " (call " + claim.call_id + ")");
    out.push_back(
        baton::report(claim.verdict == Verdict::Contradicted ? Code::CLAIM_CONTRADICTED : Code::CLAIM_UNPROVEN,
                      place_named(claim.pointer), {{"claim", claim.claim}, {"why", why}}));
  }
  if (wrong > out.size())
    out.push_back(baton::report(
        Code::CLAIM_UNPROVEN, place_named("/evidence_report"),
        {{"claim", std::to_string(wrong - out.size()) + " more"}, {"why", "they are not listed one by one"}}));
  return out;
}

Value list_value(const Report& report) {
  std::vector<std::pair<const Claim*, Value>> all;
  std::size_t bytes = 0;
  for (const Claim& claim : report.claims) {
    Value one = Value::object();
    one.set("pointer", claim.pointer);
    one.set("claim", claim.claim);
    one.set("verdict", name_of(claim.verdict));
    if (!claim.call_id.empty()) one.set("call_id", claim.call_id);
    one.set("why", claim.why);
    bytes += json::write(one).size();
    all.emplace_back(&claim, std::move(one));
  }
  for (const Verdict verdict : {Verdict::Proven, Verdict::Unproven, Verdict::Contradicted})
    for (auto one = all.rbegin(); one != all.rend() && bytes > limits::kClaimsListBytesMax; ++one) {
      if (one->first == nullptr || one->first->verdict != verdict) continue;
      bytes -= json::write(one->second).size();
      one->first = nullptr;
    }
  Value out = Value::array();
  for (auto& [claim, value] : all)
    if (claim != nullptr) out.push(std::move(value));
  return out;
}

Value counts_value(const Report& report) {
  Value out = Value::object();
  for (const Verdict verdict : {Verdict::Proven, Verdict::Unproven, Verdict::Contradicted})
    out.set(name_of(verdict), report.count(verdict));
  out.set("calls", report.calls);
  if (report.calls_cut) out.set("calls_cut", true);
  if (report.left_out > 0) out.set("left_out", report.left_out);
  return out;
}

std::string text_of(Node list, Node counts) {
  const auto number = [&](std::string_view name) {
    return counts[name].is_number() ? std::string(counts[name].number_text()) : "0";
  };
  if (!counts.is_object()) return {};
  if (number("calls") == "0")
    return number("unproven") == "0"
               ? std::string()
               : "claims: " + number("unproven") + " unproven: no call of this session was seen\n";
  std::string out = "claims: " + number("proven") + " proven, " + number("unproven") + " unproven, " +
                    number("contradicted") + " contradicted, by " + number("calls") + " calls that were seen\n";
  for (const Node one : list.elements()) {
    const std::string verdict = first_text(one, {"verdict"});
    if (verdict == name_of(Verdict::Proven)) continue;
    out += "  " + printable(verdict, 20) + ": " + printable(first_text(one, {"claim"}), kClaimCharacters) + ": " +
           printable(first_text(one, {"why"}), 400);
    if (const std::string id = first_text(one, {"call_id"}); !id.empty()) out += " (call " + printable(id, 128) + ")";
    out += "\n";
  }
  return out;
}

}  // namespace baton::claims
