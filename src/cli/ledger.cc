// SPDX-License-Identifier: Apache-2.0
// baton ledger: what happened, and whether the record of it can be trusted.
#include "cli/ledger.h"

#include <algorithm>

#include "base/text.h"
#include "cli/stores.h"
#include "json/parse.h"
#include "ledger/entry.h"

namespace baton::cli {
namespace {

constexpr std::int64_t kShownEveryNs = 100'000'000;

std::string paint(std::string_view text, const char* code, bool colour) {
  return colour ? "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m" : std::string(text);
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string entry_line(const store::EntryRow& row, bool colour) {
  std::string time;
  ledger::append_time(time, row.time);
  std::string number = std::to_string(row.sequence);
  number.insert(0, number.size() < 8 ? 8 - number.size() : 0, ' ');
  return paint(number, "2", colour) + "  " + time.substr(0, 10) + " " + time.substr(11, 12) + "  " +
         paint(padded(printable(row.type, 40), 22), "1", colour) + "  " + padded(printable(row.stream, 60), 20) + "  " +
         printable(row.actor_kind, 16) + ":" + printable(row.actor_id, 60) + "  " +
         paint(printable(row.payload, 120), "2", colour) + "\n";
}

std::string entry_whole(const store::EntryRow& row, bool colour) {
  const auto bytes = [](std::string_view text) {
    return hex({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  };
  std::string time;
  ledger::append_time(time, row.time);
  std::string out = paint("entry " + std::to_string(row.sequence), "1", colour) + "\n";
  out += "  time      " + time + "\n  stream    " + printable(row.stream) + "\n  type      " + printable(row.type) +
         "\n  actor     " + printable(row.actor_id) + " (" + printable(row.actor_kind) + ")\n  previous  " +
         bytes(row.previous) + "\n  hash      " + bytes(row.hash) + "\n  payload   ";
  const auto payload = json::parse(row.payload);
  std::string text = payload ? json::write_pretty(json::Value::copy(payload->root())) : printable(row.payload);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 5) text.insert(at + 1, "    ");
  return out + text + "\n";
}

Progress::Progress(World& world, std::string what)
    : world_(world), what_(std::move(what)), started_ns_(world.clock.monotonic_ns()) {}

Progress::~Progress() {
  if (shown_) world_.print_error("\r\x1b[K");
}

void Progress::operator()(std::uint64_t done, std::uint64_t all) {
  const std::int64_t now = world_.clock.monotonic_ns();
  if (!world_.errors_to_a_terminal || now - std::max(shown_ns_, started_ns_) < kShownEveryNs) return;
  shown_ns_ = now;
  shown_ = true;
  constexpr std::size_t kWidth = 30;
  const std::size_t full = all == 0 ? 0 : static_cast<std::size_t>(done * kWidth / all);
  const double seconds = static_cast<double>(now - started_ns_) / 1e9;
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(done) / seconds);
  const std::uint64_t left = rate == 0 ? 0 : (all - done) / rate;
  world_.print_error("\r\x1b[K" + what_ + " [" + std::string(full, '#') + std::string(kWidth - full, '.') + "] " +
                     with_commas(done) + " of " + with_commas(all) + ", " + with_commas(rate) + "/s, " +
                     std::to_string(left) + " s left");
}

void add_ledger(Command& app, Action& chosen) {
  Command* ledger = app.add_subcommand("ledger", "What happened, and whether the record can be trusted");
  ledger->require_subcommand(1);
  examples(*ledger,
           "  baton ledger show --stream work/W-12         what happened to one work item\n"
           "  baton ledger tail --follow                   what happens now\n"
           "  baton ledger verify --public-key ledger.pub  is every entry still what it was?\n"
           "  baton ledger prove 42 > receipt.json         a proof of entry 42 that anyone can check");
  add_ledger_show(*ledger, chosen);
  add_ledger_tail(*ledger, chosen);
  add_ledger_verify(*ledger, chosen);
  add_ledger_export(*ledger, chosen);
  add_ledger_prove(*ledger, chosen);
  add_ledger_seal(*ledger, chosen);
  add_ledger_keys(*ledger, chosen);
  add_ledger_stats(*ledger, chosen);
  add_ledger_append(*ledger, chosen);
  add_ledger_erase(*ledger, chosen);
  add_ledger_accept_restore(*ledger, chosen);
}

}  // namespace baton::cli
