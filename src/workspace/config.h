// SPDX-License-Identifier: Apache-2.0
// The workspace's configuration: `config.yaml` in the store's folder, or the file given to `baton serve`. Read at start;
// its digest is an entry. Everything has a default: no file is an empty one.
// Reference with every member: docs/reference/config.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "work/policy.h"

namespace baton::workspace {

// GitHub's webhooks of one repository.
struct WebhookSource {
  std::string repository;   // "owner/name"
  std::string secret_file;  // at least 32 bytes; relative to the configuration's folder
};

// Where events are sent.
struct WebhookTarget {
  std::string name;  // a-z, 0-9, `-`; of this configuration
  std::string url;
  std::string secret_file;
  std::vector<std::string> types;    // `work.*`, `session.opened`; none: all
  std::vector<std::string> streams;  // `work/*`; none: all
};

// How many approvals may wait for a decision.
struct ApprovalLimits {
  std::uint64_t per_session = 3;
  std::uint64_t per_workspace = 500;
};

// How much one actor may use; 0: no limit. Operators and the node itself are exempt.
struct ActorLimits {
  std::uint64_t items = 10'000;                            // work items it created that are not completed
  std::uint64_t approvals = 500;                           // approvals it asked for that wait for a decision
  std::uint64_t bytes_per_hour = std::uint64_t{16} << 30;  // entries and blobs that its requests make; of one node
  std::uint64_t requests_per_second = 20'000;              // of one node
};

// What a node holds its clients to (net/http_server.h has what each means).
struct NodeLimits {
  std::uint64_t body_bytes = 1u << 20;
  std::uint64_t header_bytes = 16u << 10;
  std::uint64_t connections = 8192;
  std::uint64_t event_streams = 8192;
  std::uint64_t waiting_claims = 4096;
  std::int64_t read_seconds = 10;
  std::int64_t idle_seconds = 60;
  std::int64_t wait_seconds = 600;  // the longest a claim may wait
  // With less free space on the file system of the store, no work begins; 0: not looked at. Stores in a folder only.
  std::uint64_t disk_free_bytes = std::uint64_t{256} << 20;
  ActorLimits per_actor;
};

struct Config {
  work::Policy policy;
  bool exit_protocol_stated = false;  // does the file say anything about it?
  std::vector<WebhookSource> webhooks_in;
  std::vector<WebhookTarget> webhooks_out;
  std::vector<std::string> witnesses;
  NodeLimits limits;
  ApprovalLimits approvals;
  bool fast_lane_reads = false;  // reads on which nothing depends are recorded a little after they were answered
  std::string digest;            // SHA-256 of the file's bytes, hexadecimal; of nothing when there is no file
};

struct ReadConfig {
  std::vector<Diagnostic> diagnostics;  // CONFIG_*: all faults, with line and column; any error: nothing may start
  Config config;
};
// Pure: reads the text. `secret_file` is kept as written.
ReadConfig read_config(std::string_view yaml);

// The same with what the environment says about the exit protocol: `flag` is AGENT_EXIT_PROTOCOL_ENABLED, null: not set.
void apply_flag(Config& config, const char* flag);

// Does a name match a pattern of a configuration: equal, or a prefix when the pattern ends in `*`?
bool matches(std::string_view pattern, std::string_view name);

}  // namespace baton::workspace
