// SPDX-License-Identifier: Apache-2.0
// Verifying receipts.
#include "ledger/receipt.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kRespelledBytesMax = 8192;  // escapes are six times as long, and a receipt has a limit

void run(Input input) {
  static const ledger::VerifierKey key = [] {
    CountingRandom random(0x20);
    return ledger::SigningKey::make("baton/ledger/example", random).verifier();
  }();
  const std::string_view text = input.rest();
  const ledger::ReceiptVerdict verdict = ledger::verify_receipt(text, key);
  require_presentable(verdict.diagnostics);
  require_same_codes(verdict.diagnostics, ledger::verify_receipt(text, key).diagnostics,
                     "the same receipt gives the same codes");
  const auto document = json::parse(text);
  require(document || !verdict.diagnostics.empty(), "a receipt is JSON");
  if (!document || text.size() > kRespelledBytesMax) return;
  require_same_codes(verdict.diagnostics, ledger::verify_receipt(respelled(document->root()), key).diagnostics,
                     "spelling does not matter");
  if (!verdict.diagnostics.empty()) return;
  std::string buffer;
  require(ledger::entry_hash(verdict.entry.row(), buffer) == verdict.entry.hash,
          "a receipt that holds has its entry's hash");
  require(verdict.entry.sequence <= verdict.checkpoint.size, "a receipt that holds is of a sealed entry");
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
