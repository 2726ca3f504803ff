// SPDX-License-Identifier: Apache-2.0
#include "runtime/load_export.h"

#include <algorithm>

#include "base/limits.h"
#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "ledger/streams.h"
#include "runtime/fold.h"

namespace baton::runtime {
namespace {

std::string text_of(const Sha256& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

}  // namespace

void ExportLoader::take(std::string_view bytes) {
  while (!failed_ && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (pending_.size() + std::min(end, bytes.size()) > limits::kExportLineBytesMax) {
      failed_ =
          Failure{"reading line " + std::to_string(lines_ + 1) + " of the exported ledger", "it is too long to be one"};
      pending_.clear();
      return;
    }
    if (end == std::string_view::npos) {
      pending_ += bytes;
      return;
    }
    const std::string_view rest = bytes.substr(0, end);
    ++lines_;
    const auto done = pending_.empty() ? line(rest) : line(pending_ += rest);
    pending_.clear();
    if (!done) failed_ = done.error();
    bytes.remove_prefix(end + 1);
  }
}

Result<void> ExportLoader::line(std::string_view text) {
  const auto wrong = [&](std::string_view problem) {
    return failure_of(Code::LEDGER_MALFORMED, "reading line " + std::to_string(lines_) + " of the exported ledger",
                      {{"sequence", std::to_string(peaks_.size() + entries_.size() + 1)}, {"problem", problem}});
  };
  if (ended_) return wrong("something follows the end");
  if (lines_ > 1 && text.starts_with("{\"entry\":")) {
    auto parsed = ledger::parse_exported(text);
    if (!parsed) return tl::make_unexpected(parsed.error());
    entries_.push_back(std::move(parsed->entry));
    return {};
  }
  const auto document = json::parse(text);
  if (!document || !document->root().is_object()) return wrong("it is no JSON object");
  const json::Node root = document->root();
  if (lines_ == 1) {
    if (!root["baton_ledger"].is_number() || !root["origin"].is_string()) return wrong("it is no exported ledger");
    return {};
  }
  if (root["end"].is_object()) {
    ended_ = true;
    return entries_.empty() ? Result<void>() : write();
  }
  if (!root["seal"].is_string() || !root["size"].is_number()) return wrong("it is neither entry, seal nor end");
  const auto size = json::to_int64(root["size"].number_text());
  if (!size || *size < 0 || entries_.empty()) return wrong("it is a seal that covers no entry");
  seal_ = store::Seal{static_cast<std::uint64_t>(*size), std::string(root["seal"].string())};
  return write();
}

Result<void> ExportLoader::write() {
  auto transaction = store_.begin();
  if (!transaction) return tl::make_unexpected(transaction.error());
  const auto head = (*transaction)->take_head();
  if (!head) return tl::make_unexpected(head.error());
  std::vector<store::EntryRow> rows;
  std::vector<store::TreeNode> nodes;
  const std::function<void(const ledger::Peaks::Completed&)> keep = [&](const ledger::Peaks::Completed& subtree) {
    if (subtree.level % 8 != 0) return;
    nodes.push_back({subtree.level, subtree.position, text_of(subtree.hash),
                     subtree.level == 8 ? std::exchange(open_streams_, {}) : std::string()});
  };
  for (const ledger::Entry& entry : entries_) {
    rows.push_back(entry.row());
    // Tables are only a help for reading here: an entry that cannot be folded is for verify to name.
    (void)fold({entry.stream, entry.type, entry.actor_id, entry.actor_kind, entry.payload}, **transaction);
    ledger::add_stream(open_streams_, entry.stream);
    peaks_.append(entry.hash, &keep);
  }
  const store::Head moved{peaks_.size(), text_of(entries_.back().hash), entries_.back().time.nanoseconds,
                          peaks_.bytes(), open_streams_};
  if (auto appended = (*transaction)->append(rows, nodes, seal_.value_or(store::Seal{}), moved); !appended)
    return appended;
  entries_.clear();
  seal_.reset();
  return (*transaction)->commit();
}

Result<void> ExportLoader::finish() {
  if (failed_) return tl::make_unexpected(*failed_);
  if (!ended_)
    return failure_of(
        Code::LEDGER_MALFORMED, "reading the exported ledger",
        {{"sequence", std::to_string(peaks_.size() + 1)}, {"problem", "the file ends before its last line"}});
  return {};
}

}  // namespace baton::runtime
