// SPDX-License-Identifier: Apache-2.0
#include "http_api/events.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/limits.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "json/value.h"
#include "ledger/entry.h"
#include "net/sse.h"
#include "runtime/work_events.h"
#include "workspace/config.h"

namespace baton::http_api {
namespace {

bool any_matches(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return workspace::matches(pattern, name); });
}

runtime::FedEntry fed(const store::EntryRow& row) {
  return {.sequence = row.sequence,
          .stream = std::string(row.stream),
          .type = std::string(row.type),
          .actor_id = std::string(row.actor_id),
          .actor_kind = std::string(row.actor_kind),
          .payload = std::string(row.payload),
          .time = row.time};
}

std::string without_document(const std::string& payload) {
  const auto parsed = json::parse(payload);
  if (!parsed) return "{}";
  json::Value out = json::Value::copy(parsed->root());
  out.erase("raw");
  return json::write(out);
}

// What an entry is about: no word of anybody's.
constexpr std::array<std::string_view, 12> kOutline = {"at",         "work_id", "session_id", "workflow_id",
                                                       "handoff_id", "phase",   "from_phase", "section",
                                                       "version",    "fence",   "labels",     "label"};

std::string outline_of(const std::string& payload) {
  json::Value out = json::Value::object();
  if (const auto parsed = json::parse(payload))
    for (const std::string_view name : kOutline)
      if (const json::Node value = parsed->root()[name]) out.set(name, json::Value::copy(value));
  json::Value withheld = json::Value::object();
  withheld.set("code", info(Code::READ_LABELLED).name);
  withheld.set("problem", "what this entry says has labels, which an event stream gives to nobody");
  out.set("withheld", std::move(withheld));
  return json::write(out);
}

}  // namespace

bool EventFilter::takes(std::string_view stream, std::string_view type) const {
  constexpr std::string_view kContext = "context/";
  if (as != nullptr && stream.starts_with(kContext) && !as->clearance.reads(stream.substr(kContext.size())))
    return false;
  return any_matches(streams, stream) && any_matches(types, type);
}

std::shared_ptr<const std::string> rendered(const runtime::FedEntry& entry, Extent extent) {
  std::string data = "{\"sequence\":" + std::to_string(entry.sequence) + ",\"stream\":";
  const auto text = [&](std::string_view value) { data += json::write(json::Value(value)); };
  text(entry.stream);
  data += ",\"type\":";
  text(entry.type);
  data += ",\"actor\":{\"id\":";
  text(entry.actor_id);
  data += ",\"kind\":";
  text(entry.actor_kind);
  data += "},\"time\":\"";
  ledger::append_time(data, entry.time);
  data += "\",\"payload\":";
  if (extent == Extent::Outline) data += outline_of(entry.payload);
  else if (extent == Extent::NoDocument && entry.type == runtime::kHandoffAccepted)
    data += without_document(entry.payload);
  else data += entry.payload;
  data += "}";
  return std::make_shared<const std::string>(net::sse_event(std::to_string(entry.sequence), entry.type, data));
}

// One stream. Small: thousands of them are idle most of the time.
struct EventHub::Listener {
  std::shared_ptr<net::EventStream> stream;
  std::unique_ptr<const EventFilter> filter;  // null: takes all
  MayHear may_hear;
  std::mutex mutex;        // of what follows, and of the order in which the stream is sent to
  std::uint64_t next = 0;  // the sequence it wants next
  bool live = false;

  // How much of an entry it is shown. `labels` says those of the entry, and is asked only where it matters.
  template <class LabelsOf>
  Extent extent(std::string_view stream_name, const LabelsOf& labels) const {
    if (filter == nullptr || filter->as == nullptr) return Extent::Whole;
    const runtime::ReadingAs& as = *filter->as;
    const Extent most = as.clearance.reads("*") ? Extent::Whole : Extent::NoDocument;
    if (as.owns(stream_name)) return most;
    const std::optional<std::vector<std::string>>& all = labels();
    return all && work::decide_read(as.clearance, {}, *all).is_whole() ? most : Extent::Outline;
  }
  bool is_welcome() const { return !may_hear || may_hear(); }
  bool takes(std::string_view stream_name, std::string_view type) const {
    return filter == nullptr || filter->takes(stream_name, type);
  }
};

namespace {

// The labels of the entries of one batch or page, each stream asked once. What cannot be found out is shown to nobody.
class LabelsSeen {
 public:
  explicit LabelsSeen(const EventHub::Labels& labels) : labels_(labels) {}

  const std::optional<std::vector<std::string>>& of(const runtime::FedEntry& entry) {
    // Of a section and of an approval each entry says its own.
    const bool is_of_stream = entry.stream.starts_with("session/") || entry.stream.starts_with("work/") ||
                              entry.stream.starts_with("workflow/");
    std::string key = is_of_stream ? entry.stream : entry.stream + "\n" + std::to_string(entry.sequence);
    if (entry.type == kWorkCreated) key += "\ncreated";
    const auto known = known_.find(key);
    if (known != known_.end()) return known->second;
    if (entry.type == kWorkCreated) return known_.emplace(std::move(key), of_author(entry.payload)).first->second;
    auto labels = labels_(entry.stream, entry.payload);
    return known_.emplace(std::move(key), labels ? std::move(*labels) : std::nullopt).first->second;
  }

 private:
  static constexpr std::string_view kWorkCreated = "work.created";

  // What an item was created with has the labels of the session that wrote it, not those that the item was given.
  static std::optional<std::vector<std::string>> of_author(const std::string& payload) {
    std::vector<std::string> out;
    const auto document = json::parse(payload);
    if (!document) return std::nullopt;
    for (const json::Node label : document->root()["author_labels"].elements()) out.emplace_back(label.string());
    std::ranges::sort(out);
    return out;
  }

  const EventHub::Labels& labels_;
  std::map<std::string, std::optional<std::vector<std::string>>> known_;
};

}  // namespace

EventHub::EventHub(store::Store& store, runtime::Feed& feed, std::shared_ptr<ReadingPool> readings, Labels labels,
                   Failed failed)
    : store_(store),
      feed_(feed),
      readings_(std::move(readings)),
      labels_(std::move(labels)),
      failed_(std::move(failed)) {}

std::shared_ptr<EventHub> EventHub::start(store::Store& store, runtime::Feed& feed,
                                          std::shared_ptr<ReadingPool> readings, Labels labels, Failed failed) {
  std::shared_ptr<EventHub> hub(new EventHub(store, feed, std::move(readings), std::move(labels), std::move(failed)));
  hub->subscription_ = feed.subscribe([hub = hub.get()](const runtime::FedEntries& entries) { hub->hand_on(entries); });
  // What was handed out before is nobody's: there is no stream yet.
  const std::lock_guard lock(hub->mutex_);
  hub->position_ = std::max(hub->position_.load(), feed.position());
  return hub;
}

void EventHub::end() {
  close_streams();
  feed_.unsubscribe(subscription_);
}

std::size_t EventHub::open() {
  const std::lock_guard lock(mutex_);
  return listeners_.size();
}

void EventHub::close_streams() {
  std::vector<std::shared_ptr<Listener>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const auto& [id, listener] : listeners_) all.push_back(listener);
  }
  for (const auto& listener : all) listener->stream->close();
}

void EventHub::attach(std::shared_ptr<net::EventStream> stream, EventFilter filter, std::uint64_t first,
                      MayHear may_hear) {
  auto listener = std::make_shared<Listener>();
  listener->stream = stream;
  listener->may_hear = std::move(may_hear);
  if (!filter.streams.empty() || !filter.types.empty() || filter.as != nullptr)
    listener->filter = std::make_unique<const EventFilter>(std::move(filter));
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      id = next_id_++;
      listener->next = first;
      listener->live = listener->next > position_;
      listeners_.emplace(id, listener);
    }
  }
  if (id == 0) return stream->close();
  // Asked for only now: a stream that has ended already calls at once.
  stream->on_closed([hub = weak_from_this(), id] {
    const auto alive = hub.lock();
    if (!alive) return;
    std::shared_ptr<Listener> gone;  // after the lock: it may be the last to hold the stream
    const std::lock_guard lock(alive->mutex_);
    const auto found = alive->listeners_.find(id);
    if (found == alive->listeners_.end()) return;
    gone = std::move(found->second);
    alive->listeners_.erase(found);
  });
  // Only this thread knows of it being behind, until a page is asked for.
  if (!listener->live) catch_up(listener);
}

void EventHub::hand_on(const runtime::FedEntries& entries) {
  if (entries->empty()) return;
  std::vector<std::shared_ptr<Listener>> all;
  {
    const std::lock_guard lock(mutex_);
    position_ = std::max(position_.load(), entries->back().sequence);
    all.reserve(listeners_.size());
    for (const auto& [id, listener] : listeners_) all.push_back(listener);
  }
  // Rendered when the first one wants it, and then the same bytes for everyone.
  std::array<std::vector<std::shared_ptr<const std::string>>, 3> bytes_by_extent;
  bytes_by_extent.fill(std::vector<std::shared_ptr<const std::string>>(entries->size()));
  LabelsSeen labels(labels_);
  for (const auto& listener : all) {
    if (!listener->is_welcome()) {
      listener->stream->close();
      continue;
    }
    const std::lock_guard lock(listener->mutex);
    if (!listener->live) continue;
    for (std::size_t at = 0; at < entries->size(); ++at) {
      const runtime::FedEntry& entry = (*entries)[at];
      if (entry.sequence < listener->next) continue;
      listener->next = entry.sequence + 1;
      if (!listener->takes(entry.stream, entry.type)) continue;
      const Extent extent = listener->extent(entry.stream, [&]() -> auto& { return labels.of(entry); });
      auto& bytes = bytes_by_extent[static_cast<std::size_t>(extent)];
      if (bytes[at] == nullptr) bytes[at] = rendered(entry, extent);
      if (!listener->stream->send(bytes[at])) break;  // it ends, and is taken off the list when it has
    }
  }
}

void EventHub::catch_up(const std::shared_ptr<Listener>& listener) {
  const bool posted = readings_->post([hub = weak_from_this(), listener] {
    if (const auto alive = hub.lock()) alive->read_page(listener);
  });
  // Too much to read already: the client comes back with Last-Event-ID and loses nothing.
  if (!posted) listener->stream->close();
}

void EventHub::read_page(const std::shared_ptr<Listener>& listener) {
  if (!listener->is_welcome()) return listener->stream->close();
  const std::uint64_t first = listener->next;  // nobody else writes it before it is live
  const std::uint64_t last = first + limits::kCatchUpEntriesMax - 1;
  const std::uint64_t surely = std::min(last, position_.load());  // up to here the store has them
  std::uint64_t next = first;
  std::size_t bytes = 0;
  bool open = true;
  const auto read = [&]() -> Result<void> {
    const auto reader = store_.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    LabelsSeen labels(labels_);
    return (*reader)->entries(first, last, [&](const store::EntryRow& row) {
      next = row.sequence + 1;
      if (!listener->takes(row.stream, row.type)) return true;
      const runtime::FedEntry entry = fed(row);
      auto event = rendered(entry, listener->extent(entry.stream, [&]() -> auto& { return labels.of(entry); }));
      bytes += event->size();
      open = listener->stream->send(std::move(event));
      return open && bytes < limits::kCatchUpBytesMax;
    });
  }();
  if (!read) {
    failed_(read.error());
    return listener->stream->close();
  }
  if (!open) return;
  // A ledger that somebody altered may have gaps: `baton ledger verify` tells of them, here they must not stop anyone.
  if (bytes < limits::kCatchUpBytesMax) next = std::max(next, surely + 1);
  {
    const std::lock_guard lock(listener->mutex);
    listener->next = next;
    listener->live = next > position_;
    if (listener->live) return;
  }
  listener->stream->when_taken([hub = weak_from_this(), listener] {
    if (const auto alive = hub.lock()) alive->catch_up(listener);
  });
}

}  // namespace baton::http_api
