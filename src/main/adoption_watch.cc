// SPDX-License-Identifier: Apache-2.0
#include "main/adoption_watch.h"

#include <chrono>
#include <optional>

#include "adoption/adopter.h"

namespace baton::main {
namespace {

constexpr std::chrono::seconds kBetweenLooks{60};

json::Value list_of(const std::vector<std::string>& texts) {
  json::Value out = json::Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

}  // namespace

AdoptionWatch::AdoptionWatch(std::string store, runtime::AdoptionLog& record, Log log)
    : store_(std::move(store)), record_(record), log_(std::move(log)), thread_([this] { work(); }) {}

AdoptionWatch::~AdoptionWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Result<json::Value> AdoptionWatch::look() {
  const std::lock_guard lock(looking_);
  adoption::RealDisk disk;
  adoption::Adopter adopter(disk, store_);
  const auto any = disk.list(store_ + "/adopted");
  if (!any) return tl::make_unexpected(any.error());
  std::optional<adoption::Lock> held;
  if (!any->empty()) {
    auto taken = adoption::Lock::take(store_, adoption::Lock::For::Looking);
    if (!taken) return tl::make_unexpected(taken.error());
    held = std::move(*taken);
  }
  const auto all = adopter.folder().all();
  if (!all) return tl::make_unexpected(all.error());
  std::vector<runtime::SeenAdoption> seen;
  json::Value list = json::Value::array();
  for (const adoption::Record& record : *all) {
    adoption::Look look = adopter.look(record);
    runtime::SeenAdoption& one = seen.emplace_back();
    one = {.id = record.id,
           .client = std::string(hooks::client_name(record.client)),
           .project = record.options.project,
           .role = record.options.role,
           .pack = record.pack,
           .by = record.by,
           .at = record.at,
           .findings = std::move(look.findings),
           .unreadable = std::move(look.unreadable)};
    json::Value shown = json::Value::object();
    shown.set("id", one.id);
    shown.set("client", one.client);
    shown.set("project", one.project);
    shown.set("role", one.role);
    shown.set("pack", one.pack);
    shown.set("whole", one.findings.empty() && one.unreadable.empty());
    shown.set("findings", list_of(one.findings));
    shown.set("unreadable", list_of(one.unreadable));
    list.push(std::move(shown));
  }
  if (auto recorded = record_.see(seen); !recorded) return tl::make_unexpected(recorded.error());
  json::Value out = json::Value::object();
  out.set("adoptions", std::move(list));
  return out;
}

void AdoptionWatch::work() {
  std::string last;
  while (true) {
    const auto looked = look();
    const std::string problem = looked ? std::string() : looked.error().text();
    if (log_ && problem != last && !problem.empty()) log_("looking at adopted clients: " + problem);
    last = problem;
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kBetweenLooks, [this] { return stopping_; })) return;
  }
}

}  // namespace baton::main
