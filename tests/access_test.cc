// SPDX-License-Identifier: Apache-2.0
// Who may do what: every action against every kind of actor, tokens that are wrong, revoked or expired, and agents that
// present what is not theirs.
#include "runtime/access.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "json/value.h"
#include "node_world.h"
#include "runtime/token_entries.h"
#include "store/memory/memory_store.h"
#include "store/tables.h"
#include "temporary_folder.h"

namespace baton::runtime {
namespace {

using work::ActorKind;
using enum work::ActorKind;

constexpr std::int64_t kOwnUser = 1000, kOtherUser = 1001;
constexpr const char* kBoot = "4f0c2d9e-1111-4222-8333-444455556666";

// A store that does not answer while it is down.
class OutageStore final : public store::Store {
 public:
  explicit OutageStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}
  Result<std::unique_ptr<store::Transaction>> begin() override {
    if (down) return outage();
    return inner_->begin();
  }
  Result<std::unique_ptr<store::Reader>> reader() override {
    if (down) return outage();
    return inner_->reader();
  }
  Result<std::uint64_t> wait_for_change(std::uint64_t seen, std::chrono::milliseconds timeout) override {
    return inner_->wait_for_change(seen, timeout);
  }
  Result<std::vector<std::string>> check_integrity() override { return inner_->check_integrity(); }
  std::string name() const override { return inner_->name(); }

  bool down = false;

 private:
  static tl::unexpected<Failure> outage() {
    return tl::make_unexpected(Failure{"reading", "the server is gone", "STORE_UNAVAILABLE"});
  }
  std::unique_ptr<store::Store> inner_;
};

class AccessTest : public ::testing::Test {
 protected:
  AccessTest()
      : clock_({1'800'000'000'000'000'000}),
        store_(std::make_unique<OutageStore>(store::make_memory_store(clock_))),
        world_(*store_, clock_, keys_.path()),
        access_(
            *world_.cases, clock_, kOwnUser, kBoot,
            [this](std::int64_t pid) -> std::optional<std::vector<Access::Process>> {
              const auto found = ancestry_.find(pid);
              if (found == ancestry_.end()) return std::nullopt;
              return found->second;
            },
            [](std::int64_t uid) { return uid == 0 ? "root" : "alice"; }) {
    ancestry_[10] = {{10, 500}, {1, 1}};
  }

  struct Made {
    std::string id, text;
  };
  Made make_token(ActorKind kind, std::vector<std::string> scopes = {"*"}, std::optional<Time> expires_at = {}) {
    TokenRequest asked;
    asked.actor_id = "someone";
    asked.kind = kind;
    asked.scopes = std::move(scopes);
    asked.names = {"urn:example:someone"};
    asked.expires_at = expires_at;
    const auto answer =
        answer_of([&](Answered done) { world_.cases->create_token(by("oscar", Operator), asked, std::move(done)); });
    EXPECT_TRUE(answer && answer->refused.empty());
    const json::Value* text = answer->body.find("token");
    EXPECT_TRUE(text != nullptr && text->is_string());
    const std::string token = text->string();
    const auto parsed = parse_token(token);
    EXPECT_TRUE(parsed);
    EXPECT_TRUE(access_.load());
    return {parsed->id, token};
  }

  Made make_token_of(TokenRequest asked) {
    if (asked.actor_id.empty()) asked.actor_id = "someone";
    const auto answer =
        answer_of([&](Answered done) { world_.cases->create_token(by("oscar", Operator), asked, std::move(done)); });
    EXPECT_TRUE(answer && answer->refused.empty());
    const std::string text = answer->body.find("token")->string();
    EXPECT_TRUE(access_.load());
    return {parse_token(text)->id, text};
  }
  // A session that was claimed with this token.
  Made open_session_by(const std::string& actor, const std::string& token_id) {
    world_.create();
    Mutation claiming = by(actor);
    claiming.caller.token_id = token_id;
    const auto answer = answer_of([&](Answered done) { world_.cases->claim(claiming, {}, std::move(done)); });
    EXPECT_TRUE(answer && answer->refused.empty());
    return {member_of(*answer, "session", "id"), member_of(*answer, "session", "token")};
  }
  void supervise(const std::string& session_id, std::int64_t pid, std::uint64_t started) {
    access_.learn("session.process_registered", std::string(R"({"boot_id":")") + kBoot + R"(","pid":)" +
                                                    std::to_string(pid) + R"(,"started":)" + std::to_string(started) +
                                                    R"(,"session_id":")" + session_id +
                                                    R"(","at":"2027-01-01T00:00:00Z"})");
  }

  // A session of bob's, and its token.
  Made open_session() {
    world_.create();
    const auto answer = answer_of([&](Answered done) { world_.cases->claim(by("bob"), {}, std::move(done)); });
    EXPECT_TRUE(answer && answer->refused.empty());
    return {member_of(*answer, "session", "id"), member_of(*answer, "session", "token")};
  }

  static Presented tcp(std::string_view bearer) {
    Presented out;
    out.bearer = bearer;
    out.address = "127.0.0.1:40000";
    return out;
  }
  static Presented local(std::int64_t pid = 10, std::int64_t uid = kOwnUser) {
    Presented out;
    out.local = true;
    out.pid = pid;
    out.uid = uid;
    return out;
  }

  // Process 60 descends from one that is registered for this session's agent.
  Made supervise_process_60() {
    Made session = open_session();
    Mutation registering = by("bob");
    registering.caller.session_id = session.id;
    const auto done = answer_of([&](Answered answered) {
      world_.cases->register_process(registering, session.id, {kBoot, 55, 1234}, std::move(answered));
    });
    EXPECT_TRUE(done && done->refused.empty());
    EXPECT_TRUE(access_.load());
    ancestry_[60] = {{60, 2000}, {55, 1234}, {1, 1}};
    return session;
  }
  std::string code_of(const Presented& presented) {
    const auto caller = access_.identify(presented);
    return caller ? "" : std::string(info(caller.error().code).name);
  }
  std::string code_of(const Caller& caller, Action action) {
    const auto refused = access_.check(caller, action);
    return refused ? std::string(info(refused->code).name) : "";
  }

  // Changes a table behind the ledger's back.
  void tamper(const std::function<Result<void>(store::Transaction&)>& change) {
    auto transaction = store_->begin();
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(change(**transaction));
    ASSERT_TRUE((*transaction)->commit());
  }
  // What a node that starts now makes of it.
  std::unique_ptr<Access> started() {
    auto access = std::make_unique<Access>(
        *world_.cases, clock_, kOwnUser, kBoot,
        [this](std::int64_t pid) -> std::optional<std::vector<Access::Process>> {
          const auto found = ancestry_.find(pid);
          if (found == ancestry_.end()) return std::nullopt;
          return found->second;
        },
        [](std::int64_t) { return std::string("alice"); });
    EXPECT_TRUE(access->load());
    return access;
  }

  FixedClock clock_;
  TemporaryFolder keys_;
  std::unique_ptr<OutageStore> store_;
  World world_;
  std::map<std::int64_t, std::vector<Access::Process>> ancestry_;
  Access access_;
};

// --- the table ------------------------------------------------------------------------------------------------------------

TEST_F(AccessTest, each_action_is_for_the_kinds_the_specification_names_and_for_no_other) {
  const std::map<Action, std::set<ActorKind>> may = {
      {Action::Read, {Agent, Operator, Ci, Auditor, Node}},
      {Action::Create, {Agent, Operator}},
      {Action::Claim, {Agent, Operator}},
      {Action::Session, {Agent, Operator, Ci}},
      {Action::ReportCi, {Ci, Operator}},
      {Action::HandOffAsCi, {Ci}},
      {Action::Operate, {Operator}},
      {Action::Tokens, {Operator}},
      {Action::Ledger, {Operator}},
      {Action::Register, {Agent, Operator, Node}},
      {Action::Stop, {Operator}},
  };
  for (const auto& [action, kinds] : may)
    for (const ActorKind kind : {Agent, Operator, Ci, Auditor, Node}) {
      Caller caller;
      caller.actor = {"x", kind, {}};
      EXPECT_EQ(code_of(caller, action), kinds.contains(kind) ? "" : "ACCESS_KIND")
          << action_name(action) << " by " << agent_exit::actor_kind_name(kind);
      caller.supervised = true;
      EXPECT_EQ(code_of(caller, action), kinds.contains(kind) ? "" : "ACCESS_SUPERVISED")
          << action_name(action) << " by a supervised " << agent_exit::actor_kind_name(kind);
      caller.supervised = false;
      caller.scopes = {"no.such.scope"};
      EXPECT_EQ(code_of(caller, action), kinds.contains(kind) ? "ACCESS_SCOPE" : "ACCESS_KIND") << action_name(action);
      caller.scopes = {std::string(permission_of(action).scope)};
      EXPECT_EQ(code_of(caller, action), kinds.contains(kind) ? "" : "ACCESS_KIND") << action_name(action);
    }
}

TEST_F(AccessTest, a_scope_may_name_a_family) {
  Caller caller;
  caller.actor = {"x", Agent, {}};
  caller.scopes = {"work.*"};
  EXPECT_EQ(code_of(caller, Action::Create), "");
  EXPECT_EQ(code_of(caller, Action::Claim), "");
  EXPECT_EQ(code_of(caller, Action::Session), "ACCESS_SCOPE");
  caller.scopes = {};
  EXPECT_EQ(code_of(caller, Action::Read), "ACCESS_SCOPE");
}

// --- tokens ---------------------------------------------------------------------------------------------------------------

TEST_F(AccessTest, a_token_names_its_actor) {
  const Made made = make_token(Operator, {"read", "operate"});
  const auto caller = access_.identify(tcp(made.text));
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->actor.id, "someone");
  EXPECT_EQ(caller->actor.kind, Operator);
  EXPECT_EQ(caller->actor.names, std::vector<std::string>{"urn:example:someone"});
  EXPECT_EQ(caller->token_id, made.id);
  EXPECT_EQ(caller->scopes, (std::vector<std::string>{"read", "operate"}));
  EXPECT_FALSE(caller->supervised);
  EXPECT_EQ(caller->session_id, "");
}

TEST_F(AccessTest, tcp_needs_a_token_and_the_socket_does_not) {
  EXPECT_EQ(code_of(Presented{}), "ACCESS_NO_TOKEN");
  const auto caller = access_.identify(local());
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->actor.id, "local:alice");
  EXPECT_EQ(caller->actor.kind, Agent);
  EXPECT_EQ(caller->token_id, "");
  EXPECT_FALSE(caller->supervised);
}

TEST_F(AccessTest, the_socket_is_for_its_user_and_root) {
  EXPECT_EQ(code_of(local(10, kOtherUser)), "ACCESS_USER");
  Presented with_token = local(10, kOtherUser);
  const Made made = make_token(Operator);
  with_token.bearer = made.text;
  EXPECT_EQ(code_of(with_token), "ACCESS_USER");
  const auto root = access_.identify(local(10, 0));
  ASSERT_TRUE(root);
  EXPECT_EQ(root->actor.id, "local:root");
}

TEST_F(AccessTest, on_the_agents_socket_everybody_is_an_agent) {
  const auto by_agents_socket = [](std::int64_t uid) {
    Presented out = local(10, uid);
    out.for_agents = true;
    return out;
  };
  for (const std::int64_t uid : {kOtherUser, kOwnUser, std::int64_t{0}}) {
    const auto caller = access_.identify(by_agents_socket(uid));
    ASSERT_TRUE(caller) << uid;
    EXPECT_EQ(caller->actor.id, uid == 0 ? "local:root" : "local:alice");
    EXPECT_EQ(caller->actor.kind, Agent);
    EXPECT_FALSE(caller->supervised);
    EXPECT_TRUE(access_.recognises(by_agents_socket(uid)));
    for (const Action action : {Action::Operate, Action::Tokens, Action::Ledger, Action::Stop, Action::ReportCi})
      EXPECT_EQ(code_of(*caller, action), "ACCESS_KIND") << action_name(action);
    EXPECT_EQ(code_of(*caller, Action::Claim), "");
    EXPECT_EQ(code_of(*caller, Action::Register), "");
  }
  // No token makes an operator here, right or wrong: the secret is not even compared.
  for (const ActorKind kind : {Operator, Ci, Auditor}) {
    const Made made = make_token(kind);
    Presented shown = by_agents_socket(kOtherUser);
    shown.bearer = made.text;
    EXPECT_EQ(code_of(shown), "ACCESS_AGENT_SOCKET");
    std::string wrong = made.text;
    wrong.back() = wrong.back() == 'A' ? 'B' : 'A';
    shown.bearer = wrong;
    EXPECT_EQ(code_of(shown), parse_token(wrong) ? "ACCESS_AGENT_SOCKET" : "ACCESS_TOKEN");
    shown.for_agents = false;
    EXPECT_EQ(code_of(shown), "ACCESS_USER");
  }
  const Made agent = make_token(Agent);
  Presented shown = by_agents_socket(kOtherUser);
  shown.bearer = agent.text;
  const auto caller = access_.identify(shown);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->actor.id, "someone");
  EXPECT_EQ(caller->token_id, agent.id);
  // Sessions and supervised agents are found as on the other socket.
  const Made session = supervise_process_60();
  Presented below = by_agents_socket(kOtherUser);
  below.pid = 60;
  const auto supervised = access_.identify(below);
  ASSERT_TRUE(supervised);
  EXPECT_TRUE(supervised->supervised);
  EXPECT_EQ(supervised->agent_session, session.id);
  Presented with_session = by_agents_socket(kOtherUser);
  with_session.session_token = session.text;
  const auto holder = access_.identify(with_session);
  ASSERT_TRUE(holder);
  EXPECT_EQ(holder->session_id, session.id);
}

TEST_F(AccessTest, whatever_is_wrong_with_a_token_the_answer_is_the_same) {
  const Made good = make_token(Agent), revoked = make_token(Agent),
             expired = make_token(Agent, {"*"}, clock_.now() + 60);
  ASSERT_EQ(code_of(tcp(expired.text)), "");
  ASSERT_TRUE(answer_of(
      [&](Answered done) { world_.cases->revoke_token(by("oscar", Operator), revoked.id, std::move(done)); }));
  ASSERT_TRUE(access_.load());
  clock_.advance(60 * kNanosecondsPerSecond);  // inclusive
  std::string other_middle = good.text;
  other_middle[good.text.size() - 20] = good.text[good.text.size() - 20] == 'a' ? 'b' : 'a';
  std::string unknown = good.text;
  const std::size_t id_at = unknown.find(good.id);
  unknown[id_at] = unknown[id_at] == '0' ? '1' : '0';
  std::set<std::string> messages;
  for (const std::string& text : {other_middle, unknown, revoked.text, expired.text, std::string("baton_a_"),
                                  std::string("nonsense"), std::string()}) {
    const auto caller = access_.identify(tcp(text));
    ASSERT_FALSE(caller) << text;
    EXPECT_EQ(info(caller.error().code).name, "ACCESS_TOKEN");
    messages.insert(caller.error().message + caller.error().help);
    Presented presented = local();
    presented.bearer = text;
    EXPECT_EQ(code_of(presented), "ACCESS_TOKEN") << "also on the socket";
  }
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_EQ(code_of(tcp(good.text)), "");
}

TEST_F(AccessTest, what_the_feed_tells_counts_at_once) {
  const Made made = make_token(Ci);
  Access fresh(
      *world_.cases, clock_, kOwnUser, kBoot, [](std::int64_t) { return std::nullopt; },
      [](std::int64_t) { return std::string("alice"); });
  fresh.learn("token.revoked", R"({"token_id":"00000000000000000000000000000000","at":"2027-01-01T00:00:00Z"})");
  fresh.learn("token.created", "not JSON");
  fresh.learn("token.created", R"({"token_id":1})");
  const std::string id(32, 'a');
  const std::string created =
      R"({"token_id":")" + id + R"(","actor_id":"robot","kind":"ci","scopes":["*"],"names":[],"secret_sha256":")" +
      parse_token(made.text)->secret_sha256 + R"(","created_by":"oscar","at":"2027-01-01T00:00:00Z"})";
  fresh.learn("token.created", created);
  std::string text = made.text;
  text.replace(text.find(made.id), made.id.size(), id);
  const auto caller = fresh.identify(tcp(text));
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->actor.id, "robot");
  EXPECT_EQ(caller->actor.kind, Ci);
  fresh.learn("token.revoked", R"({"token_id":")" + id + R"(","at":"2027-01-01T00:00:01Z"})");
  EXPECT_FALSE(fresh.identify(tcp(text)));
  fresh.learn("token.created", created);
  EXPECT_FALSE(fresh.identify(tcp(text))) << "nothing undoes a revocation";
}

TEST_F(AccessTest, a_token_that_was_made_a_moment_ago_is_looked_up) {
  Access fresh(
      *world_.cases, clock_, kOwnUser, kBoot, [](std::int64_t) { return std::nullopt; },
      [](std::int64_t) { return std::string("alice"); });
  const Made made = make_token(Agent);
  EXPECT_TRUE(fresh.identify(tcp(made.text)));
}

// --- the record, not the table --------------------------------------------------------------------------------------------

TEST_F(AccessTest, an_edited_row_of_the_tokens_makes_no_operator_and_removes_none) {
  const Made agent = make_token(Agent), boss = make_token(Operator);
  const auto row_of_token = [&](const std::string& id) {
    const auto reader = store_->reader();
    return **(*reader)->get(store::tables::kTokens, {id});
  };
  store::Row agents_row = row_of_token(agent.id);
  std::string text = std::get<std::string>(agents_row[1]);
  const std::size_t kind_at = text.find("\"agent\"");
  ASSERT_NE(kind_at, std::string::npos) << text;
  text.replace(kind_at, 7, "\"operator\"");
  tamper([&](store::Transaction& t) { return t.update(store::tables::kTokens, {agent.id, text}); });
  const auto kind_of = [&](const std::string& token) {
    const auto caller = started()->identify(tcp(token));
    return caller ? std::string(agent_exit::actor_kind_name(caller->actor.kind)) : std::string("refused");
  };
  EXPECT_EQ(kind_of(agent.text), "agent");
  // A row for a token that nobody made.
  const std::string id(32, 'a');
  std::string forged = agent.text;
  forged.replace(forged.find(agent.id), agent.id.size(), id);
  tamper([&](store::Transaction& t) { return t.insert(store::tables::kTokens, {id, text}); });
  EXPECT_EQ(kind_of(forged), "refused");
  // And the row of a token that somebody did make.
  tamper([&](store::Transaction& t) { return t.erase(store::tables::kTokens, {boss.id}); });
  EXPECT_EQ(kind_of(boss.text), "operator");
  const auto reader = store_->reader();
  ASSERT_TRUE(reader);
  EXPECT_TRUE(has_operator_token(**reader).value_or(false)) << "so nobody becomes the first operator again";
}

TEST_F(AccessTest, a_store_that_does_not_answer_is_an_outage_and_no_refusal) {
  const Made known = make_token(Agent);
  const Made session = open_session();
  const auto fresh = started();  // it has not read whose session this is
  const std::string unknown = "baton_a_" + std::string(32, '0') + "_" + std::string(43, 'A');
  const Made agent = supervise_process_60();
  const auto below = started();
  const auto code = [](Access& access, const Presented& presented) {
    const auto caller = access.identify(presented);
    return caller ? std::string() : std::string(info(caller.error().code).name);
  };
  Presented with_session = tcp(session.text), beside = local();
  beside.session_token = session.text;
  store_->down = true;
  EXPECT_EQ(code(*fresh, tcp(known.text)), "") << "it is known already";
  EXPECT_EQ(code(*fresh, tcp(unknown)), "ACCESS_UNAVAILABLE");
  EXPECT_EQ(code(*fresh, with_session), "ACCESS_UNAVAILABLE");
  EXPECT_EQ(code(*fresh, beside), "ACCESS_UNAVAILABLE");
  EXPECT_EQ(code(*below, local(60)), "ACCESS_UNAVAILABLE") << "the agent above it cannot be read";
  store_->down = false;
  EXPECT_EQ(code(*fresh, tcp(unknown)), "ACCESS_TOKEN");
  EXPECT_EQ(code(*fresh, with_session), "");
  EXPECT_EQ(code(*fresh, beside), "");
  EXPECT_EQ(code(*below, local(60)), "");
}

// --- agents ---------------------------------------------------------------------------------------------------------------

// Somebody may have removed the row; the process is an agent's all the same, and not whichever agent's token it shows.
TEST_F(AccessTest, below_an_agent_whose_session_is_not_there_one_is_nobody) {
  const Made session = supervise_process_60(), token = make_token(Agent);
  tamper([&](store::Transaction& t) { return t.erase(store::tables::kSessions, {session.id}); });
  const auto access = started();
  Presented presented = local(60);
  for (const bool shows_token : {false, true}) {
    if (shows_token) presented.bearer = token.text;
    const auto caller = access->identify(presented);
    ASSERT_FALSE(caller);
    EXPECT_EQ(caller.error().code, Code::ACCESS_SESSION);
  }
}

TEST_F(AccessTest, a_session_token_is_an_agents_whatever_stands_beside_it) {
  const Made session = open_session();
  for (const bool as_bearer : {false, true}) {
    Presented presented;
    (as_bearer ? presented.bearer : presented.session_token) = session.text;
    const auto caller = access_.identify(presented);
    ASSERT_TRUE(caller) << as_bearer;
    EXPECT_EQ(caller->actor.id, "bob");
    EXPECT_EQ(caller->actor.kind, Agent);
    EXPECT_EQ(caller->session_id, session.id);
    EXPECT_TRUE(caller->supervised);
    EXPECT_EQ(code_of(*caller, Action::Session), "");
    EXPECT_EQ(code_of(*caller, Action::Operate), "ACCESS_SUPERVISED");
  }
  for (const ActorKind kind : {Operator, Ci}) {
    const Made token = make_token(kind);
    Presented presented = tcp(token.text);
    presented.session_token = session.text;
    const auto caller = access_.identify(presented);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->actor.kind, Agent);
    EXPECT_EQ(caller->actor.id, "bob");
    EXPECT_TRUE(caller->actor.names.empty());
    EXPECT_EQ(code_of(*caller, Action::Operate), "ACCESS_SUPERVISED");
    EXPECT_EQ(code_of(*caller, Action::HandOffAsCi), "ACCESS_SUPERVISED");
  }
}

TEST_F(AccessTest, a_session_token_that_is_not_genuine_is_refused) {
  const Made session = open_session();
  std::string forged = session.text;
  forged[forged.size() - 5] = forged[forged.size() - 5] == 'a' ? 'b' : 'a';
  for (const std::string& text : {forged, std::string("baton_s_"), std::string("baton_s_ses_0_"), std::string("x")}) {
    Presented presented = local();
    presented.session_token = text;
    EXPECT_EQ(code_of(presented), "ACCESS_SESSION") << text;
    const Made token = make_token(Operator);
    presented.bearer = token.text;
    EXPECT_EQ(code_of(presented), "ACCESS_SESSION") << "a right token does not make up for it";
  }
  EXPECT_EQ(code_of(tcp(forged)), "ACCESS_SESSION");
  Presented two = tcp(session.text);
  two.session_token = forged;
  EXPECT_EQ(code_of(two), "ACCESS_SESSION");
}

TEST_F(AccessTest, a_child_of_a_supervised_process_is_an_agent_whatever_it_presents) {
  const Made session = open_session();
  access_.learn("session.process_registered", std::string(R"({"boot_id":")") + kBoot +
                                                  R"(","pid":77,"started":900,"session_id":")" + session.id +
                                                  R"(","at":"2027-01-01T00:00:00Z"})");
  access_.learn("session.process_registered", R"({"boot_id":"another boot","pid":10,"started":500,"session_id":")" +
                                                  session.id + R"(","at":"2027-01-01T00:00:00Z"})");
  ancestry_[20] = {{20, 1000}, {77, 900}, {1, 1}};
  ancestry_[21] = {{21, 1000}, {77, 901}, {1, 1}};  // the same number, another process
  for (const ActorKind kind : {Operator, Ci, Auditor, Node}) {
    const Made token = make_token(kind);
    Presented child = local(20), stranger = local(21), itself = local(77);
    ancestry_[77] = {{77, 900}, {1, 1}};
    child.bearer = stranger.bearer = itself.bearer = token.text;
    for (const Presented& presented : {child, itself}) {
      const auto caller = access_.identify(presented);
      ASSERT_TRUE(caller);
      EXPECT_EQ(caller->actor.kind, Agent);
      EXPECT_EQ(caller->actor.id, "bob") << "the agent it descends from";
      EXPECT_TRUE(caller->supervised);
      EXPECT_EQ(code_of(*caller, Action::Tokens), "ACCESS_SUPERVISED");
      EXPECT_EQ(code_of(*caller, Action::Claim), "");
    }
    const auto free = access_.identify(stranger);
    ASSERT_TRUE(free);
    EXPECT_EQ(free->actor.kind, kind);
    EXPECT_FALSE(free->supervised);
    Presented of_another_boot = local(10);
    of_another_boot.bearer = token.text;
    EXPECT_EQ(access_.identify(of_another_boot)->actor.kind, kind);
  }
  // Without a credential it is an agent as before, and known to be supervised.
  const auto plain = access_.identify(local(20));
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->supervised);
  // Another agent's token changes nothing; another agent's session is refused.
  const Made others = make_token(Agent);
  Presented agent = local(20);
  agent.bearer = others.text;
  EXPECT_EQ(access_.identify(agent)->actor.id, "bob");
  world_.create();
  const auto claimed = answer_of([&](Answered done) { world_.cases->claim(by("eve"), {}, std::move(done)); });
  ASSERT_TRUE(claimed && claimed->refused.empty());
  const std::string session_of_eve = member_of(*claimed, "session", "token");
  agent.bearer.reset();
  agent.session_token = session_of_eve;
  const auto refused = access_.identify(agent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::ACCESS_OTHER_AGENT);
  agent.session_token = session.text;
  EXPECT_TRUE(access_.identify(agent));
}

TEST_F(AccessTest, who_cannot_be_traced_loses_what_only_people_and_ci_have) {
  constexpr std::int64_t kNoSuchProcess = 4242;
  for (const ActorKind kind : {Operator, Ci}) {
    const Made token = make_token(kind);
    Presented presented = local(kNoSuchProcess);
    presented.bearer = token.text;
    const auto caller = access_.identify(presented);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->actor.kind, Agent);
    EXPECT_TRUE(caller->supervised);
    EXPECT_EQ(code_of(*caller, Action::Operate), "ACCESS_SUPERVISED");
    EXPECT_EQ(access_.identify(tcp(token.text))->actor.kind, kind) << "on TCP only tokens count";
  }
  const auto plain = access_.identify(local(kNoSuchProcess));
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->supervised) << "who cannot be traced may be anybody's child: it does not stop a node";
}

// Without its token an agent under supervision is still that agent, so that it cannot review what it made.
TEST_F(AccessTest, below_a_supervised_agent_one_is_that_agent) {
  const Made session = supervise_process_60();
  const auto own = access_.identify(tcp(session.text));
  ASSERT_TRUE(own);
  EXPECT_EQ(access_.identify(local(60))->actor.id, own->actor.id);
}

// Whatever it shows: the agent that was started is the one that asks.
TEST_F(AccessTest, a_supervised_agent_is_itself_whatever_it_shows) {
  TokenRequest request;
  request.actor_id = "ada";
  request.scopes = {"read", "session"};
  request.roles = {"agent"};
  const Made own = make_token_of(request);
  request.scopes = {"*"};
  request.roles = {"admin"};
  const Made wider = make_token_of(request);
  const Made session = open_session_by("ada", own.id);
  supervise(session.id, 55, 1234);
  ancestry_[55] = {{55, 1234}, {1, 1}};
  ancestry_[60] = {{60, 2000}, {55, 1234}, {1, 1}};

  TokenRequest host;
  host.actor_id = "helpdesk";
  host.is_host = true;
  const std::vector<std::pair<std::string, std::string>> shown = {
      {"nothing", ""},
      {"its own token", own.text},
      {"another token of its actor", wider.text},
      {"another agent's", make_token(Agent).text},
      {"an operator's", make_token(Operator).text},
      {"an auditor's", make_token(Auditor).text},
      {"a host's", make_token_of(host).text},
  };
  for (const auto& [what, text] : shown)
    for (const bool with_session : {false, true}) {
      Presented presented = local(60);
      if (!text.empty()) presented.bearer = text;
      if (with_session) presented.session_token = session.text;
      const auto caller = access_.identify(presented);
      ASSERT_TRUE(caller) << what;
      EXPECT_EQ(caller->actor.id, "ada") << what;
      EXPECT_EQ(caller->actor.kind, Agent) << what;
      EXPECT_EQ(caller->token_id, own.id) << what;
      EXPECT_TRUE(caller->supervised) << what;
      EXPECT_EQ(caller->grant.roles, std::vector<std::string>{"agent"}) << what;
      EXPECT_FALSE(caller->grant.is_host) << what;
      EXPECT_EQ(with_session ? caller->session_id : caller->agent_session, session.id) << what;
      EXPECT_EQ(code_of(*caller, Action::Operate), "ACCESS_SUPERVISED") << what;
      EXPECT_EQ(code_of(*caller, Action::Create), "ACCESS_SCOPE") << what << ": more than its own token is good for";
    }
}

TEST_F(AccessTest, a_supervised_agent_does_not_act_in_the_session_of_another) {
  // Two agents of one actor: nothing but the processes tells them apart.
  const Made session = open_session_by("bob", ""), other = open_session_by("bob", ""), own = open_session_by("bob", "");
  supervise(session.id, 55, 1234);
  supervise(other.id, 75, 1300);
  ancestry_[55] = {{55, 1234}, {1, 1}};
  ancestry_[60] = {{60, 2000}, {55, 1234}, {1, 1}};
  ancestry_[75] = {{75, 1300}, {74, 1290}, {1, 1}};
  for (const bool as_bearer : {false, true}) {
    Presented presented = local(60);
    (as_bearer ? presented.bearer : presented.session_token) = other.text;
    EXPECT_EQ(code_of(presented), "ACCESS_OTHER_AGENT") << as_bearer;
    (as_bearer ? presented.bearer : presented.session_token) = session.text;
    EXPECT_EQ(access_.identify(presented)->session_id, session.id);
    (as_bearer ? presented.bearer : presented.session_token) = own.text;
    EXPECT_EQ(access_.identify(presented)->session_id, own.id) << "it claimed that one itself";
  }
  const Made alices = open_session_by("alice", "");
  Presented presented = local(60);
  presented.session_token = alices.text;
  EXPECT_EQ(code_of(presented), "ACCESS_OTHER_AGENT");
}

TEST_F(AccessTest, an_agent_below_an_agent_is_the_one_that_is_nearest) {
  const Made outer = open_session_by("bob", ""), inner = open_session_by("bob", "");
  supervise(outer.id, 55, 1234);
  supervise(inner.id, 85, 3000);
  ancestry_[55] = {{55, 1234}, {1, 1}};
  ancestry_[80] = {{80, 2900}, {55, 1234}, {1, 1}};              // the supervisor of the inner one
  ancestry_[85] = {{85, 3000}, {80, 2900}, {55, 1234}, {1, 1}};  // the inner one
  EXPECT_EQ(access_.identify(local(85))->agent_session, inner.id);
  EXPECT_EQ(access_.identify(local(80))->agent_session, outer.id);
  Presented presented = local(85);
  presented.session_token = outer.text;
  EXPECT_EQ(code_of(presented), "ACCESS_OTHER_AGENT") << "the outer one is another agent";
  presented = local(80);
  presented.session_token = inner.text;
  EXPECT_EQ(access_.identify(presented)->session_id, inner.id) << "who supervises it settles for it";
}

TEST_F(AccessTest, the_token_of_one_agent_does_not_act_in_the_session_of_another) {
  const Made token = make_token(Agent), operators = make_token(Operator);
  TokenRequest request;
  request.actor_id = "bob";
  const Made bobs = make_token_of(request);
  request.actor_id = "desk";
  request.is_host = true;
  const Made desk = make_token_of(request);
  const std::vector<std::pair<Made, std::string>> opened = {
      {open_session_by("bob", bobs.id), "ACCESS_OTHER_AGENT"},
      {open_session_by("oscar", operators.id), ""},  // given to the agent whose token it is
      {open_session_by("desk", desk.id), ""},
  };
  for (const auto& [session, code] : opened) {
    Presented presented = tcp(token.text);
    presented.session_token = session.text;
    EXPECT_EQ(code_of(presented), code);
  }
}

TEST_F(AccessTest, a_token_says_the_roles_and_whom_its_sessions_act_for) {
  TokenRequest request;
  request.roles = {"refunds"};
  request.principal = json::Value::object();
  request.principal->set("name", "Carla Clerk");
  const Made made = make_token_of(request);
  const auto caller = access_.identify(tcp(made.text));
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->grant.roles, std::vector<std::string>{"refunds"});
  EXPECT_EQ(caller->grant.principal_blob.size(), 64u);
  EXPECT_FALSE(caller->grant.is_host);
  request.is_host = true;
  const Made host = make_token_of(request);
  EXPECT_TRUE(host.text.starts_with("baton_h_"));
  EXPECT_TRUE(access_.identify(tcp(host.text))->grant.is_host);
  EXPECT_EQ(access_.identify(tcp(host.text))->actor.kind, Agent);
  // It is for programs that were not started by an agent.
  Presented traced_to_nobody = local(4242);
  traced_to_nobody.bearer = host.text;
  EXPECT_FALSE(access_.identify(traced_to_nobody)->grant.is_host);
  EXPECT_EQ(access_.identify(traced_to_nobody)->actor.id, "local:alice");
  // What the ledger keeps of a person is a digest, and what can be erased.
  const auto listed = world_.cases->list_tokens();
  ASSERT_TRUE(listed);
  EXPECT_EQ(json::write(*listed).find("Carla"), std::string::npos);
}

// The id of a process that has ended may be another's by now, and that one may be anybody's.
TEST_F(AccessTest, a_process_id_that_is_used_again_is_not_the_peer) {
  const Made token = make_token(Operator);
  Presented presented = local(10);
  presented.bearer = token.text;
  presented.started = 500;
  EXPECT_FALSE(access_.identify(presented)->supervised);
  for (const std::uint64_t began : {std::uint64_t{499}, std::uint64_t{0}}) {
    presented.started = began;
    const auto caller = access_.identify(presented);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->actor.kind, Agent);
    EXPECT_EQ(code_of(*caller, Action::Operate), "ACCESS_SUPERVISED");
  }
}

// Also one that presents nothing: it would be the agent of a session that is worth nothing any more.
TEST_F(AccessTest, below_an_agent_whose_token_was_revoked_one_is_nobody) {
  const Made token = make_token(Agent);
  world_.create();
  Mutation claiming = by("someone");
  claiming.caller.token_id = token.id;
  const auto claimed = answer_of([&](Answered done) { world_.cases->claim(claiming, {}, std::move(done)); });
  ASSERT_TRUE(claimed && claimed->refused.empty());
  const std::string session = member_of(*claimed, "session", "id");
  access_.learn("session.process_registered", std::string(R"({"boot_id":")") + kBoot +
                                                  R"(","pid":55,"started":1234,"session_id":")" + session +
                                                  R"(","at":"2027-01-01T00:00:00Z"})");
  ancestry_[60] = {{60, 2000}, {55, 1234}, {1, 1}};
  EXPECT_EQ(access_.identify(local(60))->actor.id, "someone");
  EXPECT_EQ(access_.identify(local(60))->token_id, token.id);
  access_.learn("token.revoked", R"({"token_id":")" + token.id + R"(","at":"2027-01-01T00:00:01Z"})");
  EXPECT_EQ(code_of(local(60)), "ACCESS_SESSION");
  EXPECT_EQ(code_of(local(10)), "");
}

TEST_F(AccessTest, a_token_is_not_made_for_a_name_that_looks_like_a_secret) {
  TokenRequest asked;
  asked.actor_id = "ghp_" + std::string("0123456789abcdefghijABCDEFGHIJ012345");
  asked.names = {"AKIAIOSFODNN7EXAMPLQ"};
  const auto answer =
      answer_of([&](Answered done) { world_.cases->create_token(by("oscar", Operator), asked, std::move(done)); });
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->refused.size(), 2u);
  EXPECT_EQ(answer->refused[0].message, "`actor` holds what looks like a secret");
  EXPECT_EQ(answer->refused[1].message, "`names` holds what looks like a secret");
}

TEST_F(AccessTest, there_is_one_first_operator) {
  TokenRequest asked;
  asked.actor_id = "ines";
  asked.kind = Operator;
  asked.is_first = true;
  const auto make = [&] {
    return answer_of([&](Answered done) { world_.cases->create_token(by("node", Node), asked, std::move(done)); });
  };
  const auto first = make(), second = make();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->refused.empty());
  ASSERT_EQ(second->refused.size(), 1u);
  EXPECT_EQ(second->refused.front().code, Code::ACCESS_OPERATOR_EXISTS);
}

// A session's token alone is good for the session and for reading, whatever the token that claimed it was good for.
TEST_F(AccessTest, a_sessions_token_stands_for_the_session_alone) {
  const Made session = open_session();
  const auto caller = access_.identify(tcp(session.text));
  ASSERT_TRUE(caller);
  EXPECT_EQ(code_of(*caller, Action::Session), "");
  EXPECT_EQ(code_of(*caller, Action::Read), "");
  EXPECT_EQ(code_of(*caller, Action::Create), "ACCESS_SCOPE");
  EXPECT_EQ(code_of(*caller, Action::Claim), "ACCESS_SCOPE");
}

TEST_F(AccessTest, processes_are_known_after_a_start) {
  supervise_process_60();
  EXPECT_TRUE(access_.identify(local(60))->supervised);
  EXPECT_FALSE(access_.identify(local(10))->supervised);
}

// A server's thread asks first: what it would have to wait for the store for is done elsewhere.
TEST_F(AccessTest, knows_what_it_would_have_to_read) {
  const Made token = make_token(Agent);
  Presented known;
  known.bearer = token.text;
  EXPECT_FALSE(access_.needs_store(known));
  EXPECT_TRUE(access_.recognises(known));
  // The same id with another secret is no reason to read anything, nor to listen.
  const std::string wrong = token.text.substr(0, token.text.size() - 43) + std::string(43, 'A');
  Presented liar;
  liar.bearer = wrong;
  EXPECT_FALSE(access_.needs_store(liar));
  EXPECT_FALSE(access_.recognises(liar));
  const std::string unknown = "baton_a_" + std::string(32, '0') + "_" + std::string(43, 'A');
  Presented stranger;
  stranger.bearer = unknown;
  EXPECT_TRUE(access_.needs_store(stranger));
  EXPECT_FALSE(access_.recognises(stranger));
  // Strangers make the store work only so often; beyond that nobody knows, which is neither yes nor no.
  for (int i = 0; i < 200; ++i) EXPECT_EQ(access_.identify(stranger).error().code, Code::ACCESS_TOKEN) << i;
  EXPECT_FALSE(access_.needs_store(stranger)) << "the store was asked often enough";
  EXPECT_EQ(access_.identify(stranger).error().code, Code::ACCESS_UNAVAILABLE);
  EXPECT_TRUE(access_.identify(known));
  clock_.advance(kNanosecondsPerSecond / 10);
  EXPECT_EQ(access_.identify(stranger).error().code, Code::ACCESS_TOKEN);
  EXPECT_FALSE(access_.recognises(Presented{}));
  EXPECT_FALSE(access_.needs_store(Presented{}));

  // A session's actor is in the store until somebody has asked.
  const Made session = open_session();
  Presented agent;
  agent.session_token = session.text;
  EXPECT_TRUE(access_.needs_store(agent));
  EXPECT_TRUE(access_.recognises(agent));
  EXPECT_TRUE(access_.identify(agent));
  EXPECT_FALSE(access_.needs_store(agent));
}

}  // namespace
}  // namespace baton::runtime
