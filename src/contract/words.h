// SPDX-License-Identifier: Apache-2.0
// A plan in plain English: sentences that a reviewer can read aloud. What they say is what the engine checks, no more.
//
// Names and paths stand in backticks, values as JSON. A sentence is one line; what somebody else wrote is in it as it is, so
// whoever shows it on a terminal passes it through printable() first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.h"

namespace baton::contract {

// --- parts of sentences -------------------------------------------------------------------------------------------------------

// "must be at least 5", or "is at least 5".
enum class Mood { Must, Does };

std::string quoted(std::string_view name);                     // `name`
std::string words_of(const json::Path& path);                  // `$.order.lines[0]`
std::string words_of(std::span<const Test> tests, Mood mood);  // be at least 0 and be at most 500
std::string words_of(const Invariant& invariant, const Plan& plan, Mood mood);
std::string words_of(const Precondition& precondition, const Plan& plan);  // after `approve` has succeeded in an ...
std::string words_of(const AllowedError& error);
// while a call of it is open and once it has run, `transfer` is blocked for calls with the same `$.account`
std::string entity_forbid_in_words(const EntityForbid& forbid, const Plan& plan);
std::string words_of(const Bounds& bounds);  // at least 0 and at most 100
std::string words_of(const Aggregate::When& when, const Plan& plan);
// Whole sentences.
std::string words_of(const Aggregate& aggregate, const Plan& plan);
std::string words_of(const Envelope& envelope, const Plan& plan);
std::string words_of(const Checkpoint& checkpoint, const Plan& plan);
std::string words_of_owed(Owed owed);
std::string words_of_claims(Claims claims);
std::string_view words_of_unlisted();         // of `mcp: {unlisted: record}`
std::string_view words_of_unknown_content();  // of `mcp: {unknown_content: drop}`
// When it fires: "for every call", "when `$.amount` is at least 100".
std::string when_in_words(const Checkpoint& checkpoint, const Plan& plan);
std::string words_of(const Stage& stage, const Plan& plan);  // `$.shares` of the arguments of `submit`
// "a principal whose `$.tier` is one of ..."
std::string principal_in_words(const Invariant& principal);
std::string duration_in_words(std::int64_t milliseconds);                                  // 1.5 seconds
std::string listed(const std::vector<std::string>& items, std::string_view last = "and");  // a, b and c
std::string tools_in_words(bool all, const std::vector<ToolId>& tools, const Plan& plan);

// Which phases a call of the tool can be made in: those it names, and from which its advance is legal.
PhaseSet callable_phases(const Tool& tool, const Plan& plan);

// --- whole plans --------------------------------------------------------------------------------------------------------------

struct Paragraph {
  std::string title;
  std::vector<std::string> sentences;
};

Paragraph words_of(const Tool& tool, const Plan& plan);
std::vector<Paragraph> words_of_session(const Plan& plan);

}  // namespace baton::contract
