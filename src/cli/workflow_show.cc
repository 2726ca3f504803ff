// SPDX-License-Identifier: Apache-2.0
// Workflows as they are shown: in a tree, in tables, drawn.
#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "cli/table.h"
#include "cli/workflow.h"
#include "contract/draw.h"

namespace baton::cli {
namespace {

using std::string;

constexpr std::size_t kNameShown = 60, kReasonShown = 120;

string name(json::Node node) { return shown(node, kNameShown); }

bool is_zero(json::Node number) { return !number.is_number() || number.number_text() == "0"; }

string joined(const std::vector<string>& parts, std::string_view between = ", ") { return join(parts, between); }

// --- who belongs to whom ------------------------------------------------------------------------------------------------------

// A line of the tree: a session, or a handoff that no session below came by.
struct Row {
  json::Node session, handoff;  // one of them
  json::Node came_by;           // of a session: its handoff
  std::size_t depth = 0;
  std::vector<bool> more = {};   // for each depth down to its own: does another one follow there?
  std::size_t above = SIZE_MAX;  // the row of the session it hangs on
};

std::vector<Row> rows_of(json::Node workflow) {
  std::map<string, json::Node, std::less<>> handoffs;
  for (const json::Node one : workflow["handoffs"].elements()) handoffs.emplace(text_of(one["id"]), one);
  std::vector<json::Node> sessions;
  for (const json::Node one : workflow["members"].elements()) sessions.push_back(one);
  std::ranges::sort(sessions, {},
                    [](json::Node one) { return std::pair(text_of(one["opened_at"]), text_of(one["id"])); });
  std::set<string, std::less<>> known;
  for (const json::Node one : sessions) known.insert(text_of(one["id"]));
  std::map<string, std::vector<Row>, std::less<>> below;  // by session; empty: on top
  std::set<string, std::less<>> came;
  for (const json::Node one : sessions) {
    const string parent = text_of(one["parent"]), by = text_of(one["handoff"]);
    const bool has_parent = known.contains(parent);
    const auto handoff = handoffs.find(by);
    Row row{.session = one, .handoff = {}, .came_by = handoff == handoffs.end() ? json::Node() : handoff->second};
    below[has_parent ? parent : ""].push_back(std::move(row));
    if (has_parent) came.insert(by);
  }
  std::vector<json::Node> offered;
  for (const auto& [id, one] : handoffs)
    if (!came.contains(id)) offered.push_back(one);
  std::ranges::sort(offered, {},
                    [](json::Node one) { return std::pair(text_of(one["offered_at"]), text_of(one["id"])); });
  for (const json::Node one : offered) {
    const string from = text_of(one["from"]);
    below[known.contains(from) ? from : ""].push_back({.session = {}, .handoff = one, .came_by = {}});
  }

  // Without recursion: a chain of handoffs may be as long as a workflow lets it be.
  std::vector<Row> out, stack;
  const auto push = [&](const string& session, std::size_t depth, const std::vector<bool>& more, std::size_t above) {
    auto found = below.find(session);
    if (found == below.end()) return;
    std::vector<Row> rows = std::move(found->second);
    below.erase(found);  // once, whatever the answer says
    for (std::size_t i = rows.size(); i-- > 0;) {
      rows[i].depth = depth;
      rows[i].more = more;
      if (depth > 0) rows[i].more.push_back(i + 1 < rows.size());
      rows[i].above = above;
      stack.push_back(std::move(rows[i]));
    }
  };
  push("", 0, {}, SIZE_MAX);
  while (!stack.empty()) {
    out.push_back(std::move(stack.back()));
    stack.pop_back();
    const Row row = out.back();
    if (row.session) push(text_of(row.session["id"]), row.depth + 1, row.more, out.size() - 1);
  }
  return out;
}

// --- in words -----------------------------------------------------------------------------------------------------------------

string size_text(json::Node bytes) {
  const std::uint64_t count = bytes.is_number() ? std::strtoull(string(bytes.number_text()).c_str(), nullptr, 10) : 0;
  return count < 1024 ? std::to_string(count) + " bytes" : std::to_string((count + 1023) / 1024) + " KiB";
}

string standing_text(json::Node session, bool colour) {
  const string standing = shown(session["standing"], 20);
  string out = painted(standing, standing_colour(standing), colour);
  if (session["ended_because"]) out += ": " + shown(session["ended_because"], kReasonShown);
  if (session["cancel_requested"].is_true()) out += ", " + painted("is to end", "33", colour);
  if (session["paused"].is_true()) out += ", " + painted("waits for a person", "33", colour);
  return out;
}

string counted_text(json::Node session) {
  const json::Node counters = session["counters"];
  const string steps = shown(counters["steps"], 20);
  string out = (steps.empty() ? "0" : steps) + (steps == "1" ? " step" : " steps");
  if (!is_zero(counters["cost"])) out += ", cost " + shown(counters["cost"], 40);
  if (const std::size_t open = count_of(session["open_calls"]); open > 0)
    out += ", " + std::to_string(open) + (open == 1 ? " open call" : " open calls");
  return out;
}

string call_text(json::Node call, bool colour) {
  return name(call["call_id"]) + "  " + name(call["tool"]) + "  " +
         painted(shown(call["state"], 20), call["state"].is_text("unknown") ? "33" : "", colour);
}

std::string_view stage_colour(std::string_view stage) {
  if (stage == "offered") return "33";
  return stage == "claimed" ? "32" : "2";
}

string handoff_text(json::Node handoff, bool colour) {
  const string stage = shown(handoff["stage"], 20);
  return name(handoff["id"]) + "  to " + name(handoff["to"]) + "  " + painted(stage, stage_colour(stage), colour) +
         (handoff["child"] ? " by " + name(handoff["child"]) : "") + "  " + artifacts_text(handoff["artifacts"]);
}

string shared_calls(json::Node calls) {
  std::vector<string> parts;
  for (const json::Node one : calls.elements()) parts.push_back(name(one["session_id"]) + " " + name(one["call_id"]));
  return joined(parts);
}

std::vector<string> holders_of(json::Node resource) {
  std::vector<string> parts;
  if (resource["owner"]) parts.push_back("written by " + name(resource["owner"]));
  if (count_of(resource["writing"]) > 0) parts.push_back("calls that write: " + shared_calls(resource["writing"]));
  if (count_of(resource["open"]) > 0) parts.push_back("not over: " + shared_calls(resource["open"]));
  if (const json::Node call = resource["executing"])
    parts.push_back("executes: " + name(call["session_id"]) + " " + name(call["call_id"]));
  if (count_of(resource["waiting"]) > 0) parts.push_back("waiting in turn: " + shared_calls(resource["waiting"]));
  if (parts.empty()) parts.emplace_back("nobody");
  return parts;
}

string holders_text(json::Node resource) { return joined(holders_of(resource), "; "); }

string resource_text(json::Node resource) {
  return name(resource["alias"]) + " " + shown(resource["value"], kNameShown);
}

}  // namespace

std::string_view standing_colour(std::string_view standing) {
  if (standing == "open") return "32";
  return standing == "killed" ? "31" : "2";
}

string artifacts_text(json::Node artifacts) {
  std::vector<string> parts;
  for (const json::Node one : artifacts.elements())
    parts.push_back(name(one["name"]) + " (" + size_text(one["bytes"]) + ")");
  return parts.empty() ? "nothing" : joined(parts);
}

std::vector<string> budgets_of(json::Node workflow) {
  const json::Node limits = workflow["limits"];
  const auto used = [&](std::string_view member, std::string_view limit, std::string_view what) {
    const string most = shown(limits[limit], 40);
    return shown(workflow[member], 40) + (most.empty() ? "" : " of " + most) + " " + string(what);
  };
  std::vector<string> out = {used("sessions", "max_sessions", "sessions"),
                             used("active", "max_active_sessions", "active"), used("steps", "max_total_steps", "steps"),
                             used("cost", "max_total_cost", "cost"),
                             used("open_handoffs", "max_open_handoffs", "open handoffs")};
  if (!is_zero(workflow["reserved"])) out[3] += " (and " + shown(workflow["reserved"], 40) + " reserved)";
  return out;
}

string workflow_head(json::Node workflow, Time now, bool colour) {
  const string standing = shown(workflow["standing"], 20);
  const auto started = parse_time(text_of(workflow["started_at"])).time;
  const string age = started ? age_text(*started, now) : "";
  return painted(name(workflow["name"]), "1", colour) + "  " + name(workflow["id"]) + "  " +
         painted(standing, standing_colour(standing), colour) +
         (started ? "  started " + age + (age == "now" ? "" : " ago") : "") + " by " + name(workflow["started_by"]) +
         "\n  " + joined(budgets_of(workflow)) + "\n";
}

string workflow_tree(json::Node workflow, Time now, bool colour) {
  string out = workflow_head(workflow, now, colour);
  std::size_t on_top = 0;
  for (const Row& row : rows_of(workflow)) {
    string stem, under;
    for (std::size_t i = 0; i + 1 < row.more.size(); ++i) stem += row.more[i] ? "│  " : "   ";
    under = stem;
    if (!row.more.empty()) {
      stem += row.more.back() ? "├─ " : "╰─ ";
      under += row.more.back() ? "│  " : "   ";
    }
    if (!row.session) {
      out += stem + handoff_text(row.handoff, colour) + "\n";
      continue;
    }
    const bool orphan = row.depth == 0 && on_top++ > 0;
    out += stem + painted(name(row.session["id"]), "1", colour) + "  " + name(row.session["role"]) + "  " +
           standing_text(row.session, colour);
    if (orphan) out += "  without a parent";
    if (row.session["phase"]) out += "  in " + name(row.session["phase"]);
    out += "  " + counted_text(row.session);
    if (row.came_by)
      out += "  " + painted("by " + name(row.came_by["id"]) + ", " + shown(row.came_by["stage"], 20) + ": " +
                                artifacts_text(row.came_by["artifacts"]),
                            "2", colour);
    out += "\n";
    for (const json::Node call : row.session["open_calls"].elements())
      out += under + "     " + call_text(call, colour) + "\n";
  }
  if (count_of(workflow["resources"]) == 0) return out;
  out += painted("shared", "1", colour) + "\n";
  for (const json::Node one : workflow["resources"].elements())
    out += "  " + resource_text(one) + "  " + shown(one["mode"], 20) + "  " + holders_text(one) + "\n";
  return out;
}

string workflow_tables(json::Node workflow, Time now, bool colour) {
  string out = workflow_head(workflow, now, colour);
  out += "  contract " + shown(workflow["workflow"], 100) + "\n\n";
  Table sessions(colour);
  sessions.heading({"SESSION", "ROLE", "STANDING", "PHASE", "COUNTED", "LABELS", "FROM"});
  for (const Row& row : rows_of(workflow)) {
    if (!row.session) continue;
    const json::Node one = row.session;
    std::vector<string> labels;
    for (const json::Node label : one["labels"].elements()) labels.push_back(name(label));
    const string standing = shown(one["standing"], 20);
    sessions.row({{name(one["id"]), "1"},
                  {name(one["role"])},
                  {standing + (one["cancel_requested"].is_true() ? ", is to end" : ""), standing_colour(standing)},
                  {name(one["phase"])},
                  {counted_text(one)},
                  {joined(labels)},
                  {name(one["parent"]), "2"}});
  }
  out += sessions.text();
  if (count_of(workflow["handoffs"]) > 0) {
    Table handoffs(colour);
    handoffs.heading({"HANDOFF", "STAGE", "FROM", "TO", "CLAIMED BY", "ARTIFACTS"});
    for (const json::Node one : workflow["handoffs"].elements()) {
      const string stage = shown(one["stage"], 20);
      handoffs.row({{name(one["id"]), "1"},
                    {stage, stage_colour(stage)},
                    {name(one["from"])},
                    {name(one["to"])},
                    {name(one["child"])},
                    {artifacts_text(one["artifacts"])}});
    }
    out += "\n" + handoffs.text();
  }
  if (count_of(workflow["resources"]) > 0) {
    Table resources(colour);
    resources.heading({"SHARED", "MODE", "WHO"});
    for (const json::Node one : workflow["resources"].elements())
      resources.row({{resource_text(one), "1"}, {shown(one["mode"], 20)}, {holders_text(one)}});
    out += "\n" + resources.text();
  }
  return out;
}

// --- drawn ------------------------------------------------------------------------------------------------------------------------

namespace {

// The lines in the box of a row.
std::vector<string> box_lines(const Row& row) {
  if (!row.session)
    return {name(row.handoff["id"]) + " to " + name(row.handoff["to"]),
            shown(row.handoff["stage"], 20) + ": " + artifacts_text(row.handoff["artifacts"])};
  std::vector<string> out = {
      name(row.session["role"]) + "  " + name(row.session["id"]),
      standing_text(row.session, false) + (row.session["phase"] ? ", in " + name(row.session["phase"]) : ""),
      counted_text(row.session)};
  if (row.came_by)
    out.push_back("by " + name(row.came_by["id"]) + ", " + shown(row.came_by["stage"], 20) + ": " +
                  artifacts_text(row.came_by["artifacts"]));
  for (const json::Node call : row.session["open_calls"].elements()) out.push_back(call_text(call, false));
  return out;
}

string dot_label(const std::vector<string>& lines) {
  string out;
  for (const string& line : lines) out += contract::dot_text(line) + "\\l";
  return out;
}

}  // namespace

string workflow_dot(json::Node workflow) {
  const std::vector<Row> rows = rows_of(workflow);
  string out = "digraph \"" + contract::dot_text(name(workflow["name"])) + "\" {\n  label=\"" +
               contract::dot_text(name(workflow["name"]) + "  " + name(workflow["id"]) + "  " +
                                  shown(workflow["standing"], 20)) +
               "\\n" + contract::dot_text(joined(budgets_of(workflow))) +
               "\";\n  labelloc=t;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
               "  edge [fontname=\"sans-serif\", fontsize=10];\n";
  std::map<string, std::size_t, std::less<>> at;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool over = rows[i].session && !rows[i].session["standing"].is_text("open");
    out += "  n" + std::to_string(i) + " [label=\"" + dot_label(box_lines(rows[i])) + "\"" +
           (rows[i].session ? over ? ", color=gray, fontcolor=gray" : "" : ", style=dashed") + "];\n";
    if (rows[i].session) at.emplace(text_of(rows[i].session["id"]), i);
    if (rows[i].above != SIZE_MAX)
      out += "  n" + std::to_string(rows[i].above) + " -> n" + std::to_string(i) +
             (rows[i].session ? ";\n" : " [style=dashed];\n");
  }
  std::size_t number = 0;
  for (const json::Node one : workflow["resources"].elements()) {
    const string id = "r" + std::to_string(number++);
    out += "  " + id + " [shape=cylinder, style=solid, label=\"" +
           dot_label({resource_text(one), shown(one["mode"], 20), holders_text(one)}) + "\"];\n";
    if (const auto owner = at.find(text_of(one["owner"])); owner != at.end())
      out += "  n" + std::to_string(owner->second) + " -> " + id + " [style=dotted, label=\"writes\"];\n";
  }
  return out + "}\n";
}

string workflow_svg(json::Node workflow) {
  constexpr int kMargin = 24, kIndent = 36, kLine = 16, kPadding = 12, kBetween = 14;
  string marks;
  int y = kMargin, right = 320;
  const auto n = [](int number) { return std::to_string(number); };
  const auto text = [&](int x, int at, const string& what, std::string_view style) {
    marks += "<text x=\"" + n(x) + "\" y=\"" + n(at) + "\" class=\"" + string(style) + "\">" +
             contract::svg_text(what) + "</text>\n";
    right = std::max(right, x + contract::svg_width(what));
  };
  text(kMargin, y + 14, name(workflow["name"]) + "  " + shown(workflow["standing"], 20), "title");
  text(kMargin, y + 34, joined(budgets_of(workflow)), "note");
  y += 56;
  // The lines first stand below one another; each box hangs on the one of its parent.
  const std::vector<Row> rows = rows_of(workflow);
  std::vector<std::pair<int, int>> corners;  // left and bottom of the boxes
  const auto box = [&](int x, const std::vector<string>& lines, std::string_view style) {
    int width = 0;
    for (const string& line : lines) width = std::max(width, contract::svg_width(line));
    width += width / 24 + 2 * kPadding;  // faces differ a little, which adds up in a long line
    const int height = kLine * static_cast<int>(lines.size()) + kPadding;
    marks += "<rect x=\"" + n(x) + "\" y=\"" + n(y) + "\" width=\"" + n(width) + "\" height=\"" + n(height) +
             "\" rx=\"6\" class=\"" + string(style) + "\"/>\n";
    right = std::max(right, x + width);
    int line_y = y + 18;
    for (const string& line : lines) {
      text(x + kPadding, line_y, line, &line == &lines.front() ? "name" : "tool");
      line_y += kLine;
    }
    corners.emplace_back(x, y + height);
    y += height + kBetween;
  };
  for (std::size_t i = 0; i < std::min(rows.size(), kRowsDrawnMax); ++i) {
    const int x = kMargin + kIndent * static_cast<int>(std::min<std::size_t>(rows[i].depth, 40));
    if (rows[i].above < corners.size()) {
      const auto [left, bottom] = corners[rows[i].above];
      marks += "<path d=\"M" + n(left + 14) + " " + n(bottom) + " V" + n(y + 14) + " H" + n(x) + "\" class=\"" +
               (rows[i].session ? "move" : "open") + "\" marker-end=\"url(#head)\"/>\n";
    }
    const bool open = rows[i].session["standing"].is_text("open");
    box(x, box_lines(rows[i]), !rows[i].session ? "behind" : open ? "read" : "phase");
  }
  if (rows.size() > kRowsDrawnMax) {
    text(kMargin, y + 12, "not drawn: " + std::to_string(rows.size() - kRowsDrawnMax) + " sessions and handoffs more",
         "note");
    y += 2 * kLine;
  }
  std::size_t drawn = 0;
  for (const json::Node one : workflow["resources"].elements()) {
    if (drawn == 0) {
      text(kMargin, y + 12, "Shared", "name");
      y += 22;
    }
    if (drawn++ == kRowsDrawnMax) {
      text(kMargin, y + 12,
           "not drawn: " + std::to_string(count_of(workflow["resources"]) - kRowsDrawnMax) + " resources more", "note");
      y += 2 * kLine;
      break;
    }
    std::vector<string> lines = {resource_text(one) + "  " + shown(one["mode"], 20)};
    for (string& part : holders_of(one)) lines.push_back(std::move(part));
    box(kMargin, lines, "write");
  }
  std::size_t sessions = 0;
  for (const Row& row : rows) sessions += row.session ? 1 : 0;
  return contract::svg_file({0, right + kMargin, y + kMargin, "The workflow " + name(workflow["name"]),
                             std::to_string(sessions) + " sessions, " + std::to_string(count_of(workflow["handoffs"])) +
                                 " handoffs. " + joined(budgets_of(workflow)) + ".",
                             marks});
}

}  // namespace baton::cli
