// SPDX-License-Identifier: Apache-2.0
// Event streams: the ledger as it grows, to everyone who listens.
//
// A stream that asks for older entries first is brought up to date from the store, a page at a time and no faster than
// its client takes them; then it goes on with the feed, without a gap and without a repeat. There is no thread for a
// stream: pages are read by the reading pool, and what is new is handed on by the feed's thread, rendered once for all.
//
// How the two meet: each stream knows the next sequence it wants, and the hub the last one that was handed out. A stream
// goes live when what it wants next is beyond that; entries it has already are passed over.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "http_api/reading_pool.h"
#include "net/http_server.h"
#include "runtime/node.h"
#include "runtime/use_cases.h"
#include "store/store.h"

namespace baton::http_api {

// What a stream wants to hear. Patterns may end in `*`; none: all.
struct EventFilter {
  std::vector<std::string> streams, types;
  std::shared_ptr<const runtime::ReadingAs> as = {};  // null: who listens reads all there is
  bool takes(std::string_view stream, std::string_view type) const;
};

// The bytes of one event: whole; without the document that an agent handed in, which holds what it wrote for other roles; or, of what
// has labels that the listener has not, what it is about alone, and that its content is withheld. A stream adds no labels to anybody.
enum class Extent { Whole, NoDocument, Outline };
std::shared_ptr<const std::string> rendered(const runtime::FedEntry& entry, Extent extent = Extent::Whole);

class EventHub : public std::enable_shared_from_this<EventHub> {
 public:
  using Failed = std::function<void(const Failure&)>;  // a page could not be read: that stream was ended
  // Hears the feed from here on, until end(). What is given is not used after end().
  // `labels`: of what an entry says (UseCases::labels_of_entry); asked only for listeners that do not read everything.
  using Labels =
      std::function<Result<std::optional<std::vector<std::string>>>(std::string_view stream, std::string_view payload)>;
  static std::shared_ptr<EventHub> start(store::Store& store, runtime::Feed& feed,
                                         std::shared_ptr<ReadingPool> readings, Labels labels, Failed failed);

  // From the entry `first` on, which may be yet to come. Nothing more is sent, and the stream ends, once `may_hear` says no; it is
  // asked when there is something to send, so it must not block. Empty: always. That a token is revoked is an entry too.
  using MayHear = std::function<bool()>;
  void attach(std::shared_ptr<net::EventStream> stream, EventFilter filter, std::uint64_t first, MayHear may_hear = {});
  std::size_t open();
  // Ends all streams; none can be attached any more.
  void close_streams();
  void end();

 private:
  struct Listener;
  EventHub(store::Store& store, runtime::Feed& feed, std::shared_ptr<ReadingPool> readings, Labels labels,
           Failed failed);
  void hand_on(const runtime::FedEntries& entries);
  void catch_up(const std::shared_ptr<Listener>& listener);
  void read_page(const std::shared_ptr<Listener>& listener);

  store::Store& store_;
  runtime::Feed& feed_;
  const std::shared_ptr<ReadingPool> readings_;
  const Labels labels_;
  const Failed failed_;
  std::uint64_t subscription_ = 0;
  std::atomic<std::uint64_t> position_{0};  // the last entry handed out; written with the mutex held
  std::mutex mutex_;                        // of what follows; never held while a stream is used
  std::unordered_map<std::uint64_t, std::shared_ptr<Listener>> listeners_;
  std::uint64_t next_id_ = 1;
  bool closed_ = false;
};

}  // namespace baton::http_api
