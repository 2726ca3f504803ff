// SPDX-License-Identifier: Apache-2.0
// The HTTP API, over a real server on a unix socket and on TCP: every route with right and wrong input, who may what, problem
// documents, the OpenAPI document against the code, event streams, webhooks, metrics.
#include "http_api/api.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/text.h"
#include "http_api/events.h"
#include "http_api/log_budget.h"
#include "http_api/members.h"
#include "http_api/openapi.h"
#include "http_api/problem.h"
#include "http_api/routes.h"
#include "json/parse.h"
#include "net/http_client.h"
#include "net/process.h"
#include "net/sse.h"
#include "node_world.h"
#include "secrets/detector.h"
#include "store/memory/memory_store.h"
#include "temporary_folder.h"

namespace baton::http_api {
namespace {

using runtime::answer_of;
using runtime::eventually;
using work::ActorKind;

constexpr std::string_view kSecret = "a webhook secret of more than 32 bytes, for tests";
constexpr std::string_view kRepository = "harbour/tideboard";

std::string signature_of(std::string_view body, std::string_view secret) {
  std::array<std::uint8_t, 32> code;
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(body.data()), body.size(), code.data(), &size);
  return "sha256=" + hex(code);
}

// An answer as tests look at it.
struct Got {
  net::HttpAnswer answer;
  std::shared_ptr<json::Document> document;  // null: no JSON

  unsigned status() const { return answer.status; }
  json::Node root() const { return document ? document->root() : json::Node(); }
  json::Node operator[](std::string_view name) const { return root()[name]; }
  std::string code() const { return root()["code"].is_string() ? std::string(root()["code"].string()) : ""; }
  std::string header(std::string_view name) const { return std::string(answer.header(name).value_or("")); }
};

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : "no text"; }

workspace::Config configured() {
  workspace::Config config;
  config.policy.exit_protocol = true;
  config.webhooks_in = {{.repository = std::string(kRepository), .secret_file = "github"}};
  config.limits.wait_seconds = 30;
  return config;
}

// A node with everything, on a store in memory.
class Served {
 public:
  explicit Served(bool log_all = true, workspace::Config config = configured())
      : store_(store::make_memory_store(clock_)),
        world_(*store_, clock_, folder_.path() / "keys", std::move(config)),
        access_(
            *world_.cases, clock_, static_cast<std::int64_t>(::getuid()), "boot",
            [](std::int64_t pid) -> std::optional<std::vector<runtime::Access::Process>> {
              std::vector<runtime::Access::Process> out;
              for (const net::ProcessId& process : net::ancestry(pid).processes)
                out.push_back({process.pid, process.start_ticks});
              return out;
            },
            [](std::int64_t) { return std::string("alice"); }) {
    const std::filesystem::path secret = folder_.path() / "github";
    std::ofstream(secret) << kSecret;
    ::chmod(secret.c_str(), 0600);
    runtime::Node::Options options;
    options.config_folder = folder_.path().string();
    auto node = runtime::Node::start(*store_, *world_.ledger, clock_, *world_.cases, access_, world_.config, options);
    EXPECT_TRUE(node) << node.error().text();
    node_ = std::move(*node);
    api_ = std::make_unique<Api>(Surroundings{.store = *store_,
                                              .ledger = *world_.ledger,
                                              .cases = *world_.cases,
                                              .access = access_,
                                              .node = *node_,
                                              .clock = clock_,
                                              .log = [this](const json::Value& line) { log(line); },
                                              .version = "1.2.3",
                                              .stop = [this] { stopped = true; },
                                              .server_figures = [this] { return server_->figures(); },
                                              .boot_id = "boot",
                                              .log_all = log_all});
    net::ServerOptions server;
    server.unix_path = (folder_.path() / "node.sock").string();
    server.listen = {{.host = "127.0.0.1", .port = 0}};
    server.limits.stream_backlog_bytes = 512u << 10;
    auto started = net::start_http_server(
        server, [this](std::shared_ptr<net::Exchange> exchange) { api_->handle(std::move(exchange)); }, problem,
        [this](const net::ServerRequest& head) { return api_->admits(head); });
    EXPECT_TRUE(started) << started.error().text();
    server_ = std::move(*started);
    for (const std::string& address : server_->addresses())
      if (address.starts_with("127.")) tcp = "http://" + address;
    operator_token = token("olga", ActorKind::Operator);
    ci_token = token("ci-runner", ActorKind::Ci);
    auditor_token = token("aud", ActorKind::Auditor);
    agent_token = token("bob", ActorKind::Agent);
  }
  ~Served() {
    node_->stop();
    api_->close_streams();
    server_->stop(std::chrono::seconds(5));
    server_.reset();
    api_.reset();
    static_cast<void>(world_.ledger->writer().run([](runtime::Unit&) { return Result<void>(); }));
    node_.reset();
  }

  std::string token(const std::string& actor, ActorKind kind, std::vector<std::string> scopes = {"*"}) {
    runtime::TokenRequest wanted;
    wanted.actor_id = actor;
    wanted.kind = kind;
    wanted.scopes = std::move(scopes);
    const auto answer = answer_of([&](runtime::Answered done) {
      world_.cases->create_token(runtime::by("test", ActorKind::Operator), wanted, std::move(done));
    });
    EXPECT_TRUE(answer && answer->refused.empty());
    return answer->body.find("token")->string();
  }

  enum class Door { Socket, Tcp };
  net::HttpRequest request(std::string method, std::string path, std::string body = "", std::string token = "",
                           Door door = Door::Socket, std::vector<net::Header> headers = {}) const {
    net::HttpRequest out;
    out.method = std::move(method);
    out.url = (door == Door::Tcp ? tcp : "http://localhost") + path;
    if (door == Door::Socket) out.unix_path = (folder_.path() / "node.sock").string();
    out.body = std::move(body);
    out.content_type = "application/json";
    out.timeout = runtime::kPatience;
    out.answer_bytes_max = 16u << 20;
    out.headers = std::move(headers);
    if (!token.empty()) out.headers.push_back({"Authorization", "Bearer " + token});
    return out;
  }
  Got send(const net::HttpRequest& request) const {
    auto answer = net::send(request);
    EXPECT_TRUE(answer) << answer.error().text();
    Got got;
    if (!answer) return got;
    got.answer = std::move(*answer);
    if (got.answer.content_type.find("json") != std::string::npos) {
      auto document = json::parse_owned(got.answer.body);
      EXPECT_TRUE(document) << got.answer.body;
      if (document) got.document = std::make_shared<json::Document>(std::move(*document));
    }
    return got;
  }
  Got ask(std::string method, std::string path, std::string body = "", std::string token = "", Door door = Door::Socket,
          std::vector<net::Header> headers = {}) const {
    return send(
        request(std::move(method), std::move(path), std::move(body), std::move(token), door, std::move(headers)));
  }

  // A new item's id.
  std::string create(const std::string& members = "") {
    const Got made =
        ask("POST", "/v1/work", "{\"title\":\"tide tables\"" + (members.empty() ? "" : "," + members) + "}");
    EXPECT_EQ(made.status(), 201u) << made.answer.body;
    return text_of(made["work"]["id"]);
  }
  struct Session {
    std::string id, token;
    net::Header header() const { return {"Baton-Session", token}; }
  };
  Session claim(const std::string& work_id, const std::string& token = "") {
    const Got claimed = ask("POST", "/v1/work/" + work_id + "/claim", "{}", token);
    EXPECT_EQ(claimed.status(), 200u) << claimed.answer.body;
    return {text_of(claimed["session"]["id"]), text_of(claimed["session"]["token"])};
  }

  std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  runtime::Node& node() { return *node_; }
  runtime::UseCases& cases() { return *world_.cases; }
  Api& api() { return *api_; }
  std::uint64_t size() {
    const auto reader = store_->reader();
    return (*reader)->head()->size;
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

  std::string tcp, operator_token, ci_token, auditor_token, agent_token;
  std::atomic<bool> stopped = false;

 private:
  void log(const json::Value& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(json::write(line));
  }

  TemporaryFolder folder_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  runtime::World world_;
  runtime::Access access_;
  std::unique_ptr<runtime::Node> node_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<net::HttpServer> server_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};
using Door = Served::Door;

std::string exit_signal(std::string_view phase, std::string_view reason = "completed") {
  return R"({"protocol":"apm2_agent_exit","version":"1.0.0","phase_completed":")" + std::string(phase) +
         R"(","exit_reason":")" + std::string(reason) + R"(","pr_url":"https://github.com/harbour/tideboard/pull/57"})";
}

// --- answers against the document ----------------------------------------------------------------------------------------

// Holds a value against a schema of the document: the part of JSON Schema that the document uses. Members that are not
// described are a fault too: the document has to be the whole truth.
void expect_fits(json::Node document, json::Node schema, json::Node value, const std::string& where) {
  if (const json::Node reference = schema["$ref"]) {
    const std::string_view name = reference.string().substr(reference.string().rfind('/') + 1);
    const json::Node target = document["components"]["schemas"][name];
    ASSERT_TRUE(target) << where << ": " << name;
    return expect_fits(document, target, value, where);
  }
  if (const json::Node either = schema["oneOf"]) {
    ASSERT_EQ(either.size(), 2u);
    if (value.is_null()) return;
    return expect_fits(document, either.element(0), value, where);
  }
  const json::Node type = schema["type"];
  if (!type) return;
  if (type.is_text("string") || type.is_text("boolean")) {
    EXPECT_EQ(json::kind_name(value.kind()), type.string()) << where;
    return;
  }
  if (type.is_text("integer")) {
    ASSERT_TRUE(value.is_number()) << where;
    EXPECT_TRUE(parse_integer(value.number_text())) << where;
    return;
  }
  if (type.is_text("array")) {
    ASSERT_TRUE(value.is_array()) << where;
    for (const json::Node element : value.elements()) expect_fits(document, schema["items"], element, where + "[]");
    return;
  }
  ASSERT_TRUE(value.is_object()) << where;
  for (const json::Node name : schema["required"].elements())
    EXPECT_TRUE(value[name.string()]) << where << " has no " << name.string();
  const json::Node properties = schema["properties"], others = schema["additionalProperties"];
  for (const json::Member member : value.members()) {
    const std::string inner = where + "/" + std::string(member.name());
    if (properties && properties[member.name()]) expect_fits(document, properties[member.name()], member.value, inner);
    else if (others.is_object()) expect_fits(document, others, member.value, inner);
    else EXPECT_FALSE(properties) << inner << " is not described";
  }
}

// The document of a node, and answers held against it.
class Described {
 public:
  explicit Described(const Served& served) : document_(served.ask("GET", "/openapi.json")) {}
  json::Node root() const { return document_.root(); }

  // The answer is one that the route's entry has, and of that form.
  void expect(const Got& got, std::string_view method, std::string_view path) {
    const json::Node operation = root()["paths"][path][method];
    ASSERT_TRUE(operation) << method << " " << path;
    seen_.insert(std::string(method) + " " + std::string(path));
    json::Node response = operation["responses"][std::to_string(got.status())];
    ASSERT_TRUE(response) << method << " " << path << " does not say that it may answer " << got.status() << ": "
                          << got.answer.body;
    if (const json::Node reference = response["$ref"]) {
      const std::string_view name = reference.string().substr(reference.string().rfind('/') + 1);
      response = root()["components"]["responses"][name];
    }
    const std::string type = got.answer.content_type.substr(0, got.answer.content_type.find(';'));
    const json::Node content = response["content"][type];
    ASSERT_TRUE(content) << method << " " << path << " does not answer " << type;
    if (got.document && content["schema"])
      if (!content["schema"]["type"].is_text("string"))
        expect_fits(root(), content["schema"], got.root(), std::string(path) + " " + std::to_string(got.status()));
  }
  const std::set<std::string>& seen() const { return seen_; }

 private:
  Got document_;
  std::set<std::string> seen_;
};

void expect_problem(const Got& got, unsigned status, std::string_view code) {
  EXPECT_EQ(got.status(), status) << got.answer.body;
  EXPECT_EQ(got.answer.content_type, "application/problem+json");
  EXPECT_EQ(got.code(), code) << got.answer.body;
  EXPECT_EQ(text_of(got["type"]), "urn:baton:problem:" + std::string(code));
  EXPECT_TRUE(got["title"].is_string() && !got["title"].string().empty());
  EXPECT_EQ(got["status"].number_text(), std::to_string(status));
  EXPECT_TRUE(got["detail"].is_string() && !got["detail"].string().empty());
  EXPECT_TRUE(got["help"].is_string());
  ASSERT_TRUE(got["diagnostics"].is_array() && got["diagnostics"].size() > 0);
  for (const json::Node one : got["diagnostics"].elements()) {
    EXPECT_TRUE(one["code"].is_string() && one["message"].is_string() && one["help"].is_string());
    EXPECT_NE(find_code(one["code"].string()), nullptr);
  }
}

std::string with_id(std::string_view path, std::string_view id) {
  std::string out(path);
  const std::size_t open = out.find('{');
  if (open != std::string::npos) out.replace(open, out.find('}') - open + 1, id);
  return out;
}

// --- without a server -----------------------------------------------------------------------------------------------------

TEST(HttpApiTable, NamesAndPathsAreUnique) {
  std::set<std::string> names, places;
  for (const Route& route : routes()) {
    EXPECT_TRUE(names.insert(std::string(route.name)).second) << route.name;
    EXPECT_TRUE(places.insert(std::string(route.method) + std::string(route.path)).second) << route.path;
    EXPECT_NE(route.handler, nullptr);
    EXPECT_FALSE(route.replies.empty());
    const Found found = find_route(route.method, with_id(route.path, "W%2D1"));
    EXPECT_EQ(found.route, &route) << route.path;
    if (!route.parameter().empty()) {
      EXPECT_EQ(found.parameter, "W-1");
    }
  }
  EXPECT_EQ(find_route("GET", "/v1/work/").route, nullptr);
  EXPECT_EQ(find_route("GET", "/v1/work/W-1/").route, nullptr);
  EXPECT_EQ(find_route("GET", "v1/work").route, nullptr);
  EXPECT_EQ(find_route("GET", "").route, nullptr);
  EXPECT_EQ(find_route("GET", "/v1/work/%ZZ").route, nullptr);
  EXPECT_EQ(find_route("GET", "/v1/work/%ff").route, nullptr);
  EXPECT_EQ(find_route("GET", "/v1/work/" + std::string(300, 'a')).route, nullptr);
  EXPECT_EQ(find_route("DELETE", "/v1/work").allowed, (std::vector<std::string_view>{"POST", "GET"}));
}

TEST(HttpApiTable, CodesHaveTheirStatus) {
  const std::map<std::string_view, unsigned> wanted = {{"WORK_UNKNOWN", 404},         {"CLAIM_HELD", 409},
                                                       {"EXIT_LEASE", 409},           {"LEASE_STALE", 409},
                                                       {"EXIT_PROTOCOL", 422},        {"EXIT_TERMINAL", 409},
                                                       {"EXIT_PHASE_MISMATCH", 409},  {"HANDOFF_VERBATIM_OUTPUTS", 422},
                                                       {"UAIX_EXPIRED", 422},         {"ACCESS_TOKEN", 401},
                                                       {"ACCESS_NO_TOKEN", 401},      {"ACCESS_KIND", 403},
                                                       {"ACCESS_SCOPE", 403},         {"ACCESS_USER", 403},
                                                       {"STORE_BUSY", 429},           {"WAITING_FULL", 429},
                                                       {"STORE_FULL", 503},           {"REQUEST_FIELD", 400},
                                                       {"STORE_DISK_LOW", 507},       {"ACTOR_BYTES", 429},
                                                       {"ACTOR_REQUESTS", 429},       {"ACTOR_ITEMS", 409},
                                                       {"REQUEST_JSON", 400},         {"REQUEST_TYPE", 415},
                                                       {"REQUEST_ROUTE", 404},        {"REQUEST_METHOD", 405},
                                                       {"WORK_FIELD", 422},           {"WORK_EXISTS", 409},
                                                       {"IDEMPOTENCY_CONFLICT", 409}, {"HTTP_BODY_TOO_LARGE", 413},
                                                       {"WEBHOOK_SIGNATURE", 401},    {"NODE_LISTEN_OPEN", 503}};
  for (const auto& [code, status] : wanted) {
    EXPECT_NE(find_code(code), nullptr) << code;
    EXPECT_EQ(status_of(code), status) << code;
  }
}

TEST(HttpApiTable, ProblemsHoldNoSecrets) {
  ASSERT_TRUE(secrets::holds_secret("token ghp_0123456789abcdefghijABCDEFGHIJ456789"));
  const auto response = problem_of(
      std::vector{report(Code::REQUEST_FIELD, place_named("/ghp_0123456789abcdefghijABCDEFGHIJ456789"),
                         {{"field", "ghp_0123456789abcdefghijABCDEFGHIJ456789"}, {"problem", "is not known here"}})});
  EXPECT_EQ(response.body.find("ghp_0123456789abcdefghij"), std::string::npos) << response.body;
  const auto failed = problem_of(Failure{"reading /home/x", "password=hunter2secretvalue99"});
  EXPECT_EQ(failed.status, 500u);
  EXPECT_EQ(failed.body.find("hunter2"), std::string::npos);
  EXPECT_EQ(failed.body.find("/home/x"), std::string::npos);
}

TEST(HttpApiMembers, BodiesAreChecked) {
  const Members members = {{.name = "title", .kind = MemberKind::Text, .required = true, .least = 1, .most = 5},
                           {.name = "count", .kind = MemberKind::Integer, .least = 0, .most = 9},
                           {.name = "kind", .kind = MemberKind::Choice, .choices = {"a", "b"}},
                           {.name = "names", .kind = MemberKind::Texts, .most = 2}};
  const auto faults = [&](std::string_view text) {
    std::string out;
    for (const Diagnostic& fault : Body().read(text, members))
      out += std::string(info(fault.code).name) + " " + fault.place.pointer + ";";
    return out;
  };
  EXPECT_EQ(faults(R"({"title":"x","count":3,"kind":"b","names":["q"]})"), "");
  EXPECT_EQ(faults(""), "REQUEST_FIELD /title;");
  EXPECT_EQ(faults("{}"), "REQUEST_FIELD /title;");
  EXPECT_EQ(faults(R"({"title":7})"), "REQUEST_FIELD /title;");
  EXPECT_EQ(faults(R"({"title":null})"), "REQUEST_FIELD /title;");
  EXPECT_EQ(faults(R"({"title":""})"), "REQUEST_FIELD /title;");
  EXPECT_EQ(faults("{\"title\":\"\u00e4\u00e4\u00e4\u00e4\u00e4\"}"), "");  // characters, not bytes
  EXPECT_EQ(faults(R"({"title":"123456"})"), "REQUEST_FIELD /title;");
  EXPECT_EQ(faults(R"({"title":"x","count":10})"), "REQUEST_FIELD /count;");
  EXPECT_EQ(faults(R"({"title":"x","count":1.0})"), "REQUEST_FIELD /count;");
  EXPECT_EQ(faults(R"({"title":"x","count":"1"})"), "REQUEST_FIELD /count;");
  EXPECT_EQ(faults(R"({"title":"x","count":99999999999999999999})"), "REQUEST_FIELD /count;");
  EXPECT_EQ(faults(R"({"title":"x","kind":"c"})"), "REQUEST_FIELD /kind;");
  EXPECT_EQ(faults(R"({"title":"x","names":["a","b","c"]})"), "REQUEST_FIELD /names;");
  EXPECT_EQ(faults(R"({"title":"x","names":["a",7]})"), "REQUEST_FIELD /names/1;");
  EXPECT_EQ(faults(R"({"a/b":1,"count":"x"})"), "REQUEST_FIELD /a~1b;REQUEST_FIELD /count;REQUEST_FIELD /title;");
  EXPECT_EQ(faults(R"([])"), "REQUEST_JSON ;");
  EXPECT_EQ(faults(R"({"title":"x","title":"y"})"), "REQUEST_JSON ;");
  EXPECT_EQ(faults("{\"title\":\"x\"} x"), "REQUEST_JSON ;");
  EXPECT_EQ(faults(std::string(20, '[')), "REQUEST_JSON ;");
  const auto syntax = Body().read("{\n  \"title\": x}", members);
  ASSERT_EQ(syntax.size(), 1u);
  EXPECT_EQ(syntax[0].place.line, 2u);
  EXPECT_EQ(syntax[0].place.column, 12u);
}

TEST(HttpApiMembers, QueriesAreChecked) {
  const Members members = {{.name = "limit", .kind = MemberKind::Integer, .least = 1, .most = 9},
                           {.name = "stream", .kind = MemberKind::Text, .least = 1, .most = 20, .repeated = true}};
  Query query;
  EXPECT_TRUE(query.read("limit=3&stream=work%2F%2A&stream=b+c", members).empty());
  EXPECT_EQ(query.integer("limit"), 3);
  EXPECT_EQ(query.texts("stream"), (std::vector<std::string>{"work/*", "b+c"}));
  for (const char* wrong : {"limit=0", "limit=10", "limit=x", "limit=", "limit", "limit=1&limit=2", "other=1",
                            "stream=%", "stream=%FF", "stream=", "%ZZ=1"}) {
    const auto faults = Query().read(wrong, members);
    ASSERT_EQ(faults.size(), 1u) << wrong;
    EXPECT_EQ(faults[0].code, Code::REQUEST_QUERY);
  }
  std::string many;
  for (int at = 0; at < 100; ++at) many += "stream=a&";
  EXPECT_FALSE(Query().read(many, members).empty());
}

// --- every route, as it should be -------------------------------------------------------------------------------------------

TEST(HttpApi, EveryRouteAnswersWhatTheDocumentSays) {
  Served served;
  Described described(served);
  const auto expect = [&](const Got& got, unsigned status, std::string_view method, std::string_view path) {
    EXPECT_EQ(got.status(), status) << method << " " << path << ": " << got.answer.body;
    described.expect(got, method, path);
  };
  const std::string& olga = served.operator_token;

  // work
  const Got made =
      served.ask("POST", "/v1/work",
                 R"({"id":"A-1","title":"tide tables","text":"for 2027","phase":"IMPLEMENTATION","priority":7,)"
                 R"("labels":["tides"],"pr_url":"https://github.com/harbour/tideboard/pull/57"})",
                 olga);
  expect(made, 201, "post", "/v1/work");
  EXPECT_EQ(made.header("Location"), "/v1/work/A-1");
  EXPECT_EQ(made.header("Baton-Sequence"), std::string(made["receipt"]["sequence"].number_text()));
  EXPECT_EQ(made["receipt"]["hash"].string().size(), 64u);
  const std::string second = served.create();
  EXPECT_EQ(second, "W-1");
  const Got listed = served.ask("GET", "/v1/work?limit=1");
  expect(listed, 200, "get", "/v1/work");
  EXPECT_EQ(listed["items"].size(), 1u);
  EXPECT_EQ(text_of(listed["next"]), "A-1");
  EXPECT_EQ(served.ask("GET", "/v1/work?after=A-1&phase=DRAFT")["items"].size(), 1u);
  expect(served.ask("GET", "/v1/work/A-1"), 200, "get", "/v1/work/{id}");
  expect_problem(served.ask("GET", "/v1/work/A-2"), 404, "WORK_UNKNOWN");

  // claims and sessions
  const Got none = served.ask("POST", "/v1/claim", R"({"phases":["REVIEW"]})");
  expect(none, 200, "post", "/v1/claim");
  EXPECT_TRUE(none["work"].is_null() && none["session"].is_null());
  const Got next = served.ask("POST", "/v1/claim", "", served.agent_token);
  expect(next, 200, "post", "/v1/claim");
  EXPECT_EQ(text_of(next["work"]["id"]), "A-1");  // the more urgent one
  const Served::Session first{text_of(next["session"]["id"]), text_of(next["session"]["token"])};
  const std::string base = "/v1/sessions/" + first.id;
  const auto in_session = [&](std::string method, const std::string& what, std::string body = "") {
    return served.ask(std::move(method), base + what, std::move(body), "", Door::Socket, {first.header()});
  };
  const Got shown = in_session("GET", "");
  expect(shown, 200, "get", "/v1/sessions/{id}");
  EXPECT_EQ(shown.answer.body.find(first.token), std::string::npos);
  expect(in_session("POST", "/renew", R"({"ttl_seconds":3600})"), 200, "post", "/v1/sessions/{id}/renew");
  expect_problem(in_session("POST", "/renew", R"({"ttl_seconds":31536000})"), 409, "LEASE_TTL");
  expect(served.ask("POST", "/v1/work/A-1/commit", R"({"commit":")" + std::string(40, 'b') + "\"}", "", Door::Socket,
                    {first.header()}),
         200, "post", "/v1/work/{id}/commit");
  expect_problem(served.ask("POST", "/v1/work/W-1/commit", R"({"commit":")" + std::string(40, 'b') + "\"}", "",
                            Door::Socket, {first.header()}),
                 409, "LEASE_STALE");
  const Got handed = in_session("POST", "/handoff", exit_signal("IMPLEMENTATION"));
  expect(handed, 200, "post", "/v1/sessions/{id}/handoff");
  EXPECT_EQ(text_of(handed["handoff"]["dialect"]), "agent-exit");
  EXPECT_EQ(text_of(handed["next_phase"]), "CI_PENDING");
  expect_problem(in_session("POST", "/renew", "{}"), 409, "LEASE_STALE");

  // CI
  expect(served.ask("POST", "/v1/work/W-1/ci", R"({"result":"success"})", served.ci_token), 200, "post",
         "/v1/work/{id}/ci");
  const Got green = served.ask("POST", "/v1/work/A-1/handoff", exit_signal("CI_PENDING"), served.ci_token);
  expect(green, 200, "post", "/v1/work/{id}/handoff");

  // release, end, process, and what operators do
  const Served::Session other = served.claim("W-1");
  const auto in_other = [&](const std::string& what, std::string body) {
    return served.ask("POST", "/v1/sessions/" + other.id + what, std::move(body), "", Door::Socket, {other.header()});
  };
  expect(in_other("/process", R"({"pid":)" + std::to_string(::getpid()) + "}"), 200, "post",
         "/v1/sessions/{id}/process");
  expect(in_other("/release", R"({"reason":"not mine"})"), 200, "post", "/v1/sessions/{id}/release");

  // context and tokens
  expect(served.ask("GET", "/v1/context"), 200, "get", "/v1/context");
  const Got missing = served.ask("GET", "/v1/context/nothing");
  expect_problem(missing, 404, "REQUEST_NOT_FOUND");
  described.expect(missing, "get", "/v1/context/{section}");
  expect(served.ask("GET", "/v1/context/nothing/history?limit=3"), 200, "get", "/v1/context/{section}/history");

  // the node
  const Got status = served.ask("GET", "/v1/status");
  expect(status, 200, "get", "/v1/status");
  EXPECT_EQ(text_of(status["version"]), "1.2.3");
  EXPECT_TRUE(status["exit_protocol"].is_true());
  expect(served.ask("GET", "/healthz", "", "", Door::Tcp), 200, "get", "/healthz");
  expect(served.ask("GET", "/metrics"), 200, "get", "/metrics");
  expect(served.ask("GET", "/openapi.json"), 200, "get", "/openapi.json");
}

// Apart, because this process is a supervised agent's in the other one, and stays one.
TEST(HttpApi, OperatorsRoutesAnswerWhatTheDocumentSays) {
  Served served;
  Described described(served);
  const std::string& olga = served.operator_token;
  const auto expect = [&](const Got& got, unsigned status, std::string_view method, std::string_view path) {
    EXPECT_EQ(got.status(), status) << method << " " << path << ": " << got.answer.body;
    described.expect(got, method, path);
  };
  const std::string id = served.create();
  const Got claimed = served.ask("POST", "/v1/work/" + id + "/claim", R"({"ttl_seconds":60})");
  expect(claimed, 200, "post", "/v1/work/{id}/claim");
  const Served::Session session{text_of(claimed["session"]["id"]), text_of(claimed["session"]["token"])};
  expect_problem(served.ask("POST", "/v1/work/" + id + "/claim", "{}", served.agent_token), 409, "CLAIM_HELD");
  expect_problem(served.ask("POST", "/v1/work/" + id + "/answer", R"({"text":"yes"})", olga), 409, "ANSWER_NOT_ASKED");
  expect_problem(served.ask("POST", "/v1/work/" + id + "/unblock", "{}", olga), 409, "UNBLOCK_NOT_BLOCKED");
  expect(served.ask("POST", "/v1/sessions/" + session.id + "/end", R"({"how":"failed","output":"no"})", "",
                    Door::Socket, {session.header()}),
         200, "post", "/v1/sessions/{id}/end");
  const Got unblocked = served.ask("POST", "/v1/work/" + id + "/unblock", R"({"note":"again"})", olga);
  expect(unblocked, 200, "post", "/v1/work/{id}/unblock");
  EXPECT_EQ(text_of(unblocked["work"]["state"]), "waiting");
  described.expect(served.ask("POST", "/v1/work/" + id + "/answer", R"({"text":"yes"})", olga), "post",
                   "/v1/work/{id}/answer");
  expect(served.ask("POST", "/v1/work/" + id + "/abort", R"({"reason":"not wanted"})", olga), 200, "post",
         "/v1/work/{id}/abort");

  const Got made = served.ask("POST", "/v1/tokens", R"({"actor":"carol","kind":"agent","note":"for tests"})", olga);
  expect(made, 201, "post", "/v1/tokens");
  EXPECT_TRUE(made["token"].string().starts_with("baton_a_"));
  const Got tokens = served.ask("GET", "/v1/tokens", "", olga);
  expect(tokens, 200, "get", "/v1/tokens");
  EXPECT_EQ(tokens.answer.body.find(text_of(made["token"])), std::string::npos);
  const std::string revoke = "/v1/tokens/" + text_of(made["id"]) + "/revoke";
  EXPECT_EQ(served.ask("GET", "/v1/work", "", text_of(made["token"]), Door::Tcp).status(), 200u);
  expect(served.ask("POST", revoke, "", olga), 200, "post", "/v1/tokens/{id}/revoke");
  EXPECT_TRUE(
      eventually([&] { return served.ask("GET", "/v1/work", "", text_of(made["token"]), Door::Tcp).status() == 401; }));

  const Got notes =
      served.ask("POST", "/v1/ledger/notes?stream=deploy&type=note.deploy", "{\"a\":1}\n\n{\"b\":2}\n", olga);
  expect(notes, 201, "post", "/v1/ledger/notes");
  EXPECT_EQ(notes["entries"].size(), 2u);
  EXPECT_EQ(text_of(notes["entries"].element(0)["hash"]), text_of(notes["receipt"]["hash"]));
  EXPECT_NE(text_of(notes["entries"].element(1)["hash"]), text_of(notes["receipt"]["hash"]));
  expect_problem(served.ask("POST", "/v1/ledger/notes?stream=a", "[1]", olga), 422, "LEDGER_DRAFT");
  expect_problem(served.ask("POST", "/v1/ledger/notes", "{}", olga), 400, "REQUEST_QUERY");
  expect_problem(served.ask("POST", "/v1/ledger/notes?stream=a&type=work.claimed", "{}", olga), 422, "LEDGER_DRAFT");
  expect(served.ask("POST", "/v1/ledger/keys/rotate", "", olga), 200, "post", "/v1/ledger/keys/rotate");
  // What is done each time it is asked for takes no key that would promise otherwise.
  expect_problem(served.ask("POST", "/v1/ledger/keys/rotate", "", olga, Door::Socket, {{"Idempotency-Key", "key"}}),
                 400, "REQUEST_HEADER");
  const std::string witness = R"({"witness":"folder:)" + served.folder().string() + "\"}";
  expect(served.ask("POST", "/v1/ledger/witnesses", witness, olga), 200, "post", "/v1/ledger/witnesses");
  expect(served.ask("POST", "/v1/ledger/witnesses/remove", witness, olga), 200, "post", "/v1/ledger/witnesses/remove");
  expect(served.ask("POST", "/v1/ledger/keys/admit", R"({"key":"k","signature":"s"})", olga), 422, "post",
         "/v1/ledger/keys/admit");
  expect(served.ask("POST", "/v1/ledger/keys/00000000/retire", "", olga), 422, "post", "/v1/ledger/keys/{id}/retire");
  expect(served.ask("POST", "/v1/ledger/blobs/" + std::string(64, '0') + "/erase", R"({"reason":"x"})", olga), 404,
         "post", "/v1/ledger/blobs/{sha256}/erase");
  // The store has all that was kept elsewhere.
  expect(served.ask("POST", "/v1/ledger/restore/accept", R"({"note":"x"})", olga), 422, "post",
         "/v1/ledger/restore/accept");

  EXPECT_FALSE(served.stopped);
  expect_problem(served.ask("POST", "/v1/stop", ""), 403, "ACCESS_KIND");
  EXPECT_FALSE(served.stopped);
  expect(served.ask("POST", "/v1/stop", "", olga), 200, "post", "/v1/stop");
  EXPECT_TRUE(eventually([&] { return served.stopped.load(); }));
}

TEST(HttpApi, TheDocumentAndTheTableAreTheSame) {
  Served served;
  Described described(served);
  const json::Node document = described.root();
  EXPECT_EQ(text_of(document["openapi"]), "3.1.0");
  std::size_t operations = 0;
  for (const json::Member path : document["paths"].members()) operations += path.value.size();
  EXPECT_EQ(operations, routes().size());
  for (const Route& route : routes()) {
    const json::Node operation = document["paths"][route.path][to_lower_ascii(route.method)];
    ASSERT_TRUE(operation) << route.path;
    EXPECT_EQ(text_of(operation["operationId"]), route.name);
    EXPECT_EQ(static_cast<bool>(operation["requestBody"]), route.takes != Takes::Nothing) << route.path;
    // What is documented is there: whatever it says to nobody in particular, it is not "no such thing" of the server's.
    if (route.name == "follow_events" || route.name == "stop_node") continue;
    const Got got =
        served.ask(std::string(route.method), with_id(route.path, "x"), route.takes == Takes::Json ? "{}" : "");
    EXPECT_NE(got.code(), "REQUEST_ROUTE") << route.path;
    EXPECT_NE(got.status(), 405u) << route.path;
    described.expect(got, to_lower_ascii(route.method), route.path);
  }
  // Every reference leads somewhere.
  const std::string text = json::write(document);
  for (std::size_t at = text.find("\"$ref\":\"#"); at != std::string::npos; at = text.find("\"$ref\":\"#", at + 1)) {
    const std::size_t begin = at + 9, end = text.find('"', begin);
    json::Node node = document;
    for (const std::string_view part : split(std::string_view(text).substr(begin + 1, end - begin - 1), '/'))
      node = node[part];
    EXPECT_TRUE(node) << text.substr(begin, end - begin);
  }
}

// --- wrong input ----------------------------------------------------------------------------------------------------------

TEST(HttpApi, WhatIsNotUnderstoodIsRefused) {
  Served served;
  expect_problem(served.ask("GET", "/v1/nothing"), 404, "REQUEST_ROUTE");
  expect_problem(served.ask("GET", "/"), 404, "REQUEST_ROUTE");
  const Got method = served.ask("DELETE", "/v1/work");
  expect_problem(method, 405, "REQUEST_METHOD");
  EXPECT_EQ(method.header("Allow"), "POST, GET");
  expect_problem(served.ask("GET", "/v1/work?limit=501"), 400, "REQUEST_QUERY");
  expect_problem(served.ask("GET", "/v1/work?nonsense=1"), 400, "REQUEST_QUERY");
  expect_problem(served.ask("GET", "/v1/events?from=0"), 400, "REQUEST_QUERY");
  expect_problem(served.ask("GET", "/v1/events", "", "", Door::Socket, {{"Last-Event-ID", "x"}}), 400,
                 "REQUEST_HEADER");
  expect_problem(served.ask("POST", "/v1/work", R"({"title":"x"})", "", Door::Socket, {{"Idempotency-Key", "a b"}}),
                 400, "REQUEST_HEADER");
  expect_problem(served.ask("POST", "/v1/work", R"({"title":"x"})", "", Door::Socket,
                            {{"Idempotency-Key", std::string(129, 'k')}}),
                 400, "REQUEST_HEADER");
  expect_problem(served.ask("GET", "/v1/work", "", "", Door::Socket,
                            {{"Authorization", "Bearer a"}, {"Authorization", "Bearer b"}}),
                 400, "REQUEST_HEADER");

  // Every route that takes JSON.
  const Served::Session session = served.claim(served.create());
  for (const Route& route : routes()) {
    if (route.takes != Takes::Json) continue;
    const bool own = route.door == http_api::Door::OwnSession;
    const std::string path = with_id(route.path, own ? session.id : "W-1");
    std::vector<net::Header> headers;
    if (own) headers.push_back(session.header());
    const std::string token = own ? "" : served.operator_token;
    const auto ask = [&](std::string body) {
      return served.ask("POST", path, std::move(body), token, Door::Socket, headers);
    };
    const Got unknown = ask(R"({"nonsense":1})");
    expect_problem(unknown, 400, "REQUEST_FIELD");
    EXPECT_EQ(text_of(unknown["diagnostics"].element(0)["pointer"]), "/nonsense") << route.path;
    const Got broken = ask("{\"a\":\n x}");
    expect_problem(broken, 400, "REQUEST_JSON");
    EXPECT_EQ(broken["diagnostics"].element(0)["line"].number_text(), "2");
    EXPECT_EQ(broken["diagnostics"].element(0)["column"].number_text(), "2");
    expect_problem(ask("[]"), 400, "REQUEST_JSON");
    expect_problem(ask("\"x\""), 400, "REQUEST_JSON");
    net::HttpRequest typed = served.request("POST", path, "{}", token, Door::Socket, headers);
    typed.content_type = "text/plain";
    expect_problem(served.send(typed), 415, "REQUEST_TYPE");
    for (const Member& member : route.body) {
      const char* const other = member.kind == MemberKind::Object ? "[]" : "{}";
      const Got wrong = ask("{\"" + std::string(member.name) + "\":" + other + "}");
      expect_problem(wrong, 400, "REQUEST_FIELD");
      EXPECT_EQ(text_of(wrong["diagnostics"].element(0)["pointer"]), "/" + std::string(member.name)) << route.path;
    }
  }
  // A handoff is taken as it is, and refused by its own rules.
  const Got handoff = served.ask("POST", "/v1/sessions/" + session.id + "/handoff", exit_signal("NOWHERE"), "",
                                 Door::Socket, {session.header()});
  expect_problem(handoff, 422, "EXIT_PHASE");
  expect_problem(served.ask("POST", "/v1/sessions/" + session.id + "/handoff", exit_signal("REVIEW"), "", Door::Socket,
                            {session.header()}),
                 409, "EXIT_PHASE_MISMATCH");
}

// --- who may what -----------------------------------------------------------------------------------------------------------

TEST(HttpApi, WhoMayWhat) {
  Served served;
  const std::string id = served.create();
  const std::map<ActorKind, std::string> tokens = {{ActorKind::Operator, served.operator_token},
                                                   {ActorKind::Ci, served.ci_token},
                                                   {ActorKind::Auditor, served.auditor_token},
                                                   {ActorKind::Agent, served.agent_token}};
  const std::string nothing = served.token("narrow", ActorKind::Operator, {"nothing"});
  for (const Route& route : routes()) {
    if (route.name == "follow_events" || route.name == "stop_node") continue;  // they would be begun, or done
    const std::string path = with_id(route.path, id);
    // A member that nobody knows: whoever is let in is told so, and nothing changes.
    const std::string body = route.takes == Takes::Json ? R"({"nonsense":1})" : "";
    const auto ask = [&](const std::string& token, Door door) {
      return served.ask(std::string(route.method), path, body, token, door);
    };
    if (route.door == http_api::Door::Open) {
      EXPECT_NE(ask("", Door::Tcp).status(), 403u) << route.path;
      continue;
    }
    expect_problem(ask("", Door::Tcp), 401, "ACCESS_NO_TOKEN");
    EXPECT_EQ(ask("", Door::Tcp).header("WWW-Authenticate"), "Bearer");
    expect_problem(ask("baton_a_" + std::string(32, '0') + "_" + std::string(43, 'A'), Door::Tcp), 401, "ACCESS_TOKEN");
    expect_problem(ask("nonsense", Door::Socket), 401, "ACCESS_TOKEN");
    const auto& kinds = runtime::permission_of(route.action).kinds;
    const bool for_operators = std::find(kinds.begin(), kinds.end(), ActorKind::Operator) != kinds.end();
    expect_problem(ask(nothing, Door::Tcp), 403, for_operators ? "ACCESS_SCOPE" : "ACCESS_KIND");
    for (const auto& [kind, token] : tokens) {
      const Got got = ask(token, Door::Tcp);
      const std::string what = std::string(route.path) + " by " + std::string(agent_exit::actor_kind_name(kind));
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
        expect_problem(got, 403, "ACCESS_KIND");
      } else if (route.door == http_api::Door::OwnSession &&
                 (route.is_mutation() || kind != ActorKind::Operator)) {  // who may look at any
        expect_problem(got, 403, "REQUEST_SESSION");
      } else {
        EXPECT_NE(got.status(), 401u) << what;
        EXPECT_NE(got.status(), 403u) << what;
      }
    }
  }
  // Refusals are on record, and few.
  EXPECT_TRUE(eventually([&] {
    const Got metrics = served.ask("GET", "/metrics");
    return metrics.answer.body.find("baton_refusals_total{code=\"ACCESS_NO_TOKEN\"}") != std::string::npos;
  }));
}

TEST(HttpApi, SessionsAreForTheirOwnToken) {
  Served served;
  const Served::Session mine = served.claim(served.create()), others = served.claim(served.create());
  const auto renew = [&](const std::string& id, std::vector<net::Header> headers, std::string token = "") {
    return served.ask("POST", "/v1/sessions/" + id + "/renew", "{}", std::move(token), Door::Socket,
                      std::move(headers));
  };
  EXPECT_EQ(renew(mine.id, {mine.header()}).status(), 200u);
  expect_problem(renew(mine.id, {others.header()}), 403, "REQUEST_SESSION");
  expect_problem(renew(mine.id, {}), 403, "REQUEST_SESSION");
  expect_problem(renew(mine.id, {}, served.operator_token), 403, "REQUEST_SESSION");
  std::string forged = mine.token;
  forged.back() = forged.back() == 'A' ? 'B' : 'A';
  forged[forged.size() - 5] = forged[forged.size() - 5] == 'A' ? 'B' : 'A';
  expect_problem(renew(mine.id, {{"Baton-Session", forged}}), 401, "ACCESS_SESSION");
  // Whoever carries a session's token is an agent, whatever else it presents.
  const Got abort = served.ask("POST", "/v1/work/W-1/abort", R"({"reason":"x"})", served.operator_token, Door::Socket,
                               {mine.header()});
  expect_problem(abort, 403, "ACCESS_SUPERVISED");
}

// --- what a token opened ------------------------------------------------------------------------------------------------------

std::string id_of(const std::string& token) { return runtime::parse_token(token)->id; }

TEST(HttpApi, RevokingATokenEndsTheSessionsClaimedWithIt) {
  Served served;
  const std::string work = served.create(), others_work = served.create();
  const Served::Session session = served.claim(work, served.agent_token), other = served.claim(others_work);
  const auto renew = [&](const Served::Session& of) {
    return served.ask("POST", "/v1/sessions/" + of.id + "/renew", "{}", "", Door::Tcp, {of.header()});
  };
  const Got shown = served.ask("GET", "/v1/sessions/" + session.id, "", "", Door::Tcp, {session.header()});
  EXPECT_EQ(text_of(shown["session"]["token_id"]), id_of(served.agent_token));
  EXPECT_EQ(renew(session).status(), 200u);

  const std::string revoke = "/v1/tokens/" + id_of(served.agent_token) + "/revoke";
  const Got revoked = served.ask("POST", revoke, "", served.operator_token);
  EXPECT_EQ(revoked.status(), 200u) << revoked.answer.body;
  EXPECT_EQ(revoked["sessions_ended"].number_text(), "1");
  // At once: nobody has to wait for the feed.
  expect_problem(renew(session), 401, "ACCESS_SESSION");
  expect_problem(served.ask("GET", "/v1/work", "", session.token, Door::Tcp), 401, "ACCESS_SESSION");
  expect_problem(served.ask("GET", "/v1/work", "", served.agent_token, Door::Tcp), 401, "ACCESS_TOKEN");
  EXPECT_EQ(renew(other).status(), 200u) << "claimed without that token";
  // The work is free again.
  const Got item = served.ask("GET", "/v1/work/" + work);
  EXPECT_EQ(text_of(item["work"]["state"]), "waiting");
  EXPECT_EQ(item["work"]["attempts"].number_text(), "1");
  EXPECT_EQ(text_of(served.ask("GET", "/v1/work/" + others_work)["work"]["state"]), "held");
  served.claim(work);
  EXPECT_EQ(served.ask("POST", revoke, "", served.operator_token)["sessions_ended"].number_text(), "0");
}

TEST(HttpApi, RevokingATokenBlocksWhatWaitsForAPersonAndKeepsTheQuestion) {
  Served served;
  const std::string work = served.create();
  const Got claimed = served.ask("POST", "/v1/work/" + work + "/claim", "{}", served.agent_token);
  const Served::Session session{text_of(claimed["session"]["id"]), text_of(claimed["session"]["token"])};
  const std::string asks =
      R"({"agent_status":{"plan_status":"NEEDS_INPUT","agent_id":")" + text_of(claimed["session"]["agent_id"]) +
      R"(","pending_steps":[],"next_action":"go on"},"evidence_report":{"patterns_checked":[],"files_checked":[],)"
      R"("commands_run":[],"key_outputs":[],"verbatim_outputs":[],"cross_layer_impacts":[],"open_gaps":[],)"
      R"("verification":{"result":"pass"}},"user_facing_summary":"Which colour?"})";
  const Got parked = served.ask("POST", "/v1/sessions/" + session.id + "/handoff",
                                "```agent_contract_handoff\n" + asks + "\n```\n", "", Door::Tcp, {session.header()});
  ASSERT_EQ(parked.status(), 200u) << parked.answer.body;
  ASSERT_EQ(text_of(parked["work"]["state"]), "parked");
  served.ask("POST", "/v1/tokens/" + id_of(served.agent_token) + "/revoke", "", served.operator_token);
  const Got item = served.ask("GET", "/v1/work/" + work);
  EXPECT_EQ(text_of(item["work"]["state"]), "blocked");
  EXPECT_EQ(text_of(item["work"]["waits_for"]), "input");
  EXPECT_NE(item.answer.body.find("the token it was claimed with was revoked"), std::string::npos) << item.answer.body;
}

// Its sessions too: nobody has to revoke what is over.
TEST(HttpApi, ASessionLivesNoLongerThanTheTokenItWasClaimedWith) {
  Served served;
  const Got made = served.ask("POST", "/v1/tokens", R"({"actor":"carol","kind":"agent","expires_in_seconds":2})",
                              served.operator_token);
  const std::string carol = text_of(made["token"]);
  const Served::Session session = served.claim(served.create(), carol);
  const auto read = [&] {
    return served.ask("GET", "/v1/sessions/" + session.id, "", "", Door::Tcp, {session.header()});
  };
  EXPECT_EQ(read().status(), 200u);
  // A claim that waits ends with it, long before its own time is over.
  const Got waited = served.ask("POST", "/v1/claim", R"({"wait_seconds":30})", carol);
  EXPECT_EQ(waited.status(), 200u) << waited.answer.body;
  EXPECT_TRUE(waited["work"].is_null());
  EXPECT_TRUE(eventually([&] { return read().code() == "ACCESS_SESSION"; }));
}

TEST(HttpApi, RevokingATokenEndsItsStreamsAndClaimsThatWait) {
  Served served;
  Got waited;
  std::thread waiting([&] { waited = served.ask("POST", "/v1/claim", R"({"wait_seconds":30})", served.agent_token); });
  std::string heard;
  std::thread listening([&] {
    const auto answer = net::follow(
        served.request("GET", "/v1/events?from=1", "", served.agent_token, Door::Tcp),
        [&](std::string_view bytes) {
          heard += bytes;
          return true;
        },
        runtime::kPatience);
    EXPECT_TRUE(answer) << answer.error().text();
  });
  EXPECT_TRUE(eventually([&] { return served.node().figures().waiting_claims == 1; }));
  EXPECT_TRUE(eventually([&] { return served.ask("GET", "/v1/status")["node"]["streams_open"].number_text() == "1"; }));
  EXPECT_EQ(
      served.ask("POST", "/v1/tokens/" + id_of(served.agent_token) + "/revoke", "", served.operator_token).status(),
      200u);
  waiting.join();
  listening.join();
  expect_problem(waited, 401, "ACCESS_TOKEN");
  EXPECT_NE(heard.find("token.created"), std::string::npos);
  EXPECT_EQ(heard.find("token.revoked"), std::string::npos);
  EXPECT_EQ(served.node().figures().waiting_claims, 0u);
  const std::string id = served.create();
  EXPECT_EQ(text_of(served.ask("GET", "/v1/work/" + id)["work"]["state"]), "waiting");
}

TEST(HttpApi, ProcessesAreRegisteredOnlyByThoseAboveThem) {
  Served served;
  const Served::Session session = served.claim(served.create());
  const auto registered = [&](std::int64_t pid, Door door) {
    return served.ask("POST", "/v1/sessions/" + session.id + "/process", R"({"pid":)" + std::to_string(pid) + "}",
                      door == Door::Tcp ? served.agent_token : "", door, {session.header()});
  };
  expect_problem(registered(1, Door::Socket), 403, "REQUEST_PROCESS");
  expect_problem(registered(::getppid(), Door::Socket), 403, "REQUEST_PROCESS");
  expect_problem(registered(1 << 29, Door::Socket), 403, "REQUEST_PROCESS");
  expect_problem(registered(::getpid(), Door::Tcp), 403, "REQUEST_PROCESS");
  EXPECT_EQ(served.ask("GET", "/v1/tokens", "", served.operator_token).status(), 200u);
  EXPECT_EQ(registered(::getpid(), Door::Socket).status(), 200u);
  // From now on, and not a moment later, this process is an agent, and an operator's token is worth nothing to it by the socket.
  EXPECT_EQ(served.ask("GET", "/v1/tokens", "", served.operator_token).code(), "ACCESS_SUPERVISED");
}

// --- retries ----------------------------------------------------------------------------------------------------------------

TEST(HttpApi, TheSameKeyGivesTheFirstAnswer) {
  Served served;
  const std::vector<net::Header> key = {{"Idempotency-Key", "key-1"}};
  const Got first = served.ask("POST", "/v1/work", R"({"title":"x"})", "", Door::Socket, key);
  const Got again = served.ask("POST", "/v1/work", R"({"title":"x"})", "", Door::Socket, key);
  EXPECT_EQ(first.status(), 201u);
  EXPECT_EQ(first.header("Idempotency-Replayed"), "");
  EXPECT_EQ(again.status(), 201u);
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(again.header("Baton-Sequence"), first.header("Baton-Sequence"));
  EXPECT_EQ(text_of(again["work"]["id"]), text_of(first["work"]["id"]));
  EXPECT_EQ(text_of(again["receipt"]["hash"]), text_of(first["receipt"]["hash"]));
  expect_problem(served.ask("POST", "/v1/work", R"({"title":"y"})", "", Door::Socket, key), 409,
                 "IDEMPOTENCY_CONFLICT");
  // Another path with the same body is another request.
  const Got claimed = served.ask("POST", "/v1/claim", "{}", "", Door::Socket, {{"Idempotency-Key", "key-2"}});
  const Got retried = served.ask("POST", "/v1/claim", "{}", "", Door::Socket, {{"Idempotency-Key", "key-2"}});
  EXPECT_EQ(text_of(claimed["session"]["token"]), text_of(retried["session"]["token"]));
  expect_problem(served.ask("POST", "/v1/work/W-1/claim", "{}", "", Door::Socket, {{"Idempotency-Key", "key-2"}}), 409,
                 "IDEMPOTENCY_CONFLICT");
}

// --- claims that wait ---------------------------------------------------------------------------------------------------------

TEST(HttpApi, AClaimWaitsForWork) {
  Served served;
  Got got;
  std::thread waiting([&] { got = served.ask("POST", "/v1/claim", R"({"wait_seconds":20})", served.agent_token); });
  EXPECT_TRUE(eventually([&] { return served.node().figures().waiting_claims == 1; }));
  const std::string id = served.create();
  waiting.join();
  EXPECT_EQ(got.status(), 200u);
  EXPECT_EQ(text_of(got["work"]["id"]), id);
  const Got none = served.ask("POST", "/v1/claim", R"({"wait_seconds":1})");
  EXPECT_EQ(none.status(), 200u);
  EXPECT_TRUE(none["work"].is_null());
}

TEST(HttpApi, WhoeverGoesAwayDoesNotWaitAnyMore) {
  Served served;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = (served.folder() / "node.sock").string();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string text =
      "POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "19\r\n\r\n{\"wait_seconds\":30}";
  ASSERT_EQ(::write(socket, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_TRUE(eventually([&] { return served.node().figures().waiting_claims == 1; }));
  ::close(socket);
  EXPECT_TRUE(eventually([&] { return served.node().figures().waiting_claims == 0; }));
  EXPECT_TRUE(eventually([&] { return served.api().busy() == 0; }));
  const std::string id = served.create();
  EXPECT_EQ(text_of(served.ask("GET", "/v1/work/" + id)["work"]["state"]), "waiting");
}

// --- events -----------------------------------------------------------------------------------------------------------------

// Reads a stream until so many events have come.
std::vector<net::SseEvent> events_of(const Served& served, const std::string& path, std::size_t count,
                                     std::vector<net::Header> headers = {}) {
  net::SseParser parser;
  std::vector<net::SseEvent> out;
  net::HttpRequest request = served.request("GET", path, "", "", Door::Socket, std::move(headers));
  const auto answer = net::follow(
      request,
      [&](std::string_view bytes) {
        for (net::SseEvent& event : parser.put(bytes)) out.push_back(std::move(event));
        return out.size() < count;
      },
      runtime::kPatience);
  EXPECT_TRUE(answer) << answer.error().text();
  return out;
}

void expect_gapless(const std::vector<net::SseEvent>& events, std::uint64_t first) {
  for (const net::SseEvent& event : events) {
    ASSERT_EQ(event.id, std::to_string(first)) << "a gap or a repeat";
    ++first;
    const auto data = json::parse(event.data);
    ASSERT_TRUE(data) << event.data;
    const json::Node root = data->root();
    EXPECT_EQ(root["sequence"].number_text(), event.id);
    EXPECT_EQ(text_of(root["type"]), event.event);
    for (const char* member : {"stream", "time"}) EXPECT_TRUE(root[member].is_string());
    EXPECT_TRUE(root["actor"]["id"].is_string() && root["actor"]["kind"].is_string() && root["payload"].is_object());
  }
}

TEST(HttpApiEvents, OldAndNewWithoutGapOrRepeat) {
  Served served;
  for (int at = 0; at < 40; ++at) served.create();
  std::atomic<bool> enough = false;
  std::thread writer([&] {
    for (int at = 0; at < 400 && !enough; ++at) served.create();
  });
  std::vector<std::thread> readers;
  for (int at = 0; at < 4; ++at)
    readers.emplace_back([&served, at] {
      const std::uint64_t first = 1 + static_cast<std::uint64_t>(at) * 7;
      const auto events = events_of(served, "/v1/events?from=" + std::to_string(first), 300);
      EXPECT_GE(events.size(), 300u);
      expect_gapless(events, first);
    });
  for (std::thread& reader : readers) reader.join();
  enough = true;
  writer.join();
  EXPECT_TRUE(eventually([&] { return served.api().busy() == 0; }));
}

TEST(HttpApiEvents, WhoeverComesBackGoesOnBehind) {
  Served served;
  for (int at = 0; at < 30; ++at) served.create();
  const auto before = events_of(served, "/v1/events?from=1", 10);
  const std::string last = before.at(9).id;
  // The header wins over the address that a browser's EventSource keeps asking for.
  const auto after = events_of(served, "/v1/events?from=1", 10, {{"Last-Event-ID", last}});
  expect_gapless(after, std::stoull(last) + 1);
}

TEST(HttpApiEvents, AreFiltered) {
  Served served;
  const std::string first = served.create(), second = served.create();
  served.claim(second);
  const auto of_second = events_of(served, "/v1/events?from=1&stream=work%2F" + second, 2);
  for (const net::SseEvent& event : of_second)
    EXPECT_NE(event.data.find("\"stream\":\"work/" + second + "\""), std::string::npos);
  const auto created = events_of(served, "/v1/events?from=1&type=work.cr*&type=none", 2);
  ASSERT_GE(created.size(), 2u);
  for (const net::SseEvent& event : created) EXPECT_EQ(event.event, "work.created");
}

// What an agent handed in holds what it wrote into sections that other roles do not read.
TEST(HttpApiEvents, DocumentsAreNotForAgentsWhereRolesDoNotReadAll) {
  workspace::Config config = configured();
  config.policy.roles.at(0).readable = {"plans"};
  Served served(true, config);
  const std::string id = served.create("\"phase\":\"IMPLEMENTATION\"");
  const auto handed = [&](const std::string& token, const std::string& from) {
    net::SseParser parser;
    std::string data;
    const auto answer = net::follow(
        served.request("GET", "/v1/events?type=handoff.accepted" + from, "", token),
        [&](std::string_view bytes) {
          for (const net::SseEvent& event : parser.put(bytes)) data = event.data;
          return data.empty();
        },
        runtime::kPatience);
    EXPECT_TRUE(answer) << answer.error().text();
    return data;
  };
  std::string live_to_agent, live_to_operator;
  std::thread agent([&] { live_to_agent = handed(served.agent_token, ""); });
  std::thread other([&] { live_to_operator = handed(served.operator_token, ""); });
  EXPECT_TRUE(eventually([&] { return served.ask("GET", "/v1/status")["node"]["streams_open"].number_text() == "2"; }));
  const auto session = served.claim(id);
  EXPECT_EQ(served
                .ask("POST", "/v1/sessions/" + session.id + "/handoff", exit_signal("IMPLEMENTATION"), "", Door::Socket,
                     {session.header()})
                .status(),
            200u);
  agent.join();
  other.join();
  for (const std::string& shown : {live_to_operator, handed(served.operator_token, "&from=1")})
    EXPECT_NE(shown.find("\"raw\":"), std::string::npos) << shown;
  for (const std::string& shown : {live_to_agent, handed(served.agent_token, "&from=1")}) {
    EXPECT_EQ(shown.find("\"raw\":"), std::string::npos) << shown;
    EXPECT_EQ(shown.find("tideboard"), std::string::npos) << shown;
    EXPECT_NE(shown.find("\"handoff_id\":"), std::string::npos) << shown;
  }
}

TEST(HttpApiEvents, FromNowOn) {
  Served served;
  served.create();
  std::vector<net::SseEvent> events;
  std::thread reader([&] { events = events_of(served, "/v1/events?type=work.created", 1); });
  EXPECT_TRUE(eventually([&] { return served.ask("GET", "/v1/status")["node"]["streams_open"].number_text() == "1"; }));
  const std::string id = served.create();
  reader.join();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].data.find("\"work_id\":\"" + id + "\""), std::string::npos);
}

TEST(HttpApiEvents, ALongPastIsNoReasonToBeCutOff) {
  Served served;
  const std::string text(8000, 'x');
  for (int at = 0; at < 150; ++at) served.create("\"text\":\"" + text + "\"");  // some times the backlog
  std::size_t bytes = 0;
  net::SseParser parser;
  std::uint64_t seen = 0;
  const std::uint64_t size = served.size();
  const auto answer = net::follow(
      served.request("GET", "/v1/events?from=1"),
      [&](std::string_view piece) {
        bytes += piece.size();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // slower than the disk
        seen += parser.put(piece).size();
        return seen < size;
      },
      runtime::kPatience);
  EXPECT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(seen, size);
  EXPECT_GT(bytes, 1u << 20);
}

TEST(HttpApiEvents, EndWhenTheyAreClosed) {
  Served served;
  std::thread reader([&] { EXPECT_TRUE(events_of(served, "/v1/events?type=never", 1).empty()); });
  EXPECT_TRUE(eventually([&] { return served.api().busy() == 1; }));
  served.api().close_streams();
  reader.join();
  EXPECT_TRUE(eventually([&] { return served.api().busy() == 0; }));
}

// --- webhooks -----------------------------------------------------------------------------------------------------------------

std::string workflow_run(std::string_view repository) {
  return R"({"action":"completed","workflow_run":{"id":1,"name":"ci","status":"completed","conclusion":"success","head_sha":")" +
         std::string(40, 'b') + R"(","updated_at":")" + format_time(SystemClock().now()) +
         R"(","pull_requests":[{"number":57}]},"repository":{"full_name":")" + std::string(repository) + "\"}}";
}

TEST(HttpApiWebhooks, SignedOnesAreTakenOnce) {
  Served served;
  Described described(served);
  const auto deliver = [&](const std::string& body, const std::string& signature, const std::string& delivery) {
    return served.ask(
        "POST", "/v1/webhooks/github", body, "", Door::Tcp,
        {{"X-Hub-Signature-256", signature}, {"X-GitHub-Event", "workflow_run"}, {"X-GitHub-Delivery", delivery}});
  };
  const std::string id =
      served.create(R"("phase":"IMPLEMENTATION","pr_url":"https://github.com/harbour/tideboard/pull/57")");
  const Served::Session session = served.claim(id);
  ASSERT_EQ(served
                .ask("POST", "/v1/sessions/" + session.id + "/handoff", exit_signal("IMPLEMENTATION"), "", Door::Socket,
                     {session.header()})
                .status(),
            200u);
  const std::string body = workflow_run(kRepository);
  const Got unsigned_one = deliver(body, "", "d-1"), wrong = deliver(body, signature_of(body, "another"), "d-1"),
            unknown = deliver(workflow_run("some/other"), signature_of(workflow_run("some/other"), kSecret), "d-1"),
            no_json = deliver("x", signature_of("x", kSecret), "d-1");
  for (const Got* refused : {&unsigned_one, &wrong, &unknown, &no_json}) {
    expect_problem(*refused, 401, "WEBHOOK_SIGNATURE");
    // Nobody learns which repositories are known.
    EXPECT_EQ(refused->answer.body, unsigned_one.answer.body);
  }
  EXPECT_EQ(text_of(served.ask("GET", "/v1/work/" + id)["work"]["phase"]), "CI_PENDING");
  const Got moved = deliver(body, signature_of(body, kSecret), "d-1");
  EXPECT_EQ(moved.status(), 202u) << moved.answer.body;
  described.expect(moved, "post", "/v1/webhooks/github");
  EXPECT_EQ(text_of(moved["result"]), "moved");
  EXPECT_EQ(text_of(served.ask("GET", "/v1/work/" + id)["work"]["phase"]), "READY_FOR_REVIEW");
  EXPECT_EQ(text_of(deliver(body, signature_of(body, kSecret), "d-1")["result"]), "duplicate");
  EXPECT_EQ(text_of(deliver(body, signature_of(body, kSecret), "d-3")["result"]), "duplicate")
      << "the same body under another id, which nobody signed";
  expect_problem(deliver(body, signature_of(body, kSecret), ""), 400, "REQUEST_HEADER");
  const std::string ping = R"({"zen":"x","repository":{"full_name":"harbour/tideboard"}})";
  EXPECT_EQ(text_of(served.ask("POST", "/v1/webhooks/github", ping, "", Door::Tcp,
                               {{"X-Hub-Signature-256", signature_of(ping, kSecret)},
                                {"X-GitHub-Event", "ping"},
                                {"X-GitHub-Delivery", "d-2"}})["result"]),
            "ignored");
}

// --- strangers ----------------------------------------------------------------------------------------------------------------

// What the node says to the head of a request whose body never comes.
std::string answer_to_head(const Served& served, const std::string& head) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(served.tcp.substr(served.tcp.rfind(':') + 1))));
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::write(socket, head.data(), head.size()), static_cast<ssize_t>(head.size()));
  std::string all;
  char bytes[4096];
  for (ssize_t got; (got = ::read(socket, bytes, sizeof bytes)) > 0;) all.append(bytes, static_cast<std::size_t>(got));
  ::close(socket);
  return all;
}

TEST(HttpApiStrangers, AreToldBeforeTheirBodyIsRead) {
  Served served;
  const auto head = [](std::string_view path, std::string_view token) {
    return "POST " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
           (token.empty() ? "" : "Authorization: Bearer " + std::string(token) + "\r\n") +
           "Content-Length: 100000\r\n\r\n";
  };
  const std::string unknown = "baton_o_" + std::string(32, '0') + "_" + std::string(43, 'A');
  EXPECT_NE(answer_to_head(served, head("/v1/work", "")).find("ACCESS_NO_TOKEN"), std::string::npos);
  EXPECT_NE(answer_to_head(served, head("/v1/work", unknown)).find("ACCESS_TOKEN"), std::string::npos);
  EXPECT_NE(answer_to_head(served, head("/v1/nothing", "")).find("REQUEST_ROUTE"), std::string::npos);
  // Whoever is known is heard, and a webhook proves itself by its body.
  const std::string large = R"({"title":")" + std::string(100'000, 'x') + "\"}";
  for (const Got& heard : {served.ask("POST", "/v1/work", large, served.agent_token, Door::Tcp),
                           served.ask("POST", "/v1/work", large, "", Door::Socket)})
    expect_problem(heard, 400, "REQUEST_FIELD");
  const std::string hook = R"({"zen":")" + std::string(100'000, 'x') + R"(","repository":{"full_name":")" +
                           std::string(kRepository) + "\"}}";
  EXPECT_EQ(served
                .ask("POST", "/v1/webhooks/github", hook, "", Door::Tcp,
                     {{"X-Hub-Signature-256", signature_of(hook, kSecret)},
                      {"X-GitHub-Event", "ping"},
                      {"X-GitHub-Delivery", "d-1"}})
                .status(),
            202u);
}

TEST(HttpApiStrangers, DoNotFillTheLog) {
  Served served(false);
  constexpr std::size_t kAsked = 3 * LogBudget::kLinesMax;
  for (std::size_t i = 0; i < kAsked; ++i) served.ask("GET", "/v1/nothing", "", "", Door::Tcp);
  // In whichever seconds that was: what was not logged is counted in a line once its second is over.
  std::size_t logged = 0, counted = 0;
  EXPECT_TRUE(eventually([&] {
    served.ask("GET", "/healthz");
    logged = counted = 0;
    for (const std::string& line : served.lines()) {
      const auto document = json::parse(line);
      const std::string event = text_of(document->root()["event"]);
      if (event == "request") ++logged;
      if (event == "requests_not_logged") counted += std::stoul(std::string(document->root()["count"].number_text()));
    }
    return logged + counted == kAsked;
  })) << logged
      << " logged and " << counted << " counted";
}

TEST(HttpApiStrangers, TheLogTakesSoManyLinesInASecond) {
  LogBudget budget;
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < LogBudget::kLinesMax + 7; ++i) taken += budget.take(5 * kSecond) ? 1 : 0;
  EXPECT_EQ(taken, LogBudget::kLinesMax);
  EXPECT_EQ(budget.take_left_out(5 * kSecond + 1), 0u) << "the second is not over";
  EXPECT_EQ(budget.take_left_out(6 * kSecond), 7u);
  EXPECT_EQ(budget.take_left_out(6 * kSecond), 0u) << "told once";
  EXPECT_TRUE(budget.take(6 * kSecond));
}

// --- what the node says of itself -----------------------------------------------------------------------------------------------

TEST(HttpApi, MetricsCanBeRead) {
  Served served;
  served.create();
  served.ask("GET", "/v1/nothing");
  const Got got = served.ask("GET", "/metrics");
  EXPECT_EQ(got.answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
  std::map<std::string, std::string> types;
  std::map<std::string, double> samples;
  std::string family;
  for (const std::string_view line : split(got.answer.body, '\n')) {
    if (line.empty()) continue;
    const auto words = split(line, ' ');
    if (line.starts_with("# HELP ")) {
      family = words[2];
      EXPECT_GT(words.size(), 3u) << line;
      EXPECT_FALSE(types.contains(family)) << family << " twice";
      continue;
    }
    if (line.starts_with("# TYPE ")) {
      ASSERT_EQ(words.size(), 4u);
      EXPECT_EQ(words[2], family);
      types[family] = words[3];
      continue;
    }
    const std::size_t blank = line.rfind(' ');
    const std::string name(line.substr(0, line.find_first_of("{ ")));
    EXPECT_TRUE(name == family || (types[family] == "histogram" && name.starts_with(family + "_"))) << line;
    char* end = nullptr;
    const std::string value(line.substr(blank + 1));
    samples[std::string(line.substr(0, blank))] = std::strtod(value.c_str(), &end);
    EXPECT_EQ(*end, '\0') << line;
  }
  EXPECT_EQ(samples.at("baton_http_requests_total{method=\"POST\",route=\"/v1/work\",status=\"201\"}"), 1);
  EXPECT_EQ(samples.at("baton_http_requests_total{method=\"\",route=\"none\",status=\"404\"}"), 1);
  EXPECT_EQ(samples.at("baton_http_request_duration_seconds_count{method=\"POST\",route=\"/v1/work\"}"), 1);
  EXPECT_EQ(samples.at("baton_http_request_duration_seconds_bucket{method=\"POST\",route=\"/v1/work\",le=\"+Inf\"}"),
            1);
  EXPECT_EQ(samples.at("baton_work_items{phase=\"DRAFT\"}"), 1);
  EXPECT_EQ(samples.at("baton_ledger_entries"), static_cast<double>(served.size()));
  for (const char* name : {"baton_http_connections_open", "baton_event_streams_open", "baton_claims_waiting",
                           "baton_sweeps_total", "baton_webhooks_sent_total", "baton_webhooks_failed_total",
                           "baton_writer_queued", "process_start_time_seconds"})
    EXPECT_TRUE(samples.contains(name)) << name;
  EXPECT_GT(samples.at("process_resident_memory_bytes"), 1e6);
}

// --- workflows ----------------------------------------------------------------------------------------------------------------

// An orchestrator and workers that deploy; who first deploys a service is the only one who does.
std::string release_train(std::string_view close_policy = "request_cancel") {
  const auto file = [](std::string_view name, std::string_view text) {
    json::Value out = json::Value::object();
    out.set("name", name);
    out.set("text", text);
    return out;
  };
  const auto pack = [&](std::string_view session, std::string_view tool, std::string_view effect) {
    json::Value out = json::Value::object(), contracts = json::Value::array();
    contracts.push(file(std::string(tool) + ".yaml",
                        "tool: " + std::string(tool) + "\nside_effect: " + std::string(effect) +
                            "\nevidence_class: local_transaction\ncommit_requirement: acknowledged\n"
                            "timeouts: {total_ms: 1000}\nretries: {max_attempts: 1, retry_on: []}\n"
                            "rate_limits: {on_429: {respect_retry_after: true, max_sleep_seconds: 1}}\n"
                            "assertions: {input_invariants: [], output_invariants: []}\nallowed_errors: []\n"
                            "golden_cases: []\n"));
    out.set("contracts", std::move(contracts));
    out.set("session", file("session.yaml", session));
    return out;
  };
  json::Value packs = json::Value::object();
  packs.set("orchestrator", pack("schema_version: \"1.0\"\nagent: orchestrator\n", "read_plan", "read"));
  packs.set("worker", pack("schema_version: \"1.0\"\nagent: worker\nrisk_defaults: {admin: allow}\n"
                           "resources: {service: {type: service, extract_from: {path: $.service}}}\n",
                           "deploy", "admin"));
  json::Value workflow = json::Value::object(), body = json::Value::object();
  workflow.set(
      "workflow",
      file("workflow.yaml",
           "schema_version: \"1.0\"\nworkflow: release-train\n"
           "roles:\n"
           "  - {name: orchestrator, session_contract: packs/orchestrator/session.yaml}\n"
           "  - {name: worker, session_contract: packs/worker/session.yaml}\n"
           "handoffs: [{from: orchestrator, to: worker, requires_artifacts: [task]}]\n"
           "workflow_limits: {max_sessions: 4, max_active_sessions: 3, max_total_steps: 50, max_open_handoffs: 3}\n"
           "shared_resources: [{alias: service, mode: single_writer}]\n"
           "cancellation: {subtree_kill: true, workflow_kill: operator_only}\n"
           "parent_close_policy: {default: " +
               std::string(close_policy) + "}\n"));
  workflow.set("packs", std::move(packs));
  body.set("workflow", std::move(workflow));
  return json::write(body);
}

Served::Session session_in(const Got& got) { return {text_of(got["session"]["id"]), text_of(got["session"]["token"])}; }

TEST(HttpApiWorkflows, AWholeStory) {
  Served served;
  Described described(served);
  const std::string& olga = served.operator_token;
  const auto expect = [&](const Got& got, unsigned status, std::string_view method, std::string_view path) {
    EXPECT_EQ(got.status(), status) << method << " " << path << ": " << got.answer.body;
    described.expect(got, method, path);
  };
  const auto in = [&](const Served::Session& session, std::string method, const std::string& path,
                      std::string body = "") {
    return served.ask(std::move(method), path, std::move(body), "", Door::Socket, {session.header()});
  };
  const auto in_session = [&](const Served::Session& session, const std::string& what, std::string body) {
    return in(session, "POST", "/v1/sessions/" + session.id + what, std::move(body));
  };

  // activate
  expect_problem(served.ask("POST", "/v1/workflows", R"({"workflow":"release-train"})", olga), 404, "WORKFLOW_UNKNOWN");
  const Got active = served.ask("POST", "/v1/packs", release_train(), olga);
  expect(active, 201, "post", "/v1/packs");
  const std::string hash = text_of(active["pack"]);
  EXPECT_TRUE(hash.starts_with("sha256:")) << hash;

  // start
  expect_problem(served.ask("POST", "/v1/workflows", R"({"workflow":"release-train","role":"nobody"})", olga), 422,
                 "WORKFLOW_ROLE");
  const Got started = served.ask("POST", "/v1/workflows", R"({"workflow":"release-train","labels":["train-7"]})", olga);
  expect(started, 201, "post", "/v1/workflows");
  const std::string id = text_of(started["workflow"]["id"]);
  EXPECT_EQ(text_of(started["workflow"]["name"]), "release-train");
  EXPECT_EQ(text_of(started["workflow"]["workflow"]), hash);
  const Served::Session root = session_in(started);
  EXPECT_TRUE(root.token.starts_with("baton_s_" + root.id));
  EXPECT_EQ(served.ask("POST", "/v1/workflows", "{\"workflow\":\"" + hash + "\"}", olga).status(),
            201u);  // by its hash

  // offer
  expect_problem(in_session(root, "/offers", R"({"to":"worker"})"), 422, "handoff_artifact_missing");
  expect_problem(in_session(root, "/offers", R"({"to":"orchestrator"})"), 422, "handoff_not_declared");
  const auto offer = [&](const std::string& task, const std::string& more = "") {
    const Got offered = in_session(root, "/offers", R"({"to":"worker","artifacts":{"task":)" + task + "}" + more + "}");
    expect(offered, 201, "post", "/v1/sessions/{id}/offers");
    EXPECT_EQ(text_of(offered["handoff"]["stage"]), "offered");
    return text_of(offered["handoff"]["id"]);
  };
  const std::string web = offer(R"({"service":"web","version":[7,1]})"), api = offer(R"("the api")"),
                    none = offer(R"("nothing")", R"(,"expires_seconds":3600)");
  expect_problem(in_session(root, "/offers", R"({"to":"worker","artifacts":{"task":"one too many"}})"), 409,
                 "workflow_limit_exceeded");
  const Got open = served.ask("GET", "/v1/handoffs?role=worker");
  expect(open, 200, "get", "/v1/handoffs");
  EXPECT_EQ(open["handoffs"].size(), 3u);
  EXPECT_EQ(served.ask("GET", "/v1/handoffs?role=orchestrator")["handoffs"].size(), 0u);
  EXPECT_EQ(served.ask("GET", "/v1/handoffs?limit=2")["handoffs"].size(), 2u);

  // claim: once
  const Got claimed = served.ask("POST", "/v1/handoffs/" + web + "/claim", "{}", served.agent_token);
  expect(claimed, 201, "post", "/v1/handoffs/{id}/claim");
  const Served::Session worker = session_in(claimed);
  EXPECT_EQ(text_of(claimed["handoff"]["child"]), worker.id);
  expect_problem(served.ask("POST", "/v1/handoffs/" + web + "/claim", "{}", served.agent_token), 409,
                 "handoff_not_open");
  const Served::Session other = session_in(served.ask("POST", "/v1/handoffs/" + api + "/claim", "{}"));

  // what was handed over is for the child alone
  const std::string artifacts = "/v1/sessions/" + worker.id + "/artifacts";
  const Got listed = in(worker, "GET", artifacts);
  expect(listed, 200, "get", "/v1/sessions/{id}/artifacts");
  ASSERT_EQ(listed["artifacts"].size(), 1u);
  EXPECT_EQ(text_of(listed["artifacts"].element(0)["name"]), "task");
  EXPECT_FALSE(listed["artifacts"].element(0)["content"]);
  const Got read = in(worker, "GET", artifacts + "?name=task");
  expect(read, 200, "get", "/v1/sessions/{id}/artifacts");
  EXPECT_EQ(json::write(read["artifact"]["content"]), R"({"service":"web","version":[7,1]})");
  EXPECT_EQ(text_of(in(other, "GET", "/v1/sessions/" + other.id + "/artifacts?name=task")["artifact"]["content"]),
            "the api");
  expect_problem(in(worker, "GET", artifacts + "?name=plan"), 404, "ARTIFACT_UNKNOWN");
  expect_problem(in(other, "GET", artifacts + "?name=task"), 403, "REQUEST_SESSION");
  expect_problem(in(root, "GET", artifacts + "?name=task"), 403, "REQUEST_SESSION");
  expect_problem(served.ask("GET", artifacts, "", served.agent_token), 403, "REQUEST_SESSION");
  EXPECT_EQ(served.ask("GET", artifacts + "?name=task", "", olga).status(), 200u);  // who may look at any

  // what a proxy needs to know of a session's pack, for whoever has that session
  const std::string about_pack = "/v1/sessions/" + worker.id + "/mcp";
  const Got pack = in(worker, "GET", about_pack);
  expect(pack, 200, "get", "/v1/sessions/{id}/mcp");
  EXPECT_EQ(json::write(pack["contracts"]), R"(["deploy"])");
  EXPECT_EQ(text_of(pack["wording_changes"]), "refuse");
  EXPECT_FALSE(pack["tools_lock"]);
  expect_problem(in(other, "GET", about_pack), 403, "REQUEST_SESSION");
  expect_problem(in(root, "GET", about_pack), 403, "REQUEST_SESSION");
  expect_problem(served.ask("GET", "/v1/sessions/ses_nobody/mcp", "", olga), 404, "REQUEST_NOT_FOUND");

  // who first deploys a service is the only one
  const std::string deploy =
      R"({"calls":[{"call_id":"c1","tool":"deploy","arguments":{"service":"web"}}],"start":true})";
  EXPECT_EQ(text_of(in_session(worker, "/calls", deploy)["outcome"]), "proceed");
  const Got blocked = in_session(other, "/calls", deploy);
  EXPECT_EQ(text_of(blocked["calls"].element(0)["reason"]), "resource_not_owner") << blocked.answer.body;

  // decline, cancel
  const Got declined = served.ask("POST", "/v1/handoffs/" + none + "/decline", "{}", served.agent_token);
  expect(declined, 200, "post", "/v1/handoffs/{id}/decline");
  EXPECT_EQ(text_of(declined["handoff"]["stage"]), "declined");
  expect_problem(served.ask("POST", "/v1/handoffs/" + none + "/claim", "{}"), 409, "handoff_not_open");
  const std::string again = offer(R"("again")");
  expect_problem(in(worker, "POST", "/v1/handoffs/" + again + "/cancel", "{}"), 403, "SESSION_NOT_YOURS");
  expect_problem(served.ask("POST", "/v1/handoffs/" + again + "/cancel", "{}", served.agent_token), 403, "ACCESS_KIND");
  const Got cancelled = in(root, "POST", "/v1/handoffs/" + again + "/cancel", "{}");
  expect(cancelled, 200, "post", "/v1/handoffs/{id}/cancel");
  EXPECT_EQ(text_of(cancelled["handoff"]["stage"]), "cancelled");
  const std::string left = offer(R"("left")");

  // looking
  const Got all = served.ask("GET", "/v1/workflows?limit=1");
  expect(all, 200, "get", "/v1/workflows");
  EXPECT_EQ(all["workflows"].size(), 1u);
  EXPECT_EQ(served.ask("GET", "/v1/workflows?after=" + text_of(all["next"]))["workflows"].size(), 1u);
  // What labelled sessions do is not for an agent that has not their labels.
  const Got outline = served.ask("GET", "/v1/workflows/" + id);
  expect(outline, 200, "get", "/v1/workflows/{id}");
  EXPECT_EQ(text_of(outline["workflow"]["resources"].element(0)["withheld"]["code"]), "READ_LABELLED");
  EXPECT_EQ(json::write(outline["workflow"]["resources"].element(0)["value"]), "null");
  const Got whole = served.ask("GET", "/v1/workflows/" + id, "", served.operator_token);
  expect(whole, 200, "get", "/v1/workflows/{id}");
  const json::Node shown = whole["workflow"];
  EXPECT_EQ(text_of(shown["standing"]), "open");
  EXPECT_EQ(shown["sessions"].number_text(), "3");
  EXPECT_EQ(shown["active"].number_text(), "3");
  EXPECT_EQ(shown["steps"].number_text(), "1");  // what was rejected is none
  EXPECT_EQ(shown["limits"]["max_total_steps"].number_text(), "50");
  EXPECT_EQ(shown["members"].size(), 3u);
  EXPECT_EQ(shown["handoffs"].size(), 5u);
  ASSERT_EQ(shown["resources"].size(), 1u);
  EXPECT_EQ(text_of(shown["resources"].element(0)["owner"]), worker.id);
  EXPECT_EQ(text_of(shown["resources"].element(0)["value"]), "web");
  for (const json::Node member : shown["members"].elements()) {
    EXPECT_EQ(member["parent"] ? text_of(member["parent"]) : "", member["id"].is_text(root.id) ? "" : root.id);
    EXPECT_EQ(json::write(member["labels"]), R"(["train-7"])");  // they go along
  }
  EXPECT_EQ(whole.answer.body.find("baton_s_"), std::string::npos);

  // kill: a session itself and what is below it; all of it an operator
  const std::string kill = "/v1/workflows/" + id + "/kill";
  expect_problem(served.ask("POST", kill, R"({"scope":"workflow"})", served.agent_token), 403, "ACCESS_KIND");
  expect_problem(in(worker, "POST", kill, R"({"scope":"workflow"})"), 403, "kill_not_permitted");
  expect_problem(in(worker, "POST", kill, R"({"scope":"session","session_id":")" + other.id + "\"}"), 403,
                 "kill_not_permitted");
  expect_problem(served.ask("POST", kill, R"({"scope":"session"})", olga), 422, "SESSION_OPTIONS");
  expect_problem(served.ask("POST", kill, R"({"scope":"session","session_id":"ses_x"})", olga), 404, "SESSION_UNKNOWN");
  expect_problem(served.ask("POST", "/v1/workflows/wfl_x/kill", R"({"scope":"workflow"})", olga), 404,
                 "WORKFLOW_UNKNOWN");
  const Got one = in(other, "POST", kill, R"({"scope":"session","reason":"cannot go on"})");
  expect(one, 200, "post", "/v1/workflows/{id}/kill");
  EXPECT_EQ(json::write(one["killed"]), "[\"" + other.id + "\"]");
  const Got ended = served.ask("POST", kill, R"({"scope":"workflow","reason":"no train today"})", olga);
  expect(ended, 200, "post", "/v1/workflows/{id}/kill");
  EXPECT_EQ(ended["killed"].size(), 2u);
  expect_problem(served.ask("POST", "/v1/handoffs/" + left + "/claim", "{}"), 409, "workflow_killed");
  expect_problem(in_session(root, "/offers", R"({"to":"worker","artifacts":{"task":"x"}})"), 409, "session_killed");
  EXPECT_EQ(text_of(served.ask("GET", "/v1/workflows/" + id)["workflow"]["standing"]), "killed");
}

TEST(HttpApiWorkflows, WhatIsNotOneIsRefused) {
  Served served;
  const std::string& olga = served.operator_token;
  expect_problem(served.ask("POST", "/v1/packs", release_train(), served.agent_token), 403, "ACCESS_KIND");
  expect_problem(served.ask("POST", "/v1/packs", R"({"workflow":{}})", olga), 422, "SESSION_OPTIONS");
  expect_problem(served.ask("POST", "/v1/packs", R"({"workflow":{},"role":"agent"})", olga), 422, "SESSION_OPTIONS");
  expect_problem(
      served.ask("POST", "/v1/packs",
                 R"({"workflow":{"workflow":{"name":"workflow.yaml","text":"nonsense: 1"},"packs":{}}})", olga),
      422, "WORKFLOW_INVALID");
  std::string other = release_train();
  other.insert(1, R"("hash":"sha256:0",)");
  expect_problem(served.ask("POST", "/v1/packs", other, olga), 422, "PACK_ACTIVE");
  expect_problem(served.ask("POST", "/v1/workflows", R"({"workflow":"release-train"})", served.agent_token), 403,
                 "ACCESS_KIND");
  expect_problem(served.ask("POST", "/v1/workflows", "{}", olga), 422, "SESSION_OPTIONS");
  expect_problem(served.ask("POST", "/v1/workflows", R"({"workflow":"x","mode":"loud"})", olga), 422,
                 "SESSION_OPTIONS");
  expect_problem(served.ask("GET", "/v1/workflows/wfl_x"), 404, "WORKFLOW_UNKNOWN");
  expect_problem(served.ask("GET", "/v1/handoffs?stage=lost"), 400, "REQUEST_QUERY");
  expect_problem(served.ask("POST", "/v1/handoffs/hnd_x/claim", "{}"), 404, "HANDOFF_UNKNOWN");
  expect_problem(served.ask("POST", "/v1/handoffs/hnd_x/claim", "{}", served.ci_token), 403, "ACCESS_KIND");
  expect_problem(served.ask("POST", "/v1/handoffs/hnd_x/claim", R"({"pack":"x"})"), 422, "SESSION_OPTIONS");
  expect_problem(served.ask("POST", "/v1/handoffs/hnd_x/decline", "{}"), 404, "HANDOFF_UNKNOWN");
  expect_problem(served.ask("POST", "/v1/handoffs/hnd_x/cancel", "{}", olga), 404, "HANDOFF_UNKNOWN");

  ASSERT_EQ(served.ask("POST", "/v1/packs", release_train(), olga).status(), 201u);
  const Served::Session root = session_in(served.ask("POST", "/v1/workflows", R"({"workflow":"release-train"})", olga));
  const auto offer = [&](std::string body) {
    return served.ask("POST", "/v1/sessions/" + root.id + "/offers", std::move(body), "", Door::Socket,
                      {root.header()});
  };
  for (const char* wrong :
       {R"({})", R"({"to":7})", R"({"to":"worker","artifacts":[]})", R"({"to":"worker","expires_seconds":0})",
        R"({"to":"worker","expires_seconds":"1"})", R"({"to":"worker","expires_seconds":1.5})",
        R"({"to":"worker","artifacts":{},"nonsense":1})", "[]"})
    expect_problem(offer(wrong), 422, "SESSION_OPTIONS");
  // A session of no workflow hands over to nobody.
  const Served::Session leased = served.claim(served.create());
  expect_problem(served.ask("GET", "/v1/sessions/" + leased.id + "/artifacts", "", "", Door::Socket, {leased.header()}),
                 409, "SESSION_WORKFLOW");
  expect_problem(offer(R"({"to":"worker","artifacts":{"task":"ghp_0123456789abcdefghijABCDEFGHIJ456789"}})"), 422,
                 "LEDGER_SECRET");
}

TEST(HttpApiWorkflows, TheSameKeyStartsAndClaimsOnce) {
  Served served;
  const std::string& olga = served.operator_token;
  ASSERT_EQ(served.ask("POST", "/v1/packs", release_train(), olga).status(), 201u);
  const auto start = [&] {
    return served.ask("POST", "/v1/workflows", R"({"workflow":"release-train"})", olga, Door::Socket,
                      {{"Idempotency-Key", "start-1"}});
  };
  const Got first = start(), second = start();
  const Served::Session root = session_in(first);
  EXPECT_EQ(session_in(second).token, root.token);
  EXPECT_EQ(served.ask("GET", "/v1/workflows")["workflows"].size(), 1u);
  const Got offered = served.ask("POST", "/v1/sessions/" + root.id + "/offers",
                                 R"({"to":"worker","artifacts":{"task":"x"}})", "", Door::Socket, {root.header()});
  const auto claim = [&] {
    return served.ask("POST", "/v1/handoffs/" + text_of(offered["handoff"]["id"]) + "/claim", "{}", served.agent_token,
                      Door::Socket, {{"Idempotency-Key", "claim-1"}});
  };
  EXPECT_EQ(session_in(claim()).token, session_in(claim()).token);
}

// What becomes of the workers when the orchestrator closes itself.
TEST(HttpApiWorkflows, AParentThatClosesEndsItsChildrenAsThePolicySays) {
  for (const std::string policy : {"request_cancel", "terminate", "abandon"}) {
    Served served;
    const std::string& olga = served.operator_token;
    ASSERT_EQ(served.ask("POST", "/v1/packs", release_train(policy), olga).status(), 201u);
    const Got started = served.ask("POST", "/v1/workflows", R"({"workflow":"release-train"})", olga);
    const Served::Session root = session_in(started);
    const Got offered = served.ask("POST", "/v1/sessions/" + root.id + "/offers",
                                   R"({"to":"worker","artifacts":{"task":"x"}})", "", Door::Socket, {root.header()});
    const Served::Session worker =
        session_in(served.ask("POST", "/v1/handoffs/" + text_of(offered["handoff"]["id"]) + "/claim", "{}"));
    const Got closed =
        served.ask("POST", "/v1/sessions/" + root.id + "/close", "{}", "", Door::Socket, {root.header()});
    EXPECT_EQ(closed.status(), 200u) << policy << closed.answer.body;
    const Got whole = served.ask("GET", "/v1/workflows/" + text_of(started["workflow"]["id"]));
    for (const json::Node member : whole["workflow"]["members"].elements()) {
      if (!member["id"].is_text(worker.id)) continue;
      EXPECT_EQ(text_of(member["standing"]), policy == "terminate" ? "killed" : "open") << policy;
      EXPECT_EQ(member["cancel_requested"].is_true(), policy == "request_cancel") << policy;
      EXPECT_EQ(static_cast<bool>(member["parent"]), policy != "abandon") << policy;
    }
    EXPECT_EQ(text_of(whole["workflow"]["standing"]), policy == "terminate" ? "ended" : "open") << policy;
  }
}

TEST(HttpApi, TheLogHoldsNoTokens) {
  Served served;
  const Served::Session session = served.claim(served.create());
  served.ask("POST", "/v1/sessions/" + session.id + "/renew", "{}", "", Door::Socket, {session.header()});
  served.ask("GET", "/v1/tokens", "", served.operator_token);
  served.ask("GET", "/v1/nothing/" + served.operator_token, "", served.operator_token, Door::Tcp);
  served.ask("POST", "/v1/tokens/" + served.agent_token + "/revoke", "", "baton_o_nonsense", Door::Tcp);
  const auto lines = served.lines();
  EXPECT_GE(lines.size(), 6u);
  for (const std::string& line : lines) {
    const auto document = json::parse(line);
    ASSERT_TRUE(document) << line;
    const json::Node root = document->root();
    for (const char* member : {"time", "level", "event", "method", "route", "actor"})
      EXPECT_TRUE(root[member].is_string()) << member << " in " << line;
    for (const char* member : {"status", "duration_us"}) EXPECT_TRUE(root[member].is_number()) << line;
    EXPECT_EQ(line.find("baton_"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace baton::http_api
