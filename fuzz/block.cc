// SPDX-License-Identifier: Apache-2.0
// The contract block's finder: the same result whatever the pieces, and the result of a plain reading of its header.
#include "dialects/agent_contract/block.h"
#include "base/limits.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_contract/find.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

using agent_contract::BlockFinder;

bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

struct Fence {
  std::size_t length = 0;  // 0: no fence
  char character = 0;
  std::string_view rest;
};

Fence fence_of(std::string_view line) {
  std::size_t indent = 0;
  while (indent < line.size() && line[indent] == ' ') ++indent;
  if (indent > 3 || indent == line.size() || (line[indent] != '`' && line[indent] != '~')) return {};
  std::size_t end = indent;
  while (end < line.size() && line[end] == line[indent]) ++end;
  return end - indent < 3 ? Fence{} : Fence{end - indent, line[indent], line.substr(end)};
}

// The finder keeps only so much of a line. A longer run of backticks is nobody's fence; texts with one are left alone.
constexpr std::size_t kRunMax = 1000;

bool holds_longer_run(std::string_view text) {
  std::size_t run = 0;
  char previous = 0;
  for (const char c : text) {
    run = c == previous ? run + 1 : 1;
    previous = c;
    if (run > kRunMax && (c == '`' || c == '~')) return true;
  }
  return false;
}

struct Expected {
  std::optional<BlockFinder::Block> last;
  std::size_t complete = 0;
};

// The header, read line by line over the whole text.
Expected read_plainly(std::string_view text) {
  Expected out;
  Fence open;
  bool is_ours = false;
  std::size_t body_start = 0, body_line = 0, number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    const std::size_t next = std::min(end + 1, text.size());
    const Fence fence = fence_of(line);
    ++number;
    if (open.length > 0 && fence.length >= open.length && fence.character == open.character &&
        is_blank_line(fence.rest)) {
      if (is_ours) {
        BlockFinder::Block block;
        block.body = text.substr(body_start, start - body_start);
        // The line end before the closing fence belongs to the fence.
        if (block.body.ends_with('\n')) block.body.pop_back();
        if (block.body.ends_with('\r')) block.body.pop_back();
        block.offset = body_start;
        block.line = body_line;
        block.differs_from_earlier = out.last && (out.last->differs_from_earlier || out.last->body != block.body);
        out.last = std::move(block);
        ++out.complete;
      }
      open = {};
    } else {
      if (out.last && !is_blank_line(line)) out.last->text_after = true;
      const bool opens = fence.length > 0 && (fence.character == '~' || fence.rest.find('`') == std::string_view::npos);
      if (open.length == 0 && opens) {
        open = fence;
        const bool tagged = fence.rest.starts_with(agent_contract::kTag) &&
                            is_blank_line(fence.rest.substr(agent_contract::kTag.size()));
        is_ours = fence.character == '`' && tagged;
        body_start = next;
        body_line = number + 1;
      }
    }
    start = next;
  }
  return out;
}

void require_same(const std::optional<BlockFinder::Block>& left, const std::optional<BlockFinder::Block>& right,
                  std::string_view promise) {
  require(left.has_value() == right.has_value(), promise,
          left ? "only the first has a block" : "only the second has a block");
  if (!left) return;
  require(left->offset == right->offset, promise, "offset");
  require(left->line == right->line, promise, "line");
  require(left->too_large == right->too_large, promise, "too_large");
  require(left->body == right->body, promise, "body: " + left->body + " -- " + right->body);
  require(left->text_after == right->text_after, promise,
          left->text_after ? "only the first has text after" : "only the second has text after");
  require(left->differs_from_earlier == right->differs_from_earlier, promise, "differs_from_earlier");
}

template <class Finder>
Finder fed(std::string_view text, std::uint8_t pieces) {
  Finder finder;
  feed_in_pieces(text, pieces, [&](std::string_view piece) { finder.feed(piece); });
  finder.end();
  return finder;
}

void run(std::uint8_t pieces, std::string_view text) {
  const auto whole = fed<BlockFinder>(text, 0), cut = fed<BlockFinder>(text, pieces);
  require_same(whole.last(), cut.last(), "pieces do not matter");
  require(whole.complete_blocks() == cut.complete_blocks(), "pieces do not matter to the count");
  require((whole.complete_blocks() > 0) == whole.last().has_value(), "the last block is one of them");
  if (whole.last() && !whole.last()->too_large) {
    require(text.substr(whole.last()->offset).starts_with(whole.last()->body),
            "the body stands where it is said to stand");
    require(whole.last()->body.size() <= limits::kContractBytesMax, "a body beyond the limit is too large");
  }
  if (!holds_longer_run(text)) {
    const Expected expected = read_plainly(text);
    require(whole.complete_blocks() == expected.complete, "the finder counts blocks as a plain reading does");
    // What was cut can only be told from another by what is left of it.
    if (!whole.last() || !whole.last()->too_large)
      require_same(whole.last(), expected.last, "the finder reads as a plain reading does");
    else require(expected.last && expected.last->body.size() > limits::kContractBytesMax, "too large means too large");
  }

  agent_contract::OutputFinder output_whole, output_cut;
  feed_in_pieces(text, 0, [&](std::string_view piece) { output_whole.feed(piece); });
  feed_in_pieces(text, pieces, [&](std::string_view piece) { output_cut.feed(piece); });
  output_whole.end();
  output_cut.end();
  require(output_whole.in_message() == output_cut.in_message(), "pieces do not matter to a transcript");
  require_same(output_whole.found(), output_cut.found(), "pieces do not matter to a transcript's block");

  // Any body survives its fence.
  const std::string fenced = agent_contract::in_fence(text);
  if (text.size() < limits::kContractBytesMax && !holds_longer_run(text)) {
    const auto found = fed<BlockFinder>(fenced, pieces);
    require(found.complete_blocks() == 1, "a fenced body is one block", fenced);
    // A carriage return at its end reads as part of the line end.
    require(found.last()->body == text || found.last()->body + "\r" == text, "a body survives its fence", fenced);
    require(found.last()->body.size() <= text.size() + 1 && !found.last()->text_after, "a fence ends with its block",
            fenced);
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] {
    baton::fuzz::Input input(data, size);
    const std::uint8_t pieces = input.choice();
    baton::fuzz::run(pieces, baton::fuzz::expanded(input.rest(), pieces));
  });
}
