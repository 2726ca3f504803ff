// SPDX-License-Identifier: Apache-2.0
// Prints every contract, session.yaml and workflow.yaml of scenario files, one JSON object a line: {"kind", "document"}.
// For contract_schema_test.py, which has no YAML.
#include <fstream>
#include <iostream>
#include <sstream>

#include "contract/scenario.h"
#include "yaml/yaml.h"

namespace {

using baton::contract::PackSource;
using baton::contract::SourceFile;

void print(const char* kind, const SourceFile& file) {
  std::string document = file.text;
  if (!file.is_json) {
    const auto parsed = baton::yaml::parse(file.text);
    if (!parsed.document) return;
    document = parsed.document->text();
  }
  std::cout << R"({"kind":")" << kind << R"(","document":)" << document << "}\n";
}

void print(const PackSource& pack) {
  if (pack.session) print("session", *pack.session);
  for (const SourceFile& file : pack.contracts) print("tool", file);
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    std::ifstream in(arguments[i], std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    const auto packs = baton::contract::scenario_packs({arguments[i], text.str()});
    if (packs.empty()) return std::cerr << arguments[i] << " is no scenario\n", 1;
    for (const auto& one : packs) {
      print(one.pack);
      if (!one.workflow) continue;
      print("workflow", one.workflow->workflow);
      for (const auto& [role, pack] : one.workflow->packs) print(pack);
    }
  }
  return 0;
}
