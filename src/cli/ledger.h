// SPDX-License-Identifier: Apache-2.0
// The commands of `baton ledger`, one function each; cli/ledger.cc adds them all.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/commands.h"
#include "store/store.h"

namespace baton::cli {

void add_ledger_append(CLI::App& ledger, Action& chosen);
void add_ledger_show(CLI::App& ledger, Action& chosen);
void add_ledger_tail(CLI::App& ledger, Action& chosen);
void add_ledger_stats(CLI::App& ledger, Action& chosen);
void add_ledger_verify(CLI::App& ledger, Action& chosen);
void add_ledger_export(CLI::App& ledger, Action& chosen);
void add_ledger_prove(CLI::App& ledger, Action& chosen);
void add_ledger_seal(CLI::App& ledger, Action& chosen);
void add_ledger_keys(CLI::App& ledger, Action& chosen);
void add_ledger_erase(CLI::App& ledger, Action& chosen);

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
