// SPDX-License-Identifier: Apache-2.0
#include "ledger/export.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/text.h"
#include "json/canonical.h"
#include "json/parse.h"

namespace baton::ledger {
namespace {

constexpr std::uint64_t kSequenceMax = INT64_MAX;  // what SQL's integers hold
constexpr std::uint64_t kEntriesAtOnce = 1024;     // how many entries' seals are held at a time
constexpr std::size_t kTextAtOnce = 64u << 10;

void append_seal_line(std::string& out, const store::Seal& seal) {
  out += R"({"seal":)";
  json::append_canonical_string(out, seal.note);
  out += R"(,"size":)" + std::to_string(seal.size) + "}\n";
}

void append_end_line(std::string& out, std::string_view hash, std::uint64_t size) {
  out += R"({"end":{"hash":")";
  out += hex({reinterpret_cast<const std::uint8_t*>(hash.data()), hash.size()});
  out += R"(","size":)" + std::to_string(size) + "}}\n";
}

// Gathers lines into larger pieces, and keeps the first failure.
class Pieces {
 public:
  explicit Pieces(const TakeText& take) : take_(take) {}
  std::string& text() { return text_; }
  // False when the reading has to end.
  bool hand_on(std::size_t from = kTextAtOnce) {
    if (result_ && text_.size() >= from && !text_.empty()) {
      result_ = take_(text_);
      text_.clear();
    }
    return result_.has_value();
  }
  const Result<void>& result() const { return result_; }

 private:
  const TakeText& take_;
  std::string text_;
  Result<void> result_;
};

// Entries first ... last, each seal after the last entry it covers.
Result<void> write_range(store::Reader& reader, std::uint64_t first, std::uint64_t last, Pieces& pieces) {
  std::vector<store::Seal> seals;
  auto read = reader.seals(first, last, [&](const store::Seal& seal) {
    seals.push_back(seal);
    return true;
  });
  if (!read) return read;
  auto next = seals.begin();
  read = reader.entries(first, last, [&](const store::EntryRow& row) {
    for (; next != seals.end() && next->size < row.sequence; ++next) append_seal_line(pieces.text(), *next);
    append_exported(pieces.text(), row);
    pieces.text() += '\n';
    return pieces.hand_on();
  });
  if (!read) return read;
  for (; next != seals.end(); ++next) append_seal_line(pieces.text(), *next);
  pieces.hand_on();
  return pieces.result();
}

// The name the ledger gives itself; empty when its first entry is not what it should be.
Result<std::string> read_origin(store::Reader& reader) {
  std::string origin;
  auto read = reader.entries(1, 1, [&](const store::EntryRow& row) {
    KeyState keys;
    if (row.type == kCreated && !keys.apply(row.type, row.payload)) origin = keys.origin();
    return false;
  });
  if (!read) return tl::make_unexpected(std::move(read.error()));
  return origin;
}

// A line of the file other than an entry. It has to be what we would write.
std::optional<json::Document> parse_line(std::string_view text) {
  json::ParseLimits limits;
  limits.bytes_max = limits::kExportLineBytesMax;
  auto document = json::parse(text, limits);
  if (!document || !document->root().is_object()) return std::nullopt;
  return std::move(*document);
}

std::optional<std::uint64_t> as_size(json::Node node) {
  std::uint64_t size = 0;
  if (!node.is_number()) return std::nullopt;
  const std::string_view text = node.number_text();
  const auto end = std::from_chars(text.data(), text.data() + text.size(), size);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return size;
}

// Is the line, line feed and all, what was written again from what was read of it?
bool is_line(std::string_view again, std::string_view text) {
  return again.size() == text.size() + 1 && again.starts_with(text);
}

}  // namespace

Result<void> write_export(store::Reader& reader, const TakeText& take) {
  const auto head = reader.head();
  if (!head) return tl::make_unexpected(head.error());
  const auto origin = read_origin(reader);
  if (!origin) return tl::make_unexpected(origin.error());

  Pieces pieces(take);
  pieces.text() += R"({"baton_ledger":1,"origin":)";
  json::append_canonical_string(pieces.text(), *origin);
  pieces.text() += "}\n";
  const std::uint64_t size = std::min(head->size, kSequenceMax - 1);
  for (std::uint64_t first = 1; first <= size; first += kEntriesAtOnce)
    if (auto written = write_range(reader, first, std::min(size, first + kEntriesAtOnce - 1), pieces); !written)
      return written;
  // Rows beyond the head do not belong there: whoever verifies the file is to find them.
  auto read = reader.entries(size + 1, kSequenceMax, [&](const store::EntryRow& row) {
    append_exported(pieces.text(), row);
    pieces.text() += '\n';
    return pieces.hand_on();
  });
  if (!read) return read;
  read = reader.seals(size + 1, kSequenceMax, [&](const store::Seal& seal) {
    append_seal_line(pieces.text(), seal);
    return pieces.hand_on();
  });
  if (!read) return read;
  append_end_line(pieces.text(), head->hash, head->size);
  pieces.hand_on(0);
  return pieces.result();
}

// --- reading ------------------------------------------------------------------------------------------------------------

std::optional<Break> ExportVerifier::malformed(std::string_view problem) const {
  const std::uint64_t place = verifier_.size() + 1;
  return Break{place, report(Code::LEDGER_MALFORMED, Place{{}, lines_ + 1, 1},
                             {{"sequence", std::to_string(place)}, {"problem", problem}})};
}

std::optional<Break> ExportVerifier::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (pending_.size() + piece.size() > limits::kExportLineBytesMax) return malformed("its line is too long");
    if (end == std::string_view::npos) {
      pending_ += piece;
      return std::nullopt;
    }
    std::optional<Break> found;
    if (pending_.empty()) {
      found = line(piece);
    } else {
      pending_ += piece;
      found = line(pending_);
      pending_.clear();
    }
    if (found) {
      found->diagnostic.place.line = lines_ + 1;
      found->diagnostic.place.column = 1;
      return found;
    }
    ++lines_;
    bytes.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<Break> ExportVerifier::finish() {
  if (!pending_.empty()) return malformed("its line has no end");
  if (!end_)
    return Break{verifier_.size(),
                 report(Code::LEDGER_HEAD, {}, {{"problem", "the file has no last line, it was cut"}})};
  return verifier_.finish(*end_);
}

std::optional<Break> ExportVerifier::line(std::string_view text) {
  if (end_) return malformed("it stands after the end");
  if (lines_ > 0) {
    if (text.starts_with(R"({"entry":)")) return entry_line(text);
    if (text.starts_with(R"({"seal":)")) return seal_line(text);
    if (text.starts_with(R"({"end":)")) return end_line(text);
    return malformed("its line is neither an entry nor a seal nor the end");
  }
  const auto document = parse_line(text);
  if (document && document->root()["origin"].is_string()) {
    origin_ = document->root()["origin"].string();
    buffer_ = R"({"baton_ledger":1,"origin":)";
    json::append_canonical_string(buffer_, origin_);
    buffer_ += "}\n";
    if (is_line(buffer_, text)) return std::nullopt;
  }
  return malformed("the file does not begin as an exported ledger");
}

std::optional<Break> ExportVerifier::entry_line(std::string_view text) {
  const auto read = read_exported(text);
  if (!read) return malformed(read.error());
  buffer_.assign(1, '\0');
  buffer_ += kEntryTag;
  buffer_ += read->body;
  const Sha256 computed = sha256(buffer_);
  auto found = verifier_.entry(read->entry.row(), &computed);
  if (!found && verifier_.size() == 1 && verifier_.keys().origin() != origin_) {
    found = malformed("the file's first line names another origin");
    found->sequence = 1;
  }
  return found;
}

std::optional<Break> ExportVerifier::seal_line(std::string_view text) {
  const auto document = parse_line(text);
  const auto size = document ? as_size(document->root()["size"]) : std::nullopt;
  if (!size || !document->root()["seal"].is_string()) return malformed("its line is not a seal");
  const store::Seal seal{*size, std::string(document->root()["seal"].string())};
  buffer_.clear();
  append_seal_line(buffer_, seal);
  if (!is_line(buffer_, text)) return malformed("its line is not in canonical form");
  ++seals_;
  return verifier_.seal(seal);
}

std::optional<Break> ExportVerifier::end_line(std::string_view text) {
  const auto document = parse_line(text);
  const json::Node end = document ? document->root()["end"] : json::Node();
  const auto size = as_size(end["size"]);
  if (!size || !end["hash"].is_string() || end["hash"].string().size() != 2 * sizeof(Sha256))
    return malformed("its line is not the end");
  std::string hash;
  const std::string_view digits = end["hash"].string();
  for (std::size_t i = 0; i < digits.size(); i += 2)
    hash.push_back(static_cast<char>((hex_value(digits[i]) & 0x0f) << 4 | (hex_value(digits[i + 1]) & 0x0f)));
  buffer_.clear();
  append_end_line(buffer_, hash, *size);  // refuses what are no digits, too: they do not come back
  if (!is_line(buffer_, text)) return malformed("its line is not in canonical form");
  // The file leaves out what follows from the entries.
  end_ = store::Head{*size, hash, verifier_.size() == 0 ? 0 : verifier_.last_time(), verifier_.peaks().bytes(), {}};
  return std::nullopt;
}

}  // namespace baton::ledger
