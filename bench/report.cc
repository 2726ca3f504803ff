// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "json/value.h"

namespace baton::bench {
namespace {

// Three digits that mean something, and no more.
std::string digits(double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, value >= 100 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return buffer;
}

json::Value number(std::optional<double> value) { return value ? json::Value::number(digits(*value)) : json::Value(); }
json::Value text(const std::string& value) { return value.empty() ? json::Value() : json::Value(value); }

}  // namespace

std::optional<double> Row::ratio() const {
  if (!peer_value || of == Ratio::None) return std::nullopt;
  return of == Ratio::OursByPeer ? value / *peer_value : *peer_value / value;
}

std::optional<bool> Row::met() const {
  const auto have = ratio();
  if (!have || (!at_most && !at_least)) return std::nullopt;
  return (!at_most || *have <= *at_most) && (!at_least || *have >= *at_least);
}

std::string Row::goal() const {
  char buffer[32];
  if (!at_most && !at_least) return "";
  std::snprintf(buffer, sizeof buffer, "%s %g", at_most ? "<=" : ">=", at_most ? *at_most : *at_least);
  return buffer;
}

void print_table(const std::vector<Row>& rows) {
  std::printf("%-58s %9s %-5s %9s  %-52s %9s %6s  %s\n", "metric", "value", "unit", "(median)", "peer", "its value",
              "ratio", "goal");
  for (const Row& row : rows) {
    const auto ratio = row.ratio();
    std::string goal = row.goal();
    if (const auto reached = row.met()) goal += *reached ? ", met" : ", NOT MET";
    else if (!goal.empty()) goal += ", not judged";
    std::printf("%-58s %9s %-5s %9s  %-52s %9s %6s  %s\n", row.metric.c_str(), digits(row.value).c_str(),
                row.unit.c_str(), row.median > 0 ? digits(row.median).c_str() : "", row.peer.c_str(),
                row.peer_value ? digits(*row.peer_value).c_str() : "", ratio ? digits(*ratio).c_str() : "",
                goal.c_str());
  }
}

bool write_json(const std::vector<Row>& rows, const std::string& path) {
  json::Value all = json::Value::array();
  for (const Row& row : rows) {
    json::Value one = json::Value::object();
    one.set("metric", row.metric);
    one.set("value", number(row.value));
    one.set("unit", row.unit);
    one.set("peer", text(row.peer));
    one.set("peer_value", number(row.peer_value));
    one.set("ratio", number(row.ratio()));
    one.set("goal", text(row.goal()));
    const auto met = row.met();
    one.set("met", met ? json::Value(*met) : json::Value());
    all.push(std::move(one));
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << json::write_pretty(all) << '\n';
  file.close();
  return file.good();
}

std::string out_file(int argc, char** argv) {
  constexpr std::string_view kOption = "--benchmark_out=";
  std::string out;
  for (int i = 1; i < argc; ++i)
    if (const std::string_view argument = argv[i]; argument.starts_with(kOption)) out = argument.substr(kOption.size());
  return out;
}

}  // namespace baton::bench
