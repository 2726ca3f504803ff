// SPDX-License-Identifier: Apache-2.0
#include "runtime/token_entries.h"

#include <optional>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/entry.h"
#include "ledger/streams.h"
#include "runtime/work_events.h"

namespace baton::runtime {

Result<std::uint64_t> read_token_entries(store::Reader& reader, std::uint64_t after, const TakeTokenEntry& take) {
  const auto head = reader.head();
  if (!head) return tl::make_unexpected(head.error());
  struct Said {
    std::string type, payload;
  };
  std::vector<Said> newest_first;
  std::optional<std::uint64_t> altered;
  std::string buffer;
  if (head->size > after) {
    auto read = ledger::read_stream_backwards(reader, kTokensStream, [&](const store::EntryRow& row) {
      if (row.sequence <= after) return false;
      const Sha256 hash = ledger::entry_hash(row, buffer);
      const bool is_whole = row.hash == std::string_view(reinterpret_cast<const char*>(hash.data()), hash.size());
      if (!is_whole) altered = row.sequence;
      newest_first.push_back({std::string(row.type), std::string(row.payload)});
      return is_whole;
    });
    if (!read) return tl::make_unexpected(read.error());
  }
  if (altered)
    return failure_of(Code::LEDGER_CONTENT, "reading the entries about tokens",
                      {{"sequence", std::to_string(*altered)}});
  for (auto said = newest_first.rbegin(); said != newest_first.rend(); ++said) take(said->type, said->payload);
  return head->size;
}

Result<bool> has_operator_token(store::Reader& reader) {
  bool exists = false;
  const auto read = read_token_entries(reader, 0, [&](std::string_view type, std::string_view payload) {
    const auto document = type == kTokenCreated ? json::parse(payload) : tl::unexpected(json::ParseError{});
    exists = exists || (document && document->root()["kind"].is_text("operator"));
  });
  if (!read) return tl::make_unexpected(read.error());
  return exists;
}

}  // namespace baton::runtime
