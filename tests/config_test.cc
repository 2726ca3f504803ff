// SPDX-License-Identifier: Apache-2.0
// The workspace's configuration: each member taken and refused, every fault at its place; the rules' questions to a policy.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/limits.h"
#include "base/sha256.h"
#include "workspace/config.h"
#include "workspace/paths.h"

namespace baton::workspace {
namespace {

using work::Phase;

std::string shown(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!out.empty()) out += "; ";
    out += info(diagnostic.code).name;
    out += "@" + std::to_string(diagnostic.place.line) + ":" + std::to_string(diagnostic.place.column);
    if (!diagnostic.place.pointer.empty()) out += " " + diagnostic.place.pointer;
    EXPECT_FALSE(diagnostic.help.empty());
  }
  return out;
}

Config taken(std::string_view yaml) {
  ReadConfig read = read_config(yaml);
  EXPECT_EQ(shown(read.diagnostics), "") << yaml;
  return std::move(read.config);
}

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

// --- taken ------------------------------------------------------------------------------------------------------------

TEST(config, nothing_is_all_defaults) {
  for (const std::string_view yaml : {"", "# nothing\n", "{}", "---\n"}) {
    const Config config = taken(yaml);
    EXPECT_FALSE(config.policy.exit_protocol);
    EXPECT_FALSE(config.exit_protocol_stated);
    EXPECT_EQ(config.policy.lease_ttl, 600 * kSecond);
    EXPECT_EQ(config.policy.max_parked, 7 * 86'400 * kSecond);
    EXPECT_EQ(config.policy.max_attempts, 3u);
    EXPECT_EQ(config.policy.roles.size(), 1u);
    EXPECT_EQ(config.limits.body_bytes, 1u << 20);
    EXPECT_EQ(config.limits.wait_seconds, 600);
    EXPECT_EQ(config.limits.disk_free_bytes, 256u << 20);
    EXPECT_EQ(config.limits.per_actor.items, 10'000u);
    EXPECT_EQ(config.limits.per_actor.approvals, 500u);
    EXPECT_EQ(config.limits.per_actor.bytes_per_hour, std::uint64_t{16} << 30);
    EXPECT_EQ(config.limits.per_actor.requests_per_second, 20'000u);
    EXPECT_EQ(config.approvals.per_session, 3u);
    EXPECT_EQ(config.approvals.per_workspace, 500u);
    EXPECT_FALSE(config.fast_lane_reads);
    EXPECT_EQ(config.digest, sha256_hex(yaml));
  }
  EXPECT_EQ(taken("").digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(config, every_member_is_read) {
  const Config config = taken(R"yaml(
exit_protocol: true
lease: {ttl: 90s, max_parked: 2h}
max_attempts: 7
allow_self_review: true
review_by: operator
roles:
  implementer: {phases: [DRAFT, IMPLEMENTATION], pack: coding, reads: ["*"], writes: [project, risks]}
  reviewer: {phases: [READY_FOR_REVIEW, REVIEW, READY_FOR_MERGE], writes: []}
  x-note: nobody reads this
required_checks: [build, "test (ubuntu, 22.04)"]
webhooks:
  in: [{repository: Owner-1/na.me_2, secret_file: secrets/github}]
  out:
    - {name: ops, url: "https://hooks.example.com/baton", secret_file: secrets/ops, types: ["work.*"], streams: ["work/*"]}
    - {name: here, url: "http://127.0.0.1:8080", secret_file: /etc/baton/here}
witness: ["folder:/a", "git:/b", "https://w.example.com/", "http://[::1]:1/x", "file:///var/lib/witness"]
limits: {body_bytes: 2048, header_bytes: 1024, connections: 1, event_streams: 0, waiting_claims: 2, read_seconds: 3, idle_seconds: 4, wait_seconds: 5, disk_free_bytes: 6, per_actor: {items: 7, approvals: 8, bytes_per_hour: 9, requests_per_second: 10}}
approvals: {per_session: 11, per_workspace: 12}
fast_lane: {reads: true}
x-anything: {at: all}
)yaml");
  const work::Policy& policy = config.policy;
  EXPECT_TRUE(policy.exit_protocol);
  EXPECT_TRUE(config.exit_protocol_stated);
  EXPECT_EQ(policy.lease_ttl, 90 * kSecond);
  EXPECT_EQ(policy.max_parked, 7'200 * kSecond);
  EXPECT_EQ(policy.max_attempts, 7u);
  EXPECT_TRUE(policy.allow_self_review);
  EXPECT_TRUE(policy.review_by_operator);
  ASSERT_EQ(policy.roles.size(), 2u);
  EXPECT_EQ(policy.roles[0].name, "implementer");
  EXPECT_EQ(policy.roles[0].phases, (std::vector{Phase::Draft, Phase::Implementation}));
  EXPECT_EQ(policy.roles[0].pack, "coding");
  EXPECT_EQ(policy.roles[0].writable, (std::vector<std::string>{"project", "risks"}));
  EXPECT_EQ(policy.roles[1].readable, std::vector<std::string>{"*"});
  EXPECT_TRUE(policy.roles[1].writable.empty());
  EXPECT_EQ(policy.required_checks, (std::vector<std::string>{"build", "test (ubuntu, 22.04)"}));
  ASSERT_EQ(config.webhooks_in.size(), 1u);
  EXPECT_EQ(config.webhooks_in[0].repository, "Owner-1/na.me_2");
  EXPECT_EQ(config.webhooks_in[0].secret_file, "secrets/github");
  ASSERT_EQ(config.webhooks_out.size(), 2u);
  EXPECT_EQ(config.webhooks_out[0].url, "https://hooks.example.com/baton");
  EXPECT_EQ(config.webhooks_out[0].types, std::vector<std::string>{"work.*"});
  EXPECT_EQ(config.webhooks_out[0].streams, std::vector<std::string>{"work/*"});
  EXPECT_EQ(config.webhooks_out[1].name, "here");
  EXPECT_TRUE(config.webhooks_out[1].types.empty());
  EXPECT_EQ(config.witnesses, (std::vector<std::string>{"folder:/a", "git:/b", "https://w.example.com/",
                                                        "http://[::1]:1/x", "folder:/var/lib/witness"}));
  EXPECT_EQ(config.limits.body_bytes, 2048u);
  EXPECT_EQ(config.limits.header_bytes, 1024u);
  EXPECT_EQ(config.limits.connections, 1u);
  EXPECT_EQ(config.limits.event_streams, 0u);
  EXPECT_EQ(config.limits.waiting_claims, 2u);
  EXPECT_EQ(config.limits.read_seconds, 3);
  EXPECT_EQ(config.limits.idle_seconds, 4);
  EXPECT_EQ(config.limits.wait_seconds, 5);
  EXPECT_EQ(config.limits.disk_free_bytes, 6u);
  EXPECT_EQ(config.limits.per_actor.items, 7u);
  EXPECT_EQ(config.limits.per_actor.approvals, 8u);
  EXPECT_EQ(config.limits.per_actor.bytes_per_hour, 9u);
  EXPECT_EQ(config.limits.per_actor.requests_per_second, 10u);
  EXPECT_EQ(config.approvals.per_session, 11u);
  EXPECT_EQ(config.approvals.per_workspace, 12u);
  EXPECT_TRUE(config.fast_lane_reads);
}

// At the edge of its range each value is taken; TEST(config, each_fault_at_its_place) has the values beyond.
TEST(config, ranges_hold_their_ends) {
  for (const std::string_view yaml : {"lease: {ttl: 1s}",
                                      "lease: {ttl: 24h}",
                                      "lease: {ttl: 1d}",
                                      "lease: {max_parked: 60s}",
                                      "lease: {max_parked: 30d}",
                                      "max_attempts: 1",
                                      "max_attempts: 100",
                                      "limits: {body_bytes: 67108864}",
                                      "limits: {header_bytes: 65536}",
                                      "limits: {connections: 65536}",
                                      "limits: {event_streams: 65536}",
                                      "limits: {waiting_claims: 0}",
                                      "limits: {read_seconds: 300}",
                                      "limits: {idle_seconds: 3600}",
                                      "limits: {wait_seconds: 3600}",
                                      "limits: {disk_free_bytes: 0}",
                                      "limits: {disk_free_bytes: 1125899906842624}",
                                      "limits: {per_actor: {}}",
                                      "limits: {per_actor: {items: 0}}",
                                      "limits: {per_actor: {approvals: 10000}}",
                                      "limits: {per_actor: {bytes_per_hour: 1125899906842624}}",
                                      "limits: {per_actor: {requests_per_second: 10000000}}",
                                      "approvals: {per_session: 1, per_workspace: 1}",
                                      "approvals: {per_session: 64, per_workspace: 10000}",
                                      "webhooks: {in: []}",
                                      "webhooks: {}",
                                      "witness: []",
                                      "required_checks: []",
                                      "review_by: anyone"})
    taken(yaml);
}

// --- refused ----------------------------------------------------------------------------------------------------------

struct Refusal {
  std::string_view yaml;
  std::string_view found;
};
const Refusal kRefusals[] = {
    // the whole
    {"[1]", "CONFIG_FIELD_TYPE@1:1"},
    {"text", "CONFIG_FIELD_TYPE@1:1"},
    {"max_attemps: 3", "CONFIG_FIELD_UNKNOWN@1:1 /max_attemps"},
    {"lease: {ttl: 1m, tll: 2m}", "CONFIG_FIELD_UNKNOWN@1:18 /lease/tll"},
    {"limits: {bytes: 1}", "CONFIG_FIELD_UNKNOWN@1:10 /limits/bytes"},
    {"a: 1\na: 2\n", "YAML_DUPLICATE_KEY@2:1 /a"},
    {"witness: [", "YAML_SYNTAX@1:11"},
    // each member
    {"exit_protocol: 1", "CONFIG_FIELD_TYPE@1:16 /exit_protocol"},
    {"exit_protocol:\n", "CONFIG_FIELD_TYPE@1:15 /exit_protocol"},
    {"exit_protocol: yes", "YAML_AMBIGUOUS@1:16 /exit_protocol; CONFIG_FIELD_TYPE@1:16 /exit_protocol"},
    {"lease: 10m", "CONFIG_FIELD_TYPE@1:8 /lease"},
    {"lease: {ttl: 600}", "CONFIG_FIELD_TYPE@1:14 /lease/ttl"},
    {"lease: {ttl: 10}", "CONFIG_FIELD_TYPE@1:14 /lease/ttl"},
    {"lease: {ttl: 10 m}", "CONFIG_FIELD_VALUE@1:14 /lease/ttl"},
    {"lease: {ttl: -1m}", "CONFIG_FIELD_VALUE@1:14 /lease/ttl"},
    {"lease: {ttl: 1.5h}", "CONFIG_FIELD_VALUE@1:14 /lease/ttl"},
    {"lease: {ttl: m}", "CONFIG_FIELD_VALUE@1:14 /lease/ttl"},
    {"lease: {ttl: 1w}", "CONFIG_FIELD_VALUE@1:14 /lease/ttl"},
    {"lease: {ttl: 9999999999999999999d}", "CONFIG_FIELD_VALUE@1:14 /lease/ttl"},
    {"lease: {ttl: 0s}", "CONFIG_FIELD_RANGE@1:14 /lease/ttl"},
    {"lease: {ttl: 25h}", "CONFIG_FIELD_RANGE@1:14 /lease/ttl"},
    {"lease: {ttl: 86401s}", "CONFIG_FIELD_RANGE@1:14 /lease/ttl"},
    {"lease: {max_parked: 59s}", "CONFIG_FIELD_RANGE@1:21 /lease/max_parked"},
    {"lease: {max_parked: 31d}", "CONFIG_FIELD_RANGE@1:21 /lease/max_parked"},
    {"max_attempts: 0", "CONFIG_FIELD_RANGE@1:15 /max_attempts"},
    {"max_attempts: 101", "CONFIG_FIELD_RANGE@1:15 /max_attempts"},
    {"max_attempts: 2.5", "CONFIG_FIELD_RANGE@1:15 /max_attempts"},
    {"max_attempts: 99999999999999999999", "CONFIG_FIELD_RANGE@1:15 /max_attempts"},
    {"max_attempts: \"3\"", "CONFIG_FIELD_TYPE@1:15 /max_attempts"},
    {"allow_self_review: \"true\"", "CONFIG_FIELD_TYPE@1:20 /allow_self_review"},
    {"review_by: nobody", "CONFIG_FIELD_VALUE@1:12 /review_by"},
    {"review_by: true", "CONFIG_FIELD_TYPE@1:12 /review_by"},
    {"required_checks: build", "CONFIG_FIELD_TYPE@1:18 /required_checks"},
    {"required_checks: [build, 7]", "CONFIG_FIELD_TYPE@1:26 /required_checks/1"},
    {"required_checks: [a, b, a]", "CONFIG_FIELD_VALUE@1:25 /required_checks/2"},
    {"required_checks: [\" \"]", "CONFIG_FIELD_VALUE@1:19 /required_checks/0"},
    {"required_checks: [\"a\\nb\"]", "CONFIG_FIELD_VALUE@1:19 /required_checks/0"},
    {"witness: folder:/x", "CONFIG_FIELD_TYPE@1:10 /witness"},
    {"witness: [\"folder:x\"]", "CONFIG_FIELD_VALUE@1:11 /witness/0"},
    {"witness: [\"file:/x\"]", "CONFIG_FIELD_VALUE@1:11 /witness/0"},
    {"witness: [\"/x\"]", "CONFIG_FIELD_VALUE@1:11 /witness/0"},
    {"witness: [\"http://w.example.com\"]", "CONFIG_FIELD_VALUE@1:11 /witness/0"},
    {"limits: []", "CONFIG_FIELD_TYPE@1:9 /limits"},
    {"limits: {body_bytes: 1023}", "CONFIG_FIELD_RANGE@1:22 /limits/body_bytes"},
    {"limits: {body_bytes: 67108865}", "CONFIG_FIELD_RANGE@1:22 /limits/body_bytes"},
    {"limits: {header_bytes: 65537}", "CONFIG_FIELD_RANGE@1:24 /limits/header_bytes"},
    {"limits: {connections: 0}", "CONFIG_FIELD_RANGE@1:23 /limits/connections"},
    {"limits: {event_streams: -1}", "CONFIG_FIELD_RANGE@1:25 /limits/event_streams"},
    {"limits: {waiting_claims: 65537}", "CONFIG_FIELD_RANGE@1:26 /limits/waiting_claims"},
    {"limits: {read_seconds: 0}", "CONFIG_FIELD_RANGE@1:24 /limits/read_seconds"},
    {"limits: {idle_seconds: 3601}", "CONFIG_FIELD_RANGE@1:24 /limits/idle_seconds"},
    {"limits: {wait_seconds: 10s}", "CONFIG_FIELD_TYPE@1:24 /limits/wait_seconds"},
    {"limits: {disk_free_bytes: -1}", "CONFIG_FIELD_RANGE@1:27 /limits/disk_free_bytes"},
    {"limits: {disk_free_bytes: 256 MiB}", "CONFIG_FIELD_TYPE@1:27 /limits/disk_free_bytes"},
    {"limits: {per_actor: 5}", "CONFIG_FIELD_TYPE@1:21 /limits/per_actor"},
    {"limits: {per_actor: {item: 5}}", "CONFIG_FIELD_UNKNOWN@1:22 /limits/per_actor/item"},
    {"limits: {per_actor: {items: -1}}", "CONFIG_FIELD_RANGE@1:29 /limits/per_actor/items"},
    {"limits: {per_actor: {approvals: 10001}}", "CONFIG_FIELD_RANGE@1:33 /limits/per_actor/approvals"},
    {"limits: {per_actor: {bytes_per_hour: 1125899906842625}}",
     "CONFIG_FIELD_RANGE@1:38 /limits/per_actor/bytes_per_hour"},
    {"limits: {per_actor: {requests_per_second: 1.5}}",
     "CONFIG_FIELD_RANGE@1:43 /limits/per_actor/requests_per_second"},
    {"approvals: 3", "CONFIG_FIELD_TYPE@1:12 /approvals"},
    {"approvals: {per_session: 0}", "CONFIG_FIELD_RANGE@1:26 /approvals/per_session"},
    {"approvals: {per_session: 65}", "CONFIG_FIELD_RANGE@1:26 /approvals/per_session"},
    {"approvals: {per_workspace: 0}", "CONFIG_FIELD_RANGE@1:28 /approvals/per_workspace"},
    {"approvals: {per_workspace: 10001}", "CONFIG_FIELD_RANGE@1:28 /approvals/per_workspace"},
    {"approvals: {per_item: 1}", "CONFIG_FIELD_UNKNOWN@1:13 /approvals/per_item"},
    // webhooks
    {"webhooks: []", "CONFIG_FIELD_TYPE@1:11 /webhooks"},
    {"webhooks: {in: {}}", "CONFIG_FIELD_TYPE@1:16 /webhooks/in"},
    {"webhooks: {in: [x]}", "CONFIG_FIELD_TYPE@1:17 /webhooks/in/0"},
    {"webhooks: {into: []}", "CONFIG_FIELD_UNKNOWN@1:12 /webhooks/into"},
    {"webhooks: {in: [{}]}",
     "CONFIG_FIELD_MISSING@1:17 /webhooks/in/0/repository; CONFIG_FIELD_MISSING@1:17 /webhooks/in/0/secret_file"},
    {"webhooks: {in: [{repository: name, secret_file: f}]}", "CONFIG_FIELD_VALUE@1:30 /webhooks/in/0/repository"},
    {"webhooks: {in: [{repository: a/b/c, secret_file: f}]}", "CONFIG_FIELD_VALUE@1:30 /webhooks/in/0/repository"},
    {"webhooks: {in: [{repository: a/.., secret_file: f}]}", "CONFIG_FIELD_VALUE@1:30 /webhooks/in/0/repository"},
    {"webhooks: {in: [{repository: a/b, secret_file: ''}]}", "CONFIG_FIELD_VALUE@1:48 /webhooks/in/0/secret_file"},
    {"webhooks: {in: [{repository: a/b, secret_file: f, secret: s}]}",
     "CONFIG_FIELD_UNKNOWN@1:51 /webhooks/in/0/secret"},
    {"webhooks: {in: [{repository: a/b, secret_file: f}, {repository: A/B, secret_file: g}]}",
     "CONFIG_FIELD_VALUE@1:65 /webhooks/in/1/repository"},
    {"webhooks: {out: [{}]}",
     "CONFIG_FIELD_MISSING@1:18 /webhooks/out/0/name; CONFIG_FIELD_MISSING@1:18 /webhooks/out/0/url; "
     "CONFIG_FIELD_MISSING@1:18 /webhooks/out/0/secret_file"},
    {"webhooks: {out: [{name: Ops, url: 'https://h', secret_file: f}]}",
     "CONFIG_FIELD_VALUE@1:25 /webhooks/out/0/name"},
    {"webhooks:\n  out:\n  - {name: a, url: 'https://h', secret_file: f}\n  - {name: a, url: 'https://h', secret_file: "
     "f}",
     "CONFIG_FIELD_VALUE@4:12 /webhooks/out/1/name"},
    {"webhooks: {out: [{name: a, url: 'https://h', secret_file: f, types: ['w*k'], streams: ['*/a', 1]}]}",
     "CONFIG_FIELD_VALUE@1:70 /webhooks/out/0/types/0; CONFIG_FIELD_VALUE@1:88 /webhooks/out/0/streams/0; "
     "CONFIG_FIELD_TYPE@1:95 /webhooks/out/0/streams/1"},
    // everything at once, in the order of the file
    {"max_attempts: 0\nzzz: 1\nlease: {ttl: x}\n",
     "CONFIG_FIELD_RANGE@1:15 /max_attempts; CONFIG_FIELD_UNKNOWN@2:1 /zzz; CONFIG_FIELD_VALUE@3:14 /lease/ttl"},
};

TEST(config, each_fault_at_its_place) {
  for (const Refusal& refusal : kRefusals) {
    const ReadConfig read = read_config(refusal.yaml);
    EXPECT_EQ(shown(read.diagnostics), refusal.found) << refusal.yaml;
    EXPECT_TRUE(has_errors(read.diagnostics)) << refusal.yaml;
  }
}

// All phases, so that nothing but the fault is found.
std::string with_roles(std::string_view first, std::string_view second = "phases: [REVIEW, READY_FOR_MERGE]") {
  return "roles:\n  one: {" + std::string(first) + "}\n  two: {" + std::string(second) + "}\n";
}

TEST(config, roles_are_checked) {
  const std::string_view all = "phases: [DRAFT, IMPLEMENTATION, READY_FOR_REVIEW]";
  const std::string base(all);
  const std::pair<std::string, std::string_view> cases[] = {
      {with_roles(base), ""},
      {with_roles(base + ", pack: a.b-c"), ""},
      {with_roles(base + ", pack: ../x"), "CONFIG_FIELD_VALUE@2:66 /roles/one/pack"},
      {with_roles(base + ", pack: 1"), "CONFIG_FIELD_TYPE@2:66 /roles/one/pack"},
      {with_roles(base + ", reads: x"), "CONFIG_FIELD_TYPE@2:67 /roles/one/reads"},
      {with_roles(base + ", reads: ['a*']"), "CONFIG_FIELD_VALUE@2:68 /roles/one/reads/0"},
      {with_roles(base + ", writes: ['']"), "CONFIG_FIELD_VALUE@2:69 /roles/one/writes/0"},
      {with_roles(base + ", write: []"), "CONFIG_FIELD_UNKNOWN@2:60 /roles/one/write"},
      {with_roles(base, "phases: [REVIEW, READY_FOR_MERGE, DRAFT]"), "CONFIG_FIELD_VALUE@3:43 /roles/two/phases/2"},
      {with_roles(base, "phases: [REVIEW, READY_FOR_MERGE, REVIEW]"), "CONFIG_FIELD_VALUE@3:43 /roles/two/phases/2"},
      {with_roles(base, "phases: [REVIEW, READY_FOR_MERGE, Done]"), "CONFIG_FIELD_VALUE@3:43 /roles/two/phases/2"},
      {with_roles(base, "phases: [REVIEW, READY_FOR_MERGE, 1]"), "CONFIG_FIELD_TYPE@3:43 /roles/two/phases/2"},
      {with_roles(base) + "  three: {phases: []}\n", "CONFIG_FIELD_RANGE@4:19 /roles/three/phases"},
      {with_roles(base) + "  three: {pack: p}\n", "CONFIG_FIELD_MISSING@4:10 /roles/three/phases"},
      {with_roles(base) + "  three:\n", "CONFIG_FIELD_TYPE@4:9 /roles/three"},
      {with_roles(base) + "  Three: {phases: [BLOCKED]}\n", "CONFIG_FIELD_VALUE@4:3 /roles/Three"},
      {with_roles(base) + "  " + std::string(32, 'a') + ": {phases: [BLOCKED]}\n", ""},
      {with_roles(base) + "  " + std::string(33, 'a') + ": {phases: [BLOCKED]}\n",
       "CONFIG_FIELD_VALUE@4:3 /roles/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
      {with_roles(base) + "  x-three: anything\n", ""},
      {"roles: [a]", "CONFIG_FIELD_TYPE@1:8 /roles"},
  };
  for (const auto& [yaml, found] : cases) EXPECT_EQ(shown(read_config(yaml).diagnostics), found) << yaml;
}

TEST(config, phases_nobody_takes_are_a_warning) {
  const ReadConfig read = read_config("roles: {a: {phases: [DRAFT, IMPLEMENTATION, REVIEW]}}");
  EXPECT_EQ(shown(read.diagnostics), "CONFIG_PHASE_UNASSIGNED@1:8 /roles; CONFIG_PHASE_UNASSIGNED@1:8 /roles");
  EXPECT_FALSE(has_errors(read.diagnostics));
  EXPECT_NE(read.diagnostics.at(0).message.find("READY_FOR_REVIEW"), std::string::npos);
  EXPECT_NE(read.diagnostics.at(1).message.find("READY_FOR_MERGE"), std::string::npos);
  EXPECT_EQ(read.config.policy.role_of(Phase::ReadyForMerge), nullptr);
  EXPECT_EQ(read_config("roles: {}").diagnostics.size(), 5u);
}

TEST(config, only_https_or_this_machine) {
  const auto fault = [](std::string_view url) {
    const std::string yaml = "webhooks: {out: [{name: a, secret_file: f, url: '" + std::string(url) + "'}]}";
    const ReadConfig read = read_config(yaml);
    if (read.diagnostics.empty()) return std::string();
    EXPECT_EQ(shown(read.diagnostics), "CONFIG_FIELD_VALUE@1:49 /webhooks/out/0/url") << url;
    return read.diagnostics.at(0).message;
  };
  for (const std::string_view url : {"https://a", "https://hooks.example.com/x/y?z=1", "https://a:8443/",
                                     "https://[2001:db8::1]:443/x", "http://localhost", "http://localhost:80/x",
                                     "http://127.0.0.1:1/", "http://127.255.0.9", "http://[::1]:8080/x"})
    EXPECT_EQ(fault(url), "") << url;
  for (const std::string_view url : {"",
                                     "ftp://a",
                                     "HTTPS://a",
                                     "a.example.com",
                                     "https://",
                                     "https:///x",
                                     "https://a b",
                                     "https://a#x",
                                     "https://a:",
                                     "https://a:0",
                                     "https://a:65536",
                                     "https://a:x",
                                     "https://-a",
                                     "https://u:hunter2@a/x",
                                     "https://a_b",
                                     "http://a",
                                     "http://127.0.0.1.example.com",
                                     "http://127.0.0",
                                     "http://127.0.0.256",
                                     "http://127.0.0.01",
                                     "http://localhost.example.com",
                                     "http://localhost:80@example.com/",
                                     "http://127.0.0.1\\@example.com/",
                                     "https://a?x",
                                     "http://localhost?@example.com/",
                                     "http://[::2]",
                                     "http://10.0.0.1",
                                     "https://\u00e4.example.com"})
    EXPECT_NE(fault(url), "") << url;
  EXPECT_EQ(fault("https://u:hunter2@a/x").find("hunter2"), std::string::npos) << "an address is never quoted";
  EXPECT_NE(fault("https://a/" + std::string(2048, 'x')), "");
}

TEST(config, what_may_be_secret_is_never_quoted) {
  const std::string_view secret = "hunter2";
  for (const std::string_view yaml :
       {"webhooks: {in: [{repository: a/b, secret_file: f, secret: hunter2}]}",
        "webhooks: {in: [{repository: a/b, secret_file: \"hunter2\\n\"}]}", "webhooks: {in: [hunter2]}",
        "witness: ['https://u:hunter2@a/x']", "witness: ['hunter2']", "max_attempts: hunter2"}) {
    const ReadConfig read = read_config(yaml);
    ASSERT_FALSE(read.diagnostics.empty()) << yaml;
    for (const Diagnostic& diagnostic : read.diagnostics)
      EXPECT_EQ((diagnostic.message + diagnostic.help).find(secret), std::string::npos) << yaml;
  }
}

TEST(config, many_faults_are_bounded) {
  std::string yaml;
  for (int i = 0; i < 50'000; ++i) yaml += "unknown" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(read_config(yaml).diagnostics.size(), limits::kDiagnosticsMax);
}

// --- the flag, patterns, policies -------------------------------------------------------------------------------------

TEST(config, the_environment_wins_then_the_file_then_off) {
  const auto enabled = [](std::string_view yaml, const char* flag) {
    Config config = taken(yaml);
    apply_flag(config, flag);
    return config.policy.exit_protocol;
  };
  EXPECT_FALSE(enabled("", nullptr));
  EXPECT_TRUE(enabled("", "true"));
  EXPECT_TRUE(enabled("", "YES"));
  EXPECT_TRUE(enabled("exit_protocol: true", nullptr));
  EXPECT_FALSE(enabled("exit_protocol: true", "false"));
  EXPECT_FALSE(enabled("exit_protocol: true", "0"));
  EXPECT_FALSE(enabled("exit_protocol: true", ""));
  EXPECT_FALSE(enabled("exit_protocol: false", nullptr));
  EXPECT_TRUE(enabled("exit_protocol: false", "1"));
}

TEST(config, patterns_are_names_or_beginnings) {
  EXPECT_TRUE(matches("work.created", "work.created"));
  EXPECT_FALSE(matches("work.created", "work.created2"));
  EXPECT_TRUE(matches("work.*", "work.created"));
  EXPECT_TRUE(matches("work.*", "work."));
  EXPECT_FALSE(matches("work.*", "work"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("", "work"));
}

TEST(policy, the_default_role_takes_and_sees_everything) {
  const work::Policy policy;
  for (const Phase phase : agent_exit::kPhases) {
    ASSERT_NE(policy.role_of(phase), nullptr);
    EXPECT_EQ(policy.role_of(phase)->name, "agent");
  }
  ASSERT_NE(policy.find_role("agent"), nullptr);
  EXPECT_EQ(policy.find_role("Agent"), nullptr);
  EXPECT_TRUE(policy.find_role("agent")->reads("anything"));
  EXPECT_TRUE(policy.find_role("agent")->writes("anything"));
}

TEST(policy, a_role_sees_its_sections) {
  const work::Policy policy = taken(
                                  "roles: {a: {phases: [DRAFT, IMPLEMENTATION, READY_FOR_REVIEW, REVIEW, "
                                  "READY_FOR_MERGE], reads: [project, risks], writes: []}}")
                                  .policy;
  const work::Role* role = policy.role_of(Phase::Review);
  ASSERT_NE(role, nullptr);
  EXPECT_EQ(role, policy.find_role("a"));
  EXPECT_TRUE(role->reads("project"));
  EXPECT_FALSE(role->reads("proj"));
  EXPECT_FALSE(role->reads("*x"));
  EXPECT_FALSE(role->writes("project"));
  EXPECT_EQ(policy.role_of(Phase::CiPending), nullptr);
}

// --- who else can write -------------------------------------------------------------------------------------------------

struct PathCase {
  SeenPath seen;
  std::string_view found;    // codes
  std::string_view command;  // that the message names
};
constexpr std::int64_t kOwn = 1000;
const PathCase kPaths[] = {
    {{"/s", PathRole::StoreFolder, 0700, kOwn}, "", ""},
    // To enter and to read is no matter of this: a second socket may need it.
    {{"/s", PathRole::StoreFolder, 0755, kOwn}, "", ""},
    {{"/s", PathRole::StoreFolder, 0710, kOwn}, "", ""},
    {{"/s", PathRole::StoreFolder, 0770, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s"},
    {{"/s", PathRole::StoreFolder, 0720, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s"},
    {{"/s", PathRole::StoreFolder, 0702, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s"},
    // Into a sticky folder others could put what is not there yet, a configuration for instance.
    {{"/s", PathRole::StoreFolder, 01777, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s"},
    {{"/s", PathRole::StoreFolder, 0700, 0}, "", ""},
    {{"/s", PathRole::StoreFolder, 0700, 1001}, "NODE_PATH_OWNER", "id 1001"},
    {{"/s", PathRole::StoreFolder, 0777, 1001}, "NODE_PATH_OWNER NODE_PATH_WRITABLE", ""},
    {{"/s/ledger.db", PathRole::StoreFile, 0600, kOwn}, "", ""},
    {{"/s/ledger.db", PathRole::StoreFile, 0660, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s/ledger.db"},
    {{"/s/config.yaml", PathRole::Configuration, 0644, kOwn}, "", ""},
    {{"/s/config.yaml", PathRole::Configuration, 0664, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s/config.yaml"},
    {{"/s/config.yaml", PathRole::Configuration, 0646, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w /s/config.yaml"},
    {{"/etc/baton.yaml", PathRole::Configuration, 0644, 0}, "", ""},
    {{"/s/config.yaml", PathRole::Configuration, 0644, 1001}, "NODE_PATH_OWNER", "id 1001"},
    {{"/", PathRole::Above, 0755, 0}, "", ""},
    {{"/tmp", PathRole::Above, 01777, 0}, "", ""},
    {{"/srv", PathRole::Above, 0777, 0}, "NODE_PATH_WRITABLE", "chmod go-w /srv"},
    {{"/srv/my project", PathRole::Above, 0775, kOwn}, "NODE_PATH_WRITABLE", "chmod go-w '/srv/my project'"},
    {{"/srv/it's", PathRole::Above, 0775, kOwn}, "NODE_PATH_WRITABLE", R"(chmod go-w '/srv/it'\''s')"},
    {{"/home/other", PathRole::Above, 0755, 1001}, "", ""},
    {{"/k", PathRole::KeyFolder, 0700, kOwn}, "", ""},
    {{"/k", PathRole::KeyFolder, 0750, kOwn}, "NODE_KEYS_OPEN", "chmod 700 /k"},
    {{"/k", PathRole::KeyFolder, 0701, kOwn}, "NODE_KEYS_OPEN", "chmod 700 /k"},
    {{"/k", PathRole::KeyFolder, 0777, kOwn}, "NODE_KEYS_OPEN", "chmod 700 /k"},
    {{"/k", PathRole::KeyFolder, 0700, 1001}, "NODE_PATH_OWNER", "id 1001"},
};

TEST(paths, what_others_can_write_is_refused_with_the_command_that_changes_it) {
  for (const PathCase& one : kPaths) {
    const auto found = check_paths({&one.seen, 1}, kOwn);
    std::string codes;
    for (const Diagnostic& diagnostic : found)
      codes += (codes.empty() ? "" : " ") + std::string(info(diagnostic.code).name);
    EXPECT_EQ(codes, one.found) << one.seen.path << " " << std::oct << one.seen.mode;
    for (const Diagnostic& diagnostic : found) {
      EXPECT_NE(diagnostic.message.find(one.seen.path.substr(0, 5)), std::string::npos) << diagnostic.message;
      EXPECT_NE(diagnostic.message.find(one.command), std::string::npos) << diagnostic.message;
    }
  }
}

TEST(paths, all_that_is_wrong_is_found_in_the_order_of_the_paths) {
  const SeenPath seen[] = {{"/b", PathRole::StoreFolder, 0777, kOwn}, {"/a", PathRole::Above, 0777, 0}};
  const auto found = check_paths(seen, kOwn);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NE(found[0].message.find("mode 0777"), std::string::npos) << found[0].message;
  EXPECT_NE(found[1].message.find("`/a`"), std::string::npos);
}

// --- the reference ----------------------------------------------------------------------------------------------------

TEST(config, the_example_of_the_reference_is_right_and_names_every_member) {
  std::ifstream in(std::string(BATON_SOURCE_DIR) + "/docs/reference/config.md");
  std::stringstream page;
  page << in.rdbuf();
  const std::string text = page.str(), fence = "```yaml\n";
  const std::size_t begin = text.find(fence);
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = text.find("```", begin + fence.size());
  ASSERT_NE(end, std::string::npos);
  const Config config = taken(text.substr(begin + fence.size(), end - begin - fence.size()));
  EXPECT_EQ(config.policy.roles.size(), 2u);
  EXPECT_EQ(config.webhooks_out.size(), 1u);
  // What is known, from the table itself: an unknown member's help lists the others.
  for (const std::string_view yaml :
       {"q: 1", "lease: {q: 1}", "webhooks: {q: 1}", "webhooks: {in: [{q: 1}]}", "webhooks: {out: [{q: 1}]}",
        "limits: {q: 1}", "limits: {per_actor: {q: 1}}", "approvals: {q: 1}", "roles: {a: {q: 1}}"}) {
    const std::string help = read_config(yaml).diagnostics.at(0).help;
    std::size_t names = 0;
    for (std::size_t at = help.find('`'); at != std::string::npos && help.substr(at).find("`x-`") != 0;
         at = help.find('`', at + 1)) {
      const std::size_t close = help.find('`', at + 1);
      EXPECT_NE(text.find("| " + help.substr(at, close + 1 - at) + " |"), std::string::npos)
          << help.substr(at, close + 1 - at) << " has no row in the reference";
      ++names;
      at = close;
    }
    EXPECT_GE(names, 2u) << help;
  }
}

}  // namespace
}  // namespace baton::workspace
