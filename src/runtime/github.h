// SPDX-License-Identifier: Apache-2.0
// GitHub's webhooks, as they come in: whether one is genuine, and what it says (read_github_delivery in runtime/node.h).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workspace/config.h"

namespace baton::runtime {

// The secrets of the repositories whose webhooks are taken.
class GithubSecrets {
 public:
  // WEBHOOK_SECRET.
  static Result<GithubSecrets> read(const std::vector<workspace::WebhookSource>& sources,
                                    const std::string& config_folder);

  // `signature` is `sha256=` and 64 hexadecimal digits: HMAC-SHA-256 of the body with the repository's secret.
  bool is_genuine(std::string_view repository, std::string_view body, std::string_view signature) const;

 private:
  std::map<std::string, std::string, std::less<>> by_repository_;  // names in lower case, as GitHub compares them
};

}  // namespace baton::runtime
