// SPDX-License-Identifier: Apache-2.0
// Verifies exported ledgers for tests/verifiers_agree_test.py, and makes one for it.
//
//   ledger_check_file make              writes a ledger to standard output: two nodes' keys, a rotation, a retirement
//   ledger_check_file check             reads names of files, one a line; answers each with a line:
//                                       `OK SIZE` or `SEQUENCE CODE`
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "ledger/export.h"
#include "memory_ledger.h"

namespace baton::ledger {
namespace {

MemoryLedger made() {
  MemoryLedger ledger;
  const SigningKey first = test_key(1), second = test_key(40), other = test_key(80);
  std::int64_t time = 1'794'715'200'000'000'000;
  const auto add = [&](std::string stream, std::string_view type, std::string payload) {
    ledger.append(test_draft(std::move(stream), std::string(type), std::move(payload)), time += 1'234'567'891);
  };
  add("ledger", kCreated, created_payload(kTestOrigin, first, kTestRedactionKeyId));
  ledger.seal({&first});
  for (int i = 0; i < 6; ++i)
    add("work/W-" + std::to_string(i % 3), "work.claimed", R"({"n":)" + std::to_string(i) + "}");
  ledger.seal({&first});
  add("session/\xc3\xa9\"\\", "session.call_decided", R"({"a":[1,2.5,null,{"b":"\u0001\"\\\n"}],"previous":"00"})");
  add("ledger", kKeyAdmitted,
      admitted_payload(kTestOrigin, other.verifier(), sign_admission(kTestOrigin, other), first));
  ledger.seal({&first});
  add("work/W-1", "work.done", "{}");
  ledger.seal({&other});
  add("ledger", kKeyRotated, rotated_payload(kTestOrigin, first, second));
  ledger.seal({&first, &second});
  add("ledger", kKeyRetired, retired_payload(kTestOrigin, other.verifier(), second));
  for (int i = 0; i < 9; ++i)
    add("work/W-2", "work.noted", R"({"text":")" + std::string(static_cast<std::size_t>(i * 20), 'x') + "\"}");
  ledger.seal({&second});
  return ledger;
}

std::string verdict_of(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) return "cannot read";
  ExportVerifier verifier;
  std::optional<Break> found;
  char bytes[997];
  while (!found && (file.read(bytes, sizeof bytes), file.gcount() > 0))
    found = verifier.feed({bytes, static_cast<std::size_t>(file.gcount())});
  if (!found) found = verifier.finish();
  if (!found) return "OK " + std::to_string(verifier.verifier().size());
  return std::to_string(found->sequence) + " " + std::string(info(found->diagnostic.code).name);
}

}  // namespace
}  // namespace baton::ledger

int main(int count, char** arguments) {
  const std::string command = count == 2 ? arguments[1] : "";
  if (command == "make") {
    const baton::ledger::MemoryLedger ledger = baton::ledger::made();
    baton::ledger::MemoryReader reader(ledger);
    const auto written = baton::ledger::write_export(reader, [](std::string_view text) -> baton::Result<void> {
      std::cout << text;
      return {};
    });
    return written && std::cout.flush() ? 0 : 2;
  }
  if (command != "check") {
    std::cerr << "usage: ledger_check_file make|check\n";
    return 2;
  }
  for (std::string name; std::getline(std::cin, name);) std::cout << baton::ledger::verdict_of(name) << std::endl;
  return 0;
}
