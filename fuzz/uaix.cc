// SPDX-License-Identifier: Apache-2.0
// Checking, sealing and handing on UAI-1 packets. The first byte chooses, the rest is the packet.
#include <algorithm>

#include "dialects/uaix/packet.h"
#include "dialects/uaix/text_rules.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kRespelledBytesMax = 16'384;

bool has_code(const std::vector<Diagnostic>& diagnostics, Code code) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [&](const Diagnostic& found) { return found.code == code; });
}

void check_sealed(json::Node root, const uaix::Options& options) {
  const auto sealed = uaix::seal(json::Value::copy(root));
  if (!sealed) return;
  const std::string text = json::write(*sealed);
  const uaix::Checked checked = uaix::check(text, options);
  for (const Code code : {Code::UAIX_CHECKSUM_MISMATCH, Code::UAIX_CHECKSUM_MALFORMED, Code::UAIX_CHECKSUM_PLACEHOLDER})
    require(!has_code(checked.diagnostics, code), "a sealed packet has the right checksum", text);
  if (!checked.document) return;
  const json::Node packet = checked.document->root();
  require(uaix::checksum(packet) == std::string(packet["integrity"]["checksum"].string()), "the seal is the checksum",
          text);
  require(uaix::seal(json::Value::copy(packet)).has_value(), "a sealed packet can be sealed", text);

  // Seen before with the same content, it is a duplicate; with other content, it is refused.
  const json::Node id = packet["message_id"], source = packet["source"]["id"];
  const auto digest = uaix::replay_digest(packet);
  if (!id.is_string() || !source.is_string() || !digest) return;
  uaix::Options later = options;
  std::vector<uaix::Seen> seen = {{std::string(id.string()), std::string(source.string()), "", *digest}};
  later.seen = &seen;
  const uaix::Checked again = uaix::check(text, later);
  require(again.duplicate && !has_code(again.diagnostics, Code::UAIX_REPLAY),
          "a packet that comes again is a duplicate", text);
  require(again.valid() == checked.valid(), "a duplicate is as valid as it was", text);
  seen[0].digest = "other";
  require(has_code(uaix::check(text, later).diagnostics, Code::UAIX_REPLAY), "an id with other content is a replay",
          text);
}

void check_object(json::Node root, std::string_view text, const uaix::Checked& checked, const uaix::Options& options) {
  uaix::recognise(root);
  if (const auto handoff = uaix::to_handoff(root, text); handoff && checked.valid()) {
    require_showable(*handoff);
    require_same_document(root, uaix::from_handoff(*handoff));
  }
  check_sealed(root, options);
  if (text.size() > kRespelledBytesMax) return;
  for (const std::string& other : {json::write(root), respelled(root)})
    require_same_codes(checked.diagnostics, uaix::check(other, options).diagnostics, "spelling does not matter");
}

// The first look may be wrong only in one direction.
void check_first_look(std::string_view text) {
  if (uaix::may_break_text_rules(text)) return;
  require(!uaix::claims_unsupported(text), "the first look sees claims", text);
  require(!uaix::holds_private_endpoint(text), "the first look sees private endpoints", text);
  require(!uaix::holds_local_trace(text), "the first look sees traces", text);
}

void run(std::uint8_t choice, std::string_view text) {
  uaix::Options options;
  options.now = *parse_time(choice & 1 ? "2026-11-15T00:00:00Z" : "2026-05-23T12:00:00Z").time;
  options.fixture = (choice & 2) != 0;
  if (choice & 4) options.known_extensions = {"urn:example:ext", "com.example.ext"};
  const uaix::Checked checked = uaix::check(text, options);
  require_same_codes(checked.diagnostics, uaix::check(text, options).diagnostics,
                     "the same packet gives the same codes");
  require_presentable(checked.diagnostics);
  require(checked.document.has_value() || has_errors(checked.diagnostics), "a text that is no object is refused");
  if (checked.document) check_object(checked.document->root(), text, checked, options);
  if (find_invalid_utf8(text) == text.size()) {
    check_first_look(text);
    uaix::demands_unattended_execution(text);
  }
  CountingRandom random(choice);
  const json::Value skeleton =
      uaix::skeleton(choice & 8 ? uaix::kAckProfile : uaix::kHandoffProfile, options.now, random);
  parsed(json::write(skeleton), "a skeleton is JSON");
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] {
    baton::fuzz::Input input(data, size);
    const std::uint8_t choice = input.choice();
    const std::vector<char> text = baton::fuzz::mended(input.rest());
    baton::fuzz::run(choice, {text.data(), text.size()});
  });
}
