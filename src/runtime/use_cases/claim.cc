// SPDX-License-Identifier: Apache-2.0
// Claiming an item that is named, or the next one.
#include <algorithm>

#include "base/ids.h"
#include "base/limits.h"
#include "runtime/use_cases/inside.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;
using store::Row;

constexpr std::size_t kPage = 32;
constexpr std::size_t kOverdueMax = 32;  // leases and offers that a claim settles when it finds nothing else

// The items of one queue in their order, page by page: one first, because it nearly always will do.
class Queue {
 public:
  explicit Queue(std::string name) : name_(std::move(name)) {}

  // Null: there are no more.
  Result<const Row*> front(Unit& unit) {
    if (at_ == page_.size() && !ended_)
      if (auto filled = fill(unit); !filled) return tl::make_unexpected(filled.error());
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() { ++at_; }

 private:
  Result<void> fill(Unit& unit) {
    at_ = 0;
    if (page_.empty()) return read(unit, {.table = tables::kWorkItems, .equal = {name_}, .limit = 1}, true);
    const std::string last_id = text_at(page_.back(), 0);
    const std::int64_t last_rank = number_at(page_.back(), 2);
    // Those of the same rank behind the last one, then those of a higher.
    auto same = read(
        unit, {.table = tables::kWorkItems, .equal = {name_, last_rank}, .from = last_id, .limit = kPage + 1}, false);
    if (!same) return same;
    if (!page_.empty() && text_at(page_.front(), 0) == last_id) page_.erase(page_.begin());
    if (!page_.empty()) return {};
    return read(unit, {.table = tables::kWorkItems, .equal = {name_}, .from = last_rank + 1, .limit = kPage}, true);
  }

  Result<void> read(Unit& unit, store::Query query, bool ends_here) {
    query.index = &tables::kWorkItemsByQueue;
    page_.clear();
    auto found = unit.find(query, store::Lock::Skip, [&](const Row& row) {
      page_.push_back(row);
      return true;
    });
    if (ends_here && page_.empty()) ended_ = true;
    return found;
  }

  std::string name_;
  std::vector<Row> page_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

struct Wanted {
  ClaimRequest asked;
  std::string session_id, lease_id, agent_id;  // of the session that may come of it
};

class Claiming {
 public:
  Claiming(Act& act, const Wanted& wanted) : act_(act), asked_(wanted.asked) {
    claim_ = {act.caller().actor, asked_.role, wanted.session_id,      wanted.lease_id,
              wanted.agent_id,    asked_.ttl,  act.caller().session_id};
  }

  Result<void> named() {
    auto item = act_.settled_item(asked_.work_id);
    if (!item) return tl::make_unexpected(item.error());
    if (!*item) return {};
    const work::Ruling ruling = work::claim(**item, claim_, act_.policy(), act_.now);
    if (!ruling.allowed()) return act_.refuse(ruling.refused), Result<void>();
    return take(std::move(**item), ruling);
  }

  Result<void> next() {
    if (!asked_.role.empty() && act_.policy().find_role(asked_.role) == nullptr)
      return act_.refuse(report(Code::CLAIM_ROLE, place_named("/role"),
                                {{"work", "next"}, {"problem", "there is no role `" + asked_.role + "`"}})),
             Result<void>();
    // A session has one item; asking again gives it again.
    if (auto own = take_own(); !own || taken_) return own;
    if (auto found = look(); !found || is_over()) return found;
    const auto settled = settle_overdue();
    if (!settled) return tl::make_unexpected(settled.error());
    if (*settled > 0)
      if (auto found = look(); !found || is_over()) return found;
    act_.answer.body.set("work", nullptr);
    act_.answer.body.set("session", nullptr);
    return {};
  }

 private:
  bool is_over() const { return taken_ || act_.refused(); }

  Result<void> take_own() {
    if (claim_.present_session.empty()) return {};
    const auto session = act_.session(claim_.present_session);
    if (!session) return tl::make_unexpected(session.error());
    if (!*session || (*session)->work_id.empty()) return {};
    auto item = act_.item((*session)->work_id);
    if (!item) return tl::make_unexpected(item.error());
    if (!*item) return {};
    if (auto settled = act_.settle(**item); !settled) return settled;
    if (!(*item)->lease || (*item)->lease->session_id != claim_.present_session) return {};
    return take(std::move(**item), {});
  }

  // Through the queues: what is offered to this one first, then the lowest rank of all phases.
  Result<void> look() {
    std::vector<Queue> offered, phases;
    const auto names = work::queues_for(claim_.actor, asked_.role, asked_.phases, act_.policy());
    auto listed = offers_among(names);
    if (!listed) return tl::make_unexpected(listed.error());
    for (std::string& name : *listed) offered.emplace_back(std::move(name));
    for (const std::string& name : names)
      if (!name.starts_with('@')) phases.emplace_back(name);
    for (Queue& queue : offered)
      if (auto done = look_through({&queue, 1}); !done || is_over()) return done;
    return look_through(phases);
  }

  // Which of these `@` queues hold anything. Offers are few: one question for all of them, instead of one for each name.
  Result<std::vector<std::string>> offers_among(const std::vector<std::string>& names) {
    std::vector<std::string> holding;
    std::size_t seen = 0;
    auto found = act_.unit.find({.table = tables::kWorkItems,
                                 .index = &tables::kWorkItemsByQueue,
                                 .from = std::string("@"),
                                 .below = std::string("A"),
                                 .limit = kPage},
                                store::Lock::None, [&](const Row& row) {
                                  ++seen;
                                  if (holding.empty() || holding.back() != text_at(row, 1))
                                    holding.push_back(text_at(row, 1));
                                  return true;
                                });
    if (!found) return tl::make_unexpected(found.error());
    std::vector<std::string> out;
    for (const std::string& name : names) {
      const bool known = std::find(holding.begin(), holding.end(), name) != holding.end();
      if (name.starts_with('@') && (known || seen == kPage)) out.push_back(name);
    }
    return out;
  }

  Result<void> look_through(std::span<Queue> queues) {
    while (true) {
      Queue* best = nullptr;
      const Row* candidate = nullptr;
      for (Queue& queue : queues) {
        const auto front = queue.front(act_.unit);
        if (!front) return tl::make_unexpected(front.error());
        if (*front == nullptr) continue;
        if (candidate == nullptr || number_at(**front, 2) < number_at(*candidate, 2)) {
          best = &queue;
          candidate = *front;
        }
      }
      if (candidate == nullptr) return {};
      if (auto done = attempt(*candidate); !done || is_over()) return done;
      best->pop();
    }
  }

  Result<void> attempt(const Row& row) {
    auto item = read_item(row);
    if (!item) return tl::make_unexpected(item.error());
    if (auto settled = act_.settle(*item); !settled) return settled;
    // What is offered may be in a phase that was not asked for.
    if (!asked_.phases.empty() && std::ranges::find(asked_.phases, item->phase) == asked_.phases.end()) return {};
    const work::Ruling ruling = work::claim(*item, claim_, act_.policy(), act_.now);
    if (ruling.allowed()) return take(std::move(*item), ruling);
    // What is refused for the item's sake may be allowed for the next; a lease of that length never is.
    if (ruling.refused.front().code == Code::LEASE_TTL) act_.refuse(ruling.refused);
    return {};
  }

  // How many items had something due.
  Result<std::size_t> settle_overdue() {
    std::vector<Row> rows;
    auto found = act_.unit.find({.table = tables::kWorkItems,
                                 .index = &tables::kWorkItemsByDeadline,
                                 .below = act_.now.nanoseconds + 1,
                                 .limit = kOverdueMax},
                                store::Lock::Skip, [&](const Row& row) {
                                  rows.push_back(row);
                                  return true;
                                });
    if (!found) return tl::make_unexpected(found.error());
    for (const Row& row : rows) {
      auto item = read_item(row);
      if (!item) continue;  // not the claimer's trouble: the sweep tells of it
      if (auto done = act_.settle(*item); !done) return tl::make_unexpected(done.error());
    }
    return rows.size();
  }

  // Nothing happens when it is the session's own.
  Result<void> take(work::Item item, const work::Ruling& ruling) {
    taken_ = true;
    const bool is_new = !ruling.events.empty();
    const auto recorded = act_.record(ruling, item);
    if (!recorded) return tl::make_unexpected(recorded.error());
    const auto session = act_.session(is_new ? claim_.session_id : claim_.present_session);
    if (!session) return tl::make_unexpected(session.error());
    if (!*session || !item.lease) return failure("claiming", "the session is not there");
    Value about = Value::object();
    about.set("id", (*session)->id);
    about.set("agent_id", (*session)->agent_id);
    about.set("fence", (*session)->fence);
    about.set("lease_id", item.lease->id);
    about.set("expires_at", format_time(item.lease->expires_at));
    about.set("role", (*session)->role);
    about.set("phase", agent_exit::phase_name(item.phase));
    act_.answer.body.set("work", shown(item));
    act_.answer.body.set("session", std::move(about));
    auto context = act_.context_for((*session)->role);
    if (!context) return tl::make_unexpected(context.error());
    const Engine& engine = act_.engine;
    act_.dress_with([&engine, context = std::move(*context)](Answer& answer) {
      Value* told = answer.body.find("session");
      told->set("token", engine.session_token(told->find("id")->string()));
      answer.body.set("context", context);
    });
    return {};
  }

  Act& act_;
  const ClaimRequest& asked_;
  work::Claim claim_;
  bool taken_ = false;
};

// What was not kept of the first answer: the token, which is derived, and the context, as it is now.
Result<void> dress_replay(const Engine& engine, store::Reader& reader, Answer& answer) {
  Value* session = answer.body.find("session");
  const Value* id = session == nullptr ? nullptr : session->find("id");
  const Value* role_name = session == nullptr ? nullptr : session->find("role");
  if (id == nullptr || role_name == nullptr) return {};
  const work::Role* role = engine.config.policy.find_role(role_name->string());
  session->set("token", engine.session_token(id->string()));
  Value context = Value::object();
  std::size_t bytes = 0;
  auto found = reader.find({.table = tables::kContextSections}, [&](const Row& row) {
    if (role == nullptr || !role->reads(text_at(row, 0))) return true;
    bytes += text_at(row, 2).size();
    if (bytes > limits::kContextAnswerBytesMax) return false;
    if (auto section = read_section(row)) context.set(section->section, std::move(section->value));
    return true;
  });
  answer.body.set("context", std::move(context));
  return found;
}

}  // namespace

void UseCases::claim(const Mutation& by, ClaimRequest asked, Answered done) {
  Engine& engine = *inside_;
  std::vector<Read> reads = reads_of_item(asked.work_id);
  Wanted wanted{std::move(asked), mint_id("ses_", engine.random), mint_id("lease_", engine.random),
                mint_id("a", engine.random)};
  engine.run(by,
             [wanted = std::move(wanted)](Act& act) {
               Claiming claiming(act, wanted);
               return wanted.asked.work_id.empty() ? claiming.next() : claiming.named();
             },
             std::move(done),
             {.finish_replay = [&engine](store::Reader& reader,
                                         Answer& answer) { return dress_replay(engine, reader, answer); },
              .reads = std::move(reads)});
}

}  // namespace baton::runtime
