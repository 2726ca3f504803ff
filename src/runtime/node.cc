// SPDX-License-Identifier: Apache-2.0
#include "runtime/node.h"

#include <mutex>
#include <utility>

#include "base/ids.h"
#include "base/random.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/streams.h"
#include "runtime/feed.h"
#include "runtime/github.h"
#include "runtime/outbox.h"
#include "runtime/sweeper.h"
#include "runtime/use_cases/fast_lane.h"
#include "runtime/waiting.h"
#include "runtime/waiting_starts.h"

namespace baton::runtime {
namespace {

const ledger::Actor kNodeActor{"node", ledger::ActorKind::Node};

class RunningNode final : public Node {
 public:
  RunningNode(store::Store& store, Ledger& ledger, Clock& clock, UseCases& cases, Access& access,
              const workspace::Config& config, const Options& options, std::string name, GithubSecrets secrets,
              std::unique_ptr<LedgerFeed> feed, std::unique_ptr<Outbox> outbox)
      : store_(store),
        ledger_(ledger),
        cases_(cases),
        access_(access),
        name_(std::move(name)),
        log_(options.log),
        secrets_(std::move(secrets)),
        outbox_(std::move(outbox)),
        waiting_(cases, config),
        starts_(cases),
        sweeper_(cases, clock, options.log),
        feed_(std::move(feed)) {
    feed_->subscribe([this](const FedEntries& entries) { see(entries); });
  }
  ~RunningNode() override { RunningNode::stop(); }

  Result<void> begin(const std::string& config_digest, const std::string& version) {
    feed_->start();
    if (auto loaded = access_.load(); !loaded) return loaded;
    const auto missing = may_miss_reads();
    if (!missing) return tl::make_unexpected(missing.error());
    Happening started{std::string(kNodeStream), std::string(kNodeStarted), kNodeActor};
    started.payload.set("config_digest", config_digest);
    started.payload.set("name", name_);
    if (!version.empty()) started.payload.set("version", version);
    if (cases_.config().fast_lane_reads) started.payload.set("fast_lane", true);
    // Reading goes on; the start is not recorded, like all else (LEDGER_BEHIND).
    if (ledger_.writer().is_barred()) {
      if (log_)
        for (const Setback& setback : ledger_.setbacks())
          log_(report(Code::LEDGER_BEHIND, {}, {{"problem", setback.problem()}}).message);
      return {};
    }
    const auto recorded = ledger_.writer().run([&](Unit& unit) -> Result<void> {
      if (*missing)
        if (auto said = unit.append(unflushed()); !said) return said;
      return unit.append(started);
    });
    if (!recorded) return tl::make_unexpected(recorded.error());
    if (*missing && log_)
      log_("the node before this one did not stop in order: reads of its last " +
           std::to_string(kFastLaneMilliseconds) + " ms may be missing in the ledger (unflushed_reads)");
    if (cases_.config().fast_lane_reads) cases_.open_fast_lane();
    started_ = true;
    return {};
  }

  Feed& feed() override { return *feed_; }

  Cancel claim_or_wait(const Mutation& by, ClaimRequest asked, std::chrono::milliseconds wait, Answered done) override {
    if (wait.count() > 0) return waiting_.add(by, std::move(asked), wait, std::move(done));
    cases_.claim(by, std::move(asked), std::move(done));
    return [] {};
  }

  Cancel start_or_wait(const Mutation& by, std::string session_id, std::string start, std::chrono::milliseconds wait,
                       Answered done) override {
    if (wait.count() > 0) return starts_.add(by, std::move(session_id), std::move(start), wait, std::move(done));
    cases_.start_call(by, std::move(session_id), std::move(start), std::move(done));
    return [] {};
  }

  bool is_genuine(std::string_view repository, std::string_view body, std::string_view signature) const override {
    return secrets_.is_genuine(repository, body, signature);
  }

  NodeFigures figures() const override {
    return {.waiting_claims = waiting_.waiting(),
            .claims_woken = waiting_.woken(),
            .sweeps = sweeper_.sweeps(),
            .webhooks_sent = outbox_->sent(),
            .webhooks_failed = outbox_->failed(),
            .entries_seen = feed_->seen()};
  }

  void stop() override {
    const std::lock_guard lock(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
    waiting_.stop();
    starts_.stop();
    sweeper_.stop();
    outbox_->stop();
    // Last: it tells other nodes that what this one held is free, and wakes the feed, which then ends.
    feed_->stop_soon();
    cases_.close_fast_lane();
    if (started_) record_stop();
    feed_->stop();
  }

 private:
  // Did the node before this one have a fast lane, and end without saying so?
  Result<bool> may_miss_reads() {
    const auto reader = store_.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    bool missing = false;
    auto read = ledger::read_stream_backwards(**reader, kNodeStream, [&](const store::EntryRow& row) {
      if (row.type != kNodeStarted && row.type != kNodeStopped) return true;
      const auto payload = json::parse(row.payload);
      missing = row.type == kNodeStarted && payload && payload->root()["fast_lane"].is_true();
      return false;
    });
    if (!read) return tl::make_unexpected(read.error());
    return missing;
  }

  void record_stop() {
    Happening stopped{std::string(kNodeStream), std::string(kNodeStopped), kNodeActor};
    stopped.payload.set("name", name_);
    const auto recorded = ledger_.writer().run([&](Unit& unit) { return unit.append(stopped); });
    if (!recorded && log_) log_("stopping: " + recorded.error().reason);
  }

  void see(const FedEntries& entries) {
    for (const FedEntry& entry : *entries) access_.learn(entry.type, entry.payload);
    waiting_.see(entries);
    starts_.see(entries);
    sweeper_.see(entries);
    outbox_->see(entries);
  }

  store::Store& store_;
  Ledger& ledger_;
  UseCases& cases_;
  Access& access_;
  const std::string name_;
  const Log log_;
  const GithubSecrets secrets_;
  std::unique_ptr<Outbox> outbox_;
  WaitingClaims waiting_;
  WaitingStarts starts_;
  Sweeper sweeper_;
  std::unique_ptr<LedgerFeed> feed_;  // ends first: it calls all the others
  std::mutex stop_mutex_;
  bool started_ = false, stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Node>> Node::start(store::Store& store, Ledger& ledger, Clock& clock, UseCases& cases,
                                          Access& access, const workspace::Config& config, Options options) {
  SystemRandom random;
  const std::string name = mint_id("node_", random);
  auto secrets = GithubSecrets::read(config.webhooks_in, options.config_folder);
  if (!secrets) return tl::make_unexpected(secrets.error());
  // Where the feed begins is settled before anything is read, so that nothing is missed between the two.
  auto feed = LedgerFeed::open(store, options.log);
  if (!feed) return tl::make_unexpected(feed.error());
  // A store that is not accepted yet is only read: what was sent is not written down in it, nor sent again from it.
  const bool only_reads = ledger.writer().is_barred();
  auto outbox = Outbox::start(store, clock, only_reads ? std::vector<workspace::WebhookTarget>() : config.webhooks_out,
                              {.config_folder = options.config_folder, .owner = name, .log = options.log});
  if (!outbox) return tl::make_unexpected(outbox.error());
  auto node = std::make_unique<RunningNode>(store, ledger, clock, cases, access, config, options, name,
                                            std::move(*secrets), std::move(*feed), std::move(*outbox));
  if (auto begun = node->begin(config.digest, options.version); !begun) return tl::make_unexpected(begun.error());
  return node;
}

}  // namespace baton::runtime
