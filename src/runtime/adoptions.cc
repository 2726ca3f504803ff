// SPDX-License-Identifier: Apache-2.0
#include "runtime/adoptions.h"

#include <algorithm>

#include "base/text.h"
#include "json/parse.h"
#include "ledger/streams.h"
#include "runtime/writer.h"

namespace baton::runtime {
namespace {

using json::Node;
using json::Value;

const ledger::Actor kNode{"node", ledger::ActorKind::Node};

std::string text_of(Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

std::vector<std::string> texts_of(Node list) {
  std::vector<std::string> out;
  for (const Node one : list.elements()) out.push_back(text_of(one));
  return out;
}

// The same findings are the same problem.
std::string problem_of(const std::vector<std::string>& findings, const std::vector<std::string>& unreadable) {
  if (findings.empty() && unreadable.empty()) return {};
  return join(findings, "\n") + "\n\n" + join(unreadable, "\n");
}

Value list_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

}  // namespace

Result<void> AdoptionLog::recall() {
  const auto reader = store_.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  std::map<std::string, Known> known;
  struct Open {
    bool problem = false, at = false;  // known already: what comes later is older
  };
  std::map<std::string, Open> open;
  auto read = ledger::read_stream_backwards(**reader, kAdoptionStream, [&](const store::EntryRow& row) {
    const auto document = json::parse(row.payload);
    if (!document) return true;
    const Node payload = document->root();
    const std::string id = text_of(payload["id"]);
    Known& one = known[id];
    Open& seen = open[id];
    if (!seen.problem) {
      seen.problem = true;
      one.client = text_of(payload["client"]);
      one.project = text_of(payload["project"]);
      one.undone = row.type == kAdoptionUndone;
      if (row.type == kAdoptionBroken)
        one.problem = problem_of(texts_of(payload["findings"]), texts_of(payload["unreadable"]));
    }
    if (!seen.at && row.type == kAdoptionWired) seen.at = true, one.at = text_of(payload["at"]);
    return true;
  });
  if (!read) return read;
  known_ = std::move(known);
  recalled_ = true;
  return {};
}

Result<void> AdoptionLog::see(const std::vector<SeenAdoption>& all) {
  const std::lock_guard lock(mutex_);
  if (!recalled_)
    if (auto recalled = recall(); !recalled) return recalled;
  std::map<std::string, Known> next = known_;
  std::vector<Happening> happened;
  const auto happen = [&](std::string_view type, const std::string& id, const Known& one) -> Value& {
    Happening& happening = happened.emplace_back();
    happening.stream = kAdoptionStream;
    happening.type = type;
    happening.actor = kNode;
    happening.payload.set("id", id);
    happening.payload.set("client", one.client);
    happening.payload.set("project", one.project);
    return happening.payload;
  };
  for (const SeenAdoption& seen : all) {
    Known& one = next[seen.id];
    if (one.at != seen.at || one.undone) {
      one = {.client = seen.client, .project = seen.project, .at = seen.at, .problem = {}, .undone = false};
      Value& payload = happen(kAdoptionWired, seen.id, one);
      payload.set("role", seen.role);
      payload.set("pack", seen.pack);
      payload.set("by", seen.by);
      payload.set("at", seen.at);
    }
    std::string problem = problem_of(seen.findings, seen.unreadable);
    if (problem == one.problem) continue;
    Value& payload = happen(problem.empty() ? kAdoptionWhole : kAdoptionBroken, seen.id, one);
    if (!problem.empty()) {
      payload.set("findings", list_of(seen.findings));
      payload.set("unreadable", list_of(seen.unreadable));
    }
    one.problem = std::move(problem);
  }
  for (auto& [id, one] : next) {
    const bool is_there = std::any_of(all.begin(), all.end(), [&](const SeenAdoption& seen) { return seen.id == id; });
    if (is_there || one.undone) continue;
    happen(kAdoptionUndone, id, one);
    one.undone = true;
    one.problem.clear();
  }
  if (happened.empty()) return {};
  const auto recorded = ledger_.writer().run([&](Unit& unit) -> Result<void> {
    for (const Happening& happening : happened)
      if (auto appended = unit.append(happening); !appended) return appended;
    return {};
  });
  if (!recorded) return tl::make_unexpected(recorded.error());
  known_ = std::move(next);
  return {};
}

}  // namespace baton::runtime
