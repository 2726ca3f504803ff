// SPDX-License-Identifier: Apache-2.0
// Packs for tests: a small one that compiles, and changes to the texts of its files.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contract/compile.h"

namespace baton::contract {

using Files = std::map<std::string, std::string>;  // by name; `tools.json` among them

// In one file, one text for another. The first must be there, so that a case cannot go stale unseen.
struct Edit {
  std::string file, from, to;
};

inline Files edited(Files files, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    std::string& text = files[edit.file];
    const auto at = text.find(edit.from);
    EXPECT_NE(at, std::string::npos) << edit.file << " has no " << edit.from;
    if (at != std::string::npos) text.replace(at, edit.from.size(), edit.to);
  }
  return files;
}

inline PackSource source_of(const Files& files) {
  PackSource out;
  for (const auto& [name, text] : files) {
    if (name == "session.yaml") out.session = SourceFile{name, text};
    else if (name == "tools.json") out.tools = SourceFile{name, text, true};
    else out.contracts.push_back({name, text});
  }
  return out;
}

// The plan; a failed test, and an empty plan, when there is none.
inline std::shared_ptr<const Plan> plan_of(const Files& files) {
  Compiled compiled = compile(source_of(files));
  for (const Finding& finding : compiled.findings)
    EXPECT_NE(finding.diagnostic.severity, Severity::Error)
        << finding.file << ": " << info(finding.diagnostic.code).name << ": " << finding.diagnostic.message;
  return compiled.plan ? compiled.plan : std::make_shared<const Plan>();
}

// What every contract has, with `rest` at the end.
inline std::string contract_text(const std::string& tool, const std::string& side_effect,
                                 const std::string& rest = {}) {
  return "tool: " + tool + "\nside_effect: " + side_effect +
         "\n"
         "evidence_class: local_transaction\n"
         "commit_requirement: acknowledged\n"
         "timeouts: {total_ms: 2000}\n"
         "retries: {max_attempts: 1, retry_on: []}\n"
         "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 5}}\n"
         "assertions: {input_invariants: [], output_invariants: []}\n"
         "golden_cases: []\n"
         "allowed_errors: []\n" +
         rest;
}

}  // namespace baton::contract
