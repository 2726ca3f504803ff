// SPDX-License-Identifier: Apache-2.0
// The one door: any bytes, any options. Two bytes choose the options, a third the pieces of a stream, the rest is the text.
#include "checker/checker.h"

#include "checker/locate.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

void require_sound(const checker::Report& report) {
  require_presentable(report.diagnostics);
  require(report.dialect.has_value() || !report.valid(), "what no dialect is, is not valid");
  if (report.handoff)
    require(report.valid() && report.handoff->dialect == report.dialect, "only what is valid is a handoff");
  if (report.handoff) require_showable(*report.handoff);
  const json::Document shown = parsed(json::write(checker::to_json(report, "a source")), "a report is JSON");
  require(shown.root()["valid"].is_boolean() && shown.root()["diagnostics"].size() == report.diagnostics.size(),
          "a report says it all");
}

checker::Report found_in_pieces(std::string_view text, std::uint8_t pieces, const checker::Options& options,
                                bool& found) {
  checker::Locator locator(options.dialect);
  feed_in_pieces(text, pieces, [&](std::string_view piece) { locator.feed(piece); });
  auto located = locator.end();
  found = located.has_value();
  return found ? checker::check_located(std::move(*located), options) : checker::Report{};
}

void run(Input input) {
  const std::uint8_t choice = input.choice(), further = input.choice(), pieces = input.choice();
  const std::string_view text = input.rest();
  checker::Options options;
  if (choice & 1) options.dialect = kDialects[choice >> 1 & 3];
  options.strict = (choice & 8) != 0;
  options.fixture = (choice & 16) != 0;
  if (choice & 32) options.profile = handoff_spec::find_profile("raxx");
  if (choice & 64) options.writable = {"architecture"};
  if (choice & 128) options.known_extensions = {"urn:example:ext"};
  options.now = *parse_time(further & 1 ? "2026-11-15T00:00:00Z" : "2026-05-23T12:00:00Z").time;
  if (further & 2)
    options.seen = {{"msg_relay_handoff_0042", "agt_relay.builder", "idem_20261114_relay_0042", "sha256:0"}};
  static const json::Document envelope =
      parsed(R"({"consolidation_required":true,"writable":["architecture"]})", "a constant");
  if (further & 4) options.input_envelope = envelope.root();

  const checker::Report report = checker::check(text, options);
  require_sound(report);
  const checker::Report again = checker::check(text, options);
  require(json::write(checker::to_json(report, "")) == json::write(checker::to_json(again, "")),
          "the same text gives the same report");
  if (options.strict)
    for (const Diagnostic& diagnostic : report.diagnostics)
      require(diagnostic.severity == Severity::Error, "strict leaves no warning");

  bool found = false, found_again = false;
  const checker::Report whole = found_in_pieces(text, 0, options, found);
  const checker::Report cut = found_in_pieces(text, pieces, options, found_again);
  require(found == found_again, "pieces do not matter to what is found");
  if (found) {
    require_sound(whole);
    const std::string a = json::write(checker::to_json(whole, "")), b = json::write(checker::to_json(cut, ""));
    require(a == b, "pieces do not matter to the report", a + " -- " + b);
  }

  if (const auto line = json::parse(text)) {
    checker::Options read;
    const auto problem = checker::read_options(line->root(), read);
    require(!problem || !problem->empty(), "a problem with options has words");
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
