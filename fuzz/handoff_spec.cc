// SPDX-License-Identifier: Apache-2.0
// Checking handoff specs and asking the gate. The first byte chooses; then come the spec, 0x1f and a manifest.
#include "dialects/handoff_spec/spec.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kRespelledBytesMax = 8192;

void check_gate(std::string_view spec, json::Node root, std::string_view manifest,
                const handoff_spec::Options& options) {
  const json::Node named = root["task_slug"];
  handoff_spec::GateQuestion question{
      .spec = spec, .task_slug = named.is_string() ? named.string() : "a-task", .vault = {}, .options = options};
  for (const auto& answer : {handoff_spec::VaultAnswer::unreachable(), handoff_spec::VaultAnswer::not_provisioned()}) {
    question.vault = answer;
    const auto refused = handoff_spec::gate(question);
    require(refused.has_value(), "no manifest, no dispatch");
    require_presentable({*refused});
  }
  const auto document = json::parse(manifest);
  if (!document) return;
  question.vault = handoff_spec::VaultAnswer::found(document->root());
  const auto refused = handoff_spec::gate(question);
  if (refused) require_presentable({*refused});
  const auto again = handoff_spec::gate(question);
  require(refused.has_value() == again.has_value() && (!refused || refused->code == again->code),
          "the gate answers the same twice");
  question.task_slug = "another-task-than-this";
  if (!refused) require(handoff_spec::gate(question).has_value(), "the gate passes only the task it was asked about");
}

void run(Input input) {
  const std::uint8_t choice = input.choice();
  const std::string_view text = input.part(), manifest = input.rest();
  handoff_spec::Options options;
  options.profile = handoff_spec::find_profile(choice & 1 ? "raxx" : "default");
  options.now = *parse_time(choice & 2 ? "2026-11-15T00:00:00Z" : "2261-12-31T00:00:00Z").time;
  options.strict = (choice & 4) != 0;

  const handoff_spec::Checked checked = handoff_spec::check(text, options);
  require_same_codes(checked.diagnostics, handoff_spec::check(text, options).diagnostics,
                     "the same spec gives the same codes");
  require_presentable(checked.diagnostics);
  require(checked.resolved.has_value() == checked.valid(), "a spec comes to something when it is valid");
  if (checked.resolved) parsed(json::write(checked.resolved->to_json()), "what a spec comes to is JSON");
  if (!checked.document || !checked.document->root().is_object()) {
    require(!checked.valid(), "a valid spec is an object");
    return;
  }
  const json::Node root = checked.document->root();
  handoff_spec::recognise(root);
  const Handoff handoff = handoff_spec::to_handoff(root, text);
  require_showable(handoff);
  require_same_document(root, handoff_spec::from_handoff(handoff));
  check_gate(text, root, manifest, options);
  if (text.size() > kRespelledBytesMax) return;
  for (const std::string& other : {json::write(root), respelled(root)}) {
    const handoff_spec::Checked again = handoff_spec::check(other, options);
    require_same_codes(checked.diagnostics, again.diagnostics, "spelling does not matter");
    if (again.document)
      require(handoff_spec::digest(again.document->root()) == handoff_spec::digest(root),
              "spelling does not matter to the digest", other);
  }
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
