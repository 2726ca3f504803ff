// SPDX-License-Identifier: Apache-2.0
#include "running_node.h"

#include <unistd.h>

namespace baton::bench {

Running start(Result<std::unique_ptr<store::Store>> store, const std::filesystem::path& keys, Clock& clock,
              Random& random) {
  insist(store.has_value(), store ? "" : store.error().text());
  Running out;
  out.store = std::move(*store);
  auto ledger = runtime::Ledger::open(*out.store, clock, random, {keys, {}});
  insist(ledger.has_value(), ledger ? "" : ledger.error().text());
  out.ledger = std::move(*ledger);
  out.config = std::make_unique<workspace::Config>();
  out.config->policy.exit_protocol = true;
  out.cases = std::make_unique<runtime::UseCases>(*out.store, *out.ledger, clock, random, *out.config);
  out.access = std::make_unique<runtime::Access>(
      *out.cases, clock, static_cast<std::int64_t>(::getuid()), "boot",
      [](std::int64_t) { return std::optional(std::vector<runtime::Access::Process>{}); },
      [](std::int64_t) { return std::string("bench"); });
  insist(out.access->load().has_value(), "the tokens");
  auto node = runtime::Node::start(*out.store, *out.ledger, clock, *out.cases, *out.access, *out.config, {});
  insist(node.has_value(), node ? "" : node.error().text());
  out.node = std::move(*node);
  return out;
}

runtime::Mutation as(std::string actor) { return {.caller = {.actor = {std::move(actor), work::ActorKind::Agent}}}; }
runtime::Mutation as_operator() { return {.caller = {.actor = {"bench", work::ActorKind::Operator}}}; }

std::string member(const json::Value& body, std::string_view pointer) {
  const json::Value* found = body.find_at(pointer);
  insist(found != nullptr && found->is_string(), "the answer has no " + std::string(pointer));
  return found->string();
}

}  // namespace baton::bench
