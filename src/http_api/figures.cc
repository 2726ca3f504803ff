// SPDX-License-Identifier: Apache-2.0
#include "http_api/figures.h"

#include <unistd.h>

#include <cstdio>

#include "http_api/routes.h"

namespace baton::http_api {
namespace {

using std::string_view_literals::operator""sv;

// One family: its help, its type, its samples.
void family(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  for (const std::string_view part : {"# HELP "sv, name, " "sv, help, "\n# TYPE "sv, name, " "sv, type, "\n"sv})
    out += part;
}

void sample(std::string& out, std::string_view name, std::string_view labels, std::string_view value) {
  out += name;
  if (!labels.empty()) out += "{" + std::string(labels) + "}";
  out += " " + std::string(value) + "\n";
}

void single(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            std::uint64_t value) {
  family(out, name, type, help);
  sample(out, name, {}, std::to_string(value));
}

// Values are names of the program's own: none needs escaping.
std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + "\"";
}

std::string decimal(double value, int digits) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return std::string(text.data(), static_cast<std::size_t>(size));
}

std::string route_labels(std::size_t route) {
  if (route >= routes().size()) return "method=\"\",route=\"none\"";
  return label("method", routes()[route].method) + "," + label("route", routes()[route].path);
}

// The members of an object of numbers, as samples with one label.
void by_name(std::string& out, std::string_view name, std::string_view name_of_label, const json::Value* counts) {
  if (counts == nullptr || !counts->is_object()) return;
  for (const auto& [key, value] : counts->members())
    if (value.kind() == json::Kind::Number) sample(out, name, label(name_of_label, key), value.number_text());
}

}  // namespace

Figures::Figures(std::size_t routes) {
  for (std::size_t at = 0; at <= routes; ++at) by_route_.push_back(std::make_unique<OfRoute>());
}

void Figures::answered(std::size_t route, unsigned status, std::int64_t nanoseconds) {
  OfRoute& of = *by_route_[route];
  const double seconds = static_cast<double>(nanoseconds) / 1e9;
  std::size_t bucket = 0;
  while (bucket < kBuckets.size() && seconds > kBuckets[bucket]) ++bucket;
  of.buckets[bucket].fetch_add(1, std::memory_order_relaxed);
  of.nanoseconds.fetch_add(nanoseconds, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  ++by_status_[{route, status}];
}

void Figures::refused(std::string_view code) {
  const std::lock_guard lock(mutex_);
  const auto found = refusals_.find(code);
  if (found != refusals_.end()) ++found->second;
  else refusals_.emplace(code, 1);
}

void Figures::append_to(std::string& out) const {
  {
    const std::lock_guard lock(mutex_);
    family(out, "baton_http_requests_total", "counter", "Requests that were answered, by route and status.");
    for (const auto& [key, count] : by_status_)
      sample(out, "baton_http_requests_total",
             route_labels(key.first) + "," + label("status", std::to_string(key.second)), std::to_string(count));
    family(out, "baton_refusals_total", "counter", "Requests that were refused, by the first code.");
    for (const auto& [code, count] : refusals_)
      sample(out, "baton_refusals_total", label("code", code), std::to_string(count));
  }
  family(out, "baton_http_request_duration_seconds", "histogram",
         "Time from a whole request to its answer. Claims that wait count the waiting.");
  for (std::size_t route = 0; route < by_route_.size(); ++route) {
    const OfRoute& of = *by_route_[route];
    std::uint64_t sum = 0;
    std::string lines;
    for (std::size_t bucket = 0; bucket <= kBuckets.size(); ++bucket) {
      sum += of.buckets[bucket].load(std::memory_order_relaxed);
      const std::string bound = bucket < kBuckets.size() ? decimal(kBuckets[bucket], 4) : "+Inf";
      sample(lines, "baton_http_request_duration_seconds_bucket", route_labels(route) + "," + label("le", bound),
             std::to_string(sum));
    }
    if (sum == 0) continue;  // a route nobody has asked for says nothing
    out += lines;
    sample(out, "baton_http_request_duration_seconds_sum", route_labels(route),
           decimal(static_cast<double>(of.nanoseconds.load(std::memory_order_relaxed)) / 1e9, 9));
    sample(out, "baton_http_request_duration_seconds_count", route_labels(route), std::to_string(sum));
  }
}

std::string metrics_text(const Figures& figures, const NodeSnapshot& snapshot, std::string_view version) {
  std::string out;
  family(out, "baton_build_info", "gauge", "Which Baton this is.");
  sample(out, "baton_build_info", label("version", version), "1");
  family(out, "process_start_time_seconds", "gauge", "When the node started, in seconds since 1970.");
  sample(out, "process_start_time_seconds", {}, decimal(snapshot.started_at, 3));
  single(out, "process_resident_memory_bytes", "gauge", "Memory in use.", snapshot.resident_bytes);

  figures.append_to(out);
  const net::ServerFigures& server = snapshot.server;
  single(out, "baton_http_connections_open", "gauge", "Connections that are open.", server.connections_open);
  single(out, "baton_http_connections_total", "counter", "Connections that were accepted.", server.connections_total);
  single(out, "baton_http_refused_total", "counter", "Requests and connections refused before any route.",
         server.refused_total);
  single(out, "baton_event_streams_open", "gauge", "Event streams that are open.", snapshot.streams);

  single(out, "baton_ledger_entries", "gauge", "Entries of the ledger.", snapshot.ledger_size);
  single(out, "baton_writer_queued", "gauge", "Use cases that wait for the writer.", snapshot.queued);
  const runtime::NodeFigures& node = snapshot.node;
  single(out, "baton_claims_waiting", "gauge", "Claims that wait for work.", node.waiting_claims);
  single(out, "baton_claims_woken_total", "counter", "Waiting claims that were looked at again.", node.claims_woken);
  single(out, "baton_sweeps_total", "counter", "Times that what was due was recorded.", node.sweeps);
  single(out, "baton_webhooks_sent_total", "counter", "Webhooks that arrived.", node.webhooks_sent);
  single(out, "baton_webhooks_failed_total", "counter", "Webhooks that did not arrive.", node.webhooks_failed);
  single(out, "baton_entries_seen_total", "counter", "Entries that were followed.", node.entries_seen);
  family(out, "baton_work_items", "gauge", "Work items, by phase.");
  by_name(out, "baton_work_items", "phase", snapshot.counts.find("work"));
  family(out, "baton_sessions", "gauge", "Sessions, by state.");
  by_name(out, "baton_sessions", "state", snapshot.counts.find("sessions"));
  return out;
}

std::uint64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long long pages = 0;
  const int read = std::fscanf(file, "%*s %llu", &pages);
  std::fclose(file);
  return read == 1 ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace baton::http_api
