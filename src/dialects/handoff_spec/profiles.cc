// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "dialects/handoff_spec/steps.h"

namespace baton::handoff_spec {
namespace {

constexpr std::string_view kSurfaces[] = {"apple_iap", "aws", "cloudflare", "github", "heroku", "infisical", "stripe"};

constexpr std::string_view kBaseline[] = {
    "git_diff",          "git_log",          "git_read",         "git_status",           "github_issue_comment",
    "github_pr_comment", "github_pr_create", "github_pr_update", "infisical_get_secret",
};

constexpr AddableTool kAddable[] = {
    {"aws_s3_read", "aws"},
    {"bash_exec_in_worktree", ""},
    {"email_read", ""},
    {"filesystem_read", ""},
    {"filesystem_write", ""},
    {"git_commit", ""},
    {"git_fetch", ""},
    {"git_push", ""},
    {"github_issue_close", "github"},
    {"github_issue_create", "github"},
    {"github_pr_merge", "github"},
    {"heroku_config_get", "heroku"},
};

constexpr std::string_view kExcluded[] = {
    "apple_iap_purchase",
    "apple_iap_refund",
    "aws_invoke_lambda",
    "aws_s3_write",
    "cf_dns_update",
    "email_send",
    "filesystem_write_outside_worktree",
    "heroku_scale_dynos",
    "infisical_delete_secret",
    "infisical_set_secret",
    "stripe_charge",
    "stripe_customer_create",
    "stripe_refund",
};

constexpr Profile kProfiles[] = {
    {"default", std::nullopt, std::nullopt, "/baton/handoffs/", kSurfaces, kBaseline, kAddable, kExcluded,
     limits::kSpecTtlSecondsMax, limits::kSpecToolsMax},
    {"raxx", "TradeMasterAPI", "raxx-app", "/MooseQuest/handoffs/", kSurfaces, kBaseline, kAddable, kExcluded,
     limits::kSpecTtlSecondsMax, limits::kSpecToolsMax},
};

// The lists are searched by halves, and exclusion must win without anybody having to ask for it.
constexpr bool is_sound(const Profile& profile) {
  const auto known = [](const AddableTool& left, const AddableTool& right) { return left.name < right.name; };
  if (!std::ranges::is_sorted(profile.surfaces) || !std::ranges::is_sorted(profile.baseline)) return false;
  if (!std::ranges::is_sorted(profile.excluded) || !std::ranges::is_sorted(profile.addable, known)) return false;
  for (const std::string_view tool : profile.baseline)
    if (std::ranges::binary_search(profile.excluded, tool)) return false;
  for (const AddableTool& tool : profile.addable) {
    if (std::ranges::binary_search(profile.excluded, tool.name)) return false;
    if (std::ranges::binary_search(profile.baseline, tool.name)) return false;
    if (!tool.surface.empty() && !std::ranges::binary_search(profile.surfaces, tool.surface)) return false;
  }
  return profile.ttl_seconds_max % 3600 == 0;
}
static_assert(std::ranges::all_of(kProfiles, is_sound));

}  // namespace

std::span<const Profile> profiles() { return kProfiles; }

const Profile* find_profile(std::string_view name) {
  for (const Profile& profile : kProfiles)
    if (profile.name == name) return &profile;
  return nullptr;
}

bool holds(std::span<const std::string_view> sorted, std::string_view name) {
  return std::ranges::binary_search(sorted, name);
}

const AddableTool* find_addable(const Profile& profile, std::string_view tool) {
  const auto at = std::ranges::lower_bound(profile.addable, tool, {}, &AddableTool::name);
  return at != profile.addable.end() && at->name == tool ? &*at : nullptr;
}

}  // namespace baton::handoff_spec
