// SPDX-License-Identifier: Apache-2.0
#include "checker/locate.h"

#include "base/limits.h"
#include "dialects/agent_exit/signal.h"
#include "dialects/handoff_spec/spec.h"
#include "dialects/uaix/packet.h"
#include "json/parse.h"

namespace baton::checker {
namespace {

// A duplicate key, or one level too many, is for the check to refuse; to recognise the kind its text is enough.
template <class Recognise>
bool is_object_of(std::string_view text, std::string_view mark, Recognise recognise) {
  if (text.find(mark) == std::string_view::npos) return false;
  const auto document = json::parse(text);
  if (document) return recognise(document->root());
  return document.error().fault == json::Fault::DuplicateKey || document.error().fault == json::Fault::TooDeep;
}

bool is_packet(std::string_view text) { return is_object_of(text, "uai_version", uaix::recognise); }
bool is_spec(std::string_view text) { return is_object_of(text, "task_slug", handoff_spec::recognise); }
bool is_any(std::string_view text) { return agent_exit::is_signal(text) || is_packet(text) || is_spec(text); }

std::size_t bytes_max(std::optional<Dialect> dialect) {
  if (dialect == Dialect::AgentExit) return limits::kExitSignalBytesMax;
  if (dialect == Dialect::HandoffSpec) return limits::kSpecBytesMax;
  return limits::kUaixBytesMax;
}

transcript::Wanted wanted(std::optional<Dialect> dialect) {
  if (dialect == Dialect::AgentExit) return agent_exit::is_signal;
  if (dialect == Dialect::Uaix) return is_packet;
  if (dialect == Dialect::HandoffSpec) return is_spec;
  return is_any;
}

}  // namespace

Locator::Locator(std::optional<Dialect> dialect)
    : dialect_(dialect),
      objects_(bytes_max(dialect), wanted(dialect)),
      look_for_blocks_(!dialect || dialect == Dialect::AgentContract),
      look_for_objects_(dialect != Dialect::AgentContract) {}

void Locator::feed(std::string_view bytes) {
  if (look_for_blocks_) blocks_.feed(bytes);
  if (look_for_objects_) objects_.feed(bytes);
}

std::optional<Locator::Located> Locator::end() {
  if (look_for_blocks_) blocks_.end();
  if (look_for_objects_) objects_.end();
  if (const auto& block = blocks_.found()) {
    Located located{Dialect::AgentContract, block->body, blocks_.in_message() ? 0 : block->line, {}};
    const auto warn = [&](std::string_view problem) { located.warnings.push_back(report(Code::HANDOFF_AMBIGUOUS, {}, {{"problem", problem}})); };
    if (block->differs_from_earlier) warn("the output holds several contract blocks that differ");
    else if (block->text_after) warn("text follows the contract block");
    return located;
  }
  if (!objects_.found()) return std::nullopt;
  const auto& object = objects_.found()->object;
  const Dialect dialect = dialect_                             ? *dialect_
                          : agent_exit::is_signal(object.text) ? Dialect::AgentExit
                          : is_packet(object.text)             ? Dialect::Uaix
                                                               : Dialect::HandoffSpec;
  Located located{dialect, object.text, objects_.found()->in_message ? 0 : object.line, {}};
  const auto warn = [&](std::string_view problem) { located.warnings.push_back(report(Code::EXIT_AMBIGUOUS, {}, {{"problem", problem}})); };
  if (object.differs_from_earlier) warn("the output holds several handoffs that differ");
  else if (object.text_after) warn("text follows the handoff");
  return located;
}

}  // namespace baton::checker
