// SPDX-License-Identifier: Apache-2.0
// The golden cases of a pack: calls whose decision must not change by accident. Each is judged in a fresh session that is seeded with
// what the case says (docs/formats/contracts.md, Golden cases). Pure: whoever reads the files gives their texts.
//
// A case is seeded in this order: labels and principal; the calls of `history`, each a step of its own, which is taken as committed
// with its output: neither the call nor the output is judged; then `bindings` and `phase`, which replace what the history left. Then the call is proposed, without a request or
// a response. With `output` it is begun and settled too. Nothing is read from the environment: variables are not set.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "session/rules.h"

namespace baton::session {

struct GoldenReport {
  enum class Outcome : std::uint8_t { AsExpected, Differs, Skipped };

  std::string tool, id;
  std::string file;  // of the contract, and
  std::size_t line = 0;
  std::string input_ref;  // the file that holds the case; empty: the contract itself
  Outcome outcome = Outcome::AsExpected;
  // `allow`, `checkpoint`, `block:<reason>`, `allow, then failed:<reason>`; of `expected_error` `refused with <reason>`.
  std::string expected, got;
  std::string because;  // in words: what it was refused with, or why it was skipped or could not be judged
};
std::string_view name_of(GoldenReport::Outcome outcome);

// `files`: the texts of those under golden/, by "golden/NAME". `only`: the id of a case, or TOOL/ID; empty: all. In the order of the tools'
// names, and of the cases in their files.
std::vector<GoldenReport> judge_golden(const Rules& rules, const std::map<std::string, std::string>& files,
                                       std::string_view only = {});

}  // namespace baton::session
