// SPDX-License-Identifier: Apache-2.0
// What operators do with an item: unblock, answer, abort.
#include "runtime/use_cases/inside.h"

namespace baton::runtime {
namespace {

// Reads the item, asks the rule, records what it says.
template <class Rule>
Engine::Body on_item(std::string work_id, Rule rule) {
  return [work_id = std::move(work_id), rule = std::move(rule)](Act& act) -> Result<void> {
    auto item = act.settled_item(work_id);
    if (!item) return tl::make_unexpected(item.error());
    if (!*item) return {};
    const auto allowed = act.record(rule(act, **item), **item);
    if (!allowed) return tl::make_unexpected(allowed.error());
    if (*allowed) act.answer.body.set("work", shown(**item));
    return {};
  };
}

}  // namespace

void UseCases::unblock(const Mutation& by, std::string work_id, std::optional<work::Phase> to, std::string note,
                       Answered done) {
  inside_->run(by,
               on_item(std::move(work_id),
                       [to, note = std::move(note)](const Act& act, const work::Item& item) {
                         return work::unblock(item, to, note, act.now);
                       }),
               std::move(done));
}

void UseCases::answer(const Mutation& by, std::string work_id, std::string text, Answered done) {
  inside_->run(by,
               on_item(std::move(work_id),
                       [text = std::move(text)](const Act& act, const work::Item& item) {
                         return work::answer(item, text, act.now);
                       }),
               std::move(done));
}

void UseCases::abort(const Mutation& by, std::string work_id, std::string reason, Answered done) {
  inside_->run(by,
               on_item(std::move(work_id),
                       [reason = std::move(reason)](const Act& act, const work::Item& item) {
                         return work::abort(item, reason, act.now);
                       }),
               std::move(done));
}

void UseCases::see_commit(const Mutation& by, std::string work_id, std::string commit, Answered done) {
  inside_->run(by,
               on_item(std::move(work_id),
                       [commit = std::move(commit)](const Act& act, const work::Item& item) {
                         return work::see_commit(item, commit, act.now);
                       }),
               std::move(done));
}

}  // namespace baton::runtime
