// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <thread>

#include "base/ids.h"
#include "base/limits.h"
#include "base/session_token.h"
#include "base/text.h"
#include "cli/credentials.h"
#include "cli/input.h"
#include "cli/paths.h"
#include "cli/render.h"
#include "cli/unlock.h"
#include "diagnostics/diagnostic.h"
#include "json/parse.h"
#include "ledger/answer_key.h"
#include "runtime/ledger.h"
#include "runtime/work_rows.h"
#include "secrets/detector.h"
#include "store/tables.h"
#include "workspace/config.h"

namespace baton::cli {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// A node that was started answers within some tens of milliseconds; beyond this it never will.
constexpr milliseconds kStartWait{10'000}, kFirstPause{5}, kLongestPause{200};
// How long a node that a client started stays after the last one.
constexpr std::chrono::seconds kIdle{600};
constexpr int kTries = 3;

constexpr std::string_view kUnixScheme = "unix:";

std::string absolute(const std::string& path) {
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

// The last line of a node's log, for whoever waited for it in vain.
std::string last_line(const fs::path& file) {
  constexpr std::streamoff kTail = 4096;
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  in.seekg(std::max<std::streamoff>(0, size - kTail));
  std::string text(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  const std::string_view lines = trim(text);
  return std::string(lines.substr(lines.rfind('\n') == std::string_view::npos ? 0 : lines.rfind('\n') + 1));
}

Diagnostic diagnostic_of(const CodeInfo& info, json::Node node) {
  Diagnostic out{info.code, node["severity"].is_text("warning") ? Severity::Warning : info.severity, {}, {}, {}, {}};
  out.message = text_of(node["message"]);
  out.help = text_of(node["help"]);
  out.place.pointer = text_of(node["pointer"]);
  const auto number = [](json::Node value) {
    std::size_t out = 0;
    if (value.is_number())
      std::from_chars(value.number_text().data(), value.number_text().data() + value.number_text().size(), out);
    return out;
  };
  out.place.line = number(node["line"]);
  out.place.column = number(node["column"]);
  return out;
}

// Where no document was sent there is no place to show.
std::string render_refusal(json::Node node, bool colour) {
  const auto paint = [&](const char* code, std::string_view text) {
    return colour ? "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m" : std::string(text);
  };
  std::string out = paint("1;31", "Error:") + " " + paint("1", shown(node["message"])) + "\n  " + shown(node["code"]);
  if (const std::string pointer = shown(node["pointer"], 200); !pointer.empty()) out += " at " + pointer;
  out += "\n";
  if (const std::string help = shown(node["help"]); !help.empty())
    out += "  " + paint("2", "help:") + " " + help + "\n";
  return out;
}

bool is_in_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  return count > 0 && std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

// Does it belong to somebody else?
bool is_of_another_user(const std::string& path, struct stat& status) {
  return !path.empty() && ::lstat(path.c_str(), &status) == 0 && status.st_uid != ::geteuid() && status.st_uid != 0 &&
         ::geteuid() != 0;
}

// Made by `owner` for a group of ours, in a folder where nobody but them and root can put another one.
bool is_agents_socket(const std::string& path, const struct stat& status) {
  if (!S_ISSOCK(status.st_mode) || (status.st_mode & 07777) != 0660 || !is_in_group(status.st_gid)) return false;
  std::error_code error;
  const fs::path folder = fs::canonical(fs::absolute(path, error).parent_path(), error);
  if (error) return false;
  for (fs::path one = folder;; one = one.parent_path()) {
    struct stat above = {};
    if (::stat(one.c_str(), &above) != 0 || (above.st_uid != status.st_uid && above.st_uid != 0)) return false;
    const bool is_kept = one != folder && (above.st_mode & S_ISVTX) != 0;
    if ((above.st_mode & 022) != 0 && !is_kept) return false;
    if (one == one.root_path()) return true;
  }
}

// The rules say no, or not to this caller: 1. Anything else is no answer to what was asked: 2.
bool is_answer(unsigned status) {
  return status == 401 || status == 403 || status == 404 || status == 409 || status == 413 || status == 422;
}

}  // namespace

// --- options ---------------------------------------------------------------------------------------------------------

void add_node_options(Command& command, NodeOptions& options, Presents presents, Changes changes,
                      const std::vector<std::string>& formats) {
  add_store_options(command, options.store, true);
  command.add_option("--node", options.node,
                     "unix:/path, https://host:port or http://127.0.0.1:port; default: BATON_NODE, node.sock in the "
                     "store's folder");
  command.add_option("--token-file", options.token_file, "A file with the token to present; default: BATON_TOKEN");
  if (presents == Presents::Session)
    command.add_option("--session-token-file", options.session_token_file,
                       "A file with the session's token; default: BATON_SESSION_TOKEN");
  if (changes == Changes::Something)
    command.add_option("--idempotency-key", options.idempotency_key,
                       "The same key again gives the first answer again; default: a fresh one");
  if (formats.empty()) return;
  std::string listed;
  for (std::size_t at = 0; at < formats.size(); ++at)
    listed += (at == 0 ? "" : at + 1 == formats.size() ? " or " : ", ") + formats[at];
  command.add_option("--format", options.format, listed)->one_of(formats)->capture_default_str();
}

Span span_option(World& world, std::string_view option, const std::string& text) {
  if (text.empty()) return {};
  struct Unit {
    char letter;
    std::int64_t seconds;
  };
  static constexpr Unit kUnits[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}};
  constexpr std::int64_t kMost = 10LL * 365 * 86'400;
  std::string_view digits = text;
  std::int64_t unit = 1;
  for (const Unit& known : kUnits)
    if (digits.ends_with(known.letter)) unit = known.seconds;
  if (!digits.empty() && !is_digit(digits.back())) digits.remove_suffix(1);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool known_unit =
      digits.size() == text.size() || std::string_view("smhd").find(text.back()) != std::string::npos;
  if (error == std::errc() && end == digits.data() + digits.size() && known_unit && number >= 0 &&
      number <= kMost / unit)
    return {true, number * unit};
  could_not(world, std::string(option) + " takes a whole number and `s`, `m`, `h` or `d`, such as `10m`, not `" +
                       printable(text, 60) + "`");
  return {false, std::nullopt};
}

std::string url_part(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alphanumeric(c) || c == '-' || c == '.' || c == '_' || c == '~') out.push_back(c);
    else (out += '%') += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string text_of(json::Node node) {
  if (!node || node.is_null()) return {};
  return node.is_string() ? std::string(node.string()) : json::write(node);
}

std::string data_lines(json::Node root) {
  std::string out;
  if (root["data_notice"]) out += shown(root["data_notice"], 400) + "\n";
  for (const json::Node one : root["suspicious"].elements())
    out += "warning: " + shown(one["place"], 200) + " has " + shown(one["what"], 100) + "\n";
  return out;
}

std::string shown(json::Node node, std::size_t characters_max) {
  return printable(secrets::redact(text_of(node)), characters_max);
}

std::string ledger_origin(World& world, const std::string& location) {
  const auto store = world.stores.open(location, Stores::Access::Read);
  if (!store) return {};
  const auto reader = (*store)->reader();
  if (!reader) return {};
  const auto origin = runtime::origin_of(**reader);
  return origin && *origin ? **origin : std::string();
}

Result<bool> has_operator(World& world, const std::string& location) {
  const auto store = world.stores.open(location, Stores::Access::Read);
  if (!store && store.error().code == info(Code::STORE_NOT_FOUND).name) return false;
  if (!store) return tl::make_unexpected(store.error());
  const auto reader = (*store)->reader();
  if (!reader) return tl::make_unexpected(reader.error());
  bool found = false;
  const auto read = (*reader)->find({.table = store::tables::kTokens}, [&](const store::Row& row) {
    const auto token = runtime::read_token(row);
    found = token && token->kind == work::ActorKind::Operator;
    return !found;
  });
  if (!read) return tl::make_unexpected(read.error());
  return found;
}

// --- finding ---------------------------------------------------------------------------------------------------------

Result<Client> Client::open(World& world, const NodeOptions& options, Presents presents, Start start) {
  Client client(world);
  if (auto found = client.find_node(options, start); !found) return tl::make_unexpected(found.error());
  if (auto found = client.find_tokens(options, presents); !found) return tl::make_unexpected(found.error());
  client.idempotency_key_ = options.idempotency_key;
  if (client.idempotency_key_.empty()) client.renew_idempotency_key();
  return client;
}

void Client::renew_idempotency_key() { idempotency_key_ = mint_id("cli_", world_.random); }

Result<void> Client::find_node(const NodeOptions& options, Start start) {
  constexpr const char* kDoing = "looking for the node";
  const std::string node = options.node.empty() ? world_.environment("BATON_NODE").value_or("") : options.node;
  const auto wrong = [&](std::string_view problem) {
    return failure_of(Code::NODE_ADDRESS, kDoing,
                      {{"address", secrets::redact(printable(node, 200))}, {"problem", problem}});
  };
  if (!node.empty()) {
    is_named_ = true;
    base_ = "http://localhost";
    if (node.starts_with(kUnixScheme)) {
      unix_path_ = node.substr(kUnixScheme.size());
      if (unix_path_.empty()) return wrong("names no path");
      auto path = SocketPath::of(unix_path_);
      if (!path) return wrong("cannot be reached: " + path.error().reason);
      socket_ = std::move(*path);
      return {};
    }
    if (!node.starts_with("http://") && !node.starts_with("https://")) return wrong("has none of the known forms");
    base_ = node;
    while (base_.ends_with('/')) base_.pop_back();
    if (const std::string problem = net::problem_with_url(base_); !problem.empty()) return wrong(problem);
    if (base_.find('/', base_.find("://") + 3) != std::string::npos) return wrong("has a path");
    return {};
  }
  const Location location = locate_store(world_, options.store.store);
  if (location.kind == LocationKind::ExportedFile)
    return failure_of(Code::STORE_LOCATION, kDoing,
                      {{"location", location.text}, {"problem", "an exported file is only read"}});
  const auto place = ledger_place(world_, options.store);
  if (!place) return tl::make_unexpected(place.error());
  serve_.store = location.kind == LocationKind::Folder ? absolute(location.text) : location.text;
  serve_.keys = absolute(place->keys.string());
  serve_.idle = kIdle;
  serve_.started_by_client = true;
  // Whoever would start none asks about the one that runs.
  if (start == Start::IfNone && world_.environment("BATON_IN_PROCESS").value_or("") == "1") {
    in_process_ = true;
    base_ = "http://localhost";
    return {};
  }
  if (location.kind == LocationKind::Url)
    return failure_of(Code::NODE_NEEDED, kDoing, {{"what", "a store in PostgreSQL"}});
  base_ = "http://localhost";
  unix_path_ = (fs::path(serve_.store) / "node.sock").string();
  serve_.socket = unix_path_;
  serve_.log = (fs::path(serve_.store) / "node.log").string();
  may_start_ = start == Start::IfNone;
  auto path = SocketPath::of(unix_path_);
  if (!path) return failure_of(Code::STORE_NOT_FOUND, kDoing);
  socket_ = std::move(*path);
  return {};
}

Result<void> Client::find_tokens(const NodeOptions& options, Presents presents) {
  if (!options.token_file.empty()) {
    auto token = read_token_file(world_, options.token_file, false);
    if (!token) return tl::make_unexpected(token.error());
    token_ = std::move(*token);
  } else {
    token_ = world_.environment("BATON_TOKEN").value_or("");
  }
  if (token_.empty() && presents == Presents::Operator) {
    auto token = kept_operator_token();
    if (!token) return tl::make_unexpected(token.error());
    token_ = std::move(*token);
  }
  if (presents == Presents::Token) return {};
  if (!options.session_token_file.empty()) {
    auto token = read_token_file(world_, options.session_token_file, false);
    if (!token) return tl::make_unexpected(token.error());
    session_token_ = std::move(*token);
  } else {
    session_token_ = world_.environment("BATON_SESSION_TOKEN").value_or("");
  }
  session_id_ = session_of_token(session_token_);
  return {};
}

Result<std::string> Client::kept_operator_token() const {
  const bool remote = !in_process_ && unix_path_.empty();
  struct stat status = {};
  if (remote || is_of_another_user(unix_path_, status)) return std::string();
  const std::string origin = serve_.store.empty() ? "" : ledger_origin(world_, serve_.store);
  const auto file = find_operator_token(world_, origin);
  if (!file) return std::string();
  if (const auto is_sealed = is_sealed_token_file(*file); is_sealed && *is_sealed) {
    Unlocked unlocked = ask_unlocked(world_, origin);
    if (!unlocked.token.empty()) return std::move(unlocked.token);
    if (!unlocked.refused.empty())
      world_.print_error("baton: `baton unlock` does not answer: " + printable(unlocked.refused, 200) + "\n");
  }
  return read_token_file(world_, *file, true);
}

Result<std::string> kept_answer_key(World& world, const StoreOptions& options, const std::string& store) {
  const auto place = ledger_place(world, {.store = store, .keys = options.keys});
  if (!place) return tl::make_unexpected(place.error());
  const std::string origin = ledger_origin(world, store);
  if (origin.empty()) return std::string();
  const auto files = ledger::KeyFiles::open(place->keys / origin.substr(origin.rfind('/') + 1), place->store_folder);
  if (!files) return tl::make_unexpected(files.error());
  const auto key = files->redaction_key();
  if (!key) return tl::make_unexpected(key.error());
  return *key ? ledger::answer_key_text(ledger::answer_key(**key)) : std::string();
}

Result<std::string> Client::answer_key() {
  if (!serve_.store.empty()) {
    auto kept = kept_answer_key(world_, {.store = serve_.store, .keys = serve_.keys}, serve_.store);
    if (!kept || !kept->empty()) return kept;
  }
  const auto status = get("/v1/status");
  if (!status) return tl::make_unexpected(status.error());
  std::string key = text_of((*status)["ledger"]["answer_key"]);
  const bool is_key = key.size() == 64 && std::all_of(key.begin(), key.end(), is_lower_hex);
  return is_key ? key : std::string();
}

void Client::use_session(std::string token) {
  session_token_ = std::move(token);
  session_id_ = session_of_token(session_token_);
}

// --- asking ----------------------------------------------------------------------------------------------------------

net::HttpRequest Client::request(std::string_view method, std::string_view path) const {
  net::HttpRequest out;
  out.method = method;
  out.url = base_ + std::string(path);
  out.unix_path = socket_.text();
  out.answer_bytes_max = limits::kNodeAnswerBytesMax;
  if (!token_.empty()) out.headers.push_back({"Authorization", "Bearer " + token_});
  if (!session_token_.empty()) out.headers.push_back({"Baton-Session", session_token_});
  return out;
}

Result<Answer> Client::get(std::string_view path) { return ask(request("GET", path)); }

Result<Answer> Client::post(std::string_view path, const json::Value& body, milliseconds timeout) {
  net::HttpRequest out = request("POST", path);
  out.body = json::write(body);
  out.content_type = "application/json";
  out.timeout = timeout;
  out.headers.push_back({"Idempotency-Key", idempotency_key_});
  return ask(out);
}

Result<Answer> Client::post_once(std::string_view path, const json::Value& body) {
  net::HttpRequest out = request("POST", path);
  out.body = json::write(body);
  out.content_type = "application/json";
  out.timeout = std::chrono::seconds(60);
  return ask(out);
}

Result<Answer> Client::post_text(std::string_view path, std::string text) {
  net::HttpRequest out = request("POST", path);
  out.body = std::move(text);
  out.timeout = std::chrono::seconds(30);
  out.headers.push_back({"Idempotency-Key", idempotency_key_});
  return ask(out);
}

Result<net::HttpAnswer> Client::follow(std::string_view path, const std::string& last_event_id,
                                       const std::function<bool(std::string_view)>& take, milliseconds idle_timeout) {
  if (in_process_) return failure_of(Code::NODE_NEEDED, "following events", {{"what", "following"}});
  net::HttpRequest out = request("GET", path);
  out.headers.push_back({"Accept", "text/event-stream"});
  if (!last_event_id.empty()) out.headers.push_back({"Last-Event-ID", last_event_id});
  return net::follow(out, take, idle_timeout);
}

Result<Answer> Client::ask(const net::HttpRequest& request) {
  auto answered = send(request);
  if (!answered) return tl::make_unexpected(answered.error());
  const bool replayed = answered->header("Idempotency-Replayed").value_or("") == "true";
  auto document = json::parse_owned(std::move(answered->body));
  if (!document || !document->root().is_object())
    return failure_of(Code::NODE_ANSWER, "asking the node",
                      {{"problem", "status " + std::to_string(answered->status) + " without a JSON object"}});
  return Answer{answered->status, std::move(*document), replayed};
}

Result<void> Client::check_socket() const {
  struct stat status = {};
  if (is_of_another_user(unix_path_, status) && !(is_named_ && is_agents_socket(unix_path_, status)))
    return failure_of(Code::ACCESS_USER, "asking the node");
  return {};
}

Result<net::HttpAnswer> Client::send(const net::HttpRequest& request) {
  if (in_process_) return world_.nodes.in_process(world_, serve_, request);
  if (auto checked = check_socket(); !checked) return tl::make_unexpected(checked.error());
  // Asking again is safe: a question changes nothing, and a change carries its key. Without one it is asked once.
  const bool again_is_safe =
      request.method == "GET" || std::any_of(request.headers.begin(), request.headers.end(),
                                             [](const net::Header& one) { return one.name == "Idempotency-Key"; });
  for (int attempt = 1;; ++attempt) {
    auto answer = http_.send(request);
    if (answer) return answer;
    if (answer.error().code == "NODE_UNREACHABLE") {
      if (!may_start_ || started_) return answer;
      started_ = true;
      if (auto begun = start(); !begun) return tl::make_unexpected(begun.error());
      const std::int64_t end = world_.clock.monotonic_ns() + kStartWait.count() * 1'000'000;
      for (milliseconds pause = kFirstPause; world_.clock.monotonic_ns() < end;
           pause = std::min(pause * 2, kLongestPause)) {
        std::this_thread::sleep_for(pause);
        answer = http_.send(request);
        if (answer || answer.error().code == "HTTP_TIMEOUT") return answer;
        if (!again_is_safe && answer.error().code != "NODE_UNREACHABLE") return answer;
      }
      const std::string line = last_line(serve_.log);
      return failure_of(Code::NODE_START, "asking the node",
                        {{"store", serve_.store}, {"problem", line.empty() ? "" : ": " + secrets::redact(line)}});
    }
    if (!again_is_safe || attempt == kTries || answer.error().code == "HTTP_TIMEOUT") return answer;
    std::this_thread::sleep_for(milliseconds(50 * attempt));
  }
}

// What would keep the node from starting is said here, where somebody reads it, and not only in its log.
Result<void> Client::start() {
  const auto store = world_.stores.open(serve_.store, Stores::Access::Read);
  if (!store) return tl::make_unexpected(store.error());
  const std::string file = (fs::path(serve_.store) / "config.yaml").string();
  std::error_code ignored;
  const bool is_configured = fs::exists(file, ignored);
  const auto place = ledger_place(world_, {.store = serve_.store, .keys = serve_.keys});
  if (auto own = need_own_paths(world_, {.store = serve_.store,
                                         .configuration = is_configured ? file : std::string(),
                                         .keys = place ? place->keys.string() : std::string()});
      !own)
    return own;
  if (is_configured) {
    const auto text = read_document(world_, file, limits::kYamlBytesMax);
    if (!text) return tl::make_unexpected(text.error());
    const auto read = workspace::read_config(*text);
    if (has_errors(read.diagnostics)) {
      world_.print_error(render_human(read.diagnostics, file, *text, world_.colour_errors));
      return failure_of(Code::NODE_CONFIG, "starting a node", {{"file", file}, {"problem", "is not valid"}});
    }
  }
  return world_.nodes.start_in_background(world_, serve_);
}

// --- telling ---------------------------------------------------------------------------------------------------------

int refused(World& world, const NodeOptions& options, const Answer& answer, std::string_view source,
            std::string_view text) {
  const int status = is_answer(answer.status) ? kNo : kCouldNot;
  if (options.json()) {
    world.print(json::write(redacted(json::Value::copy(answer.root()))) + "\n");
    return status;
  }
  world.flush();
  std::size_t told = 0;
  for (const json::Node node : answer["diagnostics"].elements()) {
    ++told;
    const CodeInfo* info = find_code(text_of(node["code"]));
    world.print_error(info != nullptr && !source.empty()
                          ? render_human({diagnostic_of(*info, node)}, source, text, world.colour_errors)
                          : render_refusal(node, world.colour_errors));
  }
  if (told != 0) return status;
  json::Value whole = json::Value::object();
  const std::string detail = text_of(answer["detail"]);
  whole.set("message", detail.empty() ? "the node answered with status " + std::to_string(answer.status) : detail);
  whole.set("code", text_of(answer["code"]));
  whole.set("help", text_of(answer["help"]));
  const auto document = json::parse_owned(json::write(whole));
  world.print_error(render_refusal(document->root(), world.colour_errors));
  return status;
}

int tell(World& world, const NodeOptions& options, const Result<Answer>& answer,
         const std::function<void(json::Node root)>& human) {
  if (!answer) return could_not(world, answer.error());
  if (!answer->ok()) return refused(world, options, *answer);
  if (options.json()) world.print(json::write(answer->root()) + "\n");
  else human(answer->root());
  return kYes;
}

}  // namespace baton::cli
