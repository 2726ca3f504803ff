// SPDX-License-Identifier: Apache-2.0
// baton doctor: looks at an installation and says what is not safe. The rules are doctor_rules.h; here the facts are gathered. Nothing
// is changed, and no node is started.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "adoption/adopter.h"
#include "base/descriptor.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/credentials.h"
#include "cli/doctor_rules.h"
#include "cli/input.h"
#include "cli/stores.h"
#include "cli/table.h"
#include "contract/plan.h"
#include "hooks/open_ends.h"
#include "json/parse.h"
#include "json/value.h"
#include "net/process.h"
#include "runtime/packs.h"
#include "store/tables.h"
#include "workspace/config.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;
using json::Value;

constexpr std::int64_t kVersionWaitMs = 5000;

struct Arguments {
  NodeOptions node;
};

// --- facts --------------------------------------------------------------------------------------------------------------------

Value operator_token(World& world, const std::string& origin) {
  Value out = Value::object();
  const auto file = find_operator_token(world, origin);
  if (!file) return out;
  const auto sealed = is_sealed_token_file(*file);
  if (!sealed) return {};
  out.set("path", file->string());
  out.set("sealed", *sealed);
  return out;
}

void add_folder(Value& list, std::string_view what, const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return;
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777u);
  Value folder = Value::object();
  folder.set("what", what);
  folder.set("path", path.string());
  folder.set("mode", mode);
  folder.set("uid", static_cast<std::int64_t>(status.st_uid));
  list.push(std::move(folder));
}

// What a client says of its version; null: it cannot be run, or says nothing in time.
Value version_of(World& world, hooks::Client client) {
  const std::string name(hooks::client_name(client));
  int pipe[2] = {-1, -1};
  if (::pipe2(pipe, O_CLOEXEC) != 0) return {};
  const Descriptor in(pipe[0]);
  Descriptor out(pipe[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = name, option = "--version";
  char* arguments[] = {program.data(), option.data(), nullptr};
  std::string path = "PATH=" + world.environment("PATH").value_or("/usr/bin:/bin");
  std::string home = "HOME=" + world.environment("HOME").value_or("/");
  char* environment[] = {path.data(), home.data(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, name.c_str(), &actions, nullptr, arguments, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  out.reset();
  if (failed != 0) return {};
  std::string text;
  const std::int64_t end = world.clock.monotonic_ns() + kVersionWaitMs * 1'000'000;
  while (text.size() < 1000) {
    const std::int64_t left = (end - world.clock.monotonic_ns()) / 1'000'000;
    pollfd wait{in.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) break;
    char buffer[256];
    const ssize_t got = ::read(in.get(), buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  const std::string version = hooks::version_in(text);
  return version.empty() ? Value() : Value(version);
}

Value adoptions(World& world, const std::string& store) {
  Value list = Value::array();
  adoption::RealDisk disk;
  adoption::Adopter adopter(disk, store);
  const auto records = adopter.folder().all();
  if (!records) return {};
  for (const adoption::Record& record : *records) {
    const adoption::Look look = adopter.look(record);
    Value one = Value::object();
    one.set("client", hooks::client_name(record.client));
    one.set("project", record.options.project);
    one.set("whole", look.findings.empty());
    one.set("version", version_of(world, record.client));
    one.set("signed", !record.options.node_key.empty());
    list.push(std::move(one));
  }
  return list;
}

// The roles' packs that have contracts for tools of MCP servers.
Value packs(store::Reader& reader) {
  Value list = Value::array();
  std::set<std::string> seen;
  const auto get = [&](const store::Table& table, const store::Row& key) { return reader.get(table, key); };
  const auto read = reader.find({.table = store::tables::kPackRoles}, [&](const store::Row& row) {
    const auto *role = std::get_if<std::string>(&row[0]), *hash = std::get_if<std::string>(&row[1]);
    if (role == nullptr || hash == nullptr || !seen.insert(*role + "\n" + *hash).second) return true;
    const auto rules = runtime::rules_of(*hash, get);
    if (!rules || !*rules) return true;
    std::set<std::string> servers;
    for (const contract::Tool& tool : (*rules)->plan->tools)
      if (const std::size_t colon = tool.name.find(':'); colon != std::string::npos && colon > 0)
        servers.insert(tool.name.substr(0, colon));
    Value names = Value::array();
    for (const std::string& name : servers) names.push(name);
    Value pack = Value::object();
    pack.set("role", *role);
    pack.set("servers", std::move(names));
    pack.set("locked", (*rules)->plan->tools_lock != nullptr);
    list.push(std::move(pack));
    return true;
  });
  return read ? std::move(list) : Value();
}

// Proxies that run on this machine, by their command lines.
Value proxies() {
  Value list = Value::array();
  for (const net::RunningProcess& process : net::running_processes()) {
    const auto& words = process.words;
    const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
    if (words.empty() || fs::path(words[0]).filename() != "baton" || !has("mcp") || !has("--listen-without-token"))
      continue;
    Value one = Value::object();
    one.set("pid", process.stat.id.pid);
    one.set("without_token", true);
    list.push(std::move(one));
  }
  return list;
}

Value number_in_file(const char* path) {
  std::ifstream in(path);
  std::int64_t number = 0;
  return in >> number ? Value(number) : Value();
}

Value kernel() {
  Value out = Value::object();
  constexpr unsigned kVersionFlag = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersionFlag);
  out.set("landlock_abi", static_cast<std::int64_t>(abi < 0 ? 0 : abi));
  // In a child, because one that is in a namespace stays in it.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
  int status = -1;
  if (child > 0 && ::waitpid(child, &status, 0) == child)
    out.set("user_namespaces", WIFEXITED(status) && WEXITSTATUS(status) == 0);
  Value scope = number_in_file("/proc/sys/kernel/yama/ptrace_scope");
  out.set("ptrace_scope", scope.is_null() ? Value(std::int64_t{0}) : std::move(scope));
  return out;
}

// `limits.disk_free_bytes` of the store's configuration.
std::optional<std::uint64_t> disk_floor_of(World& world, const std::string& store) {
  const std::string file = (fs::path(store) / "config.yaml").string();
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return workspace::Config().limits.disk_free_bytes;
  const auto text = read_document(world, file, limits::kYamlBytesMax);
  if (!text) return std::nullopt;
  return workspace::read_config(*text).config.limits.disk_free_bytes;
}

void of_store(World& world, const Location& location, Value& facts) {
  const auto store = world.stores.open(location.text, Stores::Access::Read);
  if (!store) {
    facts.set("witnesses", Value());
    return;
  }
  const auto reader = (*store)->reader();
  if (!reader) return;
  Value names = Value::array();
  const auto read = (*reader)->find({.table = store::tables::kLedgerWitnesses}, [&](const store::Row& row) {
    if (const auto* name = std::get_if<std::string>(&row[0])) names.push(*name);
    return true;
  });
  if (read) facts.set("witnesses", std::move(names));
  if (Value found = packs(**reader); found.is_array()) facts.set("packs", std::move(found));
  if (const auto head = (*reader)->head(); head && head->size > 0) {
    Value clock = Value::object();
    clock.set("behind_record_seconds", (head->time - world.clock.now().nanoseconds) / kNanosecondsPerSecond);
    facts.set("clock", std::move(clock));
  }
}

Value gathered(World& world, const Arguments& arguments) {
  Value facts = Value::object();
  facts.set("version", BATON_VERSION);
  facts.set("uid", static_cast<std::int64_t>(::geteuid()));
  facts.set("root", ::geteuid() == 0);
  const Location location = locate_store(world, arguments.node.store.store);
  const std::string origin = location.kind == LocationKind::ExportedFile ? "" : ledger_origin(world, location.text);
  facts.set("operator_token", operator_token(world, origin));

  Value node = Value::object();
  node.set("running", false);
  if (auto client = Client::open(world, arguments.node, Presents::Token, Client::Start::Never)) {
    if (const auto answer = client->get("/v1/status"); answer && answer->ok()) {
      node.set("running", true);
      node.set("version", text_of((*answer)["version"]));
      // Whose process it is: /proc says so to everybody.
      struct stat status{};
      const std::string place = "/proc/" + text_of((*answer)["node"]["pid"]);
      if (!client->place().starts_with("http") && ::stat(place.c_str(), &status) == 0)
        node.set("uid", static_cast<std::int64_t>(status.st_uid));
    }
  }
  facts.set("node", std::move(node));

  Value folders = Value::array();
  if (location.kind == LocationKind::Folder) add_folder(folders, "store", location.text);
  if (const auto folder = configuration_folder(world)) add_folder(folders, "settings", *folder);
  if (const auto place = ledger_place(world, arguments.node.store); place && !origin.empty())
    add_folder(folders, "keys", fs::path(place->keys) / origin.substr(origin.rfind('/') + 1));
  facts.set("folders", std::move(folders));
  if (location.kind != LocationKind::ExportedFile) of_store(world, location, facts);
  if (location.kind == LocationKind::Folder) {
    std::error_code ignored;
    const std::string store = fs::absolute(location.text, ignored).lexically_normal().string();
    if (Value found = adoptions(world, store); found.is_array()) facts.set("adoptions", std::move(found));
    struct statvfs disk{};
    if (::statvfs(store.c_str(), &disk) == 0) {
      Value out = Value::object();
      if (const auto floor = disk_floor_of(world, store)) out.set("floor_bytes", static_cast<std::int64_t>(*floor));
      out.set("free_bytes", static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize));
      facts.set("disk", std::move(out));
    }
  }
  facts.set("proxies", proxies());
  facts.set("kernel", kernel());
  return facts;
}

// --- the answer -----------------------------------------------------------------------------------------------------------------

int doctor(World& world, const Arguments& arguments) {
  const Value facts = gathered(world, arguments);
  const auto document = json::parse_owned(json::write(facts));
  if (!document) return could_not(world, "what was found cannot be read");
  const std::vector<Finding> findings = examine(document->root());
  bool has_problem = false;
  for (const Finding& one : findings) has_problem = has_problem || one.state == Finding::State::Problem;
  if (arguments.node.json()) {
    Value list = Value::array();
    for (const Finding& one : findings) {
      Value entry = Value::object();
      entry.set("check", one.check);
      entry.set("state", name_of(one.state));
      entry.set("says", one.says);
      if (!one.fix.empty()) entry.set("fix", one.fix);
      list.push(std::move(entry));
    }
    Value out = Value::object();
    out.set("safe", !has_problem);
    out.set("findings", std::move(list));
    world.print(json::write(out) + "\n");
    return has_problem ? kNo : kYes;
  }
  static constexpr std::array<std::string_view, 4> kColours = {"32", "33", "31", "33"};
  std::size_t problems = 0;
  for (const Finding& one : findings) {
    problems += one.state == Finding::State::Problem ? 1 : 0;
    world.print(painted(fitted(name_of(one.state), 9), kColours[static_cast<std::size_t>(one.state)], world.colour) +
                one.says + "\n");
    if (!one.fix.empty()) world.print("         " + painted("fix: ", "2", world.colour) + one.fix + "\n");
  }
  world.print("\n" +
              (problems == 0 ? std::string("no problem found")
                             : std::to_string(problems) + (problems == 1 ? " problem" : " problems")) +
              "; docs/security.md says what Baton protects, and what it does not\n");
  return problems == 0 ? kYes : kNo;
}

}  // namespace

void add_doctor(Command& app, Action& chosen) {
  auto arguments = std::make_shared<Arguments>();
  Command* command = app.add_subcommand("doctor", "Check what is not safe in this installation");
  add_node_options(*command, arguments->node, Presents::Token, Changes::Nothing);
  examples(
      *command,
      "  baton doctor\n  baton doctor --format json\n\n"
      "Looks at the operator's token, folders, witnesses, adopted clients and their versions, locks of MCP tools,\n"
      "the kernel, the clock and the disk. Changes nothing and starts no node.\n"
      "Exit status: 0 no problem, 1 a problem, 2 could not.");
  command->callback([arguments, &chosen] { chosen = [arguments](World& world) { return doctor(world, *arguments); }; });
}

}  // namespace baton::cli
