// SPDX-License-Identifier: Apache-2.0
// How long the work takes and how long the grant lives.
#include "base/limits.h"
#include "dialects/handoff_spec/steps.h"
#include "json/decimal.h"

namespace baton::handoff_spec {
namespace {

constexpr std::int64_t kRuntimeSecondsDefault = 3600;  // PT1H
constexpr std::int64_t kVelvetSeconds = 3600;          // work of more than this is revoked by itself

void check_expected_runtime(Run& run) {
  const json::Node node = run.take("expected_runtime", json::Kind::String, Need::Optional);
  if (!node && run.root["expected_runtime"]) return;
  const auto seconds = runtime_seconds(run.root, run.profile);
  if (!seconds) {
    if (!parse_duration_seconds(node.string())) run.add(Code::SPEC_RUNTIME_FORMAT, node);
    else run.add(Code::SPEC_RUNTIME_RANGE, node, {{"hours_max", std::to_string(run.profile.ttl_seconds_max / 3600)}});
    return;
  }
  // A grant that has ended has its own code; that no work fits into it is no second fault.
  const auto expires_at = expiry(run.root, run.now, run.profile);
  if (!expires_at || *expires_at <= run.now || runtime_fits(run.now, *seconds, *expires_at)) return;
  if (node) run.add(Code::SPEC_RUNTIME_EXCEEDS_TTL, node);
  else run.add_absent(Code::SPEC_RUNTIME_EXCEEDS_TTL, "expected_runtime");
}

void check_ttl_expires_at(Run& run) {
  const json::Node node = run.take("ttl_expires_at", json::Kind::String, Need::Optional);
  if (!node) return;
  const auto time = parse_time(node.string()).time;
  if (!time) run.add(Code::SPEC_TTL_TIMESTAMP, node);
  else if (*time <= run.now) run.add(Code::SPEC_TTL_EXPIRED, node);
  else if (*time > seconds_after(run.now, run.profile.ttl_seconds_max))
    run.add(Code::SPEC_TTL_TOO_FAR, node, {{"hours_max", std::to_string(run.profile.ttl_seconds_max / 3600)}});
}

void check_ttl_hours(Run& run) {
  const json::Node node = run.take_integer("ttl_hours", Need::Optional);
  if (node && !ttl_hours(run.root, run.profile))
    run.add(Code::SPEC_TTL_HOURS_RANGE, node, {{"hours_max", std::to_string(run.profile.ttl_seconds_max / 3600)}});
}

}  // namespace

void check_lifetime(Run& run) {
  check_expected_runtime(run);
  check_ttl_expires_at(run);
  check_ttl_hours(run);
}

std::optional<std::int64_t> runtime_seconds(json::Node root, const Profile& profile) {
  const json::Node node = root["expected_runtime"];
  if (!node) return kRuntimeSecondsDefault;
  if (!node.is_string()) return std::nullopt;
  const auto seconds = parse_duration_seconds(node.string());
  if (!seconds || *seconds <= 0 || *seconds > profile.ttl_seconds_max) return std::nullopt;
  return seconds;
}

std::optional<std::int64_t> ttl_hours(json::Node root, const Profile& profile) {
  const std::int64_t hours_max = profile.ttl_seconds_max / 3600;
  const json::Node node = root["ttl_hours"];
  if (!node) return hours_max;
  if (!node.is_number()) return std::nullopt;
  const auto hours = json::to_int64(node.number_text());
  if (!hours || *hours < 1 || *hours > hours_max) return std::nullopt;
  return hours;
}

std::optional<Time> expiry(json::Node root, Time now, const Profile& profile) {
  if (const json::Node node = root["ttl_expires_at"]) {
    if (!node.is_string()) return std::nullopt;
    return parse_time(node.string()).time;
  }
  const auto hours = ttl_hours(root, profile);
  if (!hours) return std::nullopt;
  return seconds_after(now, *hours * 3600);
}

bool runtime_fits(Time now, std::int64_t runtime_seconds, Time expires_at) {
  return seconds_after(now, runtime_seconds) <= seconds_after(expires_at, limits::kSpecRuntimeGraceSeconds);
}

bool needs_velvet(std::int64_t runtime_seconds) { return runtime_seconds > kVelvetSeconds; }

Time seconds_after(Time time, std::int64_t seconds) {
  const std::int64_t nanoseconds = seconds * kNanosecondsPerSecond;
  if (time.nanoseconds > INT64_MAX - nanoseconds) return {INT64_MAX};
  return {time.nanoseconds + nanoseconds};
}

}  // namespace baton::handoff_spec
