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

Diagnostic ambiguous(Dialect dialect, std::string_view problem) {
  const Code code = dialect == Dialect::AgentExit       ? Code::EXIT_AMBIGUOUS
                    : dialect == Dialect::AgentContract ? Code::HANDOFF_AMBIGUOUS
                                                        : Code::LOCATE_AMBIGUOUS;
  return report(code, {}, {{"problem", problem}});
}

// `Find` is a block or an object found: what makes either less than clear is the same.
template <class Find>
void warn(Locator::Located& located, const Find& find) {
  if (find.differs_from_earlier)
    located.warnings.push_back(ambiguous(located.dialect, "the output holds several handoffs that differ"));
  else if (find.text_after) located.warnings.push_back(ambiguous(located.dialect, "text follows the handoff"));
}

Locator::Located from_block(const agent_contract::BlockFinder::Block& block, bool in_message) {
  Locator::Located located{Dialect::AgentContract, block.body, in_message ? 0 : block.line, {}};
  warn(located, block);
  return located;
}

Locator::Located from_object(const transcript::OutputScanner::Found& found, std::optional<Dialect> wanted) {
  const auto& object = found.object;
  const Dialect dialect = wanted                               ? *wanted
                          : agent_exit::is_signal(object.text) ? Dialect::AgentExit
                          : is_packet(object.text)             ? Dialect::Uaix
                                                               : Dialect::HandoffSpec;
  Locator::Located located{dialect, object.text, found.in_message ? 0 : object.line, {}};
  warn(located, object);
  return located;
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
  const auto& block = blocks_.found();
  const auto& object = objects_.found();
  if (!block && !object) return std::nullopt;
  // Of a block and an object the later one wins. In one and the same message the block does: nobody writes one by accident.
  const bool takes_block = block && (!object || blocks_.position() >= object->position);
  Located located = takes_block ? from_block(*block, blocks_.in_message()) : from_object(*object, dialect_);
  if (block && object)
    located.warnings.push_back(ambiguous(located.dialect, "the output holds handoffs of two dialects"));
  return located;
}

}  // namespace baton::checker
