// SPDX-License-Identifier: Apache-2.0
// baton work board: who has what, as it changes.
#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "base/text.h"
#include "cli/board.h"
#include "cli/live.h"
#include "cli/terminal.h"
#include "cli/work.h"

namespace baton::cli {
namespace {

constexpr std::int64_t kDrawEveryNs = 100'000'000;    // at most: a burst of events is one picture
constexpr std::int64_t kAskEveryNs = 10'000'000'000;  // at least: times go by, and the listener may have been cut off
constexpr int kPollMs = 1000;
constexpr std::size_t kColumnsElsewhere = 120;  // where there is no window

struct Arguments {
  NodeOptions node;
  bool once = false;
};

struct Picture {
  std::vector<ShownWork> items;
  std::string trouble;  // why it is old
};

// The items as they are now.
Result<std::optional<Answer>> ask(Client& client, Picture& picture) {
  std::vector<ShownWork> items;
  auto refusal = for_each_work(client, "", [&](json::Node work) { items.push_back(shown_work(work)); });
  if (refusal && !*refusal) {
    picture.items = std::move(items);
    picture.trouble.clear();
  }
  return refusal;
}

std::string heading_of(const Picture& picture, const Client& client, Time now) {
  std::size_t held = 0, open = 0;
  for (const ShownWork& item : picture.items) {
    if (item.state == "held") ++held;
    if (item.state != "completed" && item.state != "aborted") ++open;
  }
  return std::to_string(open) + " open, " + std::to_string(held) + " held   " +
         format_time({now.nanoseconds / kNanosecondsPerSecond * kNanosecondsPerSecond}) + "   " +
         printable(client.place(), 200);
}

// A key that ends it.
bool wants_to_go(World& world) {
  char keys[64];
  const ssize_t got = ::read(world.in(), keys, sizeof keys);
  if (got == 0) return true;  // the terminal is gone
  return got > 0 && std::string_view(keys, static_cast<std::size_t>(got)).find_first_of("qQ") != std::string_view::npos;
}

// `from`: the first entry that the picture may not know of.
int live(World& world, Client& client, Picture picture, std::uint64_t from) {
  LiveSignals::watch();
  Ears ears(client, {"work/*"}, from);
  Screen screen(world);
  std::int64_t asked_ns = world.clock.monotonic_ns();
  bool dirty = false, draw = true, deaf = false;
  while (!LiveSignals::ended()) {
    const std::int64_t now_ns = world.clock.monotonic_ns();
    if ((dirty && now_ns - asked_ns >= kDrawEveryNs) || now_ns - asked_ns >= kAskEveryNs) {
      const auto refusal = ask(client, picture);
      if (!refusal) picture.trouble = "the node does not answer";
      else if (*refusal) picture.trouble = "the node refuses: " + shown((**refusal)["code"], 64);
      asked_ns = world.clock.monotonic_ns();
      dirty = false;
      draw = true;
    }
    if (LiveSignals::resized() || draw) {
      const WindowSize size = window_size(world).value_or(WindowSize{});
      const Time now = world.clock.now();
      screen.show(draw_board(picture.items,
                             {.columns = size.columns,
                              .rows = size.rows,
                              .colour = world.colour,
                              .heading = heading_of(picture, client, now),
                              .footing = picture.trouble.empty() ? "q ends" : picture.trouble + "; q ends"},
                             now));
    }
    pollfd waits[2] = {{world.in(), POLLIN, 0}, {deaf ? -1 : ears.pipe(), POLLIN, 0}};
    const int ready = ::poll(waits, 2, dirty ? static_cast<int>(kDrawEveryNs / 1'000'000) : kPollMs);
    draw = ready == 0;  // the clock in the picture
    if (ready <= 0) continue;
    if (waits[1].revents != 0) {
      deaf = !ears.drain();
      dirty = true;
    }
    if (waits[0].revents != 0 && wants_to_go(world)) break;
  }
  return kYes;
}

int board(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const auto status = client->get("/v1/status");
  if (!status) return could_not(world, status.error());
  Picture picture;
  const auto refusal = ask(*client, picture);
  if (!refusal) return could_not(world, refusal.error());
  if (*refusal) return refused(world, arguments.node, **refusal);
  const auto size = window_size(world);
  const bool watched = size && ::isatty(world.in()) == 1;
  if (watched && !arguments.once && !client->in_process()) {
    const std::string entries = text_of((*status)["ledger"]["size"]);
    return live(world, *client, std::move(picture), std::strtoull(entries.c_str(), nullptr, 10) + 1);
  }
  std::size_t columns = size ? size->columns : kColumnsElsewhere;
  if (const auto given = world.environment("COLUMNS"); !size && given) {
    std::size_t number = 0;
    std::from_chars(given->data(), given->data() + given->size(), number);
    if (number >= 10 && number <= 1000) columns = number;
  }
  world.print(draw_board(picture.items,
                         {.columns = columns, .rows = 0, .colour = world.colour, .heading = "", .footing = ""},
                         world.clock.now()));
  return kYes;
}

}  // namespace

void add_work_board(Command& work, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = work.add_subcommand("board", "A column for each phase, as it changes; q ends");
  command->add_flag("--once", arguments->once, "One picture, as when the output is no terminal");
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing, {});
  examples(*command, "  baton work board\n  COLUMNS=160 baton work board --once > board.txt");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return board(world, *arguments); }; });
}

}  // namespace baton::cli
