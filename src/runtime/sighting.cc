// SPDX-License-Identifier: Apache-2.0
#include "runtime/sighting.h"

#include "base/sha256.h"
#include "json/canonical.h"
#include "json/value.h"

namespace baton::runtime {
namespace {

using session::CallState;
using session::OpenCall;

// Of several calls that are the same: the one that most likely has ended.
int rank(const OpenCall& call) {
  switch (call.state) {
    case CallState::Executing: return 0;
    case CallState::Unknown: return 1;
    case CallState::Pending: return 2;
    default: return 3;
  }
}

}  // namespace

std::string sighted_digest(std::string_view tool, const json::Value& input) {
  std::string text;
  // A number beyond all bounds has no canonical form: then the text counts as it is.
  if (!json::append_canonical(text, input, json::Numbers::Exact)) text = json::write(input);
  return sha256_hex(std::string(tool) + "\n" + text);
}

Match find_sighted(const session::Rules& rules, const session::State& state, const SightedCalls& sighted,
                   const Sighting& seen) {
  const auto known = [&](const OpenCall& call) -> const Sighted* {
    const auto found = sighted.find(call.id);
    return found == sighted.end() ? nullptr : &found->second;
  };
  const auto is_same = [&](const OpenCall& call) {
    if (const Sighted* own = known(call)) return own->input_sha256 == seen.input_sha256;
    const std::string_view tool = call.tool == session::kNone ? call.tool_name : rules.tool(call.tool).name;
    const auto named = rules.plan->find_tool(seen.tool);
    const bool same_tool = call.tool == session::kNone ? tool == seen.tool : named && *named == call.tool;
    return same_tool && !call.digest.empty() && call.digest == seen.arguments_sha256;
  };
  if (!seen.call_id.empty()) {
    for (const OpenCall& call : state.open) {
      const Sighted* own = known(call);
      if (own != nullptr && own->call_id == seen.call_id) return {&call, !is_same(call)};
    }
    if (const OpenCall* call = state.find(seen.call_id); call != nullptr && known(*call) == nullptr)
      return {call, !is_same(*call)};
  }
  const OpenCall* best = nullptr;
  for (const OpenCall& call : state.open) {
    const Sighted* own = known(call);
    // The client says that it is another call. One that waits is proposed again under new ids, which are not kept.
    const bool is_another = own != nullptr && !own->call_id.empty() && !seen.call_id.empty() &&
                            call.state != CallState::Awaiting && !seen.confirms;
    if (is_another || !is_same(call)) continue;
    if (best == nullptr || rank(call) < rank(*best)) best = &call;
  }
  return {best, false};
}

}  // namespace baton::runtime
