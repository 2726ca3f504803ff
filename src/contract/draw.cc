// SPDX-License-Identifier: Apache-2.0
// Drawings: what is drawn, and the drawings for a terminal and for Graphviz.
#include "contract/draw.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "contract/words.h"

namespace baton::contract {
namespace {

using std::string;

constexpr std::size_t kColumns = 80;

string counted(std::size_t count, std::string_view one) {
  return std::to_string(count) + " " + string(one) + (count == 1 ? "" : "s");
}

string note_of(const Precondition& one) {
  std::vector<string> parts;
  if (one.resource) parts.push_back("same " + words_of(one.resource->path));
  if (!one.with_output.empty()) parts.push_back("if its output agrees");
  return listed(parts);
}

std::string_view colour_of(SideEffect effect) {
  return effect == SideEffect::Read ? "32" : effect == SideEffect::Write ? "33" : "31";
}

// --- for a terminal -------------------------------------------------------------------------------------------------------------

class TextDrawing {
 public:
  TextDrawing(const Plan& plan, bool colour)
      : plan_(plan), colour_(colour), picture_(picture_of(plan, kMovesListedMax)) {}

  string draw() {
    out_ = paint(drawn_name(plan_.agent.empty() ? "pack" : plan_.agent), "1") + ": " +
           (plan_.phases.empty() ? "no phases" : counted(plan_.phases.size(), "phase")) + ", " +
           counted(plan_.tools.size(), "tool") + "\n";
    if (plan_.phases.empty()) groups();
    else phases();
    rules();
    return std::move(out_);
  }

 private:
  string paint(const string& text, std::string_view code) const {
    return colour_ ? "\x1b[" + string(code) + "m" + text + "\x1b[0m" : text;
  }

  // Items with blanks between them, in lines that begin with `first` and then with `rest`. Colour takes no room.
  struct Item {
    string text;
    std::string_view code;
  };
  void items(const string& first, const string& rest, const std::vector<Item>& list) {
    string line = first;
    std::size_t used = count_characters(first);
    bool is_first = true;
    for (const Item& item : list) {
      const string shown = item.text + (&item == &list.back() ? "" : ",");
      const std::size_t width = count_characters(shown);
      if (!is_first && used + 1 + width > kColumns) {
        out_ += line + "\n";
        line = rest;
        used = count_characters(rest);
        is_first = true;
      }
      line += (is_first ? "" : " ") + (item.code.empty() ? shown : paint(shown, item.code));
      used += width + (is_first ? 0 : 1);
      is_first = false;
    }
    out_ += line + "\n";
  }

  std::vector<Item> named(const std::vector<ToolId>& tools) const {
    std::vector<Item> out;
    for (std::size_t i = 0; i < std::min(tools.size(), kToolsListedMax); ++i)
      out.push_back({tool_label(plan_.tools[tools[i]], plan_), colour_of(plan_.tools[tools[i]].side_effect)});
    if (tools.size() > kToolsListedMax)
      out.push_back({"and " + std::to_string(tools.size() - kToolsListedMax) + " more", {}});
    return out;
  }

  void phases() {
    std::size_t at = 0;
    for (const PhaseId id : picture_.order) {
      const Phase& phase = plan_.phases[id];
      std::vector<const Picture::Move*> moves;
      while (at < picture_.moves.size() && picture_.moves[at].from == id) moves.push_back(&picture_.moves[at++]);
      out_ += "\n" + string(phase.terminal ? "◎ " : phase.initial ? "● " : "○ ") + paint(drawn_name(phase.name), "1");
      if (phase.initial) out_ += "  (a session begins here)";
      if (phase.terminal) out_ += "  (a session may end here)";
      if (picture_.layer[id] == SIZE_MAX) out_ += "  (no way leads here)";
      out_ += "\n";
      const bool has_stays = !picture_.stays[id].empty();
      if (has_stays)
        items(moves.empty() ? "╰─ stays: " : "├─ stays: ", moves.empty() ? "          " : "│         ",
              named(picture_.stays[id]));
      for (const Picture::Move* move : moves) {
        const bool last = move == moves.back();
        const string to = drawn_name(plan_.phases[move->to].name);
        const string begin = string(last ? "╰" : "├") + (move->tools.empty() ? "┄▷ " : "─▶ ") + to + "  ";
        const string rest = (last ? "     " : "│    ");
        items(begin, rest, move->tools.empty() ? std::vector<Item>{{"no tool goes there", "2"}} : named(move->tools));
      }
    }
    if (picture_.moves_left_out > 0) out_ += "\n... and " + counted(picture_.moves_left_out, "more arrow") + "\n";
    if (picture_.anywhere.empty()) return;
    out_ += "\n" + paint("In every phase", "1") + "\n";
    items("  ", "  ", named(picture_.anywhere));
  }

  void groups() {
    for (std::size_t i = 0; i < 5; ++i) {
      const auto effect = static_cast<SideEffect>(i);
      std::vector<ToolId> tools;
      for (ToolId id = 0; id < plan_.tools.size(); ++id)
        if (plan_.tools[id].side_effect == effect) tools.push_back(id);
      if (tools.empty()) continue;
      out_ += "\n" + paint(string(name_of(effect)), "1") + "\n";
      items("  ", "  ", named(tools));
    }
  }

  void rules() {
    if (picture_.rules.empty()) return;
    out_ += "\n" + paint("Order", "1") + "\n";
    for (const Picture::Rule& rule : picture_.rules) {
      const string first = drawn_name(plan_.tools[rule.first].name), then = drawn_name(plan_.tools[rule.then].name);
      const bool needs = rule.kind == Picture::Rule::Kind::Needs;
      string line = "  " + first + (needs ? " ──▶ " : " ──✕ ") + then;
      string what = needs ? "must come first" : rule.first == rule.then ? "only once" : "blocked from then on";
      if (!rule.note.empty()) what += ", " + rule.note;
      if (count_characters(line) + 2 + count_characters(what) > kColumns) line += "\n     ";
      out_ += line + "  " + paint(what, "2") + "\n";
    }
    if (picture_.rules_left_out > 0) out_ += "  ... and " + std::to_string(picture_.rules_left_out) + " more\n";
  }

  const Plan& plan_;
  const bool colour_;
  const Picture picture_;
  string out_;
};

// --- for Graphviz -----------------------------------------------------------------------------------------------------------------

string dot_colour(SideEffect effect) {
  return effect == SideEffect::Read ? "#1b6e3c" : effect == SideEffect::Write ? "#8a5a00" : "#a1161d";
}

}  // namespace

// --- what is drawn --------------------------------------------------------------------------------------------------------------

// A backslash would begin one of Graphviz's own escapes.
string dot_text(std::string_view text) {
  string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

string drawn_name(std::string_view name) { return printable(name, kNameDrawnMax); }

bool needs_approval(const Tool& tool, const Plan& plan) {
  if (tool.checkpoint && (!tool.checkpoint->side_effect || *tool.checkpoint->side_effect == tool.side_effect))
    return true;
  return std::ranges::any_of(tool.checkpoints, [&](std::uint32_t i) {
    return !plan.checkpoints[i].side_effect || *plan.checkpoints[i].side_effect == tool.side_effect;
  });
}

string tool_label(const Tool& tool, const Plan& plan) {
  return drawn_name(tool.name) + " (" + string(name_of(tool.side_effect)) +
         (needs_approval(tool, plan) ? ", approval" : "") + (tool.passes_gate ? "" : ", blocked") + ")";
}

std::vector<string> tool_labels(const std::vector<ToolId>& tools, const Plan& plan, std::size_t most) {
  std::vector<string> out;
  for (std::size_t i = 0; i < std::min(tools.size(), most); ++i) out.push_back(tool_label(plan.tools[tools[i]], plan));
  if (tools.size() > most) out.push_back("and " + std::to_string(tools.size() - most) + " more");
  return out;
}

Picture picture_of(const Plan& plan, std::size_t moves_max) {
  Picture out;
  const std::size_t count = plan.phases.size();
  out.layer.assign(count, SIZE_MAX);
  out.stays.resize(count);
  if (plan.initial) {
    out.order.push_back(*plan.initial);
    out.layer[*plan.initial] = 0;
  }
  for (std::size_t i = 0; i < out.order.size(); ++i)
    plan.phases[out.order[i]].next.each([&](PhaseId next) {
      if (out.layer[next] != SIZE_MAX) return;
      out.layer[next] = out.layer[out.order[i]] + 1;
      out.order.push_back(next);
    });
  for (PhaseId id = 0; id < count; ++id)
    if (out.layer[id] == SIZE_MAX) out.order.push_back(id);

  std::vector<std::map<PhaseId, std::vector<ToolId>>> movers(count);  // by the phase they leave
  for (ToolId id = 0; id < plan.tools.size(); ++id) {
    const Tool& tool = plan.tools[id];
    if (count == 0) break;
    if (!tool.names_phases && !tool.advances_to) out.anywhere.push_back(id);
    else
      callable_phases(tool, plan).each([&](PhaseId phase) {
        if (!tool.advances_to || *tool.advances_to == phase) out.stays[phase].push_back(id);
        else movers[phase][*tool.advances_to].push_back(id);
      });
  }
  for (const PhaseId from : out.order) {
    plan.phases[from].next.each([&](PhaseId next) {
      if (next != from) movers[from].try_emplace(next);
    });
    for (auto& [to, tools] : movers[from]) {
      if (out.moves.size() < moves_max) out.moves.push_back({from, to, std::move(tools)});
      else ++out.moves_left_out;
    }
  }

  const auto rule = [&](Picture::Rule::Kind kind, ToolId first, ToolId then, string note) {
    if (out.rules.size() < kRulesDrawnMax) out.rules.push_back({kind, first, then, std::move(note)});
    else ++out.rules_left_out;
  };
  for (ToolId id = 0; id < plan.tools.size(); ++id)
    for (const Precondition& one : plan.tools[id].preconditions)
      if (one.prior) rule(Picture::Rule::Kind::Needs, *one.prior, id, note_of(one));
  for (ToolId id = 0; id < plan.tools.size(); ++id) {
    for (const ToolId other : plan.tools[id].forbids) rule(Picture::Rule::Kind::Blocks, id, other, {});
    for (const EntityForbid& one : plan.tools[id].forbids_per)
      rule(Picture::Rule::Kind::Blocks, id, one.tool, "for the same " + one.per.text);
  }
  return out;
}

string draw_text(const Plan& plan, bool colour) { return TextDrawing(plan, colour).draw(); }

string draw_dot(const Plan& plan) {
  const Picture picture = picture_of(plan, kMovesListedMax);
  string out = "digraph \"" + dot_text(drawn_name(plan.agent)) + "\" {\n";
  out +=
      "  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", "
      "fontsize=10];\n";
  // A line of a label ends with \l: set to the left.
  const auto lines = [&](const std::vector<ToolId>& tools) {
    string text;
    for (const string& one : tool_labels(tools, plan, kToolsNamedMax)) text += dot_text(one) + "\\l";
    return text;
  };
  if (plan.initial) out += "  begin [shape=point, label=\"\"];\n  begin -> p" + std::to_string(*plan.initial) + ";\n";
  for (const PhaseId id : picture.order) {
    const string stays = lines(picture.stays[id]);
    out += "  p" + std::to_string(id) + " [label=\"" + dot_text(drawn_name(plan.phases[id].name)) +
           (stays.empty() ? "" : "\\n" + stays) + "\"" + (plan.phases[id].terminal ? ", peripheries=2" : "") + "];\n";
  }
  for (const Picture::Move& move : picture.moves)
    out += "  p" + std::to_string(move.from) + " -> p" + std::to_string(move.to) +
           (move.tools.empty() ? " [style=dotted, color=gray, label=\"no tool\"];\n"
                               : " [label=\"" + lines(move.tools) + "\"];\n");
  // Tools on their own: those without a phase, and those that others wait for or are blocked by.
  std::vector<bool> shown(plan.tools.size(), plan.phases.empty());
  for (const ToolId id : picture.anywhere) shown[id] = true;
  for (const Picture::Rule& rule : picture.rules) shown[rule.first] = shown[rule.then] = true;
  if (std::ranges::find(shown, true) != shown.end()) {
    out += "  subgraph cluster_tools {\n    label=\"" +
           string(plan.phases.empty() ? "tools" : "tools in any phase, and the order between tools") + "\";\n";
    for (ToolId id = 0; id < plan.tools.size(); ++id)
      if (shown[id])
        out += "    t" + std::to_string(id) + " [label=\"" + dot_text(tool_label(plan.tools[id], plan)) +
               "\", style=solid, color=\"" + dot_colour(plan.tools[id].side_effect) + "\"];\n";
    for (const Picture::Rule& rule : picture.rules)
      out += "    t" + std::to_string(rule.first) + " -> t" + std::to_string(rule.then) +
             (rule.kind == Picture::Rule::Kind::Needs
                  ? " [label=\"" + dot_text("first" + (rule.note.empty() ? "" : ", " + rule.note)) + "\"];\n"
                  : " [style=dashed, color=\"#a1161d\", arrowhead=tee, label=\"" +
                        dot_text("then blocked" + (rule.note.empty() ? "" : ", " + rule.note)) + "\"];\n");
    out += "  }\n";
  }
  if (picture.moves_left_out + picture.rules_left_out > 0)
    out += "  // left out: " + std::to_string(picture.moves_left_out + picture.rules_left_out) + " arrows\n";
  return out + "}\n";
}

}  // namespace baton::contract
