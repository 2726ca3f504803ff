// SPDX-License-Identifier: Apache-2.0
// baton workflow watch: a workflow as it goes on. In a terminal the tree, drawn again when something happens to it; elsewhere a line for
// each thing that happens. Ends when the workflow has.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "base/text.h"
#include "cli/events.h"
#include "cli/live.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/workflow.h"
#include "json/parse.h"
#include "net/sse.h"

namespace baton::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kDrawEveryNs = 100'000'000;    // at most: a burst of events is one picture
constexpr std::int64_t kAskEveryNs = 10'000'000'000;  // at least: times go by, and the listener may have been cut off
constexpr int kPollMs = 1000;
constexpr milliseconds kSilence{45'000}, kBrokenPause{500};
constexpr int kBrokenMax = 60;            // connections in a row that gave nothing
constexpr std::size_t kStreamsMax = 100;  // of sessions by name; with more of them all sessions are listened to

struct Arguments {
  NodeOptions node;
  std::string id;
};

std::uint64_t number_of(json::Node node) {
  return node.is_number() ? std::strtoull(std::string(node.number_text()).c_str(), nullptr, 10) : 0;
}

// The workflow as it is, and which entry may be the first that it does not show.
struct Seen {
  Answer answer;
  std::uint64_t next = 1;
  std::vector<std::string> streams = {};  // of it and its sessions

  json::Node workflow() const { return answer["workflow"]; }
  bool is_over() const { return !workflow()["standing"].is_text("open"); }
};

// The size is asked for first: what happens between the two is among the events.
Result<Seen> look(Client& client, const std::string& id) {
  auto status = client.get("/v1/status");
  if (!status) return tl::make_unexpected(status.error());
  if (!status->ok()) return Seen{std::move(*status)};
  auto answer = client.get("/v1/workflows/" + url_part(id));
  if (!answer) return tl::make_unexpected(answer.error());
  Seen out{std::move(*answer), number_of((*status)["ledger"]["size"]) + 1};
  out.streams = {"workflow/" + id};
  if (!out.answer.ok()) return out;
  if (count_of(out.workflow()["members"]) > kStreamsMax) out.streams.emplace_back("session/*");
  else
    for (const json::Node one : out.workflow()["members"].elements())
      out.streams.push_back("session/" + text_of(one["id"]));
  return out;
}

// --- in a terminal --------------------------------------------------------------------------------------------------------------

bool wants_to_go(World& world) {
  char keys[64];
  const ssize_t got = ::read(world.in(), keys, sizeof keys);
  if (got == 0) return true;  // the terminal is gone
  return got > 0 && std::string_view(keys, static_cast<std::size_t>(got)).find_first_of("qQ") != std::string_view::npos;
}

void draw(World& world, Screen& screen, const Seen& seen, const std::string& trouble) {
  const WindowSize size = window_size(world).value_or(WindowSize{});
  // Without colour: cells are counted.
  const std::string text = workflow_tree(seen.workflow(), world.clock.now(), false);
  std::string fitting;
  std::size_t lines = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (++lines + 1 >= size.rows) {
      fitting += "... more than fits: `baton workflow tree`\n";
      break;
    }
    fitting += fitted(line, size.columns) + "\n";
  }
  screen.show(fitting + fitted(trouble.empty() ? "q ends" : trouble + "; q ends", size.columns));
}

int live(World& world, Client& client, const Arguments& arguments, Seen seen) {
  LiveSignals::watch();
  {
    auto ears = std::make_unique<Ears>(client, seen.streams, seen.next);
    Screen screen(world);
    std::string trouble;
    std::int64_t asked_ns = world.clock.monotonic_ns();
    bool dirty = false, is_drawn = false, deaf = false;
    while (!LiveSignals::ended() && !seen.is_over()) {
      const std::int64_t now_ns = world.clock.monotonic_ns();
      if ((dirty && now_ns - asked_ns >= kDrawEveryNs) || now_ns - asked_ns >= kAskEveryNs) {
        auto found = look(client, arguments.id);
        if (!found) trouble = "the node does not answer";
        else if (!found->answer.ok()) trouble = "the node refuses: " + shown(found->answer["code"], 64);
        else {
          if (found->streams != seen.streams || deaf) {
            ears = std::make_unique<Ears>(client, found->streams, found->next);
            deaf = false;
          }
          seen = std::move(*found);
          trouble.clear();
        }
        asked_ns = world.clock.monotonic_ns();
        dirty = is_drawn = false;
        if (trouble.empty() && seen.is_over()) break;
      }
      if (LiveSignals::resized() || !is_drawn) draw(world, screen, seen, trouble);
      is_drawn = true;
      pollfd waits[2] = {{world.in(), POLLIN, 0}, {deaf ? -1 : ears->pipe(), POLLIN, 0}};
      const int ready = ::poll(waits, 2, dirty ? static_cast<int>(kDrawEveryNs / 1'000'000) : kPollMs);
      if (ready == 0) is_drawn = false;  // the ages in the picture
      if (ready <= 0) continue;
      if (waits[1].revents != 0) {
        deaf = !ears->drain();
        dirty = true;
      }
      if (waits[0].revents != 0 && wants_to_go(world)) break;
    }
  }
  // What it came to stays on the page that comes back.
  if (seen.is_over()) world.print(workflow_tree(seen.workflow(), world.clock.now(), world.colour));
  return kYes;
}

// --- elsewhere --------------------------------------------------------------------------------------------------------------------

// Between two pieces nothing is half written, and whoever waits for the next one is ended at once.
volatile std::sig_atomic_t stopped = 0, printing = 0;
void stop_listening(int) {
  stopped = 1;
  if (printing == 0) ::_exit(kYes);
}

class Lines {
 public:
  Lines(World& world, Client& client, const Arguments& arguments)
      : world_(world), client_(client), arguments_(arguments) {}

  int run(Seen seen) {
    struct sigaction action = {};
    action.sa_handler = stop_listening;
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
    next_ = seen.next;
    int broken = 0;
    while (stopped == 0) {
      // What has happened up to now ends with an entry that may be about something else: it has to come too.
      const bool last = seen.is_over();
      if (last && seen.next <= next_) break;
      streams_ = seen.streams;
      end_ = last ? seen.next - 1 : UINT64_MAX;
      std::string path = "/v1/events?from=" + std::to_string(next_);
      if (!last)
        for (const std::string& stream : streams_) path += "&stream=" + url_part(stream);
      parser_ = net::SseParser();
      heard_ = enough_ = false;
      const auto ended = client_.follow(path, "", [&](std::string_view bytes) { return take(bytes); }, kSilence);
      if (!world_.flush()) return kCouldNot;
      if (ended && ended->status >= 300) {
        auto document = json::parse_owned(ended->body);
        if (document) return refused(world_, arguments_.node, {ended->status, std::move(*document)});
        return could_not(world_, "the node does not let events be followed");
      }
      if (!ended && ended.error().code == "NODE_NEEDED") return could_not(world_, ended.error());
      broken = heard_ || enough_ ? 0 : broken + 1;
      if (broken > kBrokenMax) return could_not(world_, "the node does not answer any more");
      if (!heard_ && !enough_) std::this_thread::sleep_for(kBrokenPause);
      auto found = look(client_, arguments_.id);
      if (!found) {
        if (++broken > kBrokenMax) return could_not(world_, found.error());
        std::this_thread::sleep_for(kBrokenPause);
      } else if (!found->answer.ok()) {
        return refused(world_, arguments_.node, found->answer);
      } else {
        seen = std::move(*found);
      }
    }
    return kYes;
  }

 private:
  bool take(std::string_view bytes) {
    printing = 1;
    const bool more = read(bytes) && world_.flush();
    printing = 0;
    return more && stopped == 0;
  }

  bool read(std::string_view bytes) {
    for (const net::SseEvent& event : parser_.put(bytes)) {
      heard_ = true;
      const auto document = json::parse(event.data);
      if (!document) continue;
      const json::Node entry = document->root();
      const std::uint64_t sequence = number_of(entry["sequence"]);
      if (sequence < next_ || sequence > end_) continue;
      next_ = sequence + 1;
      const std::string stream = text_of(entry["stream"]);
      const bool wanted = std::ranges::any_of(streams_, [&](const std::string& one) {
        return one == stream || (one == "session/*" && stream.starts_with("session/"));
      });
      if (wanted) world_.print(arguments_.node.json() ? event.data + "\n" : event_line(entry, world_.colour));
      // What may have changed whom to listen to, or ended it all, is looked at before anything else is taken.
      const std::string type = text_of(entry["type"]);
      enough_ =
          sequence == end_ ||
          (end_ == UINT64_MAX && (type == "workflow.claimed" || type == "workflow.killed" || type == "session.ended"));
      if (enough_) return false;
    }
    return !parser_.too_large();
  }

  World& world_;
  Client& client_;
  const Arguments& arguments_;
  net::SseParser parser_;
  std::vector<std::string> streams_;
  std::uint64_t next_ = 1, end_ = UINT64_MAX;
  bool heard_ = false, enough_ = false;
};

int watch(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  auto seen = look(*client, arguments.id);
  if (!seen) return could_not(world, seen.error());
  if (!seen->answer.ok()) return refused(world, arguments.node, seen->answer);
  const bool watched = window_size(world) && ::isatty(world.in()) == 1 && !arguments.node.json();
  if (watched && !client->in_process()) return live(world, *client, arguments, std::move(*seen));
  if (seen->is_over()) {
    if (!arguments.node.json()) world.print(workflow_head(seen->workflow(), world.clock.now(), world.colour));
    return kYes;
  }
  return Lines(world, *client, arguments).run(std::move(*seen));
}

}  // namespace

void add_workflow_watch(Command& workflow, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = workflow.add_subcommand("watch", "The tree as it changes, until the workflow has ended");
  command->add_option("WORKFLOW", arguments->id, "The workflow's id")->required();
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(*command,
           "  baton workflow watch wfl_1f0c...\n  baton workflow watch wfl_1f0c... --format json | jq .type\n"
           "\nIn a terminal q ends it; elsewhere, and as JSON, it is a line for each thing that happens from now on.\n"
           "Exit status: 0 it has ended, or was left; 1 there is none; 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return watch(world, *arguments); }; });
}

}  // namespace baton::cli
