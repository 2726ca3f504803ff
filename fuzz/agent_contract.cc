// SPDX-License-Identifier: Apache-2.0
// Checking contract blocks, the way through the statuses, and merging update_contracts.
//
// The first byte chooses; then come up to three parts with 0x1f between them: the message (or only the body of its
// block), the envelope the agent was given, and what the machine or the merge works on.
#include "dialects/agent_contract/block.h"
#include "dialects/agent_contract/contract.h"
#include "properties.h"

namespace baton::fuzz {
namespace {

void check_message(std::string_view message, const agent_contract::Options& options) {
  const agent_contract::Checked checked = agent_contract::check(message, options);
  const agent_contract::Checked again = agent_contract::check(message, options);
  require_same_codes(checked.diagnostics, again.diagnostics, "the same message gives the same codes");
  require(checked.missing == again.missing && checked.invalid == again.invalid && checked.warnings == again.warnings,
          "the same message gives the same lists");
  require_presentable(checked.diagnostics);
  require(checked.valid() == !has_errors(checked.diagnostics), "a contract is valid when it has no errors",
          codes(checked.diagnostics));
  require(checked.missing.size() + checked.invalid.size() + checked.warnings.size() == checked.diagnostics.size(),
          "every diagnostic is in one list");
  if (!checked.document) {
    require(!checked.valid(), "a valid contract has a document");
    return;
  }
  const json::Node root = checked.document->root();
  if (checked.valid()) {
    const Handoff handoff = agent_contract::to_handoff(root, checked.document->text());
    require_showable(handoff);
    require_same_document(root, agent_contract::from_handoff(handoff));
  }
  if (checked.document->text().size() > 8192) return;
  // In a message of its own, because what stands around a block has its own codes.
  const std::string one = agent_contract::in_fence(checked.document->text()),
                    other = agent_contract::in_fence(respelled(root));
  require_same_codes(agent_contract::check(one, options).diagnostics, agent_contract::check(other, options).diagnostics,
                     "spelling does not matter");
}

void check_block(json::Node root) {
  const std::string block = agent_contract::write_block(json::Value::copy(root));
  agent_contract::BlockFinder finder;
  finder.feed(block);
  finder.end();
  require(finder.last() && finder.complete_blocks() == 1 && !finder.last()->text_after,
          "a block that is written is found", block);
  const json::Document again = parsed(finder.last()->body, "a block's body is JSON");
  require(json::equal(root, again.root()), "a block's body is what was written", block);
}

// A status that is refused moves nothing: asked again, the answer is the same.
void check_statuses(std::string_view text) {
  agent_contract::StatusMachine machine;
  for (const std::string_view line : split(text, '\n')) {
    std::string status(line);
    if (line.size() == 1)
      status =
          agent_contract::status_name(static_cast<agent_contract::Status>(static_cast<unsigned char>(line[0]) % 5));
    const auto answer = machine.advance(status);
    require_presentable(answer);
    require(agent_contract::find_status(status) || has_errors(answer), "only the five statuses are accepted");
    if (has_errors(answer))
      require_same_codes(answer, machine.advance(status), "a refused status does not move the machine");
  }
}

// Merging settles: what was merged in once changes nothing when it comes again. (The first time, a list that is new or
// takes another type's place is taken as it is; the second time its equal items become one.)
void check_merge(json::Node current, json::Node payload) {
  const json::Value from = json::Value::copy(current), with = json::Value::copy(payload);
  const agent_contract::Merged once = agent_contract::merge(from, with);
  require_presentable(once.warnings);
  const json::Value twice = agent_contract::merge(once.result, with).result;
  const json::Value thrice = agent_contract::merge(twice, with).result;
  require(json::write(twice) == json::write(thrice), "merging settles",
          json::write(twice) + " -- " + json::write(thrice));
  parsed(json::write(once.result), "what is merged is JSON");
  require(agent_contract::merge(from, with).result.kind() == with.kind(), "a payload of another type replaces");
}

void run(Input input) {
  const std::uint8_t choice = input.choice();
  const std::string_view message = input.part(), envelope = input.part(), further = input.rest();
  const auto given = json::parse(envelope), other = json::parse(further);
  agent_contract::Options options;
  if (given) options.input_envelope = given->root();
  if (choice & 1) options.writable = {"architecture", "contracts"};
  if (given) agent_contract::consolidation_required(given->root());
  check_message(message, options);
  check_message(agent_contract::in_fence(message), options);
  check_statuses(further);
  const auto document = json::parse(message);
  if (document) check_block(document->root());
  if (given && other) check_merge(given->root(), other->root());
  if (document && given) check_merge(document->root(), given->root());
}

}  // namespace
}  // namespace baton::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return baton::fuzz::fuzz_one([&] { baton::fuzz::run({data, size}); });
}
