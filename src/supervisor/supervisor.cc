// SPDX-License-Identifier: Apache-2.0
#include "supervisor/supervisor.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/text.h"
#include "base/time.h"
#include "json/parse.h"

namespace baton::supervisor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One ask waits so long at most: a longer wait is several of them, so that a node may be stopped and started meanwhile.
constexpr std::int64_t kWaitSecondsEach = 20;
constexpr milliseconds kPatience{10'000}, kWatchPause{1'000};
// For the answer to a claim that may have been made just when we were told to stop.
constexpr milliseconds kLastAnswer{500};

}  // namespace

Supervisor::Supervisor(Shared& shared, std::function<void(const Outcome&)> told, std::function<void(int)> done)
    : shared_(shared),
      told_(std::move(told)),
      done_(std::move(done)),
      node_(shared.context, shared.clock, shared.random, shared.node, shared.options.node.token),
      pause_(shared.context),
      claim_until_(shared.clock.monotonic_ns() + shared.options.wait_seconds * kNanosecondsPerSecond) {}

void Supervisor::claim() {
  const Options& options = shared_.options;
  if (stopping_) return finish(options.watch ? 0 : static_cast<int>(End::CouldNot));
  json::Value body = json::Value::object();
  if (!options.role.empty()) body.set("role", options.role);
  if (options.ttl_seconds) body.set("ttl_seconds", *options.ttl_seconds);
  if (options.work.empty() && !options.phases.empty()) {
    json::Value phases = json::Value::array();
    for (const std::string& phase : options.phases) phases.push(phase);
    body.set("phases", std::move(phases));
  }
  const std::int64_t left =
      (claim_until_ - shared_.clock.monotonic_ns() + kNanosecondsPerSecond - 1) / kNanosecondsPerSecond;
  const std::int64_t wait = options.watch ? kWaitSecondsEach : std::clamp<std::int64_t>(left, 0, kWaitSecondsEach);
  if (wait > 0) body.set("wait_seconds", wait);
  const std::string path = options.work.empty() ? "/v1/claim" : "/v1/work/" + percent_encoded(options.work) + "/claim";
  claiming_ = true;
  node_.post(
      path, body, kPatience, [this](int status, std::string answer) { claimed(status, std::move(answer)); },
      seconds(wait) + seconds(30));
}

void Supervisor::claimed(int status, std::string body) {
  claiming_ = false;
  const Options& options = shared_.options;
  const bool watches = options.watch && options.work.empty();
  auto parsed = json::parse_owned(body);
  if (stopping_ && status == 0) return finish(options.watch ? 0 : static_cast<int>(End::CouldNot));
  if (status < 200 || status >= 300 || !parsed) {
    const std::string why = status != 0 && parsed ? advised(problems_in(parsed->root()))
                            : status == 0         ? body
                                                  : "status " + std::to_string(status);
    shared_.screen.error("baton run: " + printable(why, 2000) + "\n");
    // A worker outlives its node.
    if (watches && (status == 0 || status >= 500) && !stopping_) {
      pause_.expires_after(kWatchPause);
      pause_.async_wait([this](const boost::system::error_code& error) {
        if (!error) claim();
      });
      return;
    }
    const bool is_answer = status >= 400 && status < 500 && status != 400 && status != 429;
    return finish(static_cast<int>(is_answer ? End::Refused : End::CouldNot));
  }
  if (!parsed->root()["session"].is_object()) {
    if (stopping_ || options.watch || shared_.clock.monotonic_ns() < claim_until_) return claim();
    shared_.screen.error(
        "baton run: there is nothing to claim; `baton work list` shows what there is, and who holds it\n");
    return finish(static_cast<int>(End::Blocked));
  }
  shared_.screen.error("baton run: claimed " + printable(std::string(parsed->root()["work"]["id"].string()), 64) +
                       "\n");
  run_ = std::make_unique<Run>(shared_, std::move(*parsed), [this](const Outcome& outcome) { ended(outcome); });
  run_->begin();
  if (stopping_) run_->stop();
}

void Supervisor::ended(const Outcome& outcome) {
  told_(outcome);
  const int status = static_cast<int>(outcome.end);
  // Not from within: the Run is what called.
  boost::asio::post(shared_.context, [this, status, outcome] {
    run_.reset();
    // What could not be done for one item cannot for the next; whoever was told to stop stops.
    const bool goes_on = shared_.options.watch && shared_.options.work.empty() && !stopping_ &&
                         outcome.end != End::CouldNot &&
                         !(outcome.end == End::Refused && outcome.handoff_id.empty() && outcome.state == "waiting");
    if (goes_on) return claim();
    finish(stopping_ && shared_.options.watch ? 0 : status);
  });
}

void Supervisor::stop() {
  const bool again = std::exchange(stopping_, true);
  if (run_) return run_->stop();
  pause_.cancel();
  // A claim that waits holds nothing; one that was made is given back when its answer comes.
  if (claiming_ && !again) return node_.hurry(kLastAnswer);
  finish(shared_.options.watch ? 0 : static_cast<int>(End::CouldNot));
}

void Supervisor::finish(int status) {
  if (const auto done = std::exchange(done_, {})) done(status);
}

}  // namespace baton::supervisor
