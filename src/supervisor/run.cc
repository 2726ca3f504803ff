// SPDX-License-Identifier: Apache-2.0
#include "supervisor/run.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <set>

#include "base/ids.h"
#include "base/limits.h"
#include "base/text.h"
#include "base/time.h"
#include "diagnostics/diagnostic.h"
#include "json/decimal.h"
#include "json/parse.h"
#include "net/process.h"
#include "supervisor/agent.h"
#include "supervisor/node_link.h"
#include "supervisor/run_folder.h"
#include "supervisor/search.h"

namespace baton::supervisor {
namespace {

using agent_contract::Problem;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// How long the node is asked for again when it is not there.
constexpr milliseconds kPatience{60'000}, kShortPatience{10'000};
constexpr milliseconds kLook{1'000};       // at the processor, and the status line
constexpr milliseconds kEntryWait{2'000};  // for the entry of a handoff that came another way
constexpr std::int64_t kLeaseLeast = kNanosecondsPerSecond;
constexpr int kSaidLinesMax = 40;  // of what is wrong with a handoff: a screen

std::string text_of(json::Node node) { return node.is_string() ? std::string(node.string()) : std::string(); }

std::uint64_t number_of(json::Node node) {
  return node.is_number() ? static_cast<std::uint64_t>(json::to_int64(node.number_text()).value_or(0)) : 0;
}

std::vector<std::string> texts_of(json::Node node) {
  std::vector<std::string> out;
  for (const json::Node one : node.elements())
    if (one.is_string()) out.emplace_back(one.string());
  return out;
}

// The session is over, whatever was asked for it.
bool is_lost(int status, json::Node problem) {
  static constexpr std::string_view kCodes[] = {"EXIT_LEASE", "LEASE_STALE", "session_killed", "session_closed",
                                                "EXIT_NO_ACTIVE_PHASE"};
  return status == 401 || status == 403 || status == 404 ||
         std::ranges::any_of(kCodes, [&](std::string_view code) { return problem["code"].is_text(code); });
}

std::vector<Problem> problems_of(const std::vector<Diagnostic>& diagnostics) {
  std::vector<Problem> out;
  for (const Diagnostic& one : diagnostics)
    out.push_back({std::string(info(one.code).name), one.message, one.help, one.place.pointer});
  return out;
}

// What is not for agents: a credential, and what changes where the node is found.
bool is_passed_on(std::string_view setting) {
  static constexpr std::string_view kNot[] = {
      "BATON_TOKEN", "BATON_SESSION_TOKEN", "BATON_MCP_TOKEN",   "BATON_NODE",        "BATON_IN_PROCESS",
      "BATON_KEYS",  "BATON_SESSION",       "BATON_AGENT_ID",    "BATON_ROLE",        "BATON_WORK",
      "BATON_PHASE", "BATON_INPUT_FILE",    "BATON_REPAIR_FILE", "BATON_ANSWER_FILE", "BATON_ROUND"};
  const std::string_view name = setting.substr(0, setting.find('='));
  // The URL of a database, which may have a password: the agent has the node.
  if (name == "BATON_STORE" && setting.find("://") != std::string_view::npos) return false;
  return std::ranges::find(kNot, name) == std::end(kNot);
}

// How an entry says that our session has ended.
struct Ending {
  std::string why, outcome;
};
std::optional<Ending> ending_in(std::string_view type, json::Node payload, const std::string& session_id) {
  if (type == "work.claimed")
    return payload["superseded"].is_text(session_id)
               ? std::optional(Ending{"another session has taken the item over", {}})
               : std::nullopt;
  if (!payload["session_id"].is_text(session_id)) return std::nullopt;
  if (type == "work.session_completed") return Ending{"handed over", text_of(payload["exit_reason"])};
  if (type == "work.offered") return Ending{"offered to another", "offered"};
  if (type == "work.lease_expired") return Ending{"the lease expired", {}};
  if (type == "work.released") return Ending{"the item was given back", {}};
  if (type == "work.session_abandoned" || type == "work.session_failed") return Ending{"the session was ended", {}};
  if (type == "work.parking_lapsed") return Ending{"nobody has answered in time", {}};
  if (type == "work.aborted") return Ending{"the item was aborted", {}};
  if (type == "session.ended") {
    const std::string because = text_of(payload["because"]);
    // A handoff closes the governed session as well, and its own entry says how it came out.
    if (payload["to"].is_text("closed")) return std::nullopt;
    return Ending{"the session was killed" + (because.empty() ? "" : ": " + because), {}};
  }
  return std::nullopt;
}

}  // namespace

class Run::Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Shared& shared, json::Document claim, std::function<void(Outcome)> done)
      : shared_(shared),
        options_(shared.options),
        claim_(std::move(claim)),
        done_(std::move(done)),
        node_(shared.context, shared.clock, shared.random, shared.node, shared.options.node.token),
        wake_(shared.context),
        look_(shared.context),
        wait_(shared.context) {
    const json::Node session = claim_.root()["session"], work = claim_.root()["work"];
    session_id_ = text_of(session["id"]);
    token_ = text_of(session["token"]);
    outcome_.work_id = text_of(work["id"]);
    outcome_.session_id = session_id_;
    outcome_.agent_id = text_of(session["agent_id"]);
    base_ = "/v1/sessions/" + percent_encoded(session_id_);
    node_.use_session(token_);
    owed_.agent_id = outcome_.agent_id;
    owed_.phase = text_of(work["phase"]);
    owed_.in_output = options_.client != Client::Other || options_.scan_output;
    const auto until = parse_time(text_of(session["expires_at"])).time;
    const std::int64_t left = until ? until->nanoseconds - shared.clock.now().nanoseconds : 0;
    lease_ns_ = options_.ttl_seconds ? *options_.ttl_seconds * kNanosecondsPerSecond : std::max(left, kLeaseLeast);
    set_terms();
    began_ = now();
  }

  void begin() {
    if (!options_.governed) return prepare();
    json::Value body = json::Value::object();
    if (!options_.pack.empty()) body.set("pack", options_.pack);
    if (!options_.role.empty()) body.set("role", options_.role);
    node_.post("/v1/sessions", body, kShortPatience, keep([](Core& core, int status, const std::string& answer) {
                 if (status >= 200 && status < 300) {
                   core.take_pack(answer);
                   return core.prepare();
                 }
                 core.give_up(status == 0 ? End::CouldNot : End::Refused,
                              "its session cannot be held to a pack: " + core.words_of(status, answer, true));
               }));
  }

  void stop() {
    if (prepared_) return tell(ToldToStop{});
    stop_asked_ = true;
  }

  // The owner has gone.
  void abandon() {
    gone_ = true;
    node_.stop_following();
    agent_.reset();
    wake_.cancel();
    look_.cancel();
    wait_.cancel();
    shared_.screen.on_drained({});
  }

 private:
  std::int64_t now() { return shared_.clock.monotonic_ns(); }

  // An answer of the node, for as long as this is here.
  template <class Function>
  NodeLink::Heard keep(Function function) {
    return [self = std::weak_ptr<Core>(weak_from_this()), function](int status, std::string body) {
      if (const auto core = self.lock(); core && !core->gone_) function(*core, status, body);
    };
  }

  std::string words_of(int status, const std::string& body, bool with_advice = false) const {
    const auto parsed = json::parse(body);
    if (status == 0 || !parsed) return status == 0 ? body : "status " + std::to_string(status);
    const std::vector<Problem> problems = problems_in(parsed->root());
    return with_advice ? advised(problems) : listed(problems);
  }

  // --- before the agent begins ----------------------------------------------------------------------------------------------------

  void set_terms() {
    Terms terms = options_.terms;
    terms.lease_ns = lease_ns_;
    terms.handoff_owed = !owed_.is_nothing();
    life_.emplace(terms);
  }

  // What the pack asks of the agent's last words.
  void take_pack(const std::string& answer) {
    const auto parsed = json::parse(answer);
    if (!parsed) return;
    if (const std::string dialect = text_of(parsed->root()["session"]["handoff"]["dialect"]); !dialect.empty())
      owed_.dialect = dialect;
    set_terms();
  }

  // Nothing was started: the item is given back.
  void give_up(End end, std::string why) {
    json::Value body = json::Value::object();
    body.set("reason", why);
    node_.post(base_ + "/release", body, kShortPatience,
               keep([end, why](Core& core, int, const std::string&) { core.conclude(end, why); }));
  }

  void prepare() {
    auto folder = RunFolder::make(shared_.temporary_folder);
    if (!folder) return give_up(End::CouldNot, folder.error().text());
    folder_.emplace(std::move(*folder));
    const json::Node root = claim_.root(), session = root["session"];
    agent_contract::InputFacts facts;
    facts.session_id = session_id_;
    facts.agent_id = outcome_.agent_id;
    facts.role = text_of(session["role"]);
    facts.provider = client_name(options_.client);
    facts.work = root["work"];
    facts.context = root["context"];
    facts.sources = root["context_sources"];
    facts.readable = texts_of(session["reads"]);
    facts.writable = texts_of(session["writes"]);
    const json::Value envelope = agent_contract::input_envelope(facts);
    input_file_ = folder_->path() + "/input.json";
    if (auto written = folder_->write(input_file_, json::write_pretty(envelope) + "\n"); !written)
      return give_up(End::CouldNot, written.error().text());
    set_environment(root);
    std::vector<std::string> argv = options_.argv;
    if (options_.governed && options_.client != Client::Other)
      if (const std::string problem = wire_client(argv); !problem.empty()) return give_up(End::CouldNot, problem);
    const std::string uuid = mint_uuid(shared_.random);
    wired_ = argv;
    first_ = supervisor::begin(options_.client, std::move(argv), brief(envelope, input_file_, owed_), uuid);
    conversation_ = first_.conversation;
    prepared_ = true;
    follow();
    shared_.screen.on_drained([self = std::weak_ptr<Core>(weak_from_this())] {
      if (const auto core = self.lock(); core && core->agent_) core->agent_->resume();
    });
    tell(Claimed{});
    if (stop_asked_) tell(ToldToStop{});
    look();
  }

  void set_environment(json::Node root) {
    for (const std::string& setting : options_.environment)
      if (is_passed_on(setting)) environment_.push_back(setting);
    const std::string node = options_.node.unix_path.empty() ? options_.node.url : "unix:" + options_.node.unix_path;
    const std::pair<std::string_view, std::string> ours[] = {{"BATON_NODE", node},
                                                             {"BATON_SESSION_TOKEN", token_},
                                                             {"BATON_SESSION", session_id_},
                                                             {"BATON_AGENT_ID", outcome_.agent_id},
                                                             {"BATON_ROLE", text_of(root["session"]["role"])},
                                                             {"BATON_WORK", outcome_.work_id},
                                                             {"BATON_PHASE", text_of(root["work"]["phase"])},
                                                             {"BATON_INPUT_FILE", input_file_}};
    for (const auto& [name, value] : ours) environment_.push_back(std::string(name) + "=" + value);
  }

  // What is wrong; empty: nothing.
  std::string wire_client(std::vector<std::string>& argv) {
    RunPlace place;
    place.folder = folder_->path();
    place.baton = options_.baton;
    place.hook = options_.hook;
    place.socket = options_.node.unix_path;
    place.node = options_.node.unix_path.empty() ? options_.node.url : "unix:" + options_.node.unix_path;
    place.node_key = options_.node.key;
    place.session_id = session_id_;
    place.session_token = token_;
    place.servers = options_.servers;
    place.home = options_.home;
    place.client_settings = options_.client_settings;
    const Wiring wiring = wire(options_.client, place);
    if (!wiring.problem.empty()) return wiring.problem;
    for (const WiringFile& file : wiring.files)
      if (auto written = folder_->write(file.path, file.text); !written) return written.error().text();
    for (const auto& [path, target] : wiring.links)
      if (auto linked = folder_->link(path, target); !linked) return linked.error().text();
    for (const std::string& one : wiring.left_out) say(one);
    argv.insert(argv.begin() + static_cast<std::ptrdiff_t>(program_words(options_.client, argv)),
                wiring.arguments.begin(), wiring.arguments.end());
    for (const auto& [name, value] : wiring.environment) {
      std::erase_if(environment_, [&](const std::string& setting) { return setting.starts_with(name + "="); });
      environment_.push_back(name + "=" + value);
    }
    return {};
  }

  // One line, or several: those after the first are indented, so that none passes for one of ours.
  void say(std::string_view text) {
    std::string_view before = "baton run: ";
    for (int lines = 0; lines < kSaidLinesMax; ++lines) {
      const auto end = text.find('\n');
      shared_.screen.error(std::string(before) + printable(text.substr(0, end), 2000) + "\n");
      if (end == text.npos) return;
      text.remove_prefix(end + 1);
      before = "  ";
    }
    shared_.screen.error("  ...\n");
  }

  // --- what happens, and what follows ---------------------------------------------------------------------------------------------

  void tell(const Happening& happening) {
    if (gone_ || concluded_) return;
    const auto self = shared_from_this();
    for (const Action& action : life_->happens(happening, now()))
      std::visit([&](const auto& what) { carry_out(what); }, action);
    if (gone_ || concluded_) return;
    show_status();
    wake_.cancel();
    const auto at = life_->wakes_at();
    if (!at) return;
    wake_.expires_after(nanoseconds(std::max<std::int64_t>(*at - now(), 0)));
    wake_.async_wait([self = std::weak_ptr<Core>(self)](const boost::system::error_code& error) {
      if (const auto core = self.lock(); !error && core) core->tell(TimePassed{});
    });
  }

  void tell_later(Happening happening) {
    boost::asio::post(shared_.context,
                      [self = std::weak_ptr<Core>(weak_from_this()), happening = std::move(happening)] {
                        if (const auto core = self.lock()) core->tell(happening);
                      });
  }

  void show_status() {
    shared_.screen.status(
        concluded_ ? ""
                   : status_line(outcome_.work_id, now() - began_, calls_, life_->standing(now()), shared_.columns));
  }

  void look() {
    look_.expires_after(kLook);
    look_.async_wait([self = std::weak_ptr<Core>(weak_from_this())](const boost::system::error_code& error) {
      const auto core = self.lock();
      if (error || !core || core->gone_ || core->concluded_) return;
      if (core->agent_) {
        const std::uint64_t ticks = net::group_processor_ticks(core->agent_->pid());
        if (ticks > core->ticks_) core->tell(ShowedLife{ShowedLife::By::Processor});
        core->ticks_ = ticks;
      }
      if (core->concluded_) return;
      core->show_status();
      core->look();
    });
  }

  // --- the agent --------------------------------------------------------------------------------------------------------------------

  void carry_out(const StartAgent& what) {
    Started started = first_;
    std::vector<std::string> environment = environment_;
    environment.push_back("BATON_ROUND=" + std::to_string(++rounds_));
    if (what.round != StartAgent::Round::First) {
      const bool repairs = what.round == StartAgent::Round::Repair;
      const std::string text = repairs ? repair_text(what) : go_on_text(what.answered, what.text, owed_);
      const std::string file = folder_->path() + (repairs ? "/repair.txt" : "/answer.txt");
      if (auto written = folder_->write(file, text); !written) return tell_later(NotStarted{written.error().text()});
      environment.push_back((repairs ? "BATON_REPAIR_FILE=" : "BATON_ANSWER_FILE=") + file);
      started = again(options_.client, wired_, conversation_, text);
      say(repairs ? std::string("its handoff ") + (what.text.empty() ? "is missing" : "was refused") +
                        "; asked again (" + std::to_string(what.repair) + " of " +
                        std::to_string(options_.terms.repairs_max) + ")" + (what.text.empty() ? "" : ":\n" + what.text)
                  : "it goes on");
    }
    search_.emplace(options_.client, options_.scan_output);
    ticks_ = 0;
    const auto self = std::weak_ptr<Core>(weak_from_this());
    auto agent = Agent::start(shared_.context, started.argv, std::move(environment), options_.folder,
                              {.on_output =
                                   [self](std::string_view bytes) {
                                     if (const auto core = self.lock()) core->take_output(bytes);
                                   },
                               .on_error =
                                   [self](std::string_view line) {
                                     if (const auto core = self.lock()) core->take_error(line);
                                   },
                               .on_end =
                                   [self](const net::ChildExit& exit) {
                                     if (const auto core = self.lock()) core->agent_ended(exit);
                                   }});
    if (!agent) return tell_later(NotStarted{agent.error().text()});
    agent_ = std::move(*agent);
    // On another machine the node knows nobody by their process, and tokens alone count.
    if (options_.node.unix_path.empty()) return agent_->open(std::move(started.input));
    json::Value body = json::Value::object();
    body.set("pid", agent_->pid());
    node_.post(base_ + "/process", body, kShortPatience,
               keep([input = std::move(started.input)](Core& core, int status, const std::string& answer) {
                 if (!core.agent_) return;
                 if (status >= 200 && status < 300) return core.agent_->open(input);
                 core.agent_.reset();
                 const std::string why = core.words_of(status, answer);
                 core.tell(NotStarted{"the node does not take its process: " + why});
               }));
  }

  std::string repair_text(const StartAgent& what) const {
    agent_contract::Refusal refusal{{},
                                    outcome_.agent_id,
                                    what.repair,
                                    options_.terms.repairs_max,
                                    owed_.is_signal() ? handoff_form(owed_) : std::string()};
    if (!owed_.in_output) refusal.channel = kExplicitChannel;
    if (!what.text.empty())
      refusal.problems = what.text == listed(problems_) ? problems_ : std::vector<Problem>{{{}, what.text, {}, {}}};
    return agent_contract::repair_text(refusal);
  }

  void take_output(std::string_view bytes) {
    if (gone_) return;
    search_->feed(bytes);
    remember(bytes);
    if (options_.json) shared_.screen.error(bytes);
    else shared_.screen.output(bytes);
    if (shared_.screen.is_full() && agent_) agent_->pause();
    tell(ShowedLife{ShowedLife::By::Output});
  }

  void take_error(std::string_view line) {
    if (gone_) return;
    remember(line);
    remember("\n");
    shared_.screen.error(std::string(line) + "\n");
    tell(ShowedLife{ShowedLife::By::Output});
  }

  // The end of what it printed; more than is kept, because a secret may begin before.
  void remember(std::string_view bytes) {
    constexpr std::size_t kKept = 4 * limits::kWorkOutputBytesMax;
    if (bytes.size() > kKept) bytes.remove_prefix(bytes.size() - kKept);
    tail_ += bytes;
    if (tail_.size() > 2 * kKept) tail_.erase(0, tail_.size() - kKept);
  }

  void agent_ended(const net::ChildExit& exit) {
    if (gone_) return;
    AgentEnded ended;
    ended.in_order = exit.signal == 0 && exit.status == 0;
    ended.how = net::exit_text(exit);
    if (auto found = search_->end()) {
      problems_ = problems_of(found->problems);
      ended.found = Found{found->document, listed(problems_)};
      dialect_ = found->dialect;
      body_ = found->body;
    }
    if (search_->has_uncounted())
      say("its output has a handoff, which does not count: this client is not known, and anything that it prints, such "
          "as a "
          "file, could be one. It hands in by `baton handoff submit`, or run it with --scan-output");
    if (!search_->conversation().empty()) conversation_ = search_->conversation();
    const auto self = std::weak_ptr<Core>(weak_from_this());
    boost::asio::post(shared_.context, [self] {
      if (const auto core = self.lock()) core->agent_.reset();
    });
    // What it handed in itself may not have come by the stream of entries yet.
    node_.get(base_, keep([ended = std::move(ended)](Core& core, int status, const std::string& body) {
                if (status == 200) core.take_session(body);
                core.tell(ended);
              }));
  }

  void take_session(const std::string& body) {
    const auto parsed = json::parse(body);
    if (!parsed) return;
    const json::Node session = parsed->root()["session"];
    const std::string state = text_of(session["state"]), because = text_of(session["ended_because"]);
    if (session["handoff_digest"].is_string() && !session["handoff_digest"].string().empty() && handoffs_ == 0)
      tell(HandedInElsewhere{});
    if (state == "paused") tell(Parked{});
    else if (state == "closed") tell(SessionOver{"handed over", because});
    else if (state == "killed" || state == "abandoned")
      tell(SessionOver{"the session was ended" + (because.empty() ? "" : ": " + because), {}});
  }

  void carry_out(const EndAgent& what) {
    if (!agent_) return;
    if (what.at_once) agent_->kill();
    else agent_->end(options_.grace);
  }

  // --- the node -----------------------------------------------------------------------------------------------------------------------

  void follow() {
    const std::uint64_t from = number_of(claim_.root()["receipt"]["sequence"]) + 1;
    node_.follow({"work/" + outcome_.work_id, "session/" + session_id_}, from,
                 [self = std::weak_ptr<Core>(weak_from_this())](const std::string& data) {
                   if (const auto core = self.lock(); core && !core->gone_) core->take_entry(data);
                 });
  }

  void take_entry(const std::string& data) {
    const auto parsed = json::parse(data);
    if (!parsed) return;
    const json::Node entry = parsed->root(), payload = entry["payload"];
    const std::string type = text_of(entry["type"]);
    const bool ours = payload["session_id"].is_text(session_id_);
    if (type == "session.step" || type == "session.call_started" || type == "session.call_settled") {
      if (type == "session.step") calls_ += payload["calls"].is_array() ? payload["calls"].size() : 0;
      return tell(ShowedLife{ShowedLife::By::Call});
    }
    if (type == "handoff.accepted" && ours && !own_handoffs_.contains(text_of(payload["handoff_id"]))) {
      note_handoff(entry);
      return tell(HandedInElsewhere{});
    }
    if (type == "work.parked" && ours) return tell(Parked{text_of(payload["waits_for"])});
    if (type == "work.answered" && ours) return tell(Answered{text_of(payload["text"])});
    if (const auto ending = ending_in(type, payload, session_id_)) tell(SessionOver{ending->why, ending->outcome});
  }

  void take_claims(json::Node from) {
    const json::Node list = from["claims"], counted = from["claims_counted"];
    outcome_.claims = list ? json::Value::copy(list) : json::Value();
    outcome_.claims_counted = counted ? json::Value::copy(counted) : json::Value();
  }

  // A handoff that came another way than by the output.
  void note_handoff(json::Node entry) {
    const json::Node payload = entry["payload"];
    outcome_.handoff_id = text_of(payload["handoff_id"]);
    outcome_.dialect = text_of(payload["dialect"]);
    outcome_.outcome = text_of(payload["outcome"]);
    outcome_.sequence = number_of(entry["sequence"]);
    take_claims(payload);
    outcome_.hash.clear();
    outcome_.relay.clear();
    const auto dialect = find_dialect(outcome_.dialect);
    if (!dialect || !payload["raw"].is_string()) return;
    Search search(Client::Other, true);  // what the node has recorded
    search.feed(payload["raw"].string());
    const auto found = search.end();
    outcome_.relay = relay_of(*dialect, found ? found->body : std::string(payload["raw"].string()));
  }

  void carry_out(const Renew&) {
    json::Value body = json::Value::object();
    if (options_.ttl_seconds) body.set("ttl_seconds", *options_.ttl_seconds);
    node_.post(base_ + "/renew", body, milliseconds(0), keep([](Core& core, int status, const std::string& answer) {
                 if (status >= 200 && status < 300) return core.tell(Renewed{});
                 const auto parsed = json::parse(answer);
                 if (status == 0 || !parsed) return core.tell(Unheard{answer});
                 const json::Node problem = parsed->root();
                 if (problem["code"].is_text("LEASE_PARKED"))
                   return core.tell(NotRenewed{NotRenewed::Because::Parked, {}});
                 if (problem["code"].is_text("LEASE_NOT_EXTENDED")) return core.tell(Renewed{});
                 if (is_lost(status, problem))
                   return core.tell(NotRenewed{NotRenewed::Because::Lost, core.words_of(status, answer)});
                 core.tell(Unheard{core.words_of(status, answer)});
               }));
  }

  void carry_out(const HandOver& what) {
    node_.post_text(base_ + "/handoff", what.document, kPatience,
                    keep([](Core& core, int status, const std::string& answer) {
                      const auto parsed = json::parse(answer);
                      if (status == 0 || !parsed)
                        return core.tell(Unheard{status == 0 ? answer : "status " + std::to_string(status)});
                      if (status >= 200 && status < 300) return core.handed_over(parsed->root());
                      core.problems_ = problems_in(parsed->root());
                      core.tell(HandoffRefused{listed(core.problems_), is_lost(status, parsed->root())});
                    }));
  }

  void handed_over(json::Node answer) {
    const json::Node handoff = answer["handoff"];
    outcome_.handoff_id = text_of(handoff["id"]);
    outcome_.dialect = text_of(handoff["dialect"]);
    outcome_.outcome = text_of(handoff["outcome"]);
    outcome_.sequence = number_of(answer["receipt"]["sequence"]);
    outcome_.hash = text_of(answer["receipt"]["hash"]);
    outcome_.relay = relay_of(dialect_, body_);
    take_claims(answer);
    ++handoffs_;
    own_handoffs_.insert(outcome_.handoff_id);
    // What is claimed and not shown stands in the outcome.
    for (const json::Node warning : answer["warnings"].elements())
      if (!text_of(warning["code"]).starts_with("CLAIM_")) say("warning: " + text_of(warning["message"]));
    const bool moved = !(outcome_.outcome == "offered" && handoff["mode"].is_text("report"));
    tell(HandoffTaken{outcome_.outcome, moved});
  }

  void carry_out(const EndSession& what) {
    json::Value body = json::Value::object();
    body.set("how", what.failed ? "failed" : "abandoned");
    if (const std::string words = last_words(tail_, limits::kWorkOutputBytesMax); !words.empty())
      body.set("output", words);
    node_.post(base_ + "/end", body, kPatience,
               keep([](Core& core, int status, const std::string& answer) { core.ended(status, answer); }));
  }

  void carry_out(const Release& what) {
    json::Value body = json::Value::object();
    body.set("reason", what.reason);
    node_.post(base_ + "/release", body, kShortPatience,
               keep([](Core& core, int status, const std::string& answer) { core.ended(status, answer); }));
  }

  void ended(int status, const std::string& answer) {
    if (status == 0) {
      say("the node could not be told that the session has ended: " + answer + "; its lease runs out by itself");
      return tell(Unheard{answer});
    }
    tell(SessionEnded{});
  }

  // --- the end ------------------------------------------------------------------------------------------------------------------------------

  void carry_out(const Finish& what) {
    const bool handed_over = what.end == End::Completed || !outcome_.outcome.empty();
    if (!handed_over || outcome_.sequence != 0) return conclude(what.end, what.why);
    // Its entry is on its way.
    wait_.expires_after(kEntryWait);
    wait_.async_wait([self = std::weak_ptr<Core>(weak_from_this()), what](const boost::system::error_code&) {
      if (const auto core = self.lock(); core && !core->gone_) core->conclude(what.end, what.why);
    });
  }

  void conclude(End end, std::string why) {
    if (concluded_) return;
    concluded_ = true;
    node_.stop_following();
    wake_.cancel();
    look_.cancel();
    show_status();
    outcome_.end = end;
    outcome_.why = std::move(why);
    outcome_.repairs = life_->repairs();
    node_.get("/v1/work/" + percent_encoded(outcome_.work_id),
              keep([](Core& core, int status, const std::string& body) {
                const auto parsed = json::parse(body);
                if (status == 200 && parsed) {
                  const json::Node work = parsed->root()["work"];
                  core.outcome_.title = text_of(work["title"]);
                  core.outcome_.phase = text_of(work["phase"]);
                  core.outcome_.state = text_of(work["state"]);
                }
                const auto done = std::exchange(core.done_, {});
                if (done) done(core.outcome_);
              }));
  }

  Shared& shared_;
  const Options& options_;
  const json::Document claim_;
  std::function<void(Outcome)> done_;
  NodeLink node_;
  boost::asio::steady_timer wake_, look_, wait_;
  std::string session_id_, token_, base_, input_file_;
  Owed owed_;
  std::int64_t lease_ns_ = 0;
  std::optional<Life> life_;
  std::optional<RunFolder> folder_;
  std::vector<std::string> environment_, wired_;
  Started first_;
  std::string conversation_;
  std::unique_ptr<Agent> agent_;
  std::optional<Search> search_;
  std::vector<Problem> problems_;  // of the newest handoff
  Dialect dialect_ = Dialect::AgentContract;
  std::string body_, tail_;
  std::set<std::string> own_handoffs_;
  int handoffs_ = 0, rounds_ = 0;
  std::uint64_t calls_ = 0, ticks_ = 0;
  std::int64_t began_ = 0;
  Outcome outcome_;
  bool prepared_ = false, stop_asked_ = false, concluded_ = false, gone_ = false;
};

Run::Run(Shared& shared, json::Document claim, std::function<void(Outcome)> done)
    : core_(std::make_shared<Core>(shared, std::move(claim), std::move(done))) {}
Run::~Run() { core_->abandon(); }
void Run::begin() { core_->begin(); }
void Run::stop() { core_->stop(); }

}  // namespace baton::supervisor
