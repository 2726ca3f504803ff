// SPDX-License-Identifier: Apache-2.0
// `./dev bench check`: what checking a handoff costs, and what the peers take for it. What the rows mean: README.md
//
//   bench_check [--benchmark_out=FILE]      (FILE: build/bench/check.json)
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "agent_output.h"
#include "base/limits.h"
#include "base/sha256.h"
#include "dialects/agent_contract/contract.h"
#include "dialects/agent_contract/find.h"
#include "dialects/agent_exit/signal.h"
#include "dialects/handoff_spec/spec.h"
#include "dialects/uaix/packet.h"
#include "dialects/uaix/schema.h"
#include "dialects/uaix/text_rules.h"
#include "json/canonical.h"
#include "json/parse.h"
#include "json/value.h"
#include "node_peer.h"
#include "report.h"
#include "secrets/detector.h"
#include "simdjson_trees.h"
#include "timing.h"
#include "transcript/output_scanner.h"

namespace baton::bench {
namespace {

constexpr std::string_view kNow = "2026-11-15T00:00:00Z";
constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t kOutputBytes = 100'000'000;

// A benchmark of something that does not do its work means nothing: it ends here.
void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "bench_check: %s\n", what);
  std::exit(1);
}

std::string read_data(const std::string& name) {
  std::ifstream file(BATON_BENCH_FILES "/data/" + name, std::ios::binary);
  insist(file.good(), ("cannot read bench/data/" + name).c_str());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

double gb_per_s(std::size_t bytes, double ns) { return static_cast<double>(bytes) / ns; }

Row time_row(std::string metric, const Rounds& rounds) {
  return {.metric = std::move(metric), .value = rounds.best(), .unit = "ns", .median = rounds.median()};
}

Row time_row(std::string metric, const Rounds& rounds, std::string peer, const Rounds& its) {
  Row row = time_row(std::move(metric), rounds);
  row.peer = std::move(peer);
  row.peer_value = its.best();
  row.of = Row::Ratio::OursByPeer;
  return row;
}

Row speed_row(std::string metric, std::size_t bytes, const Rounds& rounds, std::string unit) {
  const double scale = unit == "GB/s" ? 1 : 1000;
  return {.metric = std::move(metric),
          .value = scale * gb_per_s(bytes, rounds.best()),
          .unit = std::move(unit),
          .median = scale * gb_per_s(bytes, rounds.median())};
}

// --- a packet and its peers -----------------------------------------------------------------------------------------

// The packet with another summary, sealed again.
std::string with_summary(const json::Document& packet, std::string summary) {
  json::Value value = json::Value::copy(packet.root());
  insist(value.set_at("/body/context_summary", std::move(summary)), "the packet has no summary");
  const auto sealed = uaix::seal(value);
  insist(sealed.has_value(), "the packet cannot be sealed");
  return json::write_pretty(*sealed);
}

std::unique_ptr<NodePeer> start_ajv() {
  const char* skip = std::getenv("BATON_BENCH_SKIP");
  if (skip != nullptr && std::string_view(skip).find("ajv") != std::string_view::npos)
    return std::make_unique<NodePeer>(std::string("node or ajv cannot be had"));
  const std::string files = BATON_BENCH_FILES;
  return std::make_unique<NodePeer>(
      "node",
      std::vector{files + "/peers/ajv.mjs", files + "/peers/uaix-handoff.schema.json", files + "/data/handoff.json"});
}

// Against Node, which measures itself. Its rounds must hold some of its garbage collections, so they are long.
void measure_against_ajv(std::vector<Row>& rows, const std::string& metric, const std::function<void()>& check) {
  const auto node = start_ajv();
  Race race;
  const auto full = race.add(check, 25e6);
  std::size_t from_buffer = 0, from_string = 0;
  if (node->problem().empty()) {
    from_buffer = race.add_round(
        1000, [&](std::size_t repetitions) { return node->ask("buffer " + std::to_string(repetitions), "ns"); });
    from_string = race.add_round(
        1000, [&](std::size_t repetitions) { return node->ask("string " + std::to_string(repetitions), "ns"); });
  }
  race.run(120);
  const auto add = [&](const std::string& from, std::size_t number) {
    Row row = time_row(metric, race[full]);
    row.of = Row::Ratio::PeerByOurs;
    row.at_least = 3.5;
    row.peer = "JSON.parse + ajv, from a " + from;
    if (node->problem().empty()) row.peer_value = race[number].best();
    else row.peer += ": not measured, " + node->problem();
    rows.push_back(std::move(row));
  };
  add("Buffer", from_buffer);
  add("string", from_string);
  if (node->problem().empty()) std::printf("peer: %s\n", node->versions().c_str());
}

void measure_packet(std::vector<Row>& rows) {
  const std::string packet = read_data("handoff.json");
  insist(packet.size() >= 3'900 && packet.size() <= 4'100, "data/handoff.json is not about 4 KB");
  const uaix::Options options{.now = *parse_time(kNow).time, .fixture = false, .known_extensions = {}, .seen = nullptr};
  const auto check = [&options](std::string_view text) { return uaix::check(text, options); };
  const uaix::Checked checked = check(packet);
  insist(checked.valid() && checked.diagnostics.empty(), "data/handoff.json is not a valid packet");
  const json::Node root = checked.document->root();
  const std::string summary(root["body"]["context_summary"].string());
  const std::string with_escape = with_summary(*checked.document, summary + "\nTwo lines."),
                    with_dash = with_summary(*checked.document, summary + " \u2014 so far.");
  insist(check(with_escape).valid() && check(with_dash).valid(), "a variant of the packet is not valid");
  // With the published placeholder for a checksum, and leave to accept it, no seal is computed: what is left is the work
  // that the peers do too, and the look for secrets and claims.
  std::string unsealed = packet;
  const std::string_view stated = root["integrity"]["checksum"].string();
  unsealed.replace(unsealed.find(stated), stated.size(), uaix::kPlaceholderChecksum);
  uaix::Options without_seal = options;
  without_seal.fixture = true;
  insist(uaix::check(unsealed, without_seal).valid(), "the packet is not valid without its seal");
  const auto canonical = json::canonical(root, json::Numbers::Rfc8785);
  insist(canonical.has_value(), "the packet has no canonical form");
  if (secrets::may_hold_secret(packet))
    std::printf("note: the secret detector's first look does not clear the packet\n");
  if (uaix::may_break_text_rules(packet)) std::printf("note: the text rules' first look does not clear the packet\n");

  SimdjsonPeer simdjson(packet);
  insist(simdjson.parse_arena() == checked.document->node_count() &&
             simdjson.parse_ordinary() == checked.document->node_count(),
         "simdjson's trees have not as many nodes as ours");

  Race race;
  const auto full = race.add([&] { keep(check(packet)); });
  const auto arena = race.add([&] { keep(simdjson.parse_arena()); });
  const auto ordinary = race.add([&] { keep(simdjson.parse_ordinary()); });
  const auto tape = race.add([&] { keep(simdjson.parse_tape()); });
  const auto parse = race.add([&] { keep(json::parse(packet)); });
  const auto parse_owned = race.add([&] { keep(json::parse_owned(packet)); });
  std::vector<Diagnostic> none;
  const auto schema = race.add([&] {
    uaix::check_object(root, uaix::envelope_rule(), none);
    uaix::check_object(root["body"], *uaix::body_rule(uaix::kHandoffProfile), none);
  });
  const auto secret = race.add([&] { keep(secrets::may_hold_secret(packet)); });
  const auto words = race.add([&] { keep(uaix::may_break_text_rules(packet)); });
  const auto unattended =
      race.add([&] { keep(uaix::demands_unattended_execution(root["body"]["exact_next_action"].string())); });
  std::string buffer;
  const auto rfc8785 =
      race.add([&] { buffer.clear(), keep(json::append_canonical(buffer, root, json::Numbers::Rfc8785)); });
  const auto exact =
      race.add([&] { buffer.clear(), keep(json::append_canonical(buffer, root, json::Numbers::Exact)); });
  const auto sha = race.add([&] { keep(sha256(*canonical)); });
  const auto seal = race.add([&] { keep(uaix::checksum(root)); });
  const auto open = race.add([&] { keep(uaix::check(unsealed, without_seal)); });
  const auto escape = race.add([&] { keep(check(with_escape)); });
  const auto dash = race.add([&] { keep(check(with_dash)); });
  race.run(300);
  insist(none.empty(), "the packet breaks the schema");

  const std::string size = std::to_string(packet.size()) + " B";
  const std::string check_name = "uaix check, " + size;
  rows.push_back(time_row(check_name, race[full], "simdjson to an owned arena tree", race[arena]));
  rows.back().at_most = 2;
  rows.push_back(time_row(check_name, race[full], "simdjson to an owned std::variant tree", race[ordinary]));
  measure_against_ajv(rows, check_name, [&] { keep(check(packet)); });
  rows.push_back(time_row("uaix check, no seal computed", race[open], "simdjson to an owned arena tree", race[arena]));
  rows.push_back(time_row("uaix check, one escape in a text", race[escape]));
  rows.push_back(time_row("uaix check, one character beyond ASCII", race[dash]));

  rows.push_back(time_row("json parse, " + size, race[parse], "simdjson to an owned arena tree", race[arena]));
  rows.push_back(time_row("json parse, the text copied and kept", race[parse_owned], "simdjson to an owned arena tree",
                          race[arena]));
  rows.push_back(time_row("json parse", race[parse], "simdjson to its tape (not owned)", race[tape]));
  rows.push_back(speed_row("json parse, speed", packet.size(), race[parse], "GB/s"));
  rows.push_back(speed_row("canonical form, RFC 8785, of its " + std::to_string(canonical->size()) + " B",
                           canonical->size(), race[rfc8785], "GB/s"));
  rows.push_back(speed_row("canonical form, exact numbers", canonical->size(), race[exact], "GB/s"));
  rows.push_back(speed_row("secrets, first look at the clean packet", packet.size(), race[secret], "GB/s"));

  rows.push_back(time_row("  of the check: parse", race[parse]));
  rows.push_back(time_row("  of the check: schema", race[schema]));
  rows.push_back(time_row("  of the check: secrets, first look", race[secret]));
  rows.push_back(time_row("  of the check: text rules, first look", race[words]));
  rows.push_back(time_row("  of the check: text rules, exact_next_action", race[unattended]));
  rows.push_back(time_row("  of the check: seal (canonical form and SHA-256)", race[seal]));
  rows.push_back(time_row("  of the seal: canonical form", race[rfc8785]));
  rows.push_back(time_row("  of the seal: SHA-256", race[sha]));
  std::printf("peer: simdjson, its %s kernels\n", SimdjsonPeer::implementation().c_str());
}

// --- the other dialects, and texts ----------------------------------------------------------------------------------

void measure_others(std::vector<Row>& rows) {
  const std::string signal = read_data("signal.json"), message = read_data("contract.md"),
                    spec = read_data("spec.json");
  handoff_spec::Options options;
  options.now = *parse_time(kNow).time;
  insist(agent_exit::check(signal).valid(), "data/signal.json is not a valid signal");
  insist(agent_contract::check(message).valid(), "data/contract.md holds no valid contract");
  insist(handoff_spec::check(spec, options).valid(), "data/spec.json is not a valid spec");

  const std::string prose = prose_text(1 << 20), log = log_text(1 << 20);
  std::vector<std::string_view> strings;  // 1 KB each, of both
  for (std::size_t i = 0; i < 64; ++i)
    strings.push_back(std::string_view(i % 2 == 0 ? prose : log).substr(i * 1024, 1024));
  for (const std::string_view text : strings) insist(secrets::find(text).empty(), "made-up text holds a secret");

  Race race;
  const auto exit = race.add([&] { keep(agent_exit::check(signal)); });
  const auto contract = race.add([&] { keep(agent_contract::check(message)); });
  const auto handoff = race.add([&] { keep(handoff_spec::check(spec, options)); });
  const auto in_prose = race.add([&] { keep(secrets::may_hold_secret(prose)); });
  const auto in_log = race.add([&] { keep(secrets::may_hold_secret(log)); });
  std::size_t next = 0;
  const auto found = race.add([&] { keep(secrets::find(strings[next++ % strings.size()])); });
  race.run(200);

  const auto sized = [](const char* name, const std::string& text) {
    return name + std::to_string(text.size()) + " B";
  };
  rows.push_back(time_row(sized("agent-exit check, a signal of ", signal), race[exit]));
  rows.push_back(time_row(sized("agent-contract check, a message of ", message), race[contract]));
  rows.push_back(time_row(sized("handoff-spec check, a spec of ", spec), race[handoff]));
  const auto look = [](const std::string& text) {
    return secrets::may_hold_secret(text) ? " (not cleared)" : " (cleared)";
  };
  rows.push_back(speed_row(std::string("secrets, first look at 1 MiB of prose") + look(prose), prose.size(),
                           race[in_prose], "GB/s"));
  rows.push_back(
      speed_row(std::string("secrets, first look at 1 MiB of log") + look(log), log.size(), race[in_log], "GB/s"));
  rows.push_back(speed_row("secrets, find() in texts of 1 KB", 1024, race[found], "MB/s"));
}

// --- scanning 100 MB ------------------------------------------------------------------------------------------------

struct Scan {
  double ns = 0;
  double rss_kib = 0;  // by how much the scan raised the peak
};

double peak_rss_kib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss);
}

struct ExitScanner {
  transcript::OutputScanner scanner{limits::kExitSignalBytesMax, agent_exit::is_signal};

  void feed(std::string_view bytes) { scanner.feed(bytes); }
  void end() { scanner.end(); }
  const auto& found() const { return scanner.found(); }
};

// 100 MB of it: `text` over and over, `middle` once after half of it, and `last` at the end.
struct Output {
  std::string text, middle, last;
};

template <class Finder>
Scan scan_once(const Output& output) {
  const double rss = peak_rss_kib(), start = cpu_ns();
  Finder finder;
  std::size_t fed = 0;
  bool half = false;
  while (fed < kOutputBytes) {
    for (std::string_view rest = output.text; !rest.empty(); rest.remove_prefix(std::min(kChunk, rest.size())))
      finder.feed(rest.substr(0, kChunk));
    fed += output.text.size();
    if (!half && fed >= kOutputBytes / 2) {
      finder.feed(output.middle);
      half = true;
    }
  }
  finder.feed(output.last);
  finder.end();
  const Scan scan{(cpu_ns() - start) / static_cast<double>(fed), peak_rss_kib() - rss};
  insist(finder.found().has_value(), "what was to be found in the output was not");
  return scan;
}

// In a process of its own, because a process's peak never falls: a child begins with what it has in memory now.
template <class Finder>
Scan scan_in_child(const Output& output) {
  int channel[2];
  insist(pipe(channel) == 0, "no pipe");
  const pid_t child = fork();
  insist(child >= 0, "no process");
  if (child == 0) {
    const Scan scan = scan_once<Finder>(output);
    _exit(write(channel[1], &scan, sizeof scan) == sizeof scan ? 0 : 1);
  }
  close(channel[1]);
  Scan scan;
  const bool read_all = read(channel[0], &scan, sizeof scan) == sizeof scan;
  close(channel[0]);
  int status = 0;
  waitpid(child, &status, 0);
  insist(read_all && status == 0, "a scan failed");
  return scan;
}

template <class Finder>
void measure_scan(std::vector<Row>& rows, const std::string& name, const Output& output) {
  Rounds rounds;
  double rss_kib = 0;
  for (int i = 0; i < 7; ++i) {
    const Scan scan = scan_in_child<Finder>(output);
    rounds.ns.push_back(scan.ns);
    rss_kib = std::max(rss_kib, scan.rss_kib);
  }
  rows.push_back(speed_row(name, 1, rounds, "MB/s"));
  rows.push_back({.metric = name + ", peak memory grows by", .value = rss_kib, .unit = "KiB"});
}

// A line of a coding agent that says `text`.
std::string result_event(const std::string& text) {
  json::Value event = json::Value::object();
  event.set("type", "result");
  event.set("result", text);
  return json::write(event) + "\n";
}

void measure_scans(std::vector<Row>& rows) {
  const std::string signal = read_data("signal.json"), message = read_data("contract.md");
  const Output log_with_signal{log_text(4 << 20), signal, ""}, log_with_block{log_with_signal.text, message, ""};
  // Here the last message counts, whatever earlier ones held.
  const Output lines_with_signal{transcript_text(4 << 20), "", result_event(signal)};
  const Output lines_with_block{lines_with_signal.text, "", result_event(message)};
  measure_scan<ExitScanner>(rows, "exit signal in 100 MB of log", log_with_signal);
  measure_scan<ExitScanner>(rows, "exit signal in 100 MB of JSON lines", lines_with_signal);
  measure_scan<agent_contract::OutputFinder>(rows, "contract block in 100 MB of log", log_with_block);
  measure_scan<agent_contract::OutputFinder>(rows, "contract block in 100 MB of JSON lines", lines_with_block);
}

}  // namespace
}  // namespace baton::bench

int main(int argc, char** argv) {
  std::string path = baton::bench::out_file(argc, argv);
  if (path.empty()) path = "build/bench/check.json";
  std::vector<baton::bench::Row> rows;
  baton::bench::measure_packet(rows);
  baton::bench::measure_others(rows);
  baton::bench::measure_scans(rows);
  baton::bench::print_table(rows);
  if (!baton::bench::write_json(rows, path)) {
    std::fprintf(stderr, "bench_check: cannot write %s\n", path.c_str());
    return 1;
  }
  return 0;
}
