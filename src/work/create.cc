// SPDX-License-Identifier: Apache-2.0
// How an item begins.
#include <algorithm>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_exit/signal.h"
#include "work/phases.h"
#include "work/ruling.h"

namespace baton::work {
namespace {

using Diagnostics = std::vector<Diagnostic>;

bool has_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size();)
    if (is_control(next_character(text, at))) return true;
  return false;
}

void check_title(Diagnostics& out, const NewWork& asked) {
  const std::string_view title = asked.title;
  if (find_invalid_utf8(title) != title.size()) return out.push_back(bad_field("title", "is not UTF-8"));
  if (is_blank_text(title)) out.push_back(bad_field("title", "is empty"));
  if (count_characters(title) > limits::kWorkTitleCharactersMax)
    out.push_back(
        bad_field("title", "is longer than " + std::to_string(limits::kWorkTitleCharactersMax) + " characters"));
  if (has_control(title)) out.push_back(bad_field("title", "contains a control character"));
}

void check_text(Diagnostics& out, const NewWork& asked) {
  if (asked.text.empty()) return;
  if (const std::string problem = problem_with_text(asked.text); !problem.empty())
    out.push_back(bad_field("text", problem));
}

void check_phase(Diagnostics& out, const NewWork& asked) {
  if (is_final(asked.phase)) out.push_back(bad_field("phase", "is final: no item begins in COMPLETED or BLOCKED"));
}

void check_priority(Diagnostics& out, const NewWork& asked) {
  if (asked.priority < 0 || asked.priority > 9) out.push_back(bad_field("priority", "is not from 0 to 9"));
}

void check_depends_on(Diagnostics& out, const NewWork& asked) {
  if (asked.depends_on.size() > limits::kWorkDependenciesMax)
    out.push_back(
        bad_field("depends_on", "lists more than " + std::to_string(limits::kWorkDependenciesMax) + " items"));
}

void check_labels(Diagnostics& out, const NewWork& asked) {
  if (asked.labels.size() > limits::kWorkLabelsMax)
    out.push_back(bad_field("labels", "lists more than " + std::to_string(limits::kWorkLabelsMax) + " labels"));
  for (const std::string& label : asked.labels)
    if (!is_label(label))
      return out.push_back(bad_field("labels", "holds one that is none: at most " +
                                                   std::to_string(limits::kWorkLabelBytesMax) +
                                                   " bytes, without blanks and control characters"));
}

// The exit signal has the rules for such an address.
void check_pr_url(Diagnostics& out, const NewWork& asked) {
  if (asked.pr_url.empty()) return;
  if (find_invalid_utf8(asked.pr_url) != asked.pr_url.size()) return out.push_back(bad_field("pr_url", "is not UTF-8"));
  agent_exit::Signal signal(Phase::Implementation, agent_exit::Reason::Completed);
  for (const Diagnostic& diagnostic : signal.with_pr_url(asked.pr_url).check())
    out.push_back(bad_field("pr_url", "cannot be taken: " + diagnostic.message));
}

void check_commit(Diagnostics& out, const NewWork& asked) {
  if (!asked.commit.empty() && !is_commit(asked.commit))
    out.push_back(bad_field("commit", "is not a full commit id: 40 or 64 lower-case hexadecimal digits"));
}

constexpr std::array kFieldChecks = {check_title,      check_text,   check_phase,  check_priority,
                                     check_depends_on, check_labels, check_pr_url, check_commit};

void check_dependencies(Diagnostics& out, const NewWork& asked, std::span<const std::optional<Item>> dependencies) {
  for (std::size_t i = 0; i < asked.depends_on.size(); ++i) {
    const std::string& name = asked.depends_on[i];
    const auto before = asked.depends_on.begin() + static_cast<std::ptrdiff_t>(i);
    const auto refuse = [&](std::string_view problem) {
      out.push_back(report(Code::WORK_DEPENDENCY, place_named("/depends_on/" + std::to_string(i)),
                           {{"dependency", name}, {"problem", problem}}));
    };
    if (std::find(asked.depends_on.begin(), before, name) != before) refuse("is named twice");
    else if (!dependencies[i]) refuse("is no work item");
    else if (dependencies[i]->aborted) refuse("was aborted and will never be COMPLETED");
  }
}

json::Value list_of(std::vector<std::string> names) { return json::Value::Array(names.begin(), names.end()); }

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) && std::all_of(text.begin(), text.end(), is_lower_hex);
}

bool is_label(std::string_view text) {
  if (text.empty() || text.size() > limits::kWorkLabelBytesMax || find_invalid_utf8(text) != text.size()) return false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_character(text, at);
    if (is_control(c) || is_blank(c)) return false;
  }
  return true;
}

Ruling create(const NewWork& asked, bool there, std::span<const std::optional<Item>> dependencies, const Actor& actor,
              Time now) {
  CHECK(dependencies.size() == asked.depends_on.size());
  Ruling ruling;
  if (!is_work_id(asked.id)) ruling.refused.push_back(report(Code::WORK_ID, place_named("/id"), {{"id", asked.id}}));
  for (const auto check : kFieldChecks) check(ruling.refused, asked);
  // Past CI and review nobody gets by saying so.
  if (actor.kind != ActorKind::Operator && is_before(Phase::Implementation, asked.phase) && !is_final(asked.phase))
    ruling.refused.push_back(
        bad_field("phase", "is one that only an operator lets an item begin in: CI and review lie before it"));
  if (there) ruling.refused.push_back(report(Code::WORK_EXISTS, place_named("/id"), {{"work", asked.id}}));
  check_dependencies(ruling.refused, asked, dependencies);
  if (!ruling.allowed()) return ruling;

  std::vector<std::string> open;
  for (const std::optional<Item>& dependency : dependencies)
    if (dependency->phase != Phase::Completed) open.push_back(dependency->id);
  return Happens(kCreated, asked.id, now)
      .with("title", asked.title)
      .with_text("text", asked.text)
      .with("phase", agent_exit::phase_name(asked.phase))
      .with("priority", asked.priority)
      .with("created_by", actor.id)
      .with("depends_on", list_of(asked.depends_on))
      .with("open_dependencies", list_of(std::move(open)))
      .with("labels", list_of(sorted(asked.labels)))
      .with_text("counts_for", asked.counts_for)
      .with_text("pr_url", asked.pr_url)
      .with_text("commit", asked.commit);
}

}  // namespace baton::work
