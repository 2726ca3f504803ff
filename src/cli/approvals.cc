// SPDX-License-Identifier: Apache-2.0
// baton approvals: what people are asked, and their answers.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/look_alikes.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/live.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "json/parse.h"

namespace baton::cli {
namespace {

constexpr int kPollMs = 1000;
constexpr std::int64_t kAskEveryNs = 5'000'000'000;

struct Arguments {
  NodeOptions node;
  std::string id, state, digest, note;
};

std::string_view state_colour(std::string_view state) {
  if (state == "pending") return "33";
  if (state == "approved" || state == "spent") return "32";
  return state == "denied" ? "31" : "2";
}

std::string left_text(json::Node approval, Time now) {
  const auto until = parse_time(text_of(approval["expires_at"])).time;
  if (!until || *until <= now) return "over";
  const std::int64_t seconds = (until->nanoseconds - now.nanoseconds) / kNanosecondsPerSecond;
  if (seconds < 120) return std::to_string(seconds) + " s left";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min left";
  return std::to_string(seconds / 3600) + " h left";
}

// The subject line by line: everything that is decided on, whole, as plain text. What only looks like another character is marked. A text
// of several lines is a block, so that a line break never looks like a backslash and an `n`.
void add_value(std::string& out, const std::string& name, json::Node value, std::size_t depth) {
  const std::string indent(2 + 2 * depth, ' ');
  const std::string label = indent + with_look_alikes_marked(name, Where::Machine) + ":";
  if (value.is_object() && value.size() > 0) {
    out += label + "\n";
    for (const json::Member member : value.members())
      add_value(out, std::string(member.name()), member.value, depth + 1);
    return;
  }
  const std::string text = text_of(value);
  const Where where = value.is_string() ? where_read(name, text) : Where::Machine;
  if (text.find('\n') == std::string::npos) {
    out += label + " " + with_look_alikes_marked(text, where) + "\n";
    return;
  }
  out += label + "\n";
  for (const std::string_view line : split(text, '\n'))
    out += indent + "  | " + with_look_alikes_marked(line, where) + "\n";
}

// What is hidden in it, and why it cannot be approved.
std::string hidden_text(json::Node approval, bool colour) {
  std::string out;
  if (const std::string parts = text_of(approval["hidden_parts"]); !parts.empty() && parts != "0")
    out +=
        "  hidden: " + painted(parts + (parts == "1" ? " part" : " parts"), "33", colour) + ", marked [REDACTED:...]\n";
  for (const json::Node one : approval["not_shown"].elements())
    out += "  " + painted("cannot be approved", "31", colour) + ": " +
           with_look_alikes_marked(text_of(one["pointer"]), Where::Machine) + " " + shown(one["problem"], 200) + "\n";
  return out;
}

std::string described(json::Node approval, Time now, bool colour) {
  const std::string state = text_of(approval["state"]);
  std::string out = painted(shown(approval["id"]), "1", colour) + "  " + painted(state, state_colour(state), colour) +
                    (state == "pending" ? "  " + left_text(approval, now) : "") + "  risk " +
                    shown(approval["risk"], 40) + "  asked by " + shown(approval["requested_by"], 60) + "\n";
  // First what the contract wants a person to see, then all of it.
  if (approval["context"].size() > 0) add_value(out, "context", approval["context"], 0);
  add_value(out, "what", approval["subject"], 0);
  out += hidden_text(approval, colour);
  out += "  digest: " + shown(approval["digest"]) + "\n";
  if (approval["decided_by"])
    out += "  decided by " + shown(approval["decided_by"], 60) + " at " + shown(approval["decided_at"]) +
           (approval["note"] ? ": " + shown(approval["note"], 400) : "") + "\n";
  return out;
}

int list(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const auto answer =
      client->get("/v1/approvals?limit=500" + (arguments.state == "all" ? "" : "&state=" + arguments.state));
  if (!answer) return could_not(world, answer.error());
  if (!answer->ok()) return refused(world, arguments.node, *answer);
  if (arguments.node.json()) {
    for (const json::Node one : (*answer)["approvals"].elements()) world.print(json::write(one) + "\n");
    return kYes;
  }
  if ((*answer)["approvals"].size() == 0) {
    world.print(arguments.state == "pending" ? "nobody is asked anything\n" : "there are none\n");
    return kYes;
  }
  Table table(world.colour);
  table.heading({"APPROVAL", "STATE", "TIME", "RISK", "WHAT", "HIDDEN", "ASKED BY", "WORK"});
  for (const json::Node one : (*answer)["approvals"].elements()) {
    const std::string state = text_of(one["state"]);
    table.row({{shown(one["id"]), "1"},
               {state, state_colour(state)},
               {state == "pending" ? left_text(one, world.clock.now()) : "", "2"},
               {shown(one["risk"], 20)},
               {with_look_alikes_marked(one["tool"] ? shown(one["tool"], 40) : shown(one["subject"]["operation"], 40),
                                        Where::Machine)},
               {one["not_shown"].size() > 0           ? "deny only"
                : text_of(one["hidden_parts"]) == "0" ? ""
                                                      : text_of(one["hidden_parts"]),
                one["not_shown"].size() > 0 ? "31" : "33"},
               {shown(one["requested_by"], 24)},
               {shown(one["work_id"], 20)}});
  }
  world.print(table.text());
  return kYes;
}

int show(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  return tell(world, arguments.node, client->get("/v1/approvals/" + url_part(arguments.id)),
              [&](json::Node root) { world.print(described(root["approval"], world.clock.now(), world.colour)); });
}

// --- deciding ----------------------------------------------------------------------------------------------------------

Result<Answer> send_decision(Client& client, const std::string& id, const std::string& digest, bool approve,
                             const std::string& note) {
  json::Value body = json::Value::object();
  body.set("decision", approve ? "approve" : "deny");
  body.set("digest", digest);
  if (!note.empty()) body.set("note", note);
  return client.post("/v1/approvals/" + url_part(id) + "/decide", body);
}

void print_outcome(World& world, json::Node root) {
  world.print(shown(root["approval"]["id"]) + " is " + shown(root["approval"]["state"]) + "\n");
  for (const json::Node call : root["calls"].elements())
    world.print("  " + shown(call["call_id"], 60) + ": " + shown(call["verdict"]) +
                (call["reason"] ? " (" + shown(call["reason"]) + ")" : "") + "\n");
}

int decide(World& world, const Arguments& arguments, bool approve) {
  auto client = Client::open(world, arguments.node, Presents::Operator);
  if (!client) return could_not(world, client.error());
  std::string digest = arguments.digest;
  if (digest.empty()) {
    // What is decided on is what is there now, and it is shown.
    const auto found = client->get("/v1/approvals/" + url_part(arguments.id));
    if (!found) return could_not(world, found.error());
    if (!found->ok()) return refused(world, arguments.node, *found);
    digest = text_of((*found)["approval"]["digest"]);
    if (!arguments.node.json()) world.print(described((*found)["approval"], world.clock.now(), world.colour));
  }
  return tell(world, arguments.node, send_decision(*client, arguments.id, digest, approve, arguments.note),
              [&](json::Node root) { print_outcome(world, root); });
}

// --- watching ------------------------------------------------------------------------------------------------------------

struct Waiting {
  std::string id, digest, session, tool;
  std::string text;                              // as it is shown
  std::map<std::string, std::string> arguments;  // by pointer, as they are shown
  bool can_be_approved = true;
};

// A line in as many of the screen's as it needs: nothing that is decided on is cut.
std::vector<std::string> wrapped(std::string_view line, std::size_t columns) {
  std::vector<std::string> out;
  if (line.find('\x1b') != std::string_view::npos || columns < 8) return {fitted(line, columns)};
  std::string rest(line);
  while (cells_of(rest) > columns) {
    std::size_t end = 0, cells = 0;
    while (end < rest.size()) {
      std::size_t after = end;
      next_character(rest, after);
      const std::size_t wide = cells_of(std::string_view(rest).substr(end, after - end));
      if (cells + wide > columns) break;
      cells += wide;
      end = after;
    }
    if (end == 0) break;
    out.push_back(rest.substr(0, end));
    rest = "    " + rest.substr(end);
  }
  out.push_back(fitted(rest, columns));
  return out;
}

void flatten(std::map<std::string, std::string>& out, const std::string& at, json::Node value) {
  if (value.is_object() && value.size() > 0)
    for (const json::Member member : value.members()) flatten(out, at + "/" + std::string(member.name()), member.value);
  else out[at] = with_look_alikes_marked(text_of(value), Where::Machine);
}

class Watch {
 public:
  Watch(World& world, Client& client, const NodeOptions& node) : world_(world), client_(client), node_(node) {}

  int run(std::uint64_t from) {
    LiveSignals::watch();
    Ears ears(client_, {"approvals"}, from);
    Screen screen(world_);
    bool dirty = true, deaf = false;
    std::int64_t asked_ns = 0;
    while (!LiveSignals::ended()) {
      const std::int64_t now_ns = world_.clock.monotonic_ns();
      if (dirty || now_ns - asked_ns >= kAskEveryNs) {
        ask();
        asked_ns = now_ns;
        dirty = false;
      }
      (void)LiveSignals::resized();
      draw(screen);
      pollfd waits[2] = {{world_.in(), POLLIN, 0}, {deaf ? -1 : ears.pipe(), POLLIN, 0}};
      if (::poll(waits, 2, kPollMs) <= 0) continue;
      if (waits[1].revents != 0) {
        deaf = !ears.drain();
        dirty = true;
      }
      if (waits[0].revents != 0) {
        if (!take_keys()) break;
        dirty = true;
      }
    }
    return kYes;
  }

 private:
  void ask() {
    const auto answer = client_.get("/v1/approvals?state=pending&limit=100");
    if (!answer || !answer->ok()) {
      trouble_ = answer ? "the node refuses: " + shown((*answer)["code"], 64) : "the node does not answer";
      return;
    }
    trouble_.clear();
    waiting_.clear();
    for (const json::Node one : (*answer)["approvals"].elements()) {
      Waiting waits{text_of(one["id"]),
                    text_of(one["digest"]),
                    text_of(one["session_id"]),
                    text_of(one["tool"]),
                    described(one, world_.clock.now(), false),
                    {},
                    one["not_shown"].size() == 0};
      flatten(waits.arguments, "", one["subject"]["arguments"]);
      waiting_.push_back(std::move(waits));
    }
    // What was shown and is not there any more is what a call proposed again is compared with.
    for (const Waiting& one : waiting_)
      if (!seen_.contains(one.id)) {
        const auto before = last_.find({one.session, one.tool});
        if (before != last_.end()) changes_[one.id] = difference(before->second, one.arguments);
        seen_[one.id] = true;
        last_[{one.session, one.tool}] = one.arguments;
      }
    at_ = std::min(at_, waiting_.empty() ? 0 : waiting_.size() - 1);
  }

  static std::string difference(const std::map<std::string, std::string>& before,
                                const std::map<std::string, std::string>& now) {
    std::string out;
    for (const auto& [at, value] : now) {
      const auto was = before.find(at);
      if (was == before.end()) out += "  + " + at + ": " + value + "\n";
      else if (was->second != value) out += "  ~ " + at + ": " + was->second + " -> " + value + "\n";
    }
    for (const auto& [at, value] : before)
      if (!now.contains(at)) out += "  - " + at + ": " + value + "\n";
    return out;
  }

  void draw(Screen& screen) {
    const WindowSize size = window_size(world_).value_or(WindowSize{});
    std::string text = std::to_string(waiting_.size()) + " waiting   y yes   n no   j/k next, previous   q ends\n\n";
    if (!trouble_.empty()) text += trouble_ + "\n";
    if (!told_.empty()) text += told_ + "\n\n";
    if (waiting_.empty()) text += "nobody is asked anything\n";
    else {
      text += std::to_string(at_ + 1) + " of " + std::to_string(waiting_.size()) + "\n" + waiting_[at_].text;
      if (const auto changed = changes_.find(waiting_[at_].id); changed != changes_.end())
        text += "proposed before; changed since:\n" + (changed->second.empty() ? "  nothing\n" : changed->second);
    }
    std::string fitting;
    std::size_t lines = 0;
    shown_whole_ = true;
    for (const std::string_view line : split(text, '\n'))
      for (const std::string& row : wrapped(line, size.columns)) {
        if (++lines < size.rows) fitting += row + "\n";
        else shown_whole_ = false;
      }
    if (!shown_whole_) fitting += "... more than fits: `baton approvals show`";
    screen.show(fitting);
  }

  bool take_keys() {
    char keys[16];
    const ssize_t got = ::read(world_.in(), keys, sizeof keys);
    if (got <= 0) return false;
    for (const char key : std::string_view(keys, static_cast<std::size_t>(got))) {
      if (key == 'q' || key == 'Q') return false;
      if (waiting_.empty()) continue;
      if (key == 'j') at_ = (at_ + 1) % waiting_.size();
      else if (key == 'k') at_ = (at_ + waiting_.size() - 1) % waiting_.size();
      else if (key == 'y' && !(shown_whole_ && waiting_[at_].can_be_approved)) {
        // Nobody says yes to what they were not shown.
        told_ = waiting_[at_].id + (waiting_[at_].can_be_approved
                                        ? " does not fit on this screen: read it with `baton approvals show`"
                                        : " cannot be approved, only denied");
        break;
      } else if (key == 'y' || key == 'n') {
        decide(key == 'y');
        break;  // what comes next is decided on when it has been seen
      }
    }
    return true;
  }

  void decide(bool approve) {
    const Waiting one = waiting_[at_];
    // The operator's token is read for each decision, and its passphrase asked for: keys can be typed by programs, too.
    auto client = Client::open(world_, node_, Presents::Operator, Client::Start::Never);
    if (!client) {
      told_ = one.id + ": " + client.error().reason;
      return;
    }
    const auto answer = send_decision(*client, one.id, one.digest, approve, "");
    if (!answer) told_ = one.id + ": " + answer.error().text();
    else if (!answer->ok()) told_ = one.id + ": " + shown((*answer)["detail"], 200);
    else told_ = one.id + " is " + shown((*answer)["approval"]["state"]);
  }

  World& world_;
  Client& client_;
  const NodeOptions& node_;
  std::vector<Waiting> waiting_;
  std::map<std::string, bool> seen_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::string>> last_;  // by session and tool
  std::map<std::string, std::string> changes_;
  std::string trouble_, told_;
  bool shown_whole_ = false;  // by the last draw()
  std::size_t at_ = 0;
};

int watch(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const auto status = client->get("/v1/status");
  if (!status) return could_not(world, status.error());
  if (!status->ok()) return refused(world, arguments.node, *status);
  if (!window_size(world) || ::isatty(world.in()) != 1 || client->in_process())
    return could_not(world,
                     "approvals are watched in a terminal, with a node; `baton approvals list` shows them anywhere");
  return Watch(world, *client, arguments.node)
      .run(std::strtoull(text_of((*status)["ledger"]["size"]).c_str(), nullptr, 10) + 1);
}

}  // namespace

void add_approvals(Command& app, Action& chosen) {
  Command* approvals = app.add_subcommand("approvals", "What people are asked, and their answers");
  approvals->require_subcommand(1);
  {
    auto arguments = std::make_shared<Arguments>();
    arguments->state = "pending";
    Command* command = approvals->add_subcommand("list", "What waits for a decision");
    command->add_option("--state", arguments->state, "pending (default), another state, or all")
        ->one_of({"pending", "approved", "denied", "expired", "cancelled", "spent", "lapsed", "all"});
    add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
    examples(*command, "  baton approvals list\n  baton approvals list --state all --format json");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return list(world, *arguments); }; });
  }
  {
    auto arguments = std::make_shared<Arguments>();
    Command* command = approvals->add_subcommand("show", "Exactly what is asked");
    command->add_option("APPROVAL", arguments->id, "The approval")->required();
    add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
    examples(*command, "  baton approvals show apr_9c1e...");
    command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return show(world, *arguments); }; });
  }
  for (const bool approve : {true, false}) {
    auto arguments = std::make_shared<Arguments>();
    Command* command =
        approve ? approvals->add_subcommand("approve", "Say yes: the call is judged again and may go ahead, once")
                : approvals->add_subcommand("deny", "Say no, and what to do instead");
    command->add_option("APPROVAL", arguments->id, "The approval")->required();
    command->add_option("--digest", arguments->digest,
                        "Of what you were shown; without it what is there now is shown and meant");
    command->add_option("--note", arguments->note, "Why, or a suggestion; recorded");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Something);
    examples(
        *command,
        std::string("  baton approvals ") +
            (approve ? "approve apr_9c1e... --digest 5f70..." : "deny apr_9c1e... --note 'ask for half of it'") +
            "\n\nTakes an operator's token; whoever asked cannot decide. Exit status: 0 done, 1 refused, 2 could not.");
    command->callback([arguments, approve, &chosen] {
      chosen = [arguments, approve](World& world) { return decide(world, *arguments, approve); };
    });
  }
  {
    auto arguments = std::make_shared<Arguments>();
    Command* command = approvals->add_subcommand("watch", "What waits, as it comes; one key decides");
    add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing, {});
    examples(*command,
             "  baton approvals watch\n\ny says yes, n no, j and k go through what waits, q ends. A call that was "
             "proposed before is shown with\nwhat changed since. Each decision asks for the passphrase of the "
             "operator's token.");
    command->callback(
        [arguments, &chosen] { chosen = [arguments](World& world) { return watch(world, *arguments); }; });
  }
}

}  // namespace baton::cli
