// SPDX-License-Identifier: Apache-2.0
// baton adopt: puts the coding agents of a project behind Baton by their own settings, and takes them out again.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>

#include "adopt/merge.h"
#include "adopt/splice.h"
#include "adoption/adopter.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/contract.h"
#include "cli/pack.h"
#include "cli/proxies.h"
#include "cli/stores.h"
#include "cli/table.h"
#include "contract/starter.h"
#include "json/parse.h"
#include "secrets/detector.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;
using json::Value;

constexpr std::size_t kShownLinesMax = 400;  // of one file

struct Arguments {
  NodeOptions node;
  std::string client, project, pack, role;
  bool dry_run = false, undo = false, force = false, ask_servers = false;
};

std::vector<std::string> client_names() {
  std::vector<std::string> out;
  for (const hooks::Client client : hooks::kClients) out.emplace_back(hooks::client_name(client));
  return out;
}

std::string name_of(hooks::Client client) { return std::string(hooks::client_name(client)); }

// --- what is shown of a file ------------------------------------------------------------------------------------------------------------

// Strings of members that hold what servers are given: the client's secrets are in no output of ours.
void collect_values(json::Node node, bool inside, std::set<std::string>& out) {
  if (node.is_string() && inside) out.insert(json::write(Value(node.string())));
  for (const json::Member member : node.members())
    collect_values(member.value,
                   inside || member.name() == "env" || member.name() == "environment" || member.name() == "headers",
                   out);
  for (const json::Node element : node.elements()) collect_values(element, inside, out);
}

std::string shown_change(const adoption::FileChange& change) {
  std::set<std::string> values;
  for (const auto& text : {change.from, change.to})
    if (text)
      if (const auto splice = adopt::Splice::of(*text)) collect_values(splice->root(), false, values);
  std::string text = adopt::shown_change(change.from.value_or(""), change.to.value_or(""), kShownLinesMax);
  for (const std::string& value : values)
    for (std::size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + 5))
      text.replace(at, value.size(), "\"***\"");
  std::string out;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    // TOML: what stands behind `env` and the like is on the same line.
    const bool hides = change.path.ends_with(".toml") &&
                       (line.find("env ") != std::string_view::npos || line.find("env=") != std::string_view::npos ||
                        line.find("headers") != std::string_view::npos);
    out += hides ? std::string(line.substr(0, 4)) + "***\n" : printable(secrets::redact(line), 400) + "\n";
  }
  return out;
}

std::string shown_plan_file(const adoption::FileChange& change, const adoption::Record& record) {
  for (const adoption::RecordedFile& file : record.files)
    if (file.path == change.path && file.of == adoption::Of::Secret)
      return "writes " + printable(change.path, 400) + " (mode 0600, the value of a header)\n";
  const std::string what = !change.from ? "writes " : !change.to ? "removes " : "changes ";
  return what + printable(change.path, 400) + "\n" + (change.to ? shown_change(change) : "");
}

// --- where ------------------------------------------------------------------------------------------------------------------------------

struct Ground {
  std::string store, project, home, baton, hook;
  std::string socket,
      node_key;  // `socket`: of a node of another user, named by --node; `store` is then this user's own folder
};

// The socket that was named, when it is another user's and no store was; empty: it is not.
std::string socket_of_another_user(World& world, const Arguments& arguments) {
  if (!arguments.node.store.store.empty()) return {};
  constexpr std::string_view kUnix = "unix:";
  const std::string node =
      arguments.node.node.empty() ? world.environment("BATON_NODE").value_or("") : arguments.node.node;
  if (!node.starts_with(kUnix)) return {};
  std::error_code error;
  const std::string path = fs::absolute(node.substr(kUnix.size()), error).lexically_normal().string();
  struct stat status = {};
  if (::lstat(path.c_str(), &status) == 0) return status.st_uid == ::geteuid() ? std::string() : path;
  // It can be undone without that node, too.
  const Location location = locate_store(world, {});
  const bool has_store = location.kind == LocationKind::Folder && !ledger_origin(world, location.text).empty();
  return arguments.undo && !has_store ? path : std::string();
}

// The key that hooks will hold the node's answers to. A dry run starts no node for it.
Result<std::string> answer_key_of(World& world, const Arguments& arguments, const Ground& ground) {
  if (ground.socket.empty()) {
    auto kept = kept_answer_key(world, arguments.node.store, ground.store);
    if (!kept || !kept->empty()) return kept;
  }
  auto client = Client::open(world, arguments.node, Presents::Token,
                             arguments.dry_run ? Client::Start::Never : Client::Start::IfNone);
  if (!client) return tl::make_unexpected(client.error());
  return client->answer_key();
}

std::optional<Ground> ground_of(World& world, const Arguments& arguments) {
  const auto wrong = [&](const std::string& what) { return could_not(world, what), std::nullopt; };
  std::error_code error;
  Ground out;
  if (world.environment("BATON_SESSION_TOKEN"))
    return wrong("this is the session of an agent at work: who is held to a contract does not change what holds him");
  out.home = world.environment("HOME").value_or("");
  if (!out.home.starts_with('/')) return wrong("HOME does not say where the user's settings are");
  if (out.home.size() > 1 && out.home.ends_with('/')) out.home.pop_back();
  out.socket = socket_of_another_user(world, arguments);
  const Location location = locate_store(world, arguments.node.store.store);
  if (!out.socket.empty()) {
    // The store is not this user's to write to: what was changed is kept in a folder of theirs.
    const auto data = user_folder(world, "XDG_DATA_HOME", ".local/share");
    if (!data) return wrong("neither XDG_DATA_HOME nor HOME says where to keep what is changed");
    fs::create_directories(*data, error);
    if (error || ::chmod(data->c_str(), 0700) != 0)
      return wrong("the folder " + printable(data->string(), 400) + " cannot be made");
    out.store = fs::weakly_canonical(fs::absolute(*data, error), error).string();
  } else if (location.kind != LocationKind::Folder)
    return wrong("the hooks need a store in a folder; `" + secrets::redact(printable(location.text, 200)) +
                 "` is none");
  if (out.socket.empty()) {
    out.store = fs::weakly_canonical(fs::absolute(location.text, error), error).string();
    if (ledger_origin(world, out.store).empty())
      return wrong("there is no store in " + printable(out.store, 400) + "; `baton init` makes one here");
  }
  out.project = fs::canonical(arguments.project.empty() ? fs::path(".") : fs::path(arguments.project), error).string();
  if (error) return wrong("there is no folder " + printable(arguments.project, 400));
  if (out.project == out.home)
    return wrong("this is the home folder: adopt is for a project's folder, and its settings would be everybody's");
  out.baton = fs::read_symlink("/proc/self/exe", error).string();
  out.hook = (fs::path(out.baton).parent_path() / "baton-hook").string();
  if (::access(out.hook.c_str(), X_OK) != 0)
    return wrong("there is no program baton-hook beside " + printable(out.baton, 400) +
                 ", which the client is to start");
  return out;
}

adoption::Wanted wanted_of(World& world, const Arguments& arguments, const Ground& ground, hooks::Client client) {
  adoption::Wanted out{.client = client,
                       .options = {},
                       .pack = {},
                       .by = operator_of(world).id,
                       .at = format_time(world.clock.now()),
                       .environment = world.environment};
  out.options = {.baton = ground.baton,
                 .hook = ground.hook,
                 .project = ground.project,
                 .home = ground.home,
                 .store = ground.store,
                 .socket = ground.socket,
                 .node_key = ground.node_key,
                 .role = arguments.role.empty() ? name_of(client) : arguments.role};
  std::error_code ignored;
  if (!arguments.pack.empty()) out.pack = fs::weakly_canonical(fs::absolute(arguments.pack, ignored), ignored).string();
  return out;
}

// Starts every server for its list of tools, and ends it again. One that does not answer has none; the others count.
void ask_servers(World& world, adoption::Adopter& adopter, adoption::Wanted& wanted) {
  wanted.servers_asked = true;
  const auto servers = adopter.servers(wanted);
  if (!servers) return;  // planning says why
  for (const adopt::Server& server : *servers) {
    proxy::ServerOptions options;
    options.name = server.name;
    options.argv = server.argv;
    options.environment = server.environment;
    options.folder = wanted.options.project;
    options.url = server.url;
    for (const auto& [name, value] : server.headers) options.headers.push_back({name, value});
    const auto text = world.proxies.read_tools(world, std::move(options));
    const auto document = text ? json::parse_owned(*text) : json::parse_owned("null");
    if (!text || !document) {
      world.print_error("baton: the MCP server " + printable(server.name, 80) +
                        " was not understood, and its tools have no contracts" +
                        (text ? "" : ": " + printable(secrets::redact(text.error().reason), 200)) + "\n");
      continue;
    }
    for (const json::Node tool : document->root()["tools"].elements())
      if (const json::Node name = tool["name"]; name.is_string())
        wanted.options.tools.push_back({server.name, std::string(name.string()),
                                        contract::guess_side_effect(name.string(), tool["annotations"]).side_effect ==
                                            contract::SideEffect::Read});
  }
}

// --- the pack ---------------------------------------------------------------------------------------------------------------------------

struct Compiled {
  std::string hash;
  bool is_good = false;
};

// As it will lie there: what is planned, or what somebody has made of it.
Compiled compiled(World& world, const adoption::Plan& plan) {
  PackFolder folder;
  folder.folder = plan.next.pack;
  if (plan.pack_kept || plan.is_nothing()) {
    auto read = read_pack(world, plan.next.pack);
    if (!read) return {};
    folder = std::move(*read);
  } else {
    std::set<std::string> named;
    const auto take = [&](const std::string& path, const std::string& text) {
      const std::string name = fs::path(path).filename().string();
      if (!name.ends_with(".yaml") || !named.insert(name).second) return;
      if (name == "session.yaml") folder.pack.session = contract::SourceFile{name, text};
      else folder.pack.contracts.push_back({name, text});
    };
    for (const adoption::FileChange& change : plan.changes)
      if (change.to && change.path.starts_with(plan.next.pack + "/")) take(change.path, *change.to);
    adoption::RealDisk disk;
    for (const adoption::RecordedFile& file : plan.next.files)
      if (file.of == adoption::Of::Pack)
        if (const auto seen = disk.read(file.path); seen && seen->exists) take(file.path, seen->text);
    folder.has_pack = true;
  }
  const Checked checked = check_pack(folder, {});
  for (const contract::Finding& finding : checked.findings)
    if (finding.diagnostic.severity == Severity::Error) return {};
  if (checked.packs.empty() || !checked.packs.front().plan) return {};
  return {checked.packs.front().plan->hash, true};
}

// What became of the pack with the node: active, or what an operator types.
struct Activated {
  bool is_active = false;
  std::string problem;
};

Activated activate(World& world, const Arguments& arguments, const adoption::Record& record, const std::string& hash) {
  const std::string& role = record.options.role;
  const auto failed = [](const std::string& why) { return Activated{false, why}; };
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return failed(client.error().text());
  const auto packs = client->get("/v1/packs");
  if (!packs) return failed(packs.error().text());
  for (const json::Node one : packs->root()["packs"].elements())
    if (one["role"].is_text(role) && one["pack"].is_text(hash)) return {true, {}};
  const bool has_token = !arguments.node.token_file.empty() || world.environment("BATON_TOKEN");
  if (!has_token) {
    const auto kept = client->kept_operator_token();
    if (!kept || kept->empty()) return failed("it takes an operator");
  }
  const auto body = activation_of(world, record.pack, role, hash);
  if (!body) return failed(body.error().text());
  auto as_operator = Client::open(world, arguments.node, Presents::Operator);
  if (!as_operator) return failed(as_operator.error().text());
  const auto answer = as_operator->post("/v1/packs", *body);
  if (!answer) return failed(answer.error().text());
  if (!answer->ok()) return failed("the node refused it: " + baton::cli::shown(answer->root()["detail"], 200));
  return {true, {}};
}

// Has the node record what is new. What is wrong with that, if anything.
std::string tell_node(World& world, const Arguments& arguments) {
  auto client = Client::open(world, arguments.node, Presents::Token);
  if (!client) return client.error().text();
  const auto answer = client->post_once("/v1/adoptions", Value::object());
  if (!answer) return answer.error().text();
  return answer->ok() ? "" : "the node refused it: " + shown(answer->root()["detail"], 200);
}

// --- telling ----------------------------------------------------------------------------------------------------------------------------

Value list_of(const std::vector<std::string>& texts) {
  Value out = Value::array();
  for (const std::string& text : texts) out.push(secrets::redact(text));
  return out;
}

Value files_of(const std::vector<adoption::FileChange>& changes) {
  Value out = Value::array();
  for (const adoption::FileChange& change : changes) {
    Value one = Value::object();
    one.set("path", change.path);
    one.set("change", !change.from ? "written" : !change.to ? "removed" : "changed");
    out.push(std::move(one));
  }
  return out;
}

void print_list(World& world, std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::string out = "  " + std::string(title) + "\n";
  for (const std::string& line : lines) out += "    " + printable(secrets::redact(line), 600) + "\n";
  world.print(out);
}

std::string activation_command(const adoption::Record& record, const std::string& hash) {
  return "baton contract activate " + record.pack + " --role " + record.options.role + " --hash " + hash;
}

struct Adopted {
  adoption::Plan plan;
  std::string hash;
  Activated activated;
};

void print_json(World& world, const Arguments& arguments, const std::vector<Adopted>& all, const std::string& trouble) {
  Value out = Value::object(), list = Value::array();
  for (const Adopted& one : all) {
    const adoption::Record& record = one.plan.next;
    Value shown = Value::object(), pack = Value::object();
    shown.set("id", record.id);
    shown.set("client", name_of(record.client));
    shown.set("project", record.options.project);
    shown.set("changed", !one.plan.changes.empty());
    shown.set("wired", list_of(one.plan.lines));
    shown.set("files", files_of(one.plan.changes));
    shown.set("left_alone", list_of(one.plan.left_alone));
    shown.set("carried", list_of(one.plan.carried));
    shown.set("not_carried", list_of(one.plan.not_carried));
    shown.set("to_do", list_of(adopt::left_to_do(record.client, record.options.project)));
    pack.set("folder", record.pack);
    pack.set("role", record.options.role);
    pack.set("hash", one.hash);
    pack.set("kept", one.plan.pack_kept);
    pack.set("active", one.activated.is_active);
    shown.set("pack", std::move(pack));
    list.push(std::move(shown));
  }
  out.set("dry_run", arguments.dry_run);
  out.set("adopted", std::move(list));
  if (!trouble.empty()) out.set("not_recorded", secrets::redact(trouble));
  world.print(json::write(out) + "\n");
}

void print_human(World& world, const Arguments& arguments, const Adopted& one) {
  const adoption::Record& record = one.plan.next;
  const std::string name = name_of(record.client);
  if (one.plan.is_nothing()) {
    world.print(name + ": everything is wired already\n");
  } else {
    world.print(painted(name, "1", world.colour) +
                (arguments.dry_run ? " would be adopted"
                 : one.plan.is_new ? " is adopted"
                                   : " is wired again") +
                " in " + printable(record.options.project, 400) + "\n");
  }
  if (arguments.dry_run)
    for (const adoption::FileChange& change : one.plan.changes)
      if (!change.path.starts_with(record.pack + "/")) world.print(shown_plan_file(change, record));
  print_list(world, "wired", one.plan.lines);
  print_list(world, "left as it was, because it could not be wired", one.plan.left_alone);
  print_list(world, "rules that are in the pack", one.plan.carried);
  print_list(world, "rules that are not, and why", one.plan.not_carried);
  std::size_t files = 0;
  for (const adoption::FileChange& change : one.plan.changes) files += change.path.starts_with(record.pack + "/");
  world.print("  pack     " + printable(record.pack, 400) +
              (one.plan.pack_kept  ? " (changed by hand: it stays as it is)"
               : arguments.dry_run ? ", " + std::to_string(files) + " files"
                                   : "") +
              "\n  hash     " +
              (one.hash.empty() ? "none: it does not compile, see `baton contract check`" : one.hash) + "\n");
}

void print_next(World& world, const std::vector<Adopted>& all) {
  std::vector<std::string> lines;
  for (const Adopted& one : all) {
    const adoption::Record& record = one.plan.next;
    if (one.activated.is_active)
      world.print("  active   sessions of " + name_of(record.client) + " are held to it (role " + record.options.role +
                  ")\n");
    else
      lines.push_back(activation_command(record, one.hash) + "      (" + printable(one.activated.problem, 200) +
                      ": until then every call is refused)");
    for (std::string& line : adopt::left_to_do(record.client, record.options.project)) lines.push_back(std::move(line));
  }
  if (lines.empty()) return;
  world.print("next\n");
  for (const std::string& line : lines) world.print("  " + line + "\n");
}

// --- doing ------------------------------------------------------------------------------------------------------------------------------

// Alone, and with what was broken off taken back. A dry run does neither: it only has to see what is there. Nothing: no lock is needed.
Result<std::optional<adoption::Lock>> begin(World& world, const Arguments& arguments, const Ground& ground,
                                            adoption::Adopter& adopter, std::vector<std::string>& recovered) {
  if (arguments.dry_run) {
    adoption::RealDisk disk;
    const auto names = disk.list(ground.store + "/adopted");
    if (!names) return tl::make_unexpected(names.error());
    for (const std::string& name : *names)
      if (!name.starts_with('.') && adopter.folder().is_broken_off(name))
        return failure("looking at " + printable(name, 60),
                       "a change was broken off; `baton adopt` or `baton adopt --undo` takes it back first");
    return std::optional<adoption::Lock>();
  }
  auto lock = adoption::Lock::take(ground.store, adoption::Lock::For::Changing);
  if (!lock) return tl::make_unexpected(lock.error());
  auto taken = adopter.folder().recover();
  if (!taken) return tl::make_unexpected(taken.error());
  recovered = std::move(*taken);
  for (const std::string& id : recovered)
    world.print_error("baton: a change of " + printable(id, 60) + " had been broken off, and was taken back\n");
  return std::optional<adoption::Lock>(std::move(*lock));
}

// Nothing, and a message, when it cannot be told.
std::optional<std::vector<hooks::Client>> chosen_clients(World& world, const Arguments& arguments, const Ground& ground,
                                                         adoption::Adopter& adopter) {
  if (!arguments.client.empty()) return std::vector{*hooks::client_named(arguments.client)};
  std::vector<hooks::Client> out;
  for (const hooks::Client client : hooks::kClients) {
    const auto used = adopter.is_used(wanted_of(world, arguments, ground, client));
    if (!used) return could_not(world, used.error()), std::nullopt;
    if (*used) out.push_back(client);
  }
  return out;
}

int adopt_all(World& world, const Arguments& arguments, const Ground& ground) {
  adoption::RealDisk disk;
  adoption::Adopter adopter(disk, ground.store);
  std::vector<Adopted> all;
  {
    std::vector<std::string> recovered;
    const auto lock = begin(world, arguments, ground, adopter, recovered);
    if (!lock) return could_not(world, lock.error());
    const auto clients = chosen_clients(world, arguments, ground, adopter);
    if (!clients) return kCouldNot;
    if (clients->empty()) {
      could_not(world, "no settings of a coding agent are here or in the home folder; name the client: " +
                           join(client_names(), ", "));
      return kNo;
    }
    if (clients->size() > 1 && (!arguments.pack.empty() || !arguments.role.empty()))
      return could_not(world, "there are several clients here; --pack and --role are for one that is named");
    for (const hooks::Client client : *clients) {
      adoption::Wanted wanted = wanted_of(world, arguments, ground, client);
      if (arguments.ask_servers) ask_servers(world, adopter, wanted);
      auto plan = adopter.plan(wanted);
      if (!plan) return could_not(world, plan.error());
      Adopted one{std::move(*plan), {}, {}};
      const Compiled pack = compiled(world, one.plan);
      if (!pack.is_good && !one.plan.pack_kept)
        return could_not(world, "the pack for " + name_of(client) + " does not compile; nothing was changed");
      one.hash = pack.hash;
      all.push_back(std::move(one));
    }
    if (!arguments.dry_run)
      for (std::size_t at = 0; at < all.size(); ++at) {
        if (all[at].plan.is_nothing()) continue;
        const auto done = adopter.carry_out(all[at].plan);
        if (done) continue;
        // All or none: those before it, too, unless they were adopted before.
        for (std::size_t back = at; back-- > 0;) {
          if (!all[back].plan.is_new) continue;
          const auto undoing = adopter.plan_undo(all[back].plan.next, false);
          if (!undoing || !undoing->conflicts.empty() || !adopter.carry_out(*undoing))
            world.print_error("baton: " + name_of(all[back].plan.next.client) + " stays adopted; `baton adopt " +
                              name_of(all[back].plan.next.client) + " --undo` takes it out\n");
        }
        return could_not(world, done.error());
      }
  }
  std::string trouble;
  if (!arguments.dry_run) {
    trouble = tell_node(world, arguments);
    for (Adopted& one : all)
      if (!one.hash.empty()) one.activated = activate(world, arguments, one.plan.next, one.hash);
  }
  if (arguments.node.json()) {
    print_json(world, arguments, all, trouble);
    return kYes;
  }
  for (const Adopted& one : all) print_human(world, arguments, one);
  if (!arguments.dry_run) print_next(world, all);
  if (!trouble.empty())
    world.print_error("baton: it is not recorded yet (" + printable(secrets::redact(trouble), 300) +
                      "); the node does that when it next looks\n");
  return kYes;
}

int undo_all(World& world, const Arguments& arguments, const Ground& ground) {
  adoption::RealDisk disk;
  adoption::Adopter adopter(disk, ground.store);
  std::vector<adoption::UndoPlan> plans;
  {
    std::vector<std::string> recovered;
    const auto lock = begin(world, arguments, ground, adopter, recovered);
    if (!lock) return could_not(world, lock.error());
    const auto records = adopter.folder().all();
    if (!records) return could_not(world, records.error());
    std::vector<std::string> conflicts;
    for (const adoption::Record& record : *records) {
      if (record.options.project != ground.project) continue;
      if (!arguments.client.empty() && arguments.client != name_of(record.client)) continue;
      auto plan = adopter.plan_undo(record, arguments.force);
      if (!plan) return could_not(world, plan.error());
      conflicts.insert(conflicts.end(), plan->conflicts.begin(), plan->conflicts.end());
      plans.push_back(std::move(*plan));
    }
    if (plans.empty()) {
      if (arguments.node.json())
        world.print("{\"dry_run\":" + std::string(arguments.dry_run ? "true" : "false") + ",\"undone\":[]}\n");
      else world.print("nothing is adopted in " + printable(ground.project, 400) + "\n");
      return recovered.empty() ? kNo : kYes;
    }
    if (!conflicts.empty()) {
      for (const std::string& conflict : conflicts) could_not(world, printable(conflict, 600));
      return could_not(world,
                       "nothing was changed. Take Baton's lines out by hand and try again, or let --force put the "
                       "originals back: what "
                       "the files are now is then kept beside them");
    }
    if (!arguments.dry_run)
      for (const adoption::UndoPlan& plan : plans)
        if (const auto done = adopter.carry_out(plan); !done) return could_not(world, done.error());
  }
  const std::string trouble = arguments.dry_run ? "" : tell_node(world, arguments);
  if (arguments.node.json()) {
    Value out = Value::object(), list = Value::array();
    for (const adoption::UndoPlan& plan : plans) {
      Value one = Value::object();
      one.set("id", plan.record.id);
      one.set("client", name_of(plan.record.client));
      one.set("project", plan.record.options.project);
      one.set("files", files_of(plan.changes));
      one.set("kept", list_of(plan.kept));
      list.push(std::move(one));
    }
    out.set("dry_run", arguments.dry_run);
    out.set("undone", std::move(list));
    if (!trouble.empty()) out.set("not_recorded", secrets::redact(trouble));
    world.print(json::write(out) + "\n");
    return kYes;
  }
  for (const adoption::UndoPlan& plan : plans) {
    world.print(painted(name_of(plan.record.client), "1", world.colour) +
                (arguments.dry_run ? " would be taken out" : " is taken out") + " of " +
                printable(plan.record.options.project, 400) + "\n");
    for (const adoption::FileChange& change : plan.changes) {
      if (arguments.dry_run) world.print(shown_plan_file(change, plan.record));
      else if (!change.path.starts_with(plan.record.pack + "/"))
        world.print("  " +
                    std::string(!change.from ? "written   "
                                : !change.to ? "removed   "
                                             : "put back  ") +
                    printable(change.path, 400) + "\n");
    }
    print_list(world, "stays", plan.kept);
    world.print("  the pack of the role " + plan.record.options.role +
                " stays active for whoever opens a session in it\n");
  }
  if (!trouble.empty())
    world.print_error("baton: it is not recorded yet (" + printable(secrets::redact(trouble), 300) +
                      "); the node does that when it next looks\n");
  return kYes;
}

int adopt_or_undo(World& world, const Arguments& arguments) {
  auto ground = ground_of(world, arguments);
  if (!ground) return kCouldNot;
  if (arguments.force && !arguments.undo) return could_not(world, "--force is for --undo");
  if (arguments.ask_servers && arguments.undo) return could_not(world, "--undo asks no server");
  if (!arguments.undo) {
    auto key = answer_key_of(world, arguments, *ground);
    if (!key) return could_not(world, key.error());
    ground->node_key = std::move(*key);
  }
  return arguments.undo ? undo_all(world, arguments, *ground) : adopt_all(world, arguments, *ground);
}

}  // namespace

void add_adopt(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand(
      "adopt", "Put coding agents behind Baton by their own settings, with their rules as a pack; or take them out");
  command->add_option("CLIENT", arguments->client, "Which; default: all whose settings are found here")
      ->one_of(client_names());
  command->add_flag("--dry-run", arguments->dry_run, "Say what would be changed, and change nothing");
  command->add_flag("--undo", arguments->undo, "Put every file back as it was, and remove what was made");
  command->add_flag("--force", arguments->force,
                    "With --undo: put originals back also where somebody has changed the same lines since");
  command->add_flag("--ask-servers", arguments->ask_servers,
                    "Start every MCP server for its list of tools, and write a contract for each");
  command->add_option("--project", arguments->project, "The folder of the project; default: this one");
  command->add_option("--pack", arguments->pack, "Where the pack is written; default: a folder in the store's");
  command->add_option("--role", arguments->role, "The role of the client's sessions; default: its name");
  add_node_options(*command, arguments->node, Presents::Operator, Changes::Nothing);
  examples(*command,
           "  baton adopt claude --dry-run         what would be changed, line by line\n"
           "  baton adopt                          every coding agent that has settings here\n"
           "  baton adopt --undo                   byte for byte as before\n"
           "  baton status                         is it all still wired?\n"
           "\nWhat is changed and what becomes of rules: docs/reference/adopt.md. Exit status: 0 done, or nothing to "
           "do; 1 there is\n"
           "nothing to adopt or to undo; 2 could not, and nothing was changed.");
  command->callback(
      [arguments, &chosen] { chosen = [arguments](World& world) { return adopt_or_undo(world, *arguments); }; });
}

}  // namespace baton::cli
