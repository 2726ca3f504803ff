// SPDX-License-Identifier: Apache-2.0
// A new item.
#include <algorithm>

#include "base/limits.h"
#include "runtime/use_cases/inside.h"
#include "runtime/use_cases/reading.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

// W-1, W-2, ...: the first that is not taken after the last that was counted.
Result<std::string> next_id(Act& act) {
  const auto row = act.unit.get(store::tables::kCounters, {std::string("work")});
  if (!row) return tl::make_unexpected(row.error());
  for (std::int64_t number = *row ? number_at(**row, 1) + 1 : 1;; ++number) {
    std::string id = "W-" + std::to_string(number);
    const auto there = act.unit.get(store::tables::kWorkItems, {id});
    if (!there) return tl::make_unexpected(there.error());
    if (!*there) return id;
  }
}

// Counts the new item among the actor's, unless it is exempt. The row is locked: of two nodes only one adds to it at a time.
Result<void> count_for_actor(Act& act, work::NewWork& asked) {
  asked.counts_for.clear();
  const std::uint64_t most = act.engine.config.limits.per_actor.items;
  if (most == 0 || is_exempt(act.caller())) return {};
  asked.counts_for = act.caller().actor.id;
  const auto row = act.unit.get(store::tables::kCounters, {open_items_of(asked.counts_for)});
  if (!row) return tl::make_unexpected(row.error());
  const std::int64_t count = *row ? number_at(**row, 1) : 0;
  if (count < static_cast<std::int64_t>(most)) return {};
  act.refuse(report(Code::ACTOR_ITEMS, {},
                    {{"actor", asked.counts_for}, {"count", std::to_string(count)}, {"max", std::to_string(most)}}));
  return {};
}

Result<void> create_item(Act& act, work::NewWork asked) {
  if (auto counted = count_for_actor(act, asked); !counted || act.refused()) return counted;
  if (asked.id.empty()) {
    auto id = next_id(act);
    if (!id) return tl::make_unexpected(id.error());
    asked.id = std::move(*id);
  }
  // What a labelled session writes has its labels, whichever it names.
  std::vector<std::string> author_labels;
  if (const std::string& above = session_of(act.caller()); !above.empty()) {
    const auto reader = act.engine.store.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    auto labels = labels_of_session(**reader, above);
    if (!labels) return tl::make_unexpected(labels.error());
    author_labels = std::move(*labels);
    for (const std::string& label : author_labels)
      if (std::ranges::find(asked.labels, label) == asked.labels.end()) asked.labels.push_back(label);
  }
  bool there = false;
  if (work::is_work_id(asked.id)) {
    const auto item = act.item(asked.id);
    if (!item) return tl::make_unexpected(item.error());
    there = item->has_value();
  }
  std::vector<std::optional<work::Item>> dependencies;
  for (const std::string& id : asked.depends_on) {
    // A list that is too long is refused; its items need not be looked at.
    const bool look = work::is_work_id(id) && dependencies.size() <= limits::kWorkDependenciesMax;
    Result<std::optional<work::Item>> item;
    if (look) item = act.item(id);
    if (!item) return tl::make_unexpected(item.error());
    dependencies.push_back(std::move(*item));
  }
  work::Item item;
  work::Ruling ruling = work::create(asked, there, dependencies, act.caller().actor, act.now);
  // Labels that somebody gives an item are about what is to be done; these are about who wrote its title and text.
  if (ruling.allowed() && !author_labels.empty())
    ruling.events.front().payload.set("author_labels", texts_value(author_labels));
  const auto allowed = act.record(ruling, item);
  if (!allowed) return tl::make_unexpected(allowed.error());
  if (!*allowed) return {};
  act.answer.created = true;
  act.answer.body.set("work", shown(item));
  return {};
}

}  // namespace

void UseCases::create(const Mutation& by, work::NewWork asked, Answered done) {
  inside_->run(by, [asked = std::move(asked)](Act& act) { return create_item(act, asked); }, std::move(done),
               {.adds = Engine::Adds::Work});
}

}  // namespace baton::runtime
