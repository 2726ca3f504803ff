// SPDX-License-Identifier: Apache-2.0
// The commands of `baton ledger`, one function each; cli/ledger.cc adds them all.
#pragma once

#include <cstdint>
#include <string>

#include "cli/commands.h"
#include "store/store.h"

namespace baton::cli {

void add_ledger_append(Command& ledger, Action& chosen);
void add_ledger_show(Command& ledger, Action& chosen);
void add_ledger_tail(Command& ledger, Action& chosen);
void add_ledger_stats(Command& ledger, Action& chosen);
void add_ledger_verify(Command& ledger, Action& chosen);
void add_ledger_export(Command& ledger, Action& chosen);
void add_ledger_prove(Command& ledger, Action& chosen);
void add_ledger_seal(Command& ledger, Action& chosen);
void add_ledger_keys(Command& ledger, Action& chosen);
void add_ledger_accept_restore(Command& ledger, Action& chosen);
void add_ledger_erase(Command& ledger, Action& chosen);

// One entry for people, on one line; or all of it when `whole`.
std::string entry_line(const store::EntryRow& row, bool colour);
std::string entry_whole(const store::EntryRow& row, bool colour);

// 1234567 -> "1,234,567".
std::string with_commas(std::uint64_t number);

// A bar on standard error while something long goes on; nothing when nobody watches.
class Progress {
 public:
  Progress(World& world, std::string what);
  ~Progress();
  void operator()(std::uint64_t done, std::uint64_t all);

 private:
  World& world_;
  std::string what_;
  std::int64_t started_ns_, shown_ns_ = 0;
  bool shown_ = false;
};

}  // namespace baton::cli
