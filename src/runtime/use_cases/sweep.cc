// SPDX-License-Identifier: Apache-2.0
// What time does: leases and offers that are over, people who took too long; and what is old enough to be forgotten.
#include <algorithm>

#include "base/limits.h"
#include "runtime/use_cases/inside.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

constexpr std::int64_t kDeliveryKeptSeconds = 30 * 24 * 3600;  // stated
// Keys that are over are forgotten many at a time: nobody waits for it.
constexpr std::int64_t kForgottenLateSeconds = 3600;

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

Result<std::size_t> settle_due(Act& act, std::size_t limit) {
  const auto rows =
      rows_below(act.unit, tables::kWorkItems, tables::kWorkItemsByDeadline, act.now.nanoseconds + 1, limit);
  if (!rows) return tl::make_unexpected(rows.error());
  for (const store::Row& row : *rows) {
    auto item = read_item(row);
    if (!item) return tl::make_unexpected(item.error());
    if (auto done = act.settle(*item); !done) return tl::make_unexpected(done.error());
  }
  return rows->size();
}

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
  inside_->run(
      by,
      [limit, counted](Act& act) -> Result<void> {
        const auto settled = settle_due(act, limit);
        if (!settled) return tl::make_unexpected(settled.error());
        for (const Refusals::Refusal& refusal : *counted)
          if (auto appended = act.unit.append(Refusals::happening_of(refusal, act.now)); !appended) return appended;
        act.answer.body.set("settled", *settled);
        return {};
      },
      [this, by, &refusals, counted, done = std::move(done)](Result<Answer> answer) {
        if (!answer) {
          refusals.give_back(*counted);
          return done(std::move(answer));
        }
        // By itself, so that leases end whatever becomes of it.
        const Value settled = *answer->body.find("settled");
        inside_->run(
            by,
            [settled](Act& act) -> Result<void> {
              const auto forgotten = forget(act);
              if (!forgotten) return tl::make_unexpected(forgotten.error());
              act.answer.body.set("settled", settled);
              act.answer.body.set("forgotten", *forgotten);
              return {};
            },
            done);
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
  if (auto found = look(tables::kAnswers, tables::kAnswersByExpiry, 2, kForgottenLateSeconds * kNanosecondsPerSecond);
      !found)
    return tl::make_unexpected(found.error());
  return next == INT64_MAX ? std::nullopt : std::optional(Time{next});
}

}  // namespace baton::runtime
