// SPDX-License-Identifier: Apache-2.0
// baton work claim, wait, renew, release, exit: what an agent, or whoever starts one, does with an item.
#include <algorithm>
#include <memory>
#include <thread>

#include "base/limits.h"
#include "base/text.h"
#include "claims/claims.h"
#include "cli/credentials.h"
#include "cli/input.h"
#include "cli/sealed_token.h"
#include "cli/shell.h"
#include "cli/work.h"
#include "net/sse.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// One ask waits so long at most: a longer wait is several of them, so that a node may be stopped and started
// meanwhile.
constexpr std::int64_t kWaitSecondsEach = 60;
constexpr seconds kAnswerTime{30};
constexpr milliseconds kBrokenPause{200};  // before a connection that broke is made again

struct ClaimArguments {
  NodeOptions node;
  std::string id, role, ttl, wait, token_out;
  std::vector<std::string> phases;
  bool show_token = false;
  bool for_ever = false;  // `wait`: until there is something
};

std::string environment_lines(json::Node root) {
  const std::pair<std::string_view, json::Node> lines[] = {{"BATON_SESSION_TOKEN", root["session"]["token"]},
                                                           {"BATON_SESSION", root["session"]["id"]},
                                                           {"BATON_AGENT_ID", root["session"]["agent_id"]},
                                                           {"BATON_ROLE", root["session"]["role"]},
                                                           {"BATON_WORK", root["work"]["id"]},
                                                           {"BATON_PHASE", root["work"]["phase"]}};
  std::string out;
  for (const auto& [name, value] : lines) out += export_line(name, text_of(value));
  return out;
}

// The answer without the token, for whoever did not ask for it.
json::Value without_token(json::Node root) {
  json::Value out = json::Value::copy(root);
  if (json::Value* session = out.find("session"); session != nullptr && session->is_object()) session->erase("token");
  return out;
}

void print_claim(World& world, const ClaimArguments& arguments, json::Node root, const std::string& key) {
  const json::Node session = root["session"];
  const ShownWork item = shown_work(root["work"]);
  std::string out = painted("claimed", "32", world.colour) + " " + painted(item.id, "1", world.colour) + " (" +
                    item.phase + "): " + item.title + receipt_text(root) + "\n";
  out += "  session  " + shown(session["id"], 200) + "\n";
  out += "  agent    " + shown(session["agent_id"], 200) + ", role " + shown(session["role"], 64) + "\n";
  out += "  lease    until " + shown(session["expires_at"], 64) + ", fence " + shown(session["fence"], 24) + "\n";
  out += "  token    ";
  if (arguments.show_token) out += text_of(session["token"]) + "\n";
  else if (!arguments.token_out.empty()) out += "in " + printable(arguments.token_out, 200) + "\n";
  else
    out +=
        "not shown; the same command again with --show-token (or --token-out, --format env) and\n           "
        "--idempotency-key " +
        key + "\n";
  world.print(out);
}

// Asks until there is something, or the time is over. The last answer.
Result<Answer> ask_to_claim(World& world, Client& client, const ClaimArguments& arguments, json::Value body,
                            std::optional<std::int64_t> wait_seconds) {
  const std::string path = arguments.id.empty() ? "/v1/claim" : "/v1/work/" + url_part(arguments.id) + "/claim";
  const std::int64_t end = world.clock.monotonic_ns() + wait_seconds.value_or(0) * kNanosecondsPerSecond;
  for (bool first = true;; first = false) {
    const std::int64_t left =
        arguments.for_ever ? kWaitSecondsEach
                           : (end - world.clock.monotonic_ns() + kNanosecondsPerSecond - 1) / kNanosecondsPerSecond;
    const std::int64_t wait = std::clamp<std::int64_t>(left, 0, kWaitSecondsEach);
    if (wait > 0) body.set("wait_seconds", wait);
    else body.erase("wait_seconds");
    if (!first) client.renew_idempotency_key();  // another request: nothing was recorded for the one before
    auto answer = client.post(path, body, seconds(wait) + kAnswerTime);
    const bool none = answer && answer->ok() && !(*answer)["session"].is_object();
    if (!none || (!arguments.for_ever && left <= kWaitSecondsEach)) return answer;
  }
}

int claim(World& world, const ClaimArguments& arguments) {
  const Span ttl = span_option(world, "--ttl", arguments.ttl), wait = span_option(world, "--wait", arguments.wait);
  if (!ttl.good || !wait.good) return kCouldNot;
  if (!arguments.id.empty() && !arguments.phases.empty())
    return could_not(world, "an item that is named has its own phase; --phase is for the next one");
  json::Value body = json::Value::object();
  if (!arguments.phases.empty()) {
    json::Value phases = json::Value::array();
    for (const std::string& phase : arguments.phases) phases.push(phase);
    body.set("phases", std::move(phases));
  }
  if (!arguments.role.empty()) body.set("role", arguments.role);
  if (ttl.seconds) body.set("ttl_seconds", *ttl.seconds);

  std::optional<NewSecretFile> file;
  const std::filesystem::path token_out = arguments.token_out;
  if (!arguments.token_out.empty()) {
    std::error_code ignored;
    if (std::filesystem::exists(token_out, ignored))
      return could_not(world, printable(arguments.token_out, 200) + " is there already; nothing was claimed");
    auto made = NewSecretFile::make(token_out.parent_path());
    if (!made) return could_not(world, made.error());
    file.emplace(std::move(*made));
  }
  // A session that claims its own item again gets its lease back.
  auto client = Client::open(world, arguments.node, arguments.id.empty() ? Presents::Token : Presents::Session);
  if (!client) return could_not(world, client.error());
  const auto answer = ask_to_claim(world, *client, arguments, body, wait.seconds);
  if (!answer) return could_not(world, answer.error());
  if (!answer->ok()) return refused(world, arguments.node, *answer);
  const json::Node root = answer->root();
  const bool claimed = root["session"].is_object();
  if (claimed && file) {
    std::string token = text_of(root["session"]["token"]);
    const auto kept = file->keep(token_out.filename().string(), token);
    wipe(token);
    if (!kept) return could_not(world, kept.error());
  }
  if (arguments.node.json()) {
    world.print((file ? json::write(without_token(root)) : json::write(root)) + "\n");
  } else if (arguments.node.format == "env") {
    if (claimed) world.print(environment_lines(root));
  } else if (claimed) {
    print_claim(world, arguments, root, client->idempotency_key());
  } else {
    world.print("there is nothing to claim\n");
  }
  return claimed ? kYes : kNo;
}

// --- waiting for a phase ---------------------------------------------------------------------------------------------

struct WaitArguments {
  ClaimArguments claim;
  std::string timeout;
};

std::uint64_t number_of(json::Node node) {
  return node.is_number() ? std::strtoull(std::string(node.number_text()).c_str(), nullptr, 10) : 0;
}

// Is the item where it is waited for? Nothing: not yet.
std::optional<int> arrived(World& world, const WaitArguments& arguments, const Answer& answer) {
  const json::Node work = answer["work"];
  const std::string phase = text_of(work["phase"]), state = text_of(work["state"]);
  const auto& wanted = arguments.claim.phases;
  const bool there = std::find(wanted.begin(), wanted.end(), phase) != wanted.end();
  const bool over = state == "aborted" || phase == "COMPLETED";
  if (!there && !over) return std::nullopt;
  if (arguments.claim.node.json()) world.print(json::write(answer.root()) + "\n");
  else world.print(work_line(work, world.colour) + (there ? "" : "; it will not come there") + "\n");
  return there ? kYes : kNo;
}

int wait_for_phase(World& world, const WaitArguments& arguments) {
  const Span timeout = span_option(world, "--timeout", arguments.timeout);
  if (!timeout.good) return kCouldNot;
  auto client = Client::open(world, arguments.claim.node, Presents::Token);
  if (!client) return could_not(world, client.error());
  const std::int64_t end =
      timeout.seconds ? world.clock.monotonic_ns() + *timeout.seconds * kNanosecondsPerSecond : INT64_MAX;
  const std::string stream = "work/" + arguments.claim.id;
  for (;;) {
    // The size is asked for before the item, so that what happens between the two is among the events.
    const auto status = client->get("/v1/status");
    if (!status) return could_not(world, status.error());
    if (!status->ok()) return refused(world, arguments.claim.node, *status);
    const std::uint64_t size = number_of((*status)["ledger"]["size"]);
    const auto work = client->get("/v1/work/" + url_part(arguments.claim.id));
    if (!work) return could_not(world, work.error());
    if (!work->ok()) return refused(world, arguments.claim.node, *work);
    if (const auto result = arrived(world, arguments, *work)) return *result;

    const std::int64_t left_ms = end == INT64_MAX ? INT64_MAX : (end - world.clock.monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) {
      could_not(world, "work item `" + printable(arguments.claim.id, 64) + "` did not come there in time");
      return kNo;
    }
    const milliseconds idle(std::min<std::int64_t>(left_ms, 60'000));
    net::SseParser parser;
    const auto ended = client->follow(
        "/v1/events?stream=" + url_part(stream) + "&from=" + std::to_string(size + 1), "",
        [&](std::string_view bytes) {
          // A sign of life every now and then comes as well: time may be over.
          return parser.put(bytes).empty() && !parser.too_large() &&
                 world.clock.monotonic_ns() < end - std::min<std::int64_t>(end, idle.count() * 1'000'000);
        },
        idle);
    if (!ended && ended.error().code == "NODE_NEEDED") return could_not(world, ended.error());
    if (!ended && ended.error().code != "HTTP_TIMEOUT") std::this_thread::sleep_for(kBrokenPause);
    if (ended && ended->status >= 300)
      return could_not(world, "the node does not let events be followed: status " + std::to_string(ended->status));
  }
}

int wait(World& world, const WaitArguments& arguments) {
  if (!arguments.claim.phases.empty() && !arguments.claim.id.empty()) return wait_for_phase(world, arguments);
  if (!arguments.timeout.empty())
    return could_not(world,
                     "--timeout is for an item and its phase; `baton work claim --wait` waits so long for a claim");
  return claim(world, arguments.claim);
}

// --- what the holder does --------------------------------------------------------------------------------------------

struct SessionArguments {
  NodeOptions node;
  std::string ttl, reason, file = "-";
};

// `/v1/sessions/ID/`; nothing (and a message) when no session is presented.
std::optional<std::string> session_path(World& world, const Client& client) {
  if (!client.session_id().empty()) return "/v1/sessions/" + url_part(client.session_id()) + "/";
  could_not(world,
            "there is no session: give the token that the claim gave with --session-token-file or in "
            "BATON_SESSION_TOKEN");
  return std::nullopt;
}

int renew(World& world, const SessionArguments& arguments) {
  const Span ttl = span_option(world, "--ttl", arguments.ttl);
  if (!ttl.good) return kCouldNot;
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  const auto path = session_path(world, *client);
  if (!path) return kCouldNot;
  json::Value body = json::Value::object();
  if (ttl.seconds) body.set("ttl_seconds", *ttl.seconds);
  return tell(world, arguments.node, client->post(*path + "renew", body), [&](json::Node root) {
    world.print("the lease lasts until " + shown(root["expires_at"], 64) + receipt_text(root) + "\n");
  });
}

int release(World& world, const SessionArguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Session);
  if (!client) return could_not(world, client.error());
  const auto path = session_path(world, *client);
  if (!path) return kCouldNot;
  json::Value body = json::Value::object();
  if (!arguments.reason.empty()) body.set("reason", arguments.reason);
  return tell(world, arguments.node, client->post(*path + "release", body), [&](json::Node root) {
    world.print((root["work"].is_object() ? work_line(root["work"], world.colour) : std::string("released")) +
                receipt_text(root) + "\n");
  });
}

void add_claim_options(Command& command, ClaimArguments& arguments) {
  command.add_option("ID", arguments.id, "This item; default: the next one");
  command.add_option("--phase", arguments.phases, "The next one in this phase; may be repeated")
      ->allow_extra_args(false)
      ->one_of(phase_names());
  command.add_option("--role", arguments.role, "In this role; default: the one the phase has");
  command.add_option("--ttl", arguments.ttl, "How long the lease lasts, such as 10m; default: what the workspace says");
  command.add_option("--token-out", arguments.token_out, "Write the session's token to this new file, mode 0600");
  command.add_flag("--show-token", arguments.show_token, "Show the session's token to people too");
  add_node_options(command, arguments.node, Presents::Session, Changes::Something, {"human", "json", "env"});
}

}  // namespace

int submit_handoff(World& world, const NodeOptions& node, const std::string& file) {
  auto client = Client::open(world, node, Presents::Session);
  if (!client) return could_not(world, client.error());
  const auto path = session_path(world, *client);
  if (!path) return kCouldNot;
  const auto text = read_document(world, file, limits::kCliDocumentBytesMax);
  if (!text) return could_not(world, text.error());
  const auto answer = client->post_text(*path + "handoff", *text);
  if (answer && !answer->ok()) return refused(world, node, *answer, source_name(file), *text);
  return tell(world, node, answer, [&](json::Node root) {
    for (const json::Node warning : root["warnings"].elements())
      if (!shown(warning["code"], 64).starts_with("CLAIM_"))  // they stand below
        world.print_error("warning: " + shown(warning.is_object() ? warning["message"] : warning, 400) + "\n");
    const json::Node handoff = root["handoff"];
    world.print(shown(handoff["dialect"], 32) + " " + shown(handoff["outcome"], 32) + " taken" + receipt_text(root) +
                "\n");
    if (root["work"].is_object()) world.print(work_line(root["work"], world.colour) + "\n");
    if (root["standing"]) world.print("the session is " + shown(root["standing"], 20) + "\n");
    world.print(secrets::redact(claims::text_of(root["claims"], root["claims_counted"])));
    if (const json::Node offered = root["offered"])
      world.print("handoff " + shown(offered["id"]) + " to " + shown(offered["to"], 60) + " is " +
                  shown(offered["stage"], 20) + "\n");
  });
}

void add_work_claim(Command& work, Action& chosen) {
  auto arguments = std::make_shared<ClaimArguments>();
  Command* command = work.add_subcommand("claim", "Take the next item, or one by its name");
  add_claim_options(*command, *arguments);
  command->add_option("--wait", arguments->wait, "When there is none, wait for one so long");
  examples(*command,
           "  eval \"$(baton work claim --format env)\"             the next one; its session in the environment\n"
           "  baton work claim W-1 --ttl 30m --token-out w1.token\n"
           "  baton work claim --phase READY_FOR_REVIEW --wait 60s --format json\n"
           "\nExit status: 0 claimed, 1 nothing to claim or refused, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return claim(world, *arguments); }; });
}

void add_work_wait(Command& work, Action& chosen) {
  auto arguments = std::make_shared<WaitArguments>();
  arguments->claim.for_ever = true;
  Command* command = work.add_subcommand("wait", "Claim, however long it takes; or wait until an item is in a phase");
  add_claim_options(*command, arguments->claim);
  command->add_option("--timeout", arguments->timeout, "With an item and a phase: no longer than this");
  examples(*command,
           "  baton work wait --role reviewer --format env        until there is something to claim\n"
           "  baton work wait W-1 --phase CI_PENDING --timeout 1h until that item is with CI; claims nothing\n"
           "\nExit status: 0 claimed or there, 1 not in time, or it never will be, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return wait(world, *arguments); }; });
}

void add_work_renew(Command& work, Action& chosen) {
  auto arguments = std::make_shared<SessionArguments>();
  Command* command = work.add_subcommand("renew", "Hold the lease longer");
  command->add_option("--ttl", arguments->ttl, "How long from now, such as 10m; default: as it was issued");
  add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
  examples(*command, "  baton work renew --ttl 30m\n\nExit status: 0 renewed, 1 refused, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return renew(world, *arguments); }; });
}

void add_work_release(Command& work, Action& chosen) {
  auto arguments = std::make_shared<SessionArguments>();
  Command* command = work.add_subcommand("release", "Give the item back as it is");
  command->add_option("--reason", arguments->reason, "Why, for the record");
  add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
  examples(*command, "  baton work release --reason 'not mine'\n\nExit status: 0 released, 1 refused, 2 could not.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return release(world, *arguments); }; });
}

void add_work_exit(Command& work, Action& chosen) {
  auto arguments = std::make_shared<SessionArguments>();
  Command* command = work.add_subcommand("exit", "Hand the item over: a handoff of any dialect, as the agent wrote it");
  command->add_option("FILE", arguments->file, "The handoff; - or none reads standard input");
  add_node_options(*command, arguments->node, Presents::Session, Changes::Something);
  examples(*command,
           "  agent | baton find | baton work exit\n  baton work exit signal.json\n"
           "\nExit signals are acted on when `exit_protocol` in config.yaml or AGENT_EXIT_PROTOCOL_ENABLED where the\n"
           "node runs says so. Exit status: 0 taken, 1 refused (nothing changed), 2 could not.");
  command->callback([arguments, &chosen] {
    chosen = [arguments](World& world) { return submit_handoff(world, arguments->node, arguments->file); };
  });
}

}  // namespace baton::cli
