// SPDX-License-Identifier: Apache-2.0
// The inline policy that narrows the AWS session: is it an IAM policy, does it narrow anything, will STS take it?
#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/text.h"
#include "dialects/handoff_spec/glob.h"
#include "dialects/handoff_spec/steps.h"
#include "json/value.h"

namespace baton::handoff_spec {
namespace {

// --- shape ----------------------------------------------------------------------------------------------------------

// A session policy has no `Principal`: the session is the principal.
constexpr std::array<std::string_view, 3> kPolicyMembers = {"Version", "Id", "Statement"};
constexpr std::array<std::string_view, 7> kStatementMembers = {"Sid",      "Effect",      "Action",   "NotAction",
                                                               "Resource", "NotResource", "Condition"};

struct Problem {
  json::Node at;
  std::string text;
};

template <std::size_t N>
std::optional<Problem> find_foreign_member(json::Node object, const std::array<std::string_view, N>& members) {
  for (const json::Member member : object.members())
    if (std::ranges::find(members, member.name()) == members.end())
      return Problem{member.key, "`" + std::string(member.name()) + "` has no place in it"};
  return std::nullopt;
}

// A string, or a non-empty array of strings, none of them empty.
bool is_string_or_list(json::Node node) {
  const auto is_name = [](json::Node one) { return one.is_string() && !one.string().empty(); };
  if (!node.is_array()) return is_name(node);
  for (const json::Node element : node.elements())
    if (!is_name(element)) return false;
  return node.size() > 0;
}

// The node's strings, whichever way it writes them.
std::vector<json::Node> strings_of(json::Node node) {
  if (node.is_string()) return {node};
  std::vector<json::Node> strings;
  for (const json::Node element : node.elements()) strings.push_back(element);
  return strings;
}

// `service:name`, or nothing but wildcards. What IAM would refuse must not pass here as narrow.
bool is_action(std::string_view action) {
  const std::size_t colon = action.find(':');
  if (colon != std::string_view::npos) return colon > 0 && colon + 1 < action.size();
  return action.find_first_not_of("*?") == std::string_view::npos;
}

std::optional<Problem> find_one_of_two_problem(json::Node statement, std::string_view name, std::string_view negated) {
  const json::Node plain = statement[name], inverse = statement[negated];
  const std::string both = "`" + std::string(name) + "` or `" + std::string(negated) + "`";
  if (!plain && !inverse) return Problem{statement, "a statement has neither " + both};
  if (plain && inverse) return Problem{inverse, "a statement has both, not one, of " + both};
  const json::Node given = plain ? plain : inverse;
  if (!is_string_or_list(given)) return Problem{given, both + " is a string or a list of them"};
  return std::nullopt;
}

std::optional<Problem> find_statement_problem(json::Node statement) {
  if (!statement.is_object()) return Problem{statement, "a statement is an object"};
  if (auto problem = find_foreign_member(statement, kStatementMembers)) return problem;
  const json::Node sid = statement["Sid"], effect = statement["Effect"], condition = statement["Condition"];
  if (sid && !sid.is_string()) return Problem{sid, "`Sid` is a string"};
  if (!effect) return Problem{statement, "a statement has no `Effect`"};
  if (!effect.is_text("Allow") && !effect.is_text("Deny")) return Problem{effect, "`Effect` is `Allow` or `Deny`"};
  if (auto problem = find_one_of_two_problem(statement, "Action", "NotAction")) return problem;
  if (auto problem = find_one_of_two_problem(statement, "Resource", "NotResource")) return problem;
  for (const std::string_view name : {"Action", "NotAction"})
    for (const json::Node action : strings_of(statement[name]))
      if (!is_action(action.string())) return Problem{action, "an action is `service:name`"};
  if (condition && !condition.is_object()) return Problem{condition, "`Condition` is an object"};
  return std::nullopt;
}

std::optional<Problem> find_policy_problem(json::Node policy) {
  if (auto problem = find_foreign_member(policy, kPolicyMembers)) return problem;
  const json::Node version = policy["Version"], id = policy["Id"], statements = policy["Statement"];
  if (version && !version.is_text("2012-10-17") && !version.is_text("2008-10-17"))
    return Problem{version, "`Version` is `2012-10-17` or `2008-10-17`"};
  if (id && !id.is_string()) return Problem{id, "`Id` is a string"};
  if (!statements) return Problem{policy, "it has no `Statement`"};
  if (!statements.is_object() && !(statements.is_array() && statements.size() > 0))
    return Problem{statements, "`Statement` is an object or a list of them"};
  return std::nullopt;
}

std::vector<json::Node> statements_of(json::Node policy) {
  const json::Node statements = policy["Statement"];
  if (statements.is_object()) return {statements};
  std::vector<json::Node> list;
  for (const json::Node statement : statements.elements()) list.push_back(statement);
  return list;
}

// --- blanket --------------------------------------------------------------------------------------------------------

// A pattern is blanket when it takes in a name that nobody ever gave. That finds `*` in all its spellings (`**`, `?*`,
// `*:*`, `s3:**`, `arn:aws:s3:::*`), where a list of spellings would miss one.
constexpr std::string_view kNobodysName = "~~~~~~~~~~~~";

bool has_wildcard(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

// Resources of the service that nobody has, one for each way its ARNs may be written.
std::vector<std::string> nobodys_resources(const std::string& service) {
  const std::string name(kNobodysName);
  std::vector<std::string> arns;
  for (const std::string partition : {"aws", "aws-cn", "aws-us-gov"})
    for (const std::string& region : {std::string(), name})
      for (const std::string& account : {std::string(), name})
        arns.push_back("arn:" + partition + ":" + service + ":" + region + ":" + account + ":" + name + "/" + name);
  return arns;
}

// Of a well-shaped statement. Conditions do not count: what they leave open cannot be judged here.
std::optional<Problem> find_blanket(json::Node statement) {
  if (!statement["Effect"].is_text("Allow")) return std::nullopt;
  for (const std::string_view name : {"NotAction", "NotResource"})
    if (statement[name]) return Problem{statement[name], "`Allow` with `" + std::string(name) + "`"};

  const std::vector<json::Node> resources = strings_of(statement["Resource"]);
  for (const json::Node node : strings_of(statement["Action"])) {
    const std::string action = to_lower_ascii(node.string());  // IAM's actions have no case
    const std::string service = action.substr(0, action.find(':'));
    const std::string written = "`" + std::string(node.string()) + "`";
    if (has_wildcard(service)) return Problem{node, written + " is an action of every service"};
    if (!glob_matches(action, service + ":" + std::string(kNobodysName))) continue;
    const std::vector<std::string> arns = nobodys_resources(service);
    for (const json::Node resource : resources)
      if (std::ranges::any_of(arns, [&](const std::string& arn) { return glob_matches(resource.string(), arn); }))
        return Problem{node, written + " on `" + std::string(resource.string()) + "`"};
  }
  return std::nullopt;
}

}  // namespace

void check_aws_policy(Run& run, const std::optional<std::set<std::string_view>>& surfaces) {
  const json::Node policy = run.take("aws_inline_policy", json::Kind::Object, Need::Optional);
  const bool with_surface = surfaces && surfaces->contains("aws");
  if (!policy) {
    if (with_surface) run.add_absent(Code::SPEC_AWS_POLICY_ABSENT, "aws_inline_policy");
    return;
  }
  if (surfaces && !with_surface) run.add(Code::SPEC_AWS_POLICY_WITHOUT_SURFACE, policy);

  std::vector<json::Node> sound;
  if (const auto problem = find_policy_problem(policy))
    run.add(Code::SPEC_AWS_POLICY_SHAPE, problem->at, {{"problem", problem->text}});
  for (const json::Node statement : statements_of(policy)) {
    if (const auto problem = find_statement_problem(statement))
      run.add(Code::SPEC_AWS_POLICY_SHAPE, problem->at, {{"problem", problem->text}});
    else sound.push_back(statement);
  }
  // Judging costs actions times resources, so a policy that STS would not take anyway is not judged.
  const std::size_t characters = count_characters(json::write(policy));
  if (characters > limits::kSpecAwsPolicyCharactersMax) {
    run.add(Code::SPEC_AWS_POLICY_TOO_LONG, policy, {{"characters", std::to_string(characters)}});
    return;
  }
  for (const json::Node statement : sound)
    if (const auto blanket = find_blanket(statement))
      run.add(Code::SPEC_AWS_POLICY_BLANKET, blanket->at, {{"problem", blanket->text}});
}

}  // namespace baton::handoff_spec
