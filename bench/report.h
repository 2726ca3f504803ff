// SPDX-License-Identifier: Apache-2.0
// The rows of a benchmark: a table for people, a JSON array for programs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace baton::bench {

struct Row {
  std::string metric;
  double value = 0;
  std::string unit;
  std::string peer = {};                  // empty: there is none
  std::optional<double> peer_value = {};  // nothing: the peer could not be had, and `peer` says why
  enum class Ratio { None, OursByPeer, PeerByOurs } of = Ratio::None;
  std::optional<double> at_most = {}, at_least = {};  // the goal for the ratio
  double median = 0;  // of the rounds, of which `value` is the best; for the table only, 0: not stated

  std::optional<double> ratio() const;
  std::optional<bool> met() const;
  std::string goal() const;
};

void print_table(const std::vector<Row>& rows);

// [{"metric","value","unit","peer","peer_value","ratio","goal","met"}, ...]; false when the file cannot be written.
bool write_json(const std::vector<Row>& rows, const std::string& path);

// The file that `./dev bench` wants the rows in (--benchmark_out=FILE); empty: none.
std::string out_file(int argc, char** argv);

}  // namespace baton::bench
