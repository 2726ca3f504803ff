// SPDX-License-Identifier: Apache-2.0
// What the API counts about itself, for /metrics. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "net/http_server.h"
#include "runtime/node.h"

namespace baton::http_api {

class Figures {
 public:
  explicit Figures(std::size_t routes);

  // `route` is its place in the table; the table's size stands for requests that are for none.
  void answered(std::size_t route, unsigned status, std::int64_t nanoseconds);
  void refused(std::string_view code);

  // In seconds, ascending; what is longer is in the last bucket.
  static constexpr std::array kBuckets = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                          0.1,    0.25,  0.5,    1.0,   2.5,  10.0};

  // Appends the families that are counted here.
  void append_to(std::string& out) const;

 private:
  struct OfRoute {
    std::array<std::atomic<std::uint64_t>, kBuckets.size() + 1> buckets{};
    std::atomic<std::int64_t> nanoseconds{0};
  };
  std::vector<std::unique_ptr<OfRoute>> by_route_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::size_t, unsigned>, std::uint64_t> by_status_;
  std::map<std::string, std::uint64_t, std::less<>> refusals_;  // by code: as many as the catalogue has
};

// What the rest of the node says of itself at one moment.
struct NodeSnapshot {
  net::ServerFigures server{};
  runtime::NodeFigures node{};
  json::Value counts = {};  // UseCases::counts()
  std::uint64_t ledger_size = 0, queued = 0, streams = 0;
  double started_at = 0;  // seconds since 1970
  std::uint64_t resident_bytes = 0;
};
// Prometheus text, format 0.0.4.
std::string metrics_text(const Figures& figures, const NodeSnapshot& snapshot, std::string_view version);

// Memory of this process that is in use, in bytes; 0 when the system does not say.
std::uint64_t resident_bytes();

}  // namespace baton::http_api
