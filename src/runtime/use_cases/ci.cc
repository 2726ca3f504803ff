// SPDX-License-Identifier: Apache-2.0
// What CI reports: by the API, and by webhooks.
#include <algorithm>

#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "runtime/use_cases/inside.h"
#include "runtime/work_events.h"
#include "store/tables.h"

namespace baton::runtime {
namespace {

namespace tables = store::tables;
using json::Value;

constexpr std::int64_t kDeliveryAgeSecondsMax = 24 * 3600;  // stated

Value about(const work::CiReport& report, std::string_view reason, Time now) {
  Value payload = Value::object();
  payload.set("reason", reason);
  for (const auto& [name, text] : {std::pair{"check", &report.check},
                                   {"kind", &report.kind},
                                   {"conclusion", &report.conclusion},
                                   {"commit", &report.commit},
                                   {"delivery_id", &report.delivery_id}})
    if (!text->empty()) payload.set(name, printable(*text, limits::kWorkNameBytesMax));
  payload.set("at", format_time(now));
  return payload;
}

// A report for one item. What it does, or that and why it does nothing; that it did anything is said.
Result<bool> take_report(Act& act, work::Item& item, const work::CiReport& report, std::string_view repository) {
  const work::CiRuling ruling = work::report_ci(item, report, act.policy(), act.now);
  if (ruling.ignored.empty()) {
    for (const work::Event& event : ruling.events)
      if (auto done = act.record(event, item); !done) return tl::make_unexpected(done.error());
    return true;
  }
  Value payload = about(report, ruling.ignored, act.now);
  payload.set("work_id", item.id);
  if (!repository.empty()) payload.set("repository", printable(repository, limits::kWorkNameBytesMax));
  if (auto done = act.append(std::string(kCiStream), kCiIgnored, std::move(payload), Act::Is::Main,
                             {"/commit", "/delivery_id"});
      !done)
    return tl::make_unexpected(done.error());
  act.answer.body.set("ignored", ruling.ignored);
  return false;
}

// --- webhooks -----------------------------------------------------------------------------------------------------------------

std::optional<Diagnostic> check(const CiDelivery& delivery, Time now) {
  const auto wrong = [](std::string_view field, std::string_view problem) {
    return report(Code::CI_REPORT, {}, {{"field", field}, {"problem", problem}});
  };
  const auto fits = [](std::string_view text) {
    return text.size() <= limits::kWorkNameBytesMax && find_invalid_utf8(text) == text.size();
  };
  if (delivery.delivery_id.empty() || !fits(delivery.delivery_id))
    return wrong("delivery_id", "is missing or too long");
  if (delivery.body_sha256.size() != 2 * sizeof(Sha256) || !std::ranges::all_of(delivery.body_sha256, is_lower_hex))
    return wrong("body_sha256", "is not a SHA-256");
  if (delivery.repository.empty() || !fits(delivery.repository)) return wrong("repository", "is missing or too long");
  if (!delivery.at &&
      (delivery.kind == "workflow_run" || delivery.kind == "check_suite" || delivery.kind == "check_run"))
    return wrong("at", "is missing: a report without a time could be sent again for ever");
  if (delivery.at && (now.nanoseconds - delivery.at->nanoseconds) / kNanosecondsPerSecond > kDeliveryAgeSecondsMax)
    return report(Code::CI_TOO_OLD, {}, {{"at", format_time(*delivery.at)}});
  return std::nullopt;
}

// Something that can move an item: a finished run, or a new head.
bool says_something(const CiDelivery& delivery) {
  if (delivery.kind == "pull_request")
    return !delivery.commit.empty() &&
           (delivery.action == "opened" || delivery.action == "synchronize" || delivery.action == "reopened" ||
            delivery.action == "edited" || delivery.action == "ready_for_review");
  const bool is_run = delivery.kind == "workflow_run" || delivery.kind == "check_suite" || delivery.kind == "check_run";
  return is_run && delivery.action == "completed";
}

// The items of a pull request that are still open.
Result<std::vector<work::Item>> items_of(Act& act, const std::string& pull_request) {
  std::vector<work::Item> items;
  std::optional<Failure> problem;
  auto found = act.unit.find(
      {.table = tables::kWorkItems, .index = &tables::kWorkItemsByPullRequest, .equal = {pull_request}, .limit = 64},
      store::Lock::Wait, [&](const store::Row& row) {
        auto item = read_item(row);
        if (!item) problem = item.error();
        else if (!item->aborted && item->phase != work::Phase::Completed) items.push_back(std::move(*item));
        return item.has_value();
      });
  if (!found) return tl::make_unexpected(found.error());
  if (problem) return tl::make_unexpected(*problem);
  return items;
}

class Delivering {
 public:
  Delivering(Act& act, const CiDelivery& delivery) : act_(act), delivery_(delivery) {
    report_ = {delivery.name, delivery.kind, delivery.conclusion, delivery.commit, delivery.delivery_id};
  }

  Result<void> run() {
    if (auto wrong = check(delivery_, act_.now)) return act_.refuse(std::move(*wrong)), Result<void>();
    if (!says_something(delivery_)) return tell_ignored("it reports nothing that work waits for"), Result<void>();
    const auto again = act_.unit.get(tables::kDeliveries, {delivery_.body_sha256});
    if (!again) return tl::make_unexpected(again.error());
    if (*again) {
      act_.answer.body.set("result", "duplicate");
      act_.answer.body.set("duplicate", true);
      return {};
    }
    const std::string key = short_hash(delivery_.delivery_id);
    const auto known = act_.unit.get(tables::kDeliveries, {key});
    if (!known) return tl::make_unexpected(known.error());
    if (*known) return ignore("", "its delivery id was another delivery's");
    if (auto done = taken(key); !done) return done;
    if (delivery_.pull_requests.empty()) return ignore("", "it names no pull request");
    for (const std::uint64_t number : delivery_.pull_requests)
      if (auto done = deliver(to_lower_ascii(delivery_.repository) + "#" + std::to_string(number)); !done) return done;
    if (moved_) {
      act_.answer.body.erase("ignored");
      act_.answer.body.set("result", "moved");
    }
    return {};
  }

 private:
  Result<void> taken(const std::string& key) {
    Value payload = Value::object();
    payload.set("delivery_id", delivery_.delivery_id);
    payload.set("key", key);
    payload.set("body_sha256", delivery_.body_sha256);
    payload.set("kind", delivery_.kind);
    payload.set("repository", delivery_.repository);
    payload.set("at", format_time(act_.now));
    return act_.append(std::string(kCiStream), kCiDeliveryTaken, std::move(payload), Act::Is::Main,
                       {"/delivery_id", "/key", "/body_sha256"});
  }

  Result<void> deliver(const std::string& pull_request) {
    auto items = items_of(act_, pull_request);
    if (!items) return tl::make_unexpected(items.error());
    if (items->empty()) return ignore(pull_request, "no work item has this pull request");
    if (items->size() > 1) return ignore(pull_request, "several work items have this pull request");
    work::Item& item = items->front();
    if (auto settled = act_.settle(item); !settled) return settled;
    if (delivery_.kind != "pull_request") {
      const auto moved = take_report(act_, item, report_, delivery_.repository);
      if (!moved) return tl::make_unexpected(moved.error());
      note(*moved);
      return {};
    }
    const work::Ruling ruling = work::see_commit(item, delivery_.commit, act_.now);
    if (!ruling.allowed()) return ignore(pull_request, "its head is not a commit id");
    if (ruling.events.empty()) return ignore(pull_request, "the item has its commit already");
    for (const work::Event& event : ruling.events)
      if (auto done = act_.record(event, item); !done) return done;
    note(true);
    return {};
  }

  void note(bool moved) {
    moved_ |= moved;
    if (!moved) act_.answer.body.set("result", "ignored");
  }

  void tell_ignored(std::string_view reason) {
    act_.answer.body.set("result", "ignored");
    act_.answer.body.set("ignored", reason);
  }

  Result<void> ignore(const std::string& pull_request, std::string_view reason) {
    tell_ignored(reason);
    Value payload = about(report_, reason, act_.now);
    payload.set("repository", delivery_.repository);
    if (!pull_request.empty()) payload.set("pull_request", pull_request);
    return act_.append(std::string(kCiStream), kCiIgnored, std::move(payload), Act::Is::Beside,
                       {"/commit", "/delivery_id"});
  }

  Act& act_;
  const CiDelivery& delivery_;
  work::CiReport report_;
  bool moved_ = false;
};

}  // namespace

void UseCases::report_ci(const Mutation& by, std::string work_id, work::CiReport report, Answered done) {
  if (report.kind.empty()) report.kind = "api";
  inside_->run(
      by,
      [work_id = std::move(work_id), report = std::move(report)](Act& act) -> Result<void> {
        auto item = act.settled_item(work_id);
        if (!item) return tl::make_unexpected(item.error());
        if (!*item) return {};
        const auto moved = take_report(act, **item, report, {});
        if (!moved) return tl::make_unexpected(moved.error());
        if (*moved) act.answer.body.set("work", shown(**item));
        return {};
      },
      std::move(done));
}

void UseCases::take_delivery(const CiDelivery& delivery, Answered done) {
  Mutation by;
  by.caller.actor = {"webhook:" + printable(delivery.repository, limits::kWorkNameBytesMax / 2), work::ActorKind::Ci};
  inside_->run(by, [delivery](Act& act) { return Delivering(act, delivery).run(); }, std::move(done));
}

}  // namespace baton::runtime
