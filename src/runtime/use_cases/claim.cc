// SPDX-License-Identifier: Apache-2.0
// Claiming an item that is named, or the next one.
#include <algorithm>
#include <map>
#include <memory>

#include "base/ids.h"
#include "base/limits.h"
#include "runtime/use_cases/inside.h"
#include "runtime/use_cases/reading.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;
using store::Row;

constexpr std::size_t kPage = 32;
constexpr std::size_t kOverdueMax = 32;  // leases and offers that a claim settles when it finds nothing else

// Items that one transaction looks at in vain: of a reviewer's own there may be thousands, and all others wait meanwhile. A claim
// that has seen so many goes on where it was in a transaction of its own, so that it still comes to the end of its queues.
constexpr std::size_t kLookedAtMax = 64;

// Where in a queue: behind this item.
struct Place {
  std::int64_t rank;
  std::string id;
};

// How far a claim has come.
struct Progress {
  std::map<std::string, Place> places = {};  // by queue
  bool overdue_settled = false;              // what was over has been looked for, and the queues begun anew
};

// The items of one queue in their order, page by page: one first, because it nearly always will do, and it is locked at once.
// Those behind it are only looked at: whoever wants one locks it.
class Queue {
 public:
  Queue(std::string name, std::optional<Place> behind) : name_(std::move(name)), place_(std::move(behind)) {}

  // Null: there are no more.
  Result<const Row*> front(Unit& unit) {
    if (at_ == page_.size() && !ended_)
      if (auto filled = fill(unit); !filled) return tl::make_unexpected(filled.error());
    return at_ < page_.size() ? &page_[at_] : nullptr;
  }
  void pop() {
    place_ = Place{number_at(page_[at_], 2), text_at(page_[at_], 0)};
    ++at_;
  }
  bool is_locked() const { return locked_; }
  const std::string& name() const { return name_; }
  const std::optional<Place>& place() const { return place_; }

 private:
  Result<void> fill(Unit& unit) {
    at_ = 0;
    locked_ = !place_;
    if (!place_) return read(unit, {.table = tables::kWorkItems, .equal = {name_}, .limit = 1}, true);
    // Those of the same rank behind the last one, then those of a higher.
    auto same = read(
        unit, {.table = tables::kWorkItems, .equal = {name_, place_->rank}, .from = place_->id, .limit = kPage + 1},
        false);
    if (!same) return same;
    if (!page_.empty() && text_at(page_.front(), 0) == place_->id) page_.erase(page_.begin());
    if (!page_.empty()) return {};
    return read(unit, {.table = tables::kWorkItems, .equal = {name_}, .from = place_->rank + 1, .limit = kPage}, true);
  }

  Result<void> read(Unit& unit, store::Query query, bool ends_here) {
    query.index = &tables::kWorkItemsByQueue;
    page_.clear();
    auto found = unit.find(query, locked_ ? store::Lock::Skip : store::Lock::None, [&](const Row& row) {
      page_.push_back(row);
      return true;
    });
    if (ends_here && page_.empty()) ended_ = true;
    return found;
  }

  std::string name_;
  std::optional<Place> place_;
  std::vector<Row> page_;
  std::size_t at_ = 0;
  bool locked_ = false;
  bool ended_ = false;
};

Value texts(const std::vector<std::string>& all) {
  Value out = Value::array();
  for (const std::string& one : all) out.push(one);
  return out;
}

struct Wanted {
  ClaimRequest asked;
  std::string session_id, lease_id, agent_id;  // of the session that may come of it
};

class Claiming {
 public:
  Claiming(Act& act, const Wanted& wanted, Progress progress)
      : act_(act), asked_(wanted.asked), progress_(std::move(progress)) {
    claim_ = {act.caller().actor, asked_.role, wanted.session_id,       wanted.lease_id,
              wanted.agent_id,    asked_.ttl,  act.caller().session_id, act.caller().token_id};
    if (auto roles = roles_of(act.caller(), act.policy())) claim_.roles = std::move(*roles);
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
    if (!progress_.overdue_settled) {
      const auto settled = settle_overdue();
      if (!settled) return tl::make_unexpected(settled.error());
      progress_ = {.overdue_settled = true};
      if (*settled > 0)
        if (auto found = look(); !found || is_over()) return found;
    }
    act_.answer.body.set("work", nullptr);
    act_.answer.body.set("session", nullptr);
    return {};
  }

  // Where to go on; nothing when the answer is the answer.
  std::optional<Progress> left() const {
    return is_cut_short() && !act_.refused() ? std::optional(progress_) : std::nullopt;
  }

 private:
  bool is_cut_short() const { return !taken_ && looked_at_ >= kLookedAtMax; }
  bool is_over() const { return taken_ || act_.refused() || is_cut_short(); }

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
    const auto place_in = [&](const std::string& name) {
      const auto place = progress_.places.find(name);
      return place == progress_.places.end() ? std::nullopt : std::optional(place->second);
    };
    for (const std::string& name : *listed) offered.emplace_back(name, place_in(name));
    for (const std::string& name : names)
      if (!name.starts_with('@')) phases.emplace_back(name, place_in(name));
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
      if (auto done = attempt(*candidate, best->is_locked()); !done || taken_ || act_.refused()) return done;
      best->pop();
      progress_.places.insert_or_assign(best->name(), *best->place());
      if (++looked_at_ >= kLookedAtMax) return {};
    }
  }

  // The row as it is, locked; nothing when another node has it.
  Result<std::optional<Row>> lock(const Row& row) {
    std::optional<Row> locked;
    auto found = act_.unit.find({.table = tables::kWorkItems, .equal = {text_at(row, 0)}, .limit = 1},
                                store::Lock::Skip, [&](const Row& one) {
                                  locked = one;
                                  return false;
                                });
    if (!found) return tl::make_unexpected(found.error());
    return locked;
  }

  Result<void> attempt(const Row& row, bool is_locked) {
    auto item = read_item(row);
    if (!item) return tl::make_unexpected(item.error());
    if (!is_locked) {
      // What would be refused need not be locked for it.
      if (item->deadline() > act_.now.nanoseconds && !work::claim(*item, claim_, act_.policy(), act_.now).allowed())
        return {};
      const auto locked = lock(row);
      if (!locked) return tl::make_unexpected(locked.error());
      if (!*locked) return {};
      item = read_item(**locked);
      if (!item) return tl::make_unexpected(item.error());
    }
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
    if (const work::Role* role = act_.policy().find_role((*session)->role)) {
      about.set("reads", texts(role->readable));
      about.set("writes", texts(role->writable));
    }
    // What it is given to read brings its labels.
    std::vector<std::string> labels = item.labels;
    auto context = act_.context_for((*session)->role, labels);
    if (!context) return tl::make_unexpected(context.error());
    if (is_new && !session_of(act_.caller()).empty()) {
      const auto reader = act_.engine.store.reader();
      if (!reader) return tl::make_unexpected(reader.error());
      const auto above = labels_of_session(**reader, session_of(act_.caller()));
      if (!above) return tl::make_unexpected(above.error());
      labels.insert(labels.end(), above->begin(), above->end());
    }
    const auto gained = gain_labels_in(act_, **session, &item, labels, {});
    if (!gained) return tl::make_unexpected(gained.error());
    if (!*gained) {
      work::ReadDecision why;
      why.missing = std::move(labels);
      why.too_many = true;
      return act_.refuse(withheld_because("what the session is given to read", why)), Result<void>();
    }
    Value work = shown(item);
    flag_item(work);
    act_.answer.body.set("work", std::move(work));
    act_.answer.body.set("session", std::move(about));
    const Engine& engine = act_.engine;
    act_.dress_with([&engine, context = std::move(*context)](Answer& answer) {
      Value* told = answer.body.find("session");
      told->set("token", engine.session_token(told->find("id")->string()));
      context.set_in(answer.body);
    });
    return {};
  }

  Act& act_;
  const ClaimRequest& asked_;
  work::Claim claim_;
  Progress progress_;
  std::size_t looked_at_ = 0;
  bool taken_ = false;
};

// What was not kept of the first answer: the token, which is derived, and the context, as it is now. Nothing is recorded here,
// so that only what has no labels beyond the item's can be given.
Result<void> dress_replay(const Engine& engine, store::Reader& reader, Answer& answer) {
  Value* session = answer.body.find("session");
  const Value* id = session == nullptr ? nullptr : session->find("id");
  const Value* role_name = session == nullptr ? nullptr : session->find("role");
  if (id == nullptr || role_name == nullptr) return {};
  const work::Role* role = engine.config.policy.find_role(role_name->string());
  session->set("token", engine.session_token(id->string()));
  const Value* work_id = answer.body.find_at("/work/id");
  const auto row = reader.get(tables::kWorkItems, {work_id == nullptr ? std::string() : work_id->string()});
  if (!row) return tl::make_unexpected(row.error());
  std::vector<std::string> labels;
  if (*row)
    if (auto item = read_item(**row)) labels = std::move(item->labels);
  GivenContext context;
  std::size_t bytes = 0;
  auto found = reader.find({.table = tables::kContextSections}, [&](const Row& row) {
    if (role == nullptr || !role->reads(text_at(row, 0))) return true;
    bytes += text_at(row, 2).size();
    if (bytes > limits::kContextAnswerBytesMax) return false;
    if (auto section = read_section(row); section && std::ranges::includes(labels, section->labels))
      context.add(std::move(*section));
    return true;
  });
  context.set_in(answer.body);
  return found;
}

// One transaction of a claim, and the others after it.
void go_on(Engine& engine, const Mutation& by, std::shared_ptr<const Wanted> wanted, Progress progress, Answered done) {
  const auto left = std::make_shared<std::optional<Progress>>();
  std::vector<Read> reads = reads_of_item(wanted->asked.work_id);
  engine.run(
      by,
      [wanted, progress = std::move(progress), left](Act& act) {
        Claiming claiming(act, *wanted, progress);
        auto claimed = wanted->asked.work_id.empty() ? claiming.next() : claiming.named();
        *left = claiming.left();
        return claimed;
      },
      [&engine, by, wanted, left, done = std::move(done)](Result<Answer> answer) {
        if (answer && *left) return go_on(engine, by, wanted, std::move(**left), done);
        done(std::move(answer));
      },
      {.finish_replay = [&engine](store::Reader& reader,
                                  Answer& answer) { return dress_replay(engine, reader, answer); },
       .reads = std::move(reads),
       .adds = Engine::Adds::Work});
}

}  // namespace

void UseCases::claim(const Mutation& by, ClaimRequest asked, Answered done) {
  Engine& engine = *inside_;
  auto wanted = std::make_shared<const Wanted>(Wanted{std::move(asked), mint_id("ses_", engine.random),
                                                      mint_id("lease_", engine.random), mint_id("a", engine.random)});
  go_on(engine, by, std::move(wanted), {}, std::move(done));
}

}  // namespace baton::runtime
