// SPDX-License-Identifier: Apache-2.0
// baton work: what is to be done, who does it, and the way from hand to hand.
#include "cli/work.h"

#include "base/limits.h"
#include "base/text.h"
#include "dialects/agent_exit/phase.h"

namespace baton::cli {

ShownWork shown_work(json::Node work) {
  ShownWork out;
  out.id = shown(work["id"], 64);
  out.title = shown(work["title"], 200);
  out.phase = shown(work["phase"], 32);
  out.state = shown(work["state"], 32);
  out.priority = shown(work["priority"], 8);
  out.waits_for = shown(work["waits_for"], 32);
  out.waiting_since = parse_time(text_of(work["waiting_since"])).time;
  const json::Node lease = work["lease"];
  out.holder = shown(lease["holder"], 64);
  if (lease.is_object()) {
    const std::string parked = text_of(lease["parked_until"]);
    out.held_until = parse_time(parked.empty() ? text_of(lease["expires_at"]) : parked).time;
  }
  return out;
}

std::string_view state_colour(std::string_view state) {
  struct Row {
    std::string_view state, code;
  };
  static constexpr Row kRows[] = {{"held", "32"},    {"parked", "35"},   {"blocked", "31"},
                                  {"with_ci", "36"}, {"completed", "2"}, {"aborted", "2"}};
  for (const Row& row : kRows)
    if (row.state == state) return row.code;
  return {};
}

std::string work_line(json::Node work, bool colour) {
  const ShownWork item = shown_work(work);
  return painted(item.id, "1", colour) + " is " + item.phase + " (" +
         painted(item.state, state_colour(item.state), colour) + "): " + item.title;
}

std::string receipt_text(json::Node root) {
  const std::string sequence = shown(root["receipt"]["sequence"], 24);
  return sequence.empty() ? "" : ", recorded as entry " + sequence;
}

Result<std::optional<Answer>> for_each_work(Client& client, std::string_view phase,
                                            const std::function<void(json::Node)>& take) {
  std::string after;
  for (int page = 0; page < limits::kNodePagesMax; ++page) {
    std::string path = "/v1/work?limit=500";
    if (!phase.empty()) path += "&phase=" + url_part(phase);
    if (!after.empty()) path += "&after=" + url_part(after);
    auto answer = client.get(path);
    if (!answer) return tl::make_unexpected(answer.error());
    if (!answer->ok()) return std::optional(std::move(*answer));
    for (const json::Node item : (*answer)["items"].elements()) take(item);
    after = text_of((*answer)["next"]);
    if (after.empty()) return std::nullopt;
  }
  return std::nullopt;
}

const std::vector<std::string>& phase_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const agent_exit::Phase phase : agent_exit::kPhases) out.emplace_back(agent_exit::phase_name(phase));
    return out;
  }();
  return names;
}

void add_work(Command& app, Action& chosen) {
  Command* work = app.add_subcommand("work", "What is to be done, who does it, and the way from hand to hand");
  work->require_subcommand(1);
  examples(*work,
           "  baton work create 'Mend the tide table'         something to be done\n"
           "  eval \"$(baton work claim --format env)\"         take the next one\n"
           "  agent | baton find | baton work exit            hand it over, with what the agent said at its end\n"
           "  baton work board                                who has what, as it changes");
  add_work_create(*work, chosen);
  add_work_list(*work, chosen);
  add_work_show(*work, chosen);
  add_work_board(*work, chosen);
  add_work_claim(*work, chosen);
  add_work_wait(*work, chosen);
  add_work_renew(*work, chosen);
  add_work_release(*work, chosen);
  add_work_exit(*work, chosen);
  add_work_ci(*work, chosen);
  add_work_unblock(*work, chosen);
  add_work_answer(*work, chosen);
  add_work_abort(*work, chosen);
}

}  // namespace baton::cli
