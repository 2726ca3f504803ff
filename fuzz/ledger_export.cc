// SPDX-License-Identifier: Apache-2.0
// Exported ledgers: single lines, and whole files. The first byte chooses the pieces in which a file comes.
//
// Signatures and hashes keep a fuzzer out of what lies behind them; a file therefore is also read with every entry's hash
// and link mended.
#include "ledger/export.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

struct Verdict {
  std::string found;
  std::uint64_t size = 0;
};

std::string shown(const std::optional<ledger::Break>& found) {
  if (!found) return "nothing";
  require_presentable({found->diagnostic});
  return std::string(info(found->diagnostic.code).name) + " at " + std::to_string(found->sequence);
}

Verdict verdict_of(std::string_view file, std::uint8_t choice) {
  ledger::ExportVerifier verifier;
  std::optional<ledger::Break> found;
  feed_in_pieces(file, choice, [&](std::string_view piece) {
    if (!found) found = verifier.feed(piece);
  });
  if (!found) found = verifier.finish();
  return {shown(found), verifier.verifier().size()};
}

std::string mended_chain(std::string_view file) {
  std::string out, buffer;
  Sha256 previous{};
  for (const std::string_view line : split(file, '\n')) {
    if (auto read = ledger::read_exported(line)) {
      read->entry.previous = previous;
      previous = read->entry.hash = ledger::entry_hash(read->entry.row(), buffer);
      ledger::append_exported(out, read->entry.row());
    } else {
      out += line;
    }
    out += '\n';
  }
  out.pop_back();
  return out;
}

void run(Input input) {
  const std::uint8_t choice = input.choice();
  const std::string_view file = input.rest();
  const Verdict whole = verdict_of(file, 0), pieces = verdict_of(file, choice);
  require(whole.found == pieces.found && whole.size == pieces.size, "pieces do not matter",
          whole.found + " " + pieces.found);
  require(whole.found != "nothing" || file.ends_with('\n'), "a file that holds is whole");
  for (const std::string_view line : split(file, '\n'))
    if (const auto read = ledger::read_exported(line)) {
      std::string again;
      ledger::append_exported(again, read->entry.row());
      require(again == line, "an entry has one spelling", line);
      std::string body;
      ledger::append_body(body, read->entry.row());
      require(body == read->body, "the body of a line is the entry's", line);
    }
  verdict_of(mended_chain(file), 0);
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
