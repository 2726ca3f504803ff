// SPDX-License-Identifier: Apache-2.0
// What time does: leases and offers that are over, people who took too long; and what is old enough to be forgotten.
#include <algorithm>
#include <array>
#include <mutex>

#include "base/limits.h"
#include "runtime/use_cases/workflows.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

constexpr std::int64_t kDeliveryKeptSeconds = 30 * 24 * 3600;  // stated
// Keys that are over are forgotten many at a time: nobody waits for it.
constexpr std::int64_t kForgottenLateSeconds = 3600;
// Items that could not be settled and that a sweep looks at beside the others: with those, less than the writer's queue takes.
constexpr std::size_t kUnsettledMax = 512;
static_assert(limits::kSweepItemsMax + kUnsettledMax < limits::kWriterQueueMax);

Result<std::vector<store::Row>> rows_below(Unit& unit, const store::Table& table, const store::Index& index,
                                           std::int64_t below, std::size_t limit) {
  std::vector<store::Row> rows;
  auto found = unit.find({.table = table, .index = &index, .below = below, .limit = limit}, store::Lock::Skip,
                         [&](const store::Row& row) {
                           rows.push_back(row);
                           return true;
                         });
  if (!found) return tl::make_unexpected(found.error());
  return rows;
}

// What becomes due beside items: a prefix tells their ids from those of items.
struct Due {
  std::string_view prefix;
  const store::Table& table;
  const store::Index& by_deadline;
  Result<bool> (*settle)(Act& act, const std::string& id);  // false: it was not due after all
};
std::array<Due, 3> kinds_of_due() {
  return {{// what people did not decide in time, or did not begin after they had
           {"approval ", tables::kApprovals, tables::kApprovalsByDeadline, settle_approval},
           // calls of which nobody has said what became of them
           {"session ", tables::kSessionStates, tables::kSessionStatesByDeadline, settle_overdue_calls},
           // offers of workflows that nobody claimed
           {"handoff ", tables::kWorkflowHandoffs, tables::kWorkflowHandoffsByDeadline, expire_handoff}}};
}

// The ids of items that something is due of, those that have waited longest first.
Result<std::vector<std::string>> list_due(Act& act, std::size_t limit) {
  std::vector<std::string> ids;
  auto found = act.unit.find({.table = tables::kWorkItems,
                              .index = &tables::kWorkItemsByDeadline,
                              .below = act.now.nanoseconds + 1,
                              .limit = limit},
                             store::Lock::None, [&](const store::Row& row) {
                               ids.push_back(text_at(row, 0));
                               return true;
                             });
  if (!found) return tl::make_unexpected(found.error());
  for (const Due& kind : kinds_of_due()) {
    found = act.unit.find(
        {.table = kind.table, .index = &kind.by_deadline, .below = act.now.nanoseconds + 1, .limit = limit},
        store::Lock::None, [&](const store::Row& row) {
          ids.push_back(std::string(kind.prefix) + text_at(row, 0));
          return true;
        });
    if (!found) return tl::make_unexpected(found.error());
  }
  return ids;
}

Result<void> settle_one(Act& act, const std::string& id) {
  for (const Due& kind : kinds_of_due()) {
    if (!id.starts_with(kind.prefix)) continue;
    const auto settled = kind.settle(act, id.substr(kind.prefix.size()));
    if (!settled) return tl::make_unexpected(settled.error());
    act.answer.body = Value::object();
    if (*settled) act.answer.body.set("settled", 1);
    return {};
  }
  auto item = act.item(id);
  if (!item) return tl::make_unexpected(item.error());
  if (!*item || (*item)->deadline() > act.now.nanoseconds) return {};  // another node was faster
  if (auto done = act.settle(**item); !done) return done;
  act.answer.body.set("settled", 1);
  return {};
}

// What became of the items of one sweep, each of which is settled by itself: one that cannot be must not keep the others from
// it.
struct Settling {
  std::mutex mutex;
  std::size_t open = 0, settled = 0, failed = 0;
  std::optional<Failure> failure;  // about the first few that failed
  std::function<void(const Settling&)> then;

  void take(const std::string& id, const Result<Answer>& answer) {
    constexpr std::size_t kToldMax = 4;
    {
      const std::lock_guard lock(mutex);
      if (answer) {
        settled += answer->body.find("settled") != nullptr;
      } else if (++failed == 1) {
        failure = answer.error();
        failure->reason = "`" + id + "`: " + failure->reason;
      } else if (failed <= kToldMax) {
        failure->reason += "; `" + id + "`: " + answer.error().reason;
      }
      if (--open > 0) return;
    }
    then(*this);
  }
};

// [[key, owner]], of rows whose key is those two columns. Not {owner: keys}: an owner whose name sounds like a secret's
// would have its keys redacted. As many as fit into an entry beside the rest; the others are for the next sweep.
Value keys_of(const std::vector<store::Row>& rows, std::size_t bytes_max) {
  Value out = Value::array();
  std::size_t bytes = 0;
  for (const store::Row& row : rows) {
    Value::Array pair = {text_at(row, 0), text_at(row, 1)};
    bytes += 6 * (text_at(row, 0).size() + text_at(row, 1).size()) + 8;  // six: the longest escape of a byte
    if (bytes > bytes_max) break;
    out.push(std::move(pair));
  }
  return out;
}

Result<std::size_t> forget(Act& act) {
  const auto answers =
      rows_below(act.unit, tables::kAnswers, tables::kAnswersByExpiry, act.now.nanoseconds, limits::kForgottenMax);
  if (!answers) return tl::make_unexpected(answers.error());
  const auto messages = rows_below(act.unit, tables::kUaixMessages, tables::kUaixMessagesByExpiry, act.now.nanoseconds,
                                   limits::kForgottenMax / 8);
  if (!messages) return tl::make_unexpected(messages.error());
  const auto deliveries = rows_below(act.unit, tables::kDeliveries, tables::kDeliveriesByTime,
                                     (act.now + -kDeliveryKeptSeconds).nanoseconds, limits::kForgottenMax / 8);
  if (!deliveries) return tl::make_unexpected(deliveries.error());
  Value ids = Value::array();
  for (const store::Row& row : *deliveries) ids.push(text_at(row, 0));
  Value payload = Value::object();
  payload.set("answers", keys_of(*answers, limits::kLedgerPayloadBytesMax / 2));
  payload.set("messages", keys_of(*messages, limits::kLedgerPayloadBytesMax / 4));
  payload.set("deliveries", std::move(ids));
  payload.set("at", format_time(act.now));
  std::size_t count = 0;
  std::vector<std::string> pointers;  // to names and hashes, which are no secrets whatever they look like
  for (const std::string_view member : {"answers", "messages", "deliveries"}) {
    const auto& listed = payload.find(member)->elements();
    count += listed.size();
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const std::string pointer = "/" + std::string(member) + "/" + std::to_string(i);
      if (!listed[i].is_array()) pointers.push_back(pointer);
      else
        for (const char* at : {"/0", "/1"}) pointers.push_back(pointer + at);
    }
  }
  if (count == 0) return 0;
  const std::vector<std::string_view> exempt(pointers.begin(), pointers.end());
  if (auto done = act.append(std::string(kApiStream), kApiForgotten, std::move(payload), Act::Is::Beside, exempt);
      !done)
    return tl::make_unexpected(done.error());
  return count;
}

}  // namespace

void UseCases::sweep(std::size_t limit, Answered done) {
  Mutation by;
  by.caller.actor = {node_actor().id, work::ActorKind::Node};
  Refusals& refusals = inside_->refusals;
  const auto counted = std::make_shared<const std::vector<Refusals::Refusal>>(refusals.take_counted());
  const auto due = std::make_shared<std::vector<std::string>>();
  limit += std::min<std::size_t>(inside_->unsettled, kUnsettledMax);

  // By itself, so that leases end whatever becomes of it.
  const auto forget_old = [this, by, done](const Settling& settling) {
    inside_->unsettled = settling.failed;
    const std::optional<Failure> failed = settling.settled == 0 ? settling.failure : std::nullopt;
    inside_->run(
        by,
        [settled = settling.settled](Act& act) -> Result<void> {
          const auto forgotten = forget(act);
          if (!forgotten) return tl::make_unexpected(forgotten.error());
          act.answer.body.set("settled", settled);
          act.answer.body.set("forgotten", *forgotten);
          return {};
        },
        // Where nothing could be settled that was due, whoever sweeps has to know.
        [failed, done](Result<Answer> answer) {
          if (answer && failed) return done(tl::make_unexpected(*failed));
          done(std::move(answer));
        });
  };
  inside_->run(
      by,
      [limit, counted, due](Act& act) -> Result<void> {
        auto listed = list_due(act, limit);
        if (!listed) return tl::make_unexpected(listed.error());
        *due = std::move(*listed);
        for (const Refusals::Refusal& refusal : *counted)
          if (auto appended = act.unit.append(Refusals::happening_of(refusal, act.now));
              !appended && !Refusals::is_unwanted(appended.error()))
            return appended;
        return {};
      },
      [this, by, &refusals, counted, due, forget_old, done](Result<Answer> answer) {
        if (!answer || !answer->refused.empty()) {
          refusals.give_back(*counted);
          return done(std::move(answer));
        }
        const auto settling = std::make_shared<Settling>();
        settling->then = forget_old;
        if (due->empty()) return forget_old(*settling);
        settling->open = due->size();
        for (const std::string& id : *due)
          inside_->run(
              by, [id](Act& act) { return settle_one(act, id); },
              [settling, id](Result<Answer> one) { settling->take(id, one); }, {.reads = reads_of_item(id)});
      });
}

Result<std::optional<Time>> UseCases::next_deadline() {
  const auto reader = inside_->store.reader();
  if (!reader) return tl::make_unexpected(reader.error());
  std::int64_t next = INT64_MAX;
  const auto look = [&](const store::Table& table, const store::Index& index, std::size_t column, std::int64_t later) {
    return (*reader)->find({.table = table, .index = &index, .limit = 1}, [&](const store::Row& row) {
      const std::int64_t at = number_at(row, column);
      if (at < INT64_MAX - later) next = std::min(next, at + later);
      return false;
    });
  };
  if (auto found = look(tables::kWorkItems, tables::kWorkItemsByDeadline, 3, 0); !found)
    return tl::make_unexpected(found.error());
  if (auto found = look(tables::kApprovals, tables::kApprovalsByDeadline, 2, 0); !found)
    return tl::make_unexpected(found.error());
  if (auto found = look(tables::kSessionStates, tables::kSessionStatesByDeadline, 3, 0); !found)
    return tl::make_unexpected(found.error());
  if (auto found = look(tables::kWorkflowHandoffs, tables::kWorkflowHandoffsByDeadline, 5, 0); !found)
    return tl::make_unexpected(found.error());
  if (auto found = look(tables::kAnswers, tables::kAnswersByExpiry, 2, kForgottenLateSeconds * kNanosecondsPerSecond);
      !found)
    return tl::make_unexpected(found.error());
  if (auto found =
          look(tables::kUaixMessages, tables::kUaixMessagesByExpiry, 5, kForgottenLateSeconds * kNanosecondsPerSecond);
      !found)
    return tl::make_unexpected(found.error());
  if (auto found = look(tables::kDeliveries, tables::kDeliveriesByTime, 1,
                        (kDeliveryKeptSeconds + kForgottenLateSeconds) * kNanosecondsPerSecond);
      !found)
    return tl::make_unexpected(found.error());
  return next == INT64_MAX ? std::nullopt : std::optional(Time{next});
}

}  // namespace baton::runtime
