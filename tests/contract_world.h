// SPDX-License-Identifier: Apache-2.0
// What the tests of contracts share: files, packs from short texts, and findings as words.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "contract/compile.h"
#include "contract/graph.h"

namespace baton::contract {

inline std::filesystem::path tests_folder() { return BATON_TESTS_DIR; }

inline SourceFile read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return {path.filename().string(), text.str(), path.extension() == ".json"};
}

// The .yaml files of a folder, in the order of their names. There is at least one.
inline std::vector<std::filesystem::path> yaml_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".yaml") out.push_back(entry.path());
  std::ranges::sort(out);
  EXPECT_FALSE(out.empty()) << folder;
  return out;
}

// A contract with everything that is required; `rest` is further YAML.
inline SourceFile tool_file(const std::string& tool, const std::string& rest = "",
                            const std::string& side_effect = "read") {
  return {tool + ".yaml", "tool: " + tool + "\nside_effect: " + side_effect +
                              "\nevidence_class: local_transaction\ncommit_requirement: acknowledged\n"
                              "timeouts: {total_ms: 30000}\nretries: {max_attempts: 1, retry_on: []}\n"
                              "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 30}}\n"
                              "assertions: {input_invariants: [], output_invariants: []}\n"
                              "golden_cases: []\nallowed_errors: []\n" +
                              rest};
}
inline SourceFile session_file(const std::string& rest = "") {
  return {"session.yaml", "schema_version: \"1.0\"\nagent: clerk\n" + rest};
}

// "CODE" of each, in the order they were reported.
inline std::vector<std::string> codes_of(const std::vector<Finding>& findings) {
  std::vector<std::string> out;
  for (const Finding& finding : findings) out.emplace_back(info(finding.diagnostic.code).name);
  return out;
}
inline std::set<std::string> code_set(const std::vector<Finding>& findings) {
  const auto codes = codes_of(findings);
  return {codes.begin(), codes.end()};
}

// For a failing test: everything that was found.
inline std::string shown(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    const Diagnostic& one = finding.diagnostic;
    out += finding.file + ":" + std::to_string(one.place.line) + ":" + std::to_string(one.place.column) + " " +
           std::string(info(one.code).name) + " " + one.place.pointer + " " + one.message + "\n";
  }
  return out;
}

// The plan of a pack that must compile.
inline std::shared_ptr<const Plan> plan_of(const PackSource& source) {
  const Compiled compiled = compile(source);
  EXPECT_TRUE(compiled.plan) << shown(compiled.findings);
  return compiled.plan;
}

inline const Finding* find(const std::vector<Finding>& findings, Code code) {
  const auto found = std::ranges::find_if(findings, [&](const Finding& one) { return one.diagnostic.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

}  // namespace baton::contract
