// SPDX-License-Identifier: Apache-2.0
// baton events: what happens, as it happens.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/events.h"
#include "cli/ledger.h"
#include "json/parse.h"
#include "net/sse.h"
#include "workspace/config.h"

namespace baton::cli {
namespace {

using std::chrono::milliseconds;

// A node sends a sign of life every 15 seconds; after three that did not come it is gone.
constexpr milliseconds kSilence{45'000};
constexpr milliseconds kFirstPause{100}, kLongestPause{5'000};
// How long a node may be away before whoever follows gives up.
constexpr std::int64_t kGiveUpNs = 600 * kNanosecondsPerSecond;

using Arguments = EventsArguments;

// Between two pieces nothing is half written, and whoever waits for the next one is ended at once; in the middle of
// one it is finished first.
volatile std::sig_atomic_t stopped = 0, printing = 0;
void stop_listening(int) {
  stopped = 1;
  if (printing == 0) ::_exit(kYes);
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() || std::any_of(patterns.begin(), patterns.end(),
                                         [&](const std::string& pattern) { return workspace::matches(pattern, name); });
}

std::uint64_t number_of(json::Node node) {
  return node.is_number() ? std::strtoull(std::string(node.number_text()).c_str(), nullptr, 10) : 0;
}

class Listener {
 public:
  Listener(World& world, const Arguments& arguments, std::uint64_t last)
      : world_(world), arguments_(arguments), last_(last) {}

  // False: enough was heard.
  bool take(std::string_view bytes) {
    printing = 1;
    const bool more = read(bytes) && world_.flush();
    printing = 0;
    return more && stopped == 0;
  }

  std::uint64_t seen() const { return seen_; }
  bool done() const { return !arguments_.follow && seen_ >= last_; }
  // Was anything heard since this was asked last?
  bool heard() { return std::exchange(heard_, false); }
  // A new connection begins a new stream.
  void begin() { parser_ = net::SseParser(); }

 private:
  bool read(std::string_view bytes) {
    for (const net::SseEvent& event : parser_.put(bytes)) {
      heard_ = true;
      const auto document = json::parse(event.data);
      if (!document) continue;
      const json::Node entry = document->root();
      const std::uint64_t sequence = number_of(entry["sequence"]);
      if (sequence <= seen_) continue;  // after a break the same can come again
      seen_ = sequence;
      const bool beyond = !arguments_.follow && sequence > last_;
      if (!beyond && matches_any(arguments_.streams, text_of(entry["stream"])) &&
          matches_any(arguments_.types, text_of(entry["type"])))
        world_.print(arguments_.node.json() ? event.data + "\n" : event_line(entry, world_.colour));
      if (!arguments_.follow && sequence >= last_) return false;
    }
    return !parser_.too_large();
  }

  World& world_;
  const Arguments& arguments_;
  const std::uint64_t last_;
  net::SseParser parser_;
  std::uint64_t seen_ = 0;
  bool heard_ = false;
};

}  // namespace

std::string event_line(json::Node entry, bool colour) {
  const json::Node actor = entry["actor"];
  const std::string stream = text_of(entry["stream"]), type = text_of(entry["type"]),
                    payload = text_of(entry["payload"]);
  const std::string id = text_of(actor.is_object() ? actor["id"] : actor), kind = text_of(actor["kind"]);
  const auto time = parse_time(text_of(entry["time"])).time;
  store::EntryRow row{};
  row.sequence = number_of(entry["sequence"]);
  row.stream = stream;
  row.type = type;
  row.actor_id = id;
  row.actor_kind = kind;
  row.time = time ? time->nanoseconds : 0;
  row.payload = payload;
  return entry_line(row, colour);
}

int events(World& world, const EventsArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const auto status = client->get("/v1/status");  // also sees to it that a node runs
  if (!status) return could_not(world, status.error());
  if (!status->ok()) return refused(world, arguments.node, *status);
  const std::uint64_t size = number_of((*status)["ledger"]["size"]);
  const std::uint64_t from = arguments.from != 0 ? arguments.from : arguments.follow ? size + 1 : 1;
  if (!arguments.follow && from > size) return kYes;

  // What has happened up to now ends with the entry `size`, whether it suits the filter or not: so that one must come
  // too, and the choice is made here.
  std::string path = "/v1/events?from=" + std::to_string(from);
  if (arguments.follow) {
    for (const std::string& stream : arguments.streams) path += "&stream=" + url_part(stream);
    for (const std::string& type : arguments.types) path += "&type=" + url_part(type);
  }
  struct sigaction action = {};
  action.sa_handler = stop_listening;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  Listener listener(world, arguments, size);
  milliseconds pause = kFirstPause;
  std::int64_t heard_ns = world.clock.monotonic_ns();
  while (stopped == 0) {
    listener.begin();
    const std::string after = listener.seen() == 0 ? "" : std::to_string(listener.seen());
    const auto ended =
        client->follow(path, after, [&](std::string_view bytes) { return listener.take(bytes); }, kSilence);
    if (!world.flush()) return kCouldNot;
    if (listener.done() || stopped != 0) return kYes;
    if (ended && ended->status >= 300) {
      auto document = json::parse_owned(ended->body);
      if (document) return refused(world, arguments.node, Answer{ended->status, std::move(*document)});
      return could_not(world, "the node does not let events be followed: status " + std::to_string(ended->status));
    }
    if (!ended && ended.error().code == "NODE_NEEDED") return could_not(world, ended.error());
    if (listener.heard()) {
      pause = kFirstPause;
      heard_ns = world.clock.monotonic_ns();
    }
    if (world.clock.monotonic_ns() - heard_ns > kGiveUpNs)
      return ended ? could_not(world, "the node ends every stream at once") : could_not(world, ended.error());
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  return kYes;
}

void add_events(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("events", "What happened, and what happens now");
  command->add_option("--stream", arguments->streams, "Only of this stream; may end in `*`, and be repeated")
      ->allow_extra_args(false);
  command->add_option("--type", arguments->types, "Only of this type; may end in `*`, and be repeated")
      ->allow_extra_args(false);
  command
      ->add_option("--from", arguments->from,
                   "From this entry on; default: all, or with --follow what comes from now on")
      ->between(std::uint64_t{1}, std::uint64_t{INT64_MAX});
  command->add_flag("-f,--follow", arguments->follow, "Go on with what comes, until interrupted");
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(*command,
           "  baton events --follow\n  baton events --stream 'work/*' --type 'work.*' --from 1 --format json\n"
           "\nJSON is one event a line. A connection that breaks is made again, and goes on where it was.\n"
           "`baton ledger tail` reads the store itself. Exit status: 0 ended, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return events(world, *arguments); }; });
}

}  // namespace baton::cli
