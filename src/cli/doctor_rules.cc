// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_rules.h"

#include <charconv>
#include <optional>

#include "base/text.h"
#include "hooks/event.h"
#include "hooks/open_ends.h"

namespace baton::cli {
namespace {

using State = Finding::State;
using Findings = std::vector<Finding>;

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }
std::optional<std::int64_t> number_of(json::Node node) {
  std::int64_t out = 0;
  if (!node.is_number()) return std::nullopt;
  const std::string_view text = node.number_text();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}
bool is_no(json::Node node) { return node.is_boolean() && !node.boolean(); }
std::string quoted(const std::string& text) { return "`" + printable(text, 400) + "`"; }

void operator_token(json::Node facts, Findings& out) {
  const json::Node token = facts["operator_token"];
  const std::string check = "operator_token";
  if (!token) return;
  if (!token.is_object()) return out.push_back({check, State::Unknown, "the operator's token cannot be read"}), void();
  if (token.size() == 0)
    return out.push_back(
               {check, State::Note, "you have no operator's token for this store: decisions are made elsewhere"}),
           void();
  if (token["sealed"].is_true())
    return out.push_back({check, State::Fine, "the operator's token is sealed with a passphrase"}), void();
  out.push_back({check, State::Problem,
                 "the operator's token " + printable(text_of(token["path"]), 400) +
                     " has no passphrase: every program that runs as you can decide as the operator, agents too",
                 "make a new one with a passphrase: `baton operator recover` at a terminal"});
}

void node(json::Node facts, Findings& out) {
  const json::Node node = facts["node"];
  if (!node.is_object()) return;
  if (!node["running"].is_true())
    return out.push_back({"node", State::Note, "no node runs: part of this was not looked at"}), void();
  const std::string version = text_of(facts["version"]), its = text_of(node["version"]);
  if (!version.empty() && its != version)
    out.push_back({"versions", State::Problem,
                   "the node is version " + printable(its, 40) + ", this program " + version,
                   "end the node with `baton stop`; the next command starts this version"});
  const auto uid = number_of(facts["uid"]), node_uid = number_of(node["uid"]);
  if (facts["root"].is_true() && node_uid == 0)
    out.push_back({"node_user", State::Problem, "the node runs as root, and so do the agents that root starts",
                   "run agents as a user of their own: docs/reference/two-users.md"});
  else if (uid && node_uid && *uid == *node_uid)
    out.push_back({"node_user", State::Note,
                   "the node runs as you: an agent that runs as you can end it, and write the files that it trusts",
                   "run the node as a user of its own: docs/reference/two-users.md"});
  else if (uid && node_uid) out.push_back({"node_user", State::Fine, "the node runs as another user than you"});
}

void folders(json::Node facts, Findings& out) {
  bool all_fine = true;
  std::size_t seen = 0;
  for (const json::Node folder : facts["folders"].elements()) {
    const std::string what = text_of(folder["what"]), path = text_of(folder["path"]), mode = text_of(folder["mode"]);
    ++seen;
    unsigned bits = 0;
    if (std::from_chars(mode.data(), mode.data() + mode.size(), bits, 8).ec != std::errc()) {
      out.push_back({"folders", State::Unknown, "the mode of " + printable(path, 400) + " cannot be read"});
      all_fine = false;
      continue;
    }
    const bool is_private = what == "keys" || what == "settings";
    const unsigned wrong = bits & (is_private ? 077u : 022u);
    if (wrong == 0) continue;
    all_fine = false;
    out.push_back({"folders", State::Problem,
                   "others can " + std::string((wrong & 022u) != 0 ? "write" : "read") + " " + printable(path, 400) +
                       " (mode " + mode + "), which holds the " + (what == "settings" ? "operator's settings" : what),
                   std::string("chmod ") + (is_private ? "go-rwx" : "go-w") + " " + printable(path, 400)});
  }
  if (all_fine && seen > 0)
    out.push_back({"folders", State::Fine, "store, settings and keys are closed to other users"});
}

void witnesses(json::Node facts, Findings& out) {
  const json::Node list = facts["witnesses"];
  if (!list.is_array()) return;
  if (list.size() > 0)
    return out.push_back({"witness", State::Fine, std::to_string(list.size()) + " witnesses keep the ledger's seals"}),
           void();
  out.push_back(
      {"witness", State::Problem,
       "no witness keeps the ledger's seals: who can write the store and the keys can rewrite the record unseen",
       "`baton ledger seal --add-witness folder:/PATH`, on another machine or owned by another user"});
}

void adoptions(json::Node facts, Findings& out) {
  for (const json::Node one : facts["adoptions"].elements()) {
    const std::string name = text_of(one["client"]), project = printable(text_of(one["project"]), 400);
    const auto client = hooks::client_named(name);
    if (!one["whole"].is_true())
      out.push_back({"adoption", State::Problem, name + " in " + project + " is not wired as it was adopted",
                     "`baton adopt " + name + "` in that folder wires it again"});
    if (is_no(one["signed"]))
      out.push_back(
          {"hook_key", State::Problem,
           "the hooks of " + name + " in " + project + " accept any node's answer: a false socket can allow calls",
           "`baton adopt " + name + "` in that folder registers the node's key"});
    if (!client) continue;
    const std::string version = text_of(one["version"]);
    const hooks::OpenEnds open = hooks::open_ends(*client, version);
    const std::string of = name + (version.empty() ? " (version not known)" : " " + printable(version, 40));
    if (!open.is_measured)
      out.push_back(
          {"hooks", State::Unknown, "whether " + of + " runs a call that its hook did not decide was not measured"});
    else if (!open.ways.empty())
      out.push_back(
          {"hooks", State::Problem,
           of + " runs a call when " + join(open.ways, ", or ") + " (measured with " + open.measured_with + ")",
           *client == hooks::Client::Claude ? "use Claude Code 2.1.325 or newer"
                                            : "put what matters behind `baton mcp`, which always refuses"});
    else out.push_back({"hooks", State::Fine, of + " refuses a call that its hook did not decide"});
  }
}

void packs(json::Node facts, Findings& out) {
  std::size_t servers = 0;
  bool all_fine = true;
  for (const json::Node pack : facts["packs"].elements()) {
    const std::size_t count = pack["servers"].is_array() ? pack["servers"].size() : 0;
    servers += count;
    if (count == 0 || pack["locked"].is_true()) continue;
    all_fine = false;
    out.push_back({"tools_lock", State::Problem,
                   "the pack of role " + quoted(text_of(pack["role"])) +
                       " has contracts for MCP servers and no tools.lock.json: "
                       "a server may change what its tools say and do",
                   "`baton mcp lock PACK -- SERVER...`, then activate the pack again"});
  }
  if (all_fine && servers > 0) out.push_back({"tools_lock", State::Fine, "the tools of MCP servers are locked"});
}

void proxies(json::Node facts, Findings& out) {
  for (const json::Node one : facts["proxies"].elements())
    if (one["without_token"].is_true())
      out.push_back({"proxies", State::Problem,
                     "a proxy listens without a token (process " + std::to_string(number_of(one["pid"]).value_or(0)) +
                         "): every program on this machine can use its servers",
                     "start `baton mcp --listen` without --listen-without-token, and give its clients the token"});
}

void kernel(json::Node facts, Findings& out) {
  const json::Node kernel = facts["kernel"];
  if (!kernel.is_object()) return;
  const auto landlock = number_of(kernel["landlock_abi"]);
  if (!landlock) out.push_back({"confinement", State::Unknown, "whether the kernel has Landlock cannot be found out"});
  else if (*landlock == 0 || is_no(kernel["user_namespaces"]))
    out.push_back({"confinement", State::Note,
                   std::string("this kernel cannot confine an agent: it has no ") +
                       (*landlock == 0 ? "Landlock" : "user namespaces for this user"),
                   "use a kernel with Landlock (5.13 or newer) and unprivileged user namespaces"});
  else
    out.push_back({"confinement", State::Fine,
                   "the kernel has Landlock (ABI " + std::to_string(*landlock) + ") and user namespaces"});
  if (const auto scope = number_of(kernel["ptrace_scope"]); scope && *scope == 0)
    out.push_back(
        {"ptrace", State::Note,
         "programs of one user may trace each other: an agent can read and steer your other programs, your shell too",
         "sysctl kernel.yama.ptrace_scope=1"});
}

void clock_and_disk(json::Node facts, Findings& out) {
  if (const auto behind = number_of(facts["clock"]["behind_record_seconds"]); behind && *behind > 5)
    out.push_back(
        {"clock", State::Problem,
         "the clock is " + std::to_string(*behind) + " s behind the newest entry: expiry waits until it has caught up",
         "set the clock, and keep it by NTP"});
  else if (behind) out.push_back({"clock", State::Fine, "the clock agrees with the record"});
  const auto free = number_of(facts["disk"]["free_bytes"]), floor = number_of(facts["disk"]["floor_bytes"]);
  if (!free) return;
  const std::string megabytes = std::to_string(*free >> 20) + " MiB are free where the store is";
  if (floor && *free < *floor)
    out.push_back(
        {"disk", State::Problem, megabytes + ", less than the floor: new work is refused", "free some space"});
  else if (floor && *free / 2 < *floor)
    out.push_back({"disk", State::Note, megabytes + ": soon new work is refused", "free some space"});
  else out.push_back({"disk", State::Fine, megabytes});
}

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::Fine: return "fine";
    case State::Note: return "note";
    case State::Problem: return "problem";
    case State::Unknown: return "unknown";
  }
  return {};
}

std::vector<Finding> examine(json::Node facts) {
  Findings out;
  operator_token(facts, out);
  node(facts, out);
  folders(facts, out);
  witnesses(facts, out);
  adoptions(facts, out);
  packs(facts, out);
  proxies(facts, out);
  kernel(facts, out);
  clock_and_disk(facts, out);
  return out;
}

}  // namespace baton::cli
