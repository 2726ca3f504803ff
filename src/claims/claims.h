// SPDX-License-Identifier: Apache-2.0
// What a handoff claims, held against the calls that were seen: the first form of a lie detector.
//
// An `agent-contract` block says which commands were run, which files were looked at and which check has passed. Hooks and the proxy saw
// the calls of the session. Each claim is proven by a call that shows it, contradicted by calls that show the opposite, or unproven.
//
// It judges what was seen, never what was meant: a check that is named and was not run as it is named is unproven, however likely. What
// the end of a command line does not show (`pytest || true`, `pytest | tail`) is not known, and what is not known proves nothing.
//
// Pure. Both sides are given as the record has them, without secrets; so what is said here holds none. Rules: docs/reference/claims.md
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "json/document.h"
#include "json/value.h"

namespace baton::claims {

// One call, in the order in which they were proposed.
struct SeenCall {
  enum class State : std::uint8_t {
    Refused,   // the contract, or a person, did not let it happen
    NotBegun,  // a person is still to decide, or nobody began it
    Open,      // it began, and nothing was heard of it since
    Ended,     // it came back
    Failed,    // it came back with an error, or a command with another status than 0
    Unknown,   // what became of it nobody knows
  };
  std::string id, tool;
  json::Value arguments = {};  // as contracts saw them
  State state = State::NotBegun;
  std::optional<int> exit_code = {};  // of a command, where the client tells
  std::string refused_by = {};        // the rule
};

struct Seen {
  std::vector<SeenCall> calls = {};
  bool cut = false;  // there were more, before these
};

enum class Verdict : std::uint8_t { Proven, Unproven, Contradicted };
std::string_view name_of(Verdict verdict);  // "proven", ...

struct Claim {
  std::string pointer;  // of the claim in the block: /evidence_report/commands_run/0
  std::string claim;    // in its own words, cut
  Verdict verdict = Verdict::Unproven;
  std::string call_id = {};  // that shows it; empty: none does
  std::string why = {};      // a part of a sentence: "no call that was seen ran it"
};

struct Report {
  std::vector<Claim> claims = {};
  std::size_t calls = 0;     // that were looked at
  bool calls_cut = false;    // there were more
  std::size_t left_out = 0;  // claims beyond limits::kClaimsMax: they count as unproven

  std::size_t count(Verdict verdict) const;
  bool is_unseen() const { return calls == 0; }  // nobody watched: that is all there is to say
};

// `block`: the whole contract. What is not of its form claims nothing; the dialect's own checker says so.
Report judge(json::Node block, const Seen& seen);

// What is not borne out, for whoever has to mend it: CLAIM_CONTRADICTED, CLAIM_UNPROVEN, one each; CLAIM_UNSEEN, once, when nobody watched.
std::vector<Diagnostic> diagnostics_of(const Report& report);

// [{pointer, claim, verdict, call_id?, why}], at most limits::kClaimsListBytesMax of it: what is proven is left out first.
json::Value list_value(const Report& report);
// {proven, unproven, contradicted, calls, calls_cut?, left_out?}
json::Value counts_value(const Report& report);

// The same two for people, as an answer or an entry has them: how many of each, and a line for each that is not proven. Empty: nothing
// was judged.
std::string text_of(json::Node list, json::Node counts);

}  // namespace baton::claims
