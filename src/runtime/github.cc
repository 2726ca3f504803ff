// SPDX-License-Identifier: Apache-2.0
#include "runtime/github.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/limits.h"
#include "base/sha256.h"
#include "base/text.h"
#include "json/parse.h"
#include "runtime/node.h"
#include "runtime/webhook_secret.h"

namespace baton::runtime {
namespace {

constexpr std::string_view kSignaturePrefix = "sha256=";

// Compared with when a repository has no secret here, so that this takes as long.
const std::string kNoSecret(limits::kWebhookSecretBytesMin, '\0');

// --- a body ---------------------------------------------------------------------------------------------------------------

// Where a report of CI has what, inside the member named as its kind.
struct ReportForm {
  std::string_view kind;
  std::string_view name_in;  // the member that holds `name`; empty: the report itself
  std::string_view time;
};
constexpr std::array kReports = {
    ReportForm{"workflow_run", "", "updated_at"},
    ReportForm{"check_suite", "app", "updated_at"},
    ReportForm{"check_run", "", "completed_at"},
};
constexpr std::string_view kPullRequest = "pull_request";
// What moves the head of a pull request.
constexpr std::array<std::string_view, 3> kHeadMoves = {"opened", "synchronize", "reopened"};

// A member that is a text of at most so many bytes; empty when it is absent or null, nothing when it is something else.
std::optional<std::string> text_of(json::Node object, std::string_view member) {
  const json::Node node = object[member];
  if (!node || node.is_null()) return std::string();
  if (!node.is_string() || node.string().size() > limits::kWorkNameBytesMax) return std::nullopt;
  return std::string(node.string());
}

std::optional<std::uint64_t> number_of(json::Node object, std::string_view member) {
  const json::Node node = object[member];
  if (!node.is_number()) return std::nullopt;
  const std::string_view text = node.number_text();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

std::optional<std::string> commit_of(json::Node object, std::string_view member) {
  const json::Node node = object[member];
  constexpr std::size_t kDigitsMax = 64;  // of SHA-256
  if (!node.is_string() || node.string().empty() || node.string().size() > kDigitsMax ||
      !std::ranges::all_of(node.string(), is_lower_hex))
    return std::nullopt;
  return std::string(node.string());
}

std::optional<Time> time_of(json::Node object, std::string_view member) {
  const json::Node node = object[member];
  return node.is_string() ? parse_time(node.string()).time : std::nullopt;
}

// A commit can belong to pull requests of other repositories too, forks among them; those numbers are not this one's.
bool is_of_repository(json::Node pull_request, std::string_view repository) {
  const json::Node url = pull_request["base"]["repo"]["url"];
  return !url.is_string() || to_lower_ascii(url.string()).ends_with("/repos/" + to_lower_ascii(repository));
}

bool read_report(json::Node root, const ReportForm& form, CiDelivery& out) {
  const json::Node report = root[form.kind];
  const auto name = text_of(form.name_in.empty() ? report : report[form.name_in], "name");
  const auto conclusion = text_of(report, "conclusion");
  const auto commit = commit_of(report, "head_sha");
  const json::Node pull_requests = report["pull_requests"];
  if (!report.is_object() || !name || !conclusion || !commit || !pull_requests.is_array() ||
      pull_requests.size() > limits::kWebhookPullRequestsMax)
    return false;
  for (const json::Node pull_request : pull_requests.elements()) {
    const auto number = number_of(pull_request, "number");
    if (!number) return false;
    if (is_of_repository(pull_request, out.repository)) out.pull_requests.push_back(*number);
  }
  // Nothing is final before it is completed, whatever stands there.
  if (out.action == "completed") out.conclusion = *conclusion;
  out.name = *name;
  out.commit = *commit;
  out.at = time_of(report, form.time);
  return out.action != "completed" || !out.conclusion.empty();
}

bool read_pull_request(json::Node root, CiDelivery& out) {
  const json::Node pull_request = root[kPullRequest];
  const auto number = number_of(pull_request, "number");
  const auto commit = commit_of(pull_request["head"], "sha");
  if (!number || !commit) return false;
  out.pull_requests = {*number};
  if (std::ranges::find(kHeadMoves, out.action) != kHeadMoves.end()) out.commit = *commit;
  out.at = time_of(pull_request, "updated_at");
  return true;
}

}  // namespace

Result<GithubSecrets> GithubSecrets::read(const std::vector<workspace::WebhookSource>& sources,
                                          const std::string& config_folder) {
  GithubSecrets out;
  for (const workspace::WebhookSource& source : sources) {
    auto secret = read_webhook_secret(config_folder, source.secret_file);
    if (!secret) return tl::make_unexpected(secret.error());
    out.by_repository_.insert_or_assign(to_lower_ascii(source.repository), std::move(*secret));
  }
  return out;
}

bool GithubSecrets::is_genuine(std::string_view repository, std::string_view body, std::string_view signature) const {
  const auto found = by_repository_.find(to_lower_ascii(repository));
  const bool is_known = found != by_repository_.end();
  const std::string wanted =
      std::string(kSignaturePrefix) + hmac_sha256_hex(is_known ? found->second : kNoSecret, body);
  const bool same = same_in_constant_time(wanted, signature);
  return is_known && same;
}

std::optional<CiDelivery> read_github_delivery(std::string_view kind, std::string_view delivery_id,
                                               std::string_view body) {
  const auto document =
      json::parse(body, {.bytes_max = limits::kWebhookBytesMax, .depth_max = limits::kWebhookDepthMax});
  if (!document || !document->root().is_object() || kind.empty() || kind.size() > limits::kWorkNameBytesMax ||
      delivery_id.empty() || delivery_id.size() > limits::kWorkNameBytesMax)
    return std::nullopt;
  const json::Node root = document->root();
  const auto action = text_of(root, "action");
  const auto repository = text_of(root["repository"], "full_name");
  if (!action || !repository) return std::nullopt;
  CiDelivery out;
  out.delivery_id = delivery_id;
  out.body_sha256 = sha256_hex(body);
  out.kind = kind;
  out.action = *action;
  out.repository = *repository;
  const auto form = std::ranges::find(kReports, kind, &ReportForm::kind);
  if (form == kReports.end() && kind != kPullRequest) return out;
  if (out.action.empty() || out.repository.empty()) return std::nullopt;
  if (!(form != kReports.end() ? read_report(root, *form, out) : read_pull_request(root, out))) return std::nullopt;
  return out;
}

}  // namespace baton::runtime
