// SPDX-License-Identifier: Apache-2.0
// Finding the exit signal in an agent's output: pieces do not matter, what is found is there and is a signal, and no text
// before a signal can hide it.
#include "base/limits.h"
#include "dialects/agent_exit/signal.h"
#include "properties.h"
#include "transcript/output_scanner.h"

namespace baton::fuzz {
namespace {

using transcript::ObjectScanner;
using transcript::OutputScanner;

constexpr std::string_view kSignal =
    R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":"REVIEW","exit_reason":"completed","notes":"last"})";

template <class Scanner>
Scanner scanned(std::string_view text, std::uint8_t pieces) {
  Scanner scanner(limits::kExitSignalBytesMax, agent_exit::is_signal);
  feed_in_pieces(text, pieces, [&](std::string_view piece) { scanner.feed(piece); });
  scanner.end();
  return scanner;
}

void require_same(const ObjectScanner::Found& left, const ObjectScanner::Found& right, std::string_view promise) {
  require(left.text == right.text, promise, left.text + " -- " + right.text);
  require(left.offset == right.offset, promise, "offset");
  require(left.line == right.line, promise, "line");
  require(left.differs_from_earlier == right.differs_from_earlier, promise, "differs_from_earlier");
  require(left.text_after == right.text_after, promise, "text_after");
}

bool is_blank_part(std::string_view text) { return text.find_first_not_of(" \t\r") == std::string_view::npos; }

void require_signal(const ObjectScanner::Found& found) {
  require(found.text.size() <= limits::kExitSignalBytesMax, "a signal is within the limit");
  json::ParseLimits limits;
  limits.depth_max = limits::kExitSignalBytesMax;
  const auto document = json::parse(found.text, limits);
  if (document)
    require(document->root()["protocol"].is_text(agent_exit::kProtocol), "a signal has its protocol", found.text);
  else
    require(document.error().fault == json::Fault::DuplicateKey, "a signal is JSON, but for keys it has twice",
            found.text);
}

void require_stands_alone(const ObjectScanner::Found& found, std::string_view text) {
  require(found.offset <= text.size() && text.substr(found.offset).starts_with(found.text),
          "a signal stands where it is said to");
  const std::size_t end = found.offset + found.text.size();
  const std::size_t line_start = text.substr(0, found.offset).rfind('\n') + 1;  // npos + 1 is 0
  const std::size_t line_end = std::min(text.find('\n', end), text.size());
  require(is_blank_part(text.substr(line_start, found.offset - line_start)),
          "nothing stands before a signal on its line");
  require(is_blank_part(text.substr(end, line_end - end)), "nothing stands after a signal on its line");
  require(found.line == json::position_at(text, found.offset).line, "a signal's line is its line");
  // A line of nothing but fence marks is no text. Inside an object that broke, every byte after the signal is.
  bool text_after = false;
  for (std::size_t start = line_end; start < text.size();) {
    const std::size_t next = std::min(text.find('\n', start), text.size());
    std::string_view line = text.substr(start, next - start);
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    const bool fence = line.starts_with('`') || line.starts_with('~');
    text_after |= line.find_first_not_of(fence ? " \t\r`~" : " \t\r") != std::string_view::npos;
    start = next + 1;
  }
  require(found.text_after || !text_after, "text after a signal is noticed");
  require(!found.text_after || text.find_first_not_of(" \t\r\n", end) != std::string_view::npos,
          "text after a signal is there");
}

void run(std::uint8_t pieces, std::string_view text) {
  const auto whole = scanned<ObjectScanner>(text, 0), cut = scanned<ObjectScanner>(text, pieces);
  require(whole.found().has_value() == cut.found().has_value(), "pieces do not matter");
  if (whole.found()) {
    require_same(*whole.found(), *cut.found(), "pieces do not matter to what is found");
    require_signal(*whole.found());
    require_stands_alone(*whole.found(), text);
  }

  const auto output_whole = scanned<OutputScanner>(text, 0), output_cut = scanned<OutputScanner>(text, pieces);
  require(output_whole.found().has_value() == output_cut.found().has_value(), "pieces do not matter to a transcript");
  if (output_whole.found()) {
    require(output_whole.found()->in_message == output_cut.found()->in_message,
            "pieces do not matter to where a signal stood");
    require_same(output_whole.found()->object, output_cut.found()->object,
                 "pieces do not matter to a transcript's signal");
    require_signal(output_whole.found()->object);
    if (!output_whole.found()->in_message) require_stands_alone(output_whole.found()->object, text);
  }

  // Whatever came before: a signal alone on the last line is the last one.
  const std::string ended = std::string(text) + "\n" + std::string(kSignal) + "\n";
  const auto last = scanned<ObjectScanner>(ended, pieces);
  require(last.found() && last.found()->text == kSignal && !last.found()->text_after,
          "no text hides the signal after it");
  const auto output_last = scanned<OutputScanner>(ended, pieces);
  require(output_last.found() && output_last.found()->object.text == kSignal,
          "no transcript hides the signal after it");
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
