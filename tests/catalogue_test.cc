// SPDX-License-Identifier: Apache-2.0
// Every code of the catalogue has a case: a vector or case that expects it, or a test that names it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.h"
#include "diagnostics/diagnostic.h"

namespace baton {
namespace {

// The words of what the files expect: vectors' `expected`, cases' wants, codes named in tests.
std::set<std::string> words_in(const std::filesystem::path& folder, const std::set<std::string>& endings) {
  std::set<std::string> words;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!endings.contains(entry.path().extension().string()) || entry.path().filename() == "catalogue_test.cc")
      continue;
    std::ifstream in(entry.path());
    std::string word;
    for (char c; in.get(c);) {
      if (is_alphanumeric(c) || c == '_') word.push_back(c);
      else if (!word.empty()) words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

TEST(catalogue, every_code_has_a_case) {
  std::set<std::string> words = words_in(BATON_TESTS_DIR, {".json", ".jsonl", ".cc", ".py", ".yaml"});
  words.merge(words_in(std::string(BATON_SOURCE_DIR) + "/cases", {".case"}));
  for (const CodeInfo& row : catalogue()) {
    const std::string name(row.name);
    const std::string wire = name.starts_with("HANDOFF_") ? name.substr(8) : name;
    EXPECT_TRUE(words.contains(name) || words.contains(wire)) << name << " has no case";
  }
}

TEST(catalogue, messages_keep_the_house_grammar) {
  for (const CodeInfo& row : catalogue()) {
    EXPECT_FALSE(row.message.empty()) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_FALSE(row.message.ends_with('.')) << row.name;
    EXPECT_EQ(row.message.find('\n'), std::string_view::npos) << row.name;
    EXPECT_EQ(find_code(row.name), &row);
    EXPECT_EQ(info(row.code).name, row.name);
  }
}

TEST(diagnostic, arguments_never_break_the_line) {
  const Diagnostic diagnostic = report(Code::EXIT_PROTOCOL, {}, {{"value", "a\nb\x1b[0m\u2028c"}});
  EXPECT_EQ(diagnostic.message, "unknown protocol: expected 'apm2_agent_exit', got 'a\\nb\\u{1b}[0m\\u{2028}c'");
  const std::string longer(10'000, 'x');
  EXPECT_LT(report(Code::EXIT_PROTOCOL, {}, {{"value", longer}}).message.size(), 4400u);
}

}  // namespace
}  // namespace baton
