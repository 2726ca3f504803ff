// SPDX-License-Identifier: Apache-2.0
#include "main/node_host.h"

#include <arpa/inet.h>
#include <grp.h>
#include <pwd.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "base/limits.h"
#include "base/socket_path.h"
#include "base/text.h"
#include "cli/credentials.h"
#include "cli/input.h"
#include "cli/paths.h"
#include "cli/render.h"
#include "cli/stores.h"
#include "main/adoption_watch.h"
#include "main/file_digest.h"
#include "main/file_links.h"
#include "net/process.h"
#include "protection/protection.h"
#include "secrets/detector.h"
#include "store/tables.h"
#include "workspace/config.h"

namespace baton::main {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr unsigned kServerThreadsMax = 4;  // requests are small, and the writer is one thread: more gain nothing

// --- this machine and its user ------------------------------------------------------------------------------------------

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::string user_name(std::int64_t uid) {
  std::array<char, 16 << 10> buffer;
  passwd entry = {}, *found = nullptr;
  if (::getpwuid_r(static_cast<uid_t>(uid), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return std::to_string(uid);
}

// By its name or its number.
std::optional<unsigned> group_number(const std::string& text) {
  std::array<char, 64 << 10> buffer;
  group entry = {}, *found = nullptr;
  if (::getgrnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->gr_gid;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number == static_cast<unsigned>(-1))
    return std::nullopt;
  return number;
}

// What cannot be seen to its end is not known at all.
std::optional<std::vector<runtime::Access::Process>> processes_above(const net::Ancestry& above) {
  if (!above.complete) return std::nullopt;
  std::vector<runtime::Access::Process> out;
  for (const net::ProcessId& process : above.processes) out.push_back({process.pid, process.start_ticks});
  return out;
}

// --- the configuration --------------------------------------------------------------------------------------------------

struct FoundConfig {
  workspace::Config config;
  std::string folder;  // where its secret files lie
};

// Of the file system that the folder is on, what its user may still fill. Nothing: it cannot be found out.
std::optional<std::uint64_t> free_bytes(const std::string& folder) {
  struct statvfs status = {};
  if (::statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

// The file that was named, or the one in the store's folder. Empty: there is none.
std::string config_file(const cli::ServeOptions& options, const cli::Location& location) {
  std::error_code ignored;
  if (options.config.empty() && location.kind == cli::LocationKind::Folder)
    if (const fs::path usual = fs::path(location.text) / "config.yaml"; fs::exists(usual, ignored))
      return usual.string();
  return options.config;
}

Result<FoundConfig> find_config(cli::World& world, const cli::ServeOptions& options, const cli::Location& location) {
  const std::string file = config_file(options, location);
  std::error_code ignored;
  FoundConfig found;
  std::string text;
  if (!file.empty()) {
    auto read = cli::read_document(world, file, limits::kYamlBytesMax);
    if (!read) return tl::make_unexpected(read.error());
    text = std::move(*read);
    found.folder = fs::absolute(file, ignored).parent_path().string();
  } else if (location.kind == cli::LocationKind::Folder) {
    found.folder = location.text;
  }
  auto read = workspace::read_config(text);
  if (!read.diagnostics.empty())
    world.print_error(cli::render_human(read.diagnostics, file, text, world.colour_errors));
  if (has_errors(read.diagnostics))
    return failure_of(Code::NODE_CONFIG, "reading the configuration", {{"file", file}, {"problem", "does not hold"}});
  found.config = std::move(read.config);
  // What one node holds in memory, another one on the same store would not know of.
  if (found.config.fast_lane_reads && location.kind != cli::LocationKind::Folder)
    return failure_of(Code::NODE_CONFIG, "reading the configuration",
                      {{"file", file},
                       {"problem",
                        "has `fast_lane.reads: true`, which is for a store in a folder: on PostgreSQL several "
                        "nodes may decide for one session"}});
  // The node's own environment, never a client's.
  const auto flag = world.environment("AGENT_EXIT_PROTOCOL_ENABLED");
  workspace::apply_flag(found.config, flag ? flag->c_str() : nullptr);
  return found;
}

// Those the configuration names and the ledger does not have yet.
Result<void> add_witnesses(store::Store& store, runtime::Ledger& ledger, const std::vector<std::string>& wanted) {
  if (wanted.empty() || ledger.writer().is_barred()) return {};
  std::vector<std::string> present;
  {
    const auto reader = store.reader();
    if (!reader) return tl::make_unexpected(reader.error());
    auto read = (*reader)->find({.table = store::tables::kLedgerWitnesses}, [&](const store::Row& row) {
      present.push_back(std::get<std::string>(row[0]));
      return true;
    });
    if (!read) return read;
  }
  for (const std::string& witness : wanted) {
    if (std::find(present.begin(), present.end(), witness) != present.end()) continue;
    if (const auto added = ledger.add_witness({"node", ledger::ActorKind::Node}, witness); !added)
      return tl::make_unexpected(added.error());
  }
  return {};
}

// What no agent may touch: where this node's record, keys and tokens lie, and Baton's own programs. With and without links.
protection::Paths protected_paths(cli::World& world, const cli::ServeOptions& options, const cli::Location& location) {
  protection::Paths out;
  const auto add = [](std::vector<std::string>& to, const fs::path& path) {
    std::error_code error;
    for (const fs::path& one : {fs::absolute(path, error).lexically_normal(), fs::weakly_canonical(path, error)}) {
      std::string text = one.string();
      while (text.size() > 1 && text.ends_with('/')) text.pop_back();
      if (text.size() > 1 && std::find(to.begin(), to.end(), text) == to.end()) to.push_back(std::move(text));
    }
  };
  if (location.kind == cli::LocationKind::Folder) add(out.secret, location.text);
  if (!options.keys.empty()) add(out.secret, options.keys);
  if (const auto keys = world.environment("BATON_KEYS")) add(out.secret, *keys);
  if (const auto folder = cli::configuration_folder(world)) add(out.secret, *folder);
  if (!options.config.empty()) add(out.fixed, options.config);
  std::error_code error;
  if (const fs::path self = fs::read_symlink("/proc/self/exe", error); !error) {
    add(out.fixed, self);
    add(out.fixed, self.parent_path() / "baton-hook");
  }
  out.home = world.environment("HOME").value_or("");
  out.links = std::make_shared<FileLinks>();
  return out;
}

// --- a request without a socket -----------------------------------------------------------------------------------------

// What became of a request whose asker waits: he may have stopped waiting when the answer comes.
struct Awaited {
  std::mutex mutex;
  std::condition_variable wake;
  std::optional<net::ServerResponse> response;
  std::function<void()> on_gone;
};

// A request that came by no connection, and its answer.
class LocalExchange final : public net::Exchange {
 public:
  using Answered = std::function<void(net::ServerResponse)>;

  // `awaited` null: whoever asked waits for ever.
  LocalExchange(net::ServerRequest request, Answered answered, std::shared_ptr<Awaited> awaited = nullptr)
      : request_(std::move(request)), answered_(std::move(answered)), awaited_(std::move(awaited)) {}
  ~LocalExchange() override {
    if (!is_answered_) respond(http_api::problem(500, "HTTP_UNANSWERED", "the request was not answered"));
  }

  const net::ServerRequest& request() const override { return request_; }
  void respond(net::ServerResponse response) override {
    if (!is_answered_.exchange(true)) answered_(std::move(response));
  }
  std::shared_ptr<net::EventStream> stream(std::vector<net::Header>) override {
    respond(http_api::problem(503, "NODE_NEEDED", "events need a node that runs"));
    return std::make_shared<NoStream>();
  }
  void on_gone(std::function<void()> call) override {
    if (!awaited_) return;
    const std::lock_guard lock(awaited_->mutex);
    awaited_->on_gone = std::move(call);
  }

 private:
  class NoStream final : public net::EventStream {
   public:
    bool send(std::shared_ptr<const std::string>) override { return false; }
    void close() override {}
    void on_closed(std::function<void()> call) override { call(); }
  };

  const net::ServerRequest request_;
  const Answered answered_;
  const std::shared_ptr<Awaited> awaited_;
  std::atomic<bool> is_answered_ = false;
};

net::ServerRequest local_request(const net::HttpRequest& request) {
  net::ServerRequest out;
  out.method = request.method;
  std::string_view rest = request.url;
  if (const std::size_t scheme = rest.find("://"); scheme != std::string_view::npos) rest.remove_prefix(scheme + 3);
  rest = rest.find('/') == std::string_view::npos ? "/" : rest.substr(rest.find('/'));
  const std::size_t mark = rest.find('?');
  out.path = rest.substr(0, mark);
  if (mark != std::string_view::npos) out.query = rest.substr(mark + 1);
  out.headers = request.headers;
  if (!request.body.empty()) out.headers.push_back({"Content-Type", request.content_type});
  out.body = request.body;
  out.peer = NodeHost::self();
  return out;
}

}  // namespace

// --- addresses ----------------------------------------------------------------------------------------------------------

std::optional<net::ListenAddress> parse_listen(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon), port = text.substr(colon + 1);
  const bool in_brackets = host.starts_with('[') && host.ends_with(']');
  if (in_brackets) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!in_brackets && host.find(':') != std::string_view::npos)) return std::nullopt;
  net::ListenAddress out{.host = std::string(host)};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  return out;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost") return true;
  const std::string text(host);
  in_addr four = {};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six = {};
  return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

// --- NodeHost -----------------------------------------------------------------------------------------------------------

// In the order they are made; each is gone before what it uses.
struct NodeHost::Inside {
  Inside(cli::World& given_world, cli::ServeOptions given_options, http_api::Log given_log)
      : world(given_world), options(std::move(given_options)), log(std::move(given_log)) {}

  cli::World& world;
  const cli::ServeOptions options;
  const http_api::Log log;
  cli::Location location = {};
  cli::OpenLedger open;
  workspace::Config config;
  std::string config_folder;
  std::unique_ptr<runtime::UseCases> cases;
  std::unique_ptr<runtime::Access> access;
  std::unique_ptr<runtime::Node> node;
  std::unique_ptr<runtime::AdoptionLog> adoptions;
  std::unique_ptr<AdoptionWatch> watch;  // null: the store is in no folder
  std::unique_ptr<http_api::Api> api;
  SocketPath socket_path, agent_socket_path;  // as the server has them
  std::unique_ptr<net::HttpServer> server;
  std::mutex server_mutex;  // it answers, and is asked for its figures, before `server` is set
  std::string socket, agent_socket;
  bool closed = false;

  net::ServerFigures figures() {
    const std::lock_guard lock(server_mutex);
    return server ? server->figures() : net::ServerFigures{};
  }
};

NodeHost::NodeHost(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
NodeHost::~NodeHost() { close(milliseconds(0)); }

Result<std::unique_ptr<NodeHost>> NodeHost::prepare(const Given& given, bool create) {
  auto inside = std::make_unique<Inside>(given.world, given.options, given.log);
  Inside& in = *inside;
  std::error_code ignored;
  in.location = cli::locate_store(in.world, in.options.store);
  // The configuration first: it can be wrong without anybody being disturbed. Before it is read, who else could have written it.
  const auto place = cli::ledger_place(in.world, {.store = in.options.store, .keys = in.options.keys});
  if (auto checked = cli::need_own_paths(
          in.world, {.store = in.location.kind == cli::LocationKind::Folder ? in.location.text : std::string(),
                     .configuration = config_file(in.options, in.location),
                     .keys = place ? place->keys.string() : std::string()});
      !checked)
    return tl::make_unexpected(checked.error());
  auto config = find_config(in.world, in.options, in.location);
  if (!config) return tl::make_unexpected(config.error());
  in.config = std::move(config->config);
  in.config_folder = std::move(config->folder);
  auto open = cli::open_to_write(in.world, {.store = in.options.store, .keys = in.options.keys}, create);
  if (!open) return tl::make_unexpected(open.error());
  in.open = std::move(*open);
  in.cases =
      std::make_unique<runtime::UseCases>(*in.open.store, *in.open.ledger, in.world.clock, in.world.random, in.config);
  // The server of a store on PostgreSQL has a disk of its own, which a node cannot know.
  if (in.location.kind == cli::LocationKind::Folder)
    in.cases->watch_disk([folder = fs::absolute(in.location.text, ignored).string()] { return free_bytes(folder); });
  if (auto done = in.cases->protect(protected_paths(in.world, in.options, in.location)); !done)
    return tl::make_unexpected(done.error());
  std::unique_ptr<NodeHost> host(new NodeHost(std::move(inside)));
  if (given.refuse_agents)
    if (auto may = host->need_no_agent(); !may) return tl::make_unexpected(may.error());
  return host;
}

Result<void> NodeHost::need_no_agent() const {
  const auto refuse = [](std::string_view problem) {
    return failure_of(Code::NODE_IN_PROCESS, "opening the store", {{"problem", problem}});
  };
  if (inside_->world.environment("BATON_SESSION_TOKEN"))
    return refuse("it carries a session's token, so it is an agent's");
  auto processes = inside_->cases->all_processes();
  if (!processes) return tl::make_unexpected(processes.error());
  const std::string boot = boot_id();
  std::erase_if(*processes, [&](const runtime::ProcessMark& mark) { return mark.boot_id != boot; });
  if (processes->empty()) return {};
  const auto above = processes_above(net::ancestry(::getpid()));
  if (!above) return refuse("it cannot be told whether it descends from an agent that is supervised");
  for (const runtime::ProcessMark& mark : *processes)
    for (const runtime::Access::Process& process : *above)
      if (process.pid == mark.pid && process.started == mark.started)
        return refuse("it descends from an agent that is supervised");
  return {};
}

Result<void> NodeHost::start(const Given& given) {
  Inside& in = *inside_;
  if (auto added = add_witnesses(*in.open.store, *in.open.ledger, in.config.witnesses); !added) return added;
  const std::string boot = boot_id();
  in.access = std::make_unique<runtime::Access>(
      *in.cases, in.world.clock, static_cast<std::int64_t>(::geteuid()), boot,
      [known = std::make_shared<net::AncestryCache>()](std::int64_t pid) { return processes_above(known->above(pid)); },
      user_name);
  runtime::Node::Options options{.config_folder = in.config_folder, .version = BATON_VERSION};
  options.log = [log = in.log, &clock = in.world.clock](std::string_view text) {
    json::Value line = json::Value::object();
    line.set("time", format_time(clock.now()));
    line.set("level", "warning");
    line.set("event", "node");
    line.set("problem", secrets::redact(text));
    if (log) log(line);
  };
  const auto warn = options.log;
  if (const auto disk = in.cases->disk(); disk && disk->is_low)
    warn("STORE_DISK_LOW: " + std::to_string(disk->free.value_or(0)) + " bytes are free where the store lies; below " +
         std::to_string(disk->floor) + " the node begins no work, and still settles, hands off and releases");
  auto node = runtime::Node::start(*in.open.store, *in.open.ledger, in.world.clock, *in.cases, *in.access, in.config,
                                   std::move(options));
  if (!node) return tl::make_unexpected(node.error());
  in.node = std::move(*node);
  if (in.location.kind == cli::LocationKind::Folder) {
    std::error_code ignored;
    in.adoptions = std::make_unique<runtime::AdoptionLog>(*in.open.store, *in.open.ledger);
    in.watch = std::make_unique<AdoptionWatch>(fs::absolute(in.location.text, ignored).lexically_normal().string(),
                                               *in.adoptions, warn);
  }
  in.api = std::make_unique<http_api::Api>(http_api::Surroundings{
      .store = *in.open.store,
      .ledger = *in.open.ledger,
      .cases = *in.cases,
      .access = *in.access,
      .node = *in.node,
      .clock = in.world.clock,
      .log = in.log,
      .version = BATON_VERSION,
      .started_by_client = in.options.started_by_client,
      .stop = given.stop,
      .server_figures = [&in]() -> net::ServerFigures { return in.figures(); },  // under its lock
      .look_at_adoptions = [&in]() -> Result<json::Value> {
        if (in.watch) return in.watch->look();
        json::Value none = json::Value::object();
        none.set("adoptions", json::Value::array());
        return none;
      },
      .digest_of_file = digest_of_file,
      .boot_id = boot,
      .log_all = in.world.environment("BATON_LOG").value_or("") == "debug"});
  return {};
}

Result<std::unique_ptr<NodeHost>> NodeHost::open(const Given& given) {
  auto host = prepare(given, false);
  if (!host) return host;
  if (auto started = (*host)->start(given); !started) return tl::make_unexpected(started.error());
  return host;
}

Result<std::unique_ptr<NodeHost>> NodeHost::create(const Given& given) { return prepare(given, true); }

namespace {

// Asks a use case, as the node, and waits for what it says.
template <class Ask>
Result<runtime::Answer> ask_and_wait(std::string_view doing, Ask&& ask) {
  runtime::Mutation by;
  by.caller.actor = {.id = "node", .kind = work::ActorKind::Node};
  std::promise<Result<runtime::Answer>> promise;
  ask(by, [&](Result<runtime::Answer> answer) { promise.set_value(std::move(answer)); });
  Result<runtime::Answer> answer = promise.get_future().get();
  if (answer && !answer->refused.empty())
    return tl::make_unexpected(
        Failure{std::string(doing), answer->refused.front().message, info(answer->refused.front().code).name});
  return answer;
}

Result<std::string> text_in(const runtime::Answer& answer, std::string_view doing) {
  const json::Value* text = answer.body.find("token");
  if (text == nullptr || !text->is_string()) return failure(std::string(doing), "the answer holds none");
  return text->string();
}

}  // namespace

Result<std::string> NodeHost::create_first_operator(std::string actor) {
  constexpr std::string_view kDoing = "making the first operator's token";
  runtime::TokenRequest wanted;
  wanted.actor_id = std::move(actor);
  wanted.kind = work::ActorKind::Operator;
  wanted.note = "made by `baton init`";
  wanted.is_first = true;
  const auto answer = ask_and_wait(kDoing, [&](const runtime::Mutation& by, runtime::Answered done) {
    inside_->cases->create_token(by, std::move(wanted), std::move(done));
  });
  if (!answer) return tl::make_unexpected(answer.error());
  return text_in(*answer, kDoing);
}

Result<cli::Nodes::Recovered> NodeHost::recover_operator(std::string actor) {
  constexpr std::string_view kDoing = "making a new operator's token";
  const auto tokens = inside_->cases->list_tokens();
  if (!tokens) return tl::make_unexpected(tokens.error());
  // First the new one: whatever fails then, somebody can go on.
  runtime::TokenRequest wanted;
  wanted.actor_id = actor;
  wanted.kind = work::ActorKind::Operator;
  wanted.note = "made by `baton operator recover`";
  wanted.recovers = true;
  const auto answer = ask_and_wait(kDoing, [&](const runtime::Mutation& by, runtime::Answered done) {
    inside_->cases->create_token(by, std::move(wanted), std::move(done));
  });
  if (!answer) return tl::make_unexpected(answer.error());
  auto token = text_in(*answer, kDoing);
  if (!token) return tl::make_unexpected(token.error());
  cli::Nodes::Recovered out{std::move(*token)};
  const auto is = [](const json::Value& one, std::string_view member, std::string_view text) {
    const json::Value* value = one.find(member);
    return value != nullptr && value->is_string() && value->string() == text;
  };
  for (const json::Value& one : tokens->find("tokens")->elements()) {
    const json::Value *id = one.find("id"), *revoked = one.find("revoked_at");
    const bool is_over = revoked != nullptr && revoked->is_string();
    if (!is(one, "kind", "operator") || !is(one, "actor", actor) || is_over || id == nullptr || !id->is_string())
      continue;
    const auto done = ask_and_wait("revoking an older token", [&](const runtime::Mutation& by, runtime::Answered told) {
      inside_->cases->revoke_token(by, id->string(), std::move(told));
    });
    if (!done) return tl::make_unexpected(done.error());
    ++out.revoked;
  }
  return out;
}

Result<void> NodeHost::listen() {
  Inside& in = *inside_;
  constexpr const char* kDoing = "starting the node";
  net::ServerOptions server;
  std::error_code ignored;
  if (!in.options.socket.empty()) in.socket = fs::absolute(in.options.socket, ignored).string();
  else if (in.location.kind == cli::LocationKind::Folder)
    in.socket = (fs::absolute(in.location.text, ignored) / "node.sock").lexically_normal().string();
  if (in.socket.empty() && in.options.listen.empty())
    return failure(kDoing, "nobody could reach it: name a socket with --socket, or an address with --listen");
  if (!in.socket.empty()) {
    auto path = SocketPath::of(in.socket);
    if (!path) return tl::make_unexpected(path.error());
    in.socket_path = std::move(*path);
    server.unix_path = in.socket_path.text();
  }

  if (!in.options.agent_socket.empty()) {
    const auto group = group_number(in.options.agent_group);
    if (!group)
      return failure(kDoing, "--agent-group takes the name or number of a group, not `" +
                                 printable(in.options.agent_group, 80) + "`");
    in.agent_socket = fs::absolute(in.options.agent_socket, ignored).lexically_normal().string();
    if (in.agent_socket == in.socket)
      return failure(kDoing, "--agent-socket needs a path other than the node's own socket");
    auto path = SocketPath::of(in.agent_socket);
    if (!path) return tl::make_unexpected(path.error());
    in.agent_socket_path = std::move(*path);
    server.agents = net::GroupSocket{in.agent_socket_path.text(), *group};
  }

  const bool has_token = in.access->has_token();
  const bool has_certificate = !in.options.certificate.empty() && !in.options.key.empty();
  for (const std::string& text : in.options.listen) {
    const auto address = parse_listen(text);
    if (!address)
      return failure(kDoing,
                     "--listen takes an address and a port such as 127.0.0.1:7070, not `" + printable(text, 80) + "`");
    if (!is_loopback(address->host) && !(has_certificate && has_token))
      return failure_of(
          Code::NODE_LISTEN_OPEN, kDoing,
          {{"address", text}, {"problem", has_certificate ? "no token is valid" : "there is no TLS certificate"}});
    server.listen.push_back(*address);
  }
  server.certificate_file = in.options.certificate;
  server.key_file = in.options.key;
  server.hosts = in.options.hosts;
  const workspace::NodeLimits& limits = in.config.limits;
  server.limits.header_bytes = limits.header_bytes;
  server.limits.body_bytes = limits.body_bytes;
  server.limits.connections = limits.connections;
  server.limits.streams = limits.event_streams;
  server.limits.read_time = std::chrono::seconds(limits.read_seconds);
  server.limits.idle_time = std::chrono::seconds(limits.idle_seconds);
  server.threads = std::clamp(std::thread::hardware_concurrency(), 1u, kServerThreadsMax);
  auto started = net::start_http_server(
      server, [api = in.api.get()](std::shared_ptr<net::Exchange> exchange) { api->handle(std::move(exchange)); },
      http_api::problem, [api = in.api.get()](const net::ServerRequest& head) { return api->admits(head); });
  if (!started) return tl::make_unexpected(started.error());
  const std::lock_guard lock(in.server_mutex);
  in.server = std::move(*started);
  return {};
}

std::vector<std::string> NodeHost::addresses() const {
  std::vector<std::string> out;
  if (!inside_->socket.empty()) out.push_back("unix:" + inside_->socket);
  if (!inside_->agent_socket.empty()) out.push_back("unix:" + inside_->agent_socket);
  const std::string scheme = inside_->options.certificate.empty() ? "http://" : "https://";
  if (inside_->server)
    for (const std::string& address : inside_->server->addresses())
      if (!address.starts_with('/') && !address.starts_with("unix:")) out.push_back(scheme + address);
  return out;
}

bool NodeHost::is_busy() const {
  const Inside& in = *inside_;
  return in.api->busy() > 0 || (in.server && in.server->figures().connections_open > 0);
}

std::uint64_t NodeHost::requests() const { return inside_->server ? inside_->server->figures().requests_total : 0; }

Result<net::HttpAnswer> NodeHost::ask(const net::HttpRequest& request) {
  const auto awaited = std::make_shared<Awaited>();
  const auto answered = [awaited](net::ServerResponse response) {
    const std::lock_guard lock(awaited->mutex);
    awaited->response = std::move(response);
    awaited->wake.notify_all();
  };
  inside_->api->handle(std::make_shared<LocalExchange>(local_request(request), answered, awaited));
  std::unique_lock lock(awaited->mutex);
  if (!awaited->wake.wait_for(lock, request.timeout, [&] { return awaited->response.has_value(); })) {
    const auto gone = std::exchange(awaited->on_gone, nullptr);
    lock.unlock();
    if (gone) gone();
    return failure_of(Code::HTTP_TIMEOUT, "asking the node in this process", {{"problem", "took too long"}});
  }
  net::ServerResponse& response = *awaited->response;
  net::HttpAnswer out{.status = response.status,
                      .body = std::move(response.body),
                      .content_type = response.content_type,
                      .headers = std::move(response.headers)};
  out.headers.push_back({"Content-Type", response.content_type});
  return out;
}

void NodeHost::ask(net::ServerRequest request, std::function<void(net::ServerResponse)> answered) {
  inside_->api->handle(std::make_shared<LocalExchange>(std::move(request), std::move(answered)));
}

bool NodeHost::takes(const std::string& body) const { return body.size() <= inside_->config.limits.body_bytes; }

net::Peer NodeHost::self() {
  const auto process = net::process_id(::getpid());
  return {.local = true,
          .pid = ::getpid(),
          .uid = ::getuid(),
          .started = process ? process->start_ticks : 0,
          .address = {}};
}

void NodeHost::close(milliseconds grace) {
  Inside& in = *inside_;
  if (std::exchange(in.closed, true)) return;
  // Those who wait are answered while there is still somebody to carry it to them.
  if (in.node) in.node->stop();
  if (in.api) in.api->close_streams();
  if (in.server) in.server->stop(grace);
  std::unique_ptr<net::HttpServer> ended;  // it waits for its threads, one of which may want the lock
  {
    const std::lock_guard lock(in.server_mutex);
    ended.swap(in.server);
  }
  ended.reset();
  in.api.reset();
  in.watch.reset();
  // What was asked for before the end is written before the end: whoever comes last has everyone before him.
  if (in.open.ledger) static_cast<void>(in.open.ledger->writer().run([](runtime::Unit&) { return Result<void>(); }));
  in.node.reset();
  in.access.reset();
  in.cases.reset();
  if (in.open.ledger)
    for (const std::string& trouble : in.open.ledger->settle_witnesses())
      in.world.print_error("warning: " + trouble + "\n");
}

}  // namespace baton::main
