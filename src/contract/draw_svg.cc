// SPDX-License-Identifier: Apache-2.0
// Drawings: the SVG file. Phases stand in rows by how far they are from the beginning. An arrow to the next row is a curve; every
// other one runs through the gaps between the rows and a lane of its own at the right, so that no line goes through a box and no
// two labels meet.
#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "contract/draw.h"
#include "contract/words.h"

namespace baton::contract {
namespace {

using std::string;

constexpr int kCharacter = 7, kLine = 16, kPadding = 12, kBetween = 36, kTrack = 9, kMargin = 24;
constexpr std::size_t kRowMax = 8;  // boxes side by side
constexpr int kListWidth = 900;     // of tools in rows, where there are no phases

int widest(const std::vector<string>& lines) {
  int out = 0;
  for (const string& line : lines) out = std::max(out, svg_width(line));
  return out;
}

string n(int number) { return std::to_string(number); }

class SvgDrawing {
 public:
  explicit SvgDrawing(const Plan& plan) : plan_(plan), picture_(picture_of(plan, kMovesDrawnMax)) {}

  string draw() {
    int y = kMargin;
    text(kMargin, y + 14, drawn_name(plan_.agent.empty() ? "pack" : plan_.agent), "title");
    y += 40;
    if (plan_.phases.empty()) y = groups(y);
    else {
      y = phases(y);
      if (!picture_.anywhere.empty()) y = tool_rows(y + 20, "In every phase", picture_.anywhere);
    }
    y = rules(y + 20);
    if (left_out() > 0) {
      text(kMargin, y + 14,
           "not drawn: " + std::to_string(left_out()) + " phases and arrows beyond the limits of a drawing", "note");
      y += kLine + 8;
    }
    return whole(y + kMargin);
  }

 private:
  // --- marks ----------------------------------------------------------------------------------------------------------------------

  void reach(int x) { right_ = std::max(right_, x); }

  void text(int x, int y, const string& what, std::string_view style, std::string_view anchor = "start") {
    body_ += "<text x=\"" + n(x) + "\" y=\"" + n(y) + "\" class=\"" + string(style) + "\"" +
             (anchor == "start" ? "" : " text-anchor=\"" + string(anchor) + "\"") + ">" + svg_text(what) + "</text>\n";
    reach(x + (anchor == "middle" ? svg_width(what) / 2 : svg_width(what)));
  }

  void box(int x, int y, int width, int height, std::string_view style) {
    body_ += "<rect x=\"" + n(x) + "\" y=\"" + n(y) + "\" width=\"" + n(width) + "\" height=\"" + n(height) +
             "\" rx=\"6\" class=\"" + string(style) + "\"/>\n";
    reach(x + width);
  }

  void line(const string& path, bool has_tool) {
    body_ += "<path d=\"" + path + "\" class=\"" + (has_tool ? "move" : "open") + "\" marker-end=\"url(#head)\"/>\n";
  }

  // A label with its middle at x and its top at y; what lies behind it does not shine through.
  void label(int x, int y, const std::vector<string>& lines) {
    const int width = widest(lines) + 8;
    labels_ += "<rect x=\"" + n(x - width / 2) + "\" y=\"" + n(y) + "\" width=\"" + n(width) + "\" height=\"" +
               n(kLine * static_cast<int>(lines.size())) + "\" class=\"behind\"/>\n";
    int at = y + 12;
    for (const string& one : lines) {
      labels_ += "<text x=\"" + n(x) + "\" y=\"" + n(at) + "\" class=\"tool\" text-anchor=\"middle\">" + svg_text(one) +
                 "</text>\n";
      at += kLine;
    }
    reach(x + width / 2);
    left_ = std::min(left_, x - width / 2);
  }

  static std::string_view class_of(const Tool& tool) {
    return tool.side_effect == SideEffect::Read ? "read" : tool.side_effect == SideEffect::Write ? "write" : "risk";
  }

  // --- phases ---------------------------------------------------------------------------------------------------------------------

  struct Node {
    std::size_t row = 0;
    int x = 0, y = 0, width = 0, height = 0;
    std::vector<string> tools;
    int out = 0, in = 0, out_used = 0, in_used = 0;  // arrows at its lower and its upper edge
    bool drawn = false;
    int port(int used, int count) const { return x + width * (used + 1) / (count + 1); }
  };

  struct Arrow {
    const Picture::Move* move;
    std::vector<string> lines;
    bool near = false;  // to the next row
  };

  struct Gap {
    int exits = 0, entries = 0, label_lines = 0;  // what goes through it
    int exit_y = 0, label_y = 0, entry_y = 0;     // where the next one does
    int height() const { return 28 + (exits + entries) * kTrack + label_lines * kLine + (label_lines > 0 ? 10 : 0); }
  };

  int phases(int top) {
    make_rows();
    make_arrows();
    // gaps_[r] is above row r.
    gaps_.assign(rows_.size() + 1, {});
    for (const Arrow& arrow : arrows_) {
      const std::size_t from = nodes_[arrow.move->from].row, to = nodes_[arrow.move->to].row;
      if (arrow.near) gaps_[to].label_lines += static_cast<int>(arrow.lines.size());
      else {
        ++gaps_[from + 1].exits;
        ++gaps_[to].entries;
      }
    }
    const int bottom = place(top);
    for (const auto& row : rows_)
      for (const PhaseId id : row) draw_node(id);
    for (const Arrow& arrow : arrows_)
      if (arrow.near) draw_near(arrow);
    draw_far();
    return bottom;
  }

  void make_rows() {
    nodes_.resize(plan_.phases.size());
    std::size_t layer = 0;
    for (const PhaseId id : picture_.order) {
      if (phases_drawn_ == kPhasesDrawnMax) break;
      if (rows_.empty() || picture_.layer[id] != layer || rows_.back().size() == kRowMax) rows_.emplace_back();
      layer = picture_.layer[id];
      rows_.back().push_back(id);
      Node& node = nodes_[id];
      node.row = rows_.size() - 1;
      node.drawn = true;
      node.tools = tool_labels(picture_.stays[id], plan_, kToolsNamedMax);
      const string& name = plan_.phases[id].name;
      node.width = std::max({svg_width(drawn_name(name)) + 70, widest(node.tools), 110}) + 2 * kPadding;
      node.height = 30 + kLine * static_cast<int>(node.tools.size()) + (node.tools.empty() ? 0 : 6);
      ++phases_drawn_;
    }
  }

  void make_arrows() {
    for (const Picture::Move& move : picture_.moves) {
      if (!nodes_[move.from].drawn || !nodes_[move.to].drawn) {
        ++moves_not_drawn_;
        continue;
      }
      Arrow arrow{&move, tool_labels(move.tools, plan_, kToolsNamedMax)};
      if (arrow.lines.empty()) arrow.lines = {"no tool"};
      arrow.near = nodes_[move.to].row == nodes_[move.from].row + 1;
      ++nodes_[move.from].out;
      ++nodes_[move.to].in;
      arrows_.push_back(std::move(arrow));
    }
    // From left to right at each box, as far as that is known.
    std::vector<Arrow> ordered;
    for (const bool near : {true, false})
      for (const Arrow& arrow : arrows_)
        if (arrow.near == near) ordered.push_back(arrow);
    arrows_ = std::move(ordered);
  }

  // Rows below each other, each in the middle.
  int place(int y) {
    std::vector<int> widths;
    for (const auto& row : rows_) {
      int width = -kBetween;
      for (const PhaseId id : row) width += nodes_[id].width + kBetween;
      widths.push_back(width);
    }
    const int most = widths.empty() ? 0 : *std::ranges::max_element(widths);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      y = pass(gaps_[r], y);
      int x = kMargin + (most - widths[r]) / 2, height = 0;
      for (const PhaseId id : rows_[r]) {
        Node& node = nodes_[id];
        node.x = x;
        node.y = y;
        x += node.width + kBetween;
        height = std::max(height, node.height);
      }
      y += height;
    }
    return pass(gaps_[rows_.size()], y);
  }

  static int pass(Gap& gap, int y) {
    gap.exit_y = y + 10;
    gap.label_y = gap.exit_y + gap.exits * kTrack + 5;
    gap.entry_y = gap.label_y + gap.label_lines * kLine + (gap.label_lines > 0 ? 8 : 0);
    return y + gap.height();
  }

  void draw_node(PhaseId id) {
    const Node& node = nodes_[id];
    const Phase& phase = plan_.phases[id];
    box(node.x, node.y, node.width, node.height, "phase");
    if (phase.terminal) box(node.x + 3, node.y + 3, node.width - 6, node.height - 6, "inner");
    text(node.x + kPadding, node.y + 20, drawn_name(phase.name), "name");
    const string tag = phase.initial && phase.terminal ? "begin/end"
                       : phase.initial                 ? "begin"
                       : phase.terminal                ? "end"
                                                       : "";
    if (!tag.empty()) text(node.x + node.width - kPadding - svg_width(tag), node.y + 20, tag, "note");
    int y = node.y + 38;
    for (const string& tool : node.tools) {
      text(node.x + kPadding, y, tool, "tool");
      y += kLine;
    }
  }

  int start_of(const Picture::Move& move) {
    Node& node = nodes_[move.from];
    return node.port(node.out_used++, node.out);
  }
  int end_of(const Picture::Move& move) {
    Node& node = nodes_[move.to];
    return node.port(node.in_used++, node.in);
  }

  void draw_near(const Arrow& arrow) {
    const Node &from = nodes_[arrow.move->from], &to = nodes_[arrow.move->to];
    const int x0 = start_of(*arrow.move), x1 = end_of(*arrow.move), y0 = from.y + from.height, y1 = to.y,
              middle = (y0 + y1) / 2;
    line("M" + n(x0) + " " + n(y0) + " C" + n(x0) + " " + n(middle) + " " + n(x1) + " " + n(middle) + " " + n(x1) +
             " " + n(y1),
         !arrow.move->tools.empty());
    // Its own height in the gap, at the place of the curve.
    Gap& gap = gaps_[to.row];
    const int height = kLine * static_cast<int>(arrow.lines.size()), aim = gap.label_y + height / 2;
    double low = 0, high = 1;
    for (int i = 0; i < 20; ++i) {
      const double t = (low + high) / 2, s = 1 - t;
      const double y = s * s * s * y0 + 3 * s * t * middle * (s + t) + t * t * t * y1;
      (y < aim ? low : high) = t;
    }
    const double t = low, s = 1 - t;
    label(static_cast<int>((s * s * s + 3 * s * s * t) * x0 + (3 * s * t * t + t * t * t) * x1), gap.label_y,
          arrow.lines);
    gap.label_y += height;
  }

  // An arrow through a lane at the right. Arrows that do not meet share one.
  struct Far {
    const Arrow* arrow;
    int x0, x1, out_y, in_y;
    std::size_t number;  // in the order of the arrows
    std::size_t lane = 0;
    int middle() const { return (out_y + in_y) / 2; }
    int half() const {  // its label may be higher than its way
      return std::max(std::abs(out_y - in_y), kLine * static_cast<int>(arrow->lines.size())) / 2 + 6;
    }
  };

  void draw_far() {
    std::vector<Far> fars;
    for (const Arrow& arrow : arrows_) {
      if (arrow.near) continue;
      Gap &leaving = gaps_[nodes_[arrow.move->from].row + 1], &coming = gaps_[nodes_[arrow.move->to].row];
      fars.push_back({&arrow, start_of(*arrow.move), end_of(*arrow.move), leaving.exit_y, coming.entry_y, fars.size()});
      leaving.exit_y += kTrack;
      coming.entry_y += kTrack;
    }
    // Short ways first: they stay near the boxes.
    std::ranges::sort(fars, {}, [](const Far& far) { return std::pair(far.half(), far.number); });
    struct Lane {
      int width = 0;
      std::vector<const Far*> taken = {};
    };
    std::vector<Lane> lanes;
    for (Far& far : fars) {
      const auto is_free = [&](const Lane& lane) {
        return std::ranges::none_of(lane.taken, [&](const Far* other) {
          return std::abs(other->middle() - far.middle()) < other->half() + far.half();
        });
      };
      const auto found = std::ranges::find_if(lanes, is_free);
      far.lane = static_cast<std::size_t>(found - lanes.begin());
      if (found == lanes.end()) lanes.emplace_back();
      lanes[far.lane].taken.push_back(&far);
      lanes[far.lane].width = std::max(lanes[far.lane].width, widest(far.arrow->lines) + 24);
    }
    std::vector<int> lane_x;
    int x = right_ + kMargin;
    for (const Lane& lane : lanes) {
      lane_x.push_back(x);
      x += lane.width;
    }
    for (const Far& far : fars) {
      const Node &from = nodes_[far.arrow->move->from], &to = nodes_[far.arrow->move->to];
      const int at = lane_x[far.lane];
      line("M" + n(far.x0) + " " + n(from.y + from.height) + " V" + n(far.out_y) + " H" + n(at) + " V" + n(far.in_y) +
               " H" + n(far.x1) + " V" + n(to.y),
           !far.arrow->move->tools.empty());
      int y = far.middle() - kLine * static_cast<int>(far.arrow->lines.size()) / 2 + 12;
      for (const string& one : far.arrow->lines) {
        text_behind(at + 6, y, one);
        y += kLine;
      }
      reach(at);
    }
  }

  // A text that lines of other lanes may run behind.
  void text_behind(int x, int y, const string& what) {
    labels_ += "<rect x=\"" + n(x - 3) + "\" y=\"" + n(y - 12) + "\" width=\"" + n(svg_width(what) + 6) +
               "\" height=\"" + n(kLine) + "\" class=\"behind\"/>\n<text x=\"" + n(x) + "\" y=\"" + n(y) +
               "\" class=\"tool\">" + svg_text(what) + "</text>\n";
    reach(x + svg_width(what));
  }

  // --- lists ----------------------------------------------------------------------------------------------------------------------

  int tool_rows(int y, const string& heading, const std::vector<ToolId>& tools) {
    text(kMargin, y + 12, heading, "name");
    y += 22;
    int x = kMargin;
    std::size_t shown = 0;
    for (const ToolId id : tools) {
      const bool full = shown++ == kRulesDrawnMax;
      const string what =
          full ? "and " + std::to_string(tools.size() - kRulesDrawnMax) + " more" : tool_label(plan_.tools[id], plan_);
      const int width = svg_width(what) + 2 * kPadding;
      if (x > kMargin && x + width > kListWidth) {
        x = kMargin;
        y += 34;
      }
      box(x, y, width, 26, full ? "inner" : class_of(plan_.tools[id]));
      text(x + kPadding, y + 17, what, "tool");
      x += width + 10;
      if (full) break;
    }
    return y + 36;
  }

  int groups(int y) {
    for (std::size_t i = 0; i < 5; ++i) {
      const auto effect = static_cast<SideEffect>(i);
      std::vector<ToolId> tools;
      for (ToolId id = 0; id < plan_.tools.size(); ++id)
        if (plan_.tools[id].side_effect == effect) tools.push_back(id);
      if (!tools.empty()) y = tool_rows(y, string(name_of(effect)), tools);
    }
    return y;
  }

  int rules(int y) {
    if (picture_.rules.empty()) return y;
    text(kMargin, y + 12, "Order between tools", "name");
    y += 22;
    int column = 0;
    for (const Picture::Rule& rule : picture_.rules)
      column = std::max(column, svg_width(drawn_name(plan_.tools[rule.first].name)));
    column += 2 * kPadding;
    for (const Picture::Rule& rule : picture_.rules) {
      const Tool &first = plan_.tools[rule.first], &then = plan_.tools[rule.then];
      const bool needs = rule.kind == Picture::Rule::Kind::Needs;
      const string name = drawn_name(first.name), other = drawn_name(then.name);
      box(kMargin, y, svg_width(name) + 2 * kPadding, 26, class_of(first));
      text(kMargin + kPadding, y + 17, name, "tool");
      const int x0 = kMargin + svg_width(name) + 2 * kPadding, x1 = kMargin + column + 50;
      body_ += "<path d=\"M" + n(x0) + " " + n(y + 13) + " H" + n(x1) + "\" class=\"" + (needs ? "move" : "forbid") +
               "\" marker-end=\"url(#" + (needs ? "head" : "stop") + ")\"/>\n";
      box(x1 + 4, y, svg_width(other) + 2 * kPadding, 26, class_of(then));
      text(x1 + 4 + kPadding, y + 17, other, "tool");
      string what = needs ? "must come first" : rule.first == rule.then ? "only once" : "blocked from then on";
      if (!rule.note.empty()) what += ", " + rule.note;
      text(x1 + 4 + svg_width(other) + 3 * kPadding, y + 17, what, "note");
      y += 34;
    }
    return y;
  }

  // --- the file -------------------------------------------------------------------------------------------------------------------

  std::size_t left_out() const {
    return plan_.phases.size() - std::min(plan_.phases.size(), phases_drawn_) + picture_.moves_left_out +
           moves_not_drawn_ + picture_.rules_left_out;
  }

  string description() const {
    string out = plan_.phases.empty() ? "No phases" : std::to_string(plan_.phases.size()) + " phases";
    out += ", " + std::to_string(plan_.tools.size()) + " tools.";
    std::size_t told = 0;
    for (const Picture::Move& move : picture_.moves) {
      if (++told > 40) return out + " There are more arrows.";
      std::vector<string> names;
      for (std::size_t i = 0; i < std::min(move.tools.size(), kToolsNamedMax); ++i)
        names.push_back(drawn_name(plan_.tools[move.tools[i]].name));
      out += " From " + drawn_name(plan_.phases[move.from].name) + " to " + drawn_name(plan_.phases[move.to].name) +
             " by " + (names.empty() ? "no tool" : listed(names, "or")) + ".";
    }
    return out;
  }

  string whole(int height) const {
    const int left = std::min(0, left_ - kMargin);
    return svg_file({left, right_ + kMargin - left, height,
                     "What " + drawn_name(plan_.agent.empty() ? "the agent" : plan_.agent) + " may do", description(),
                     body_ + labels_});
  }

  const Plan& plan_;
  const Picture picture_;
  std::vector<std::vector<PhaseId>> rows_;
  std::vector<Node> nodes_;  // by PhaseId
  std::vector<Arrow> arrows_;
  std::vector<Gap> gaps_;
  std::size_t phases_drawn_ = 0, moves_not_drawn_ = 0;
  int left_ = kMargin, right_ = 320;
  string body_, labels_;
};

}  // namespace

string svg_text(std::string_view text) {
  string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

// Wide characters take two cells of a fixed-width face.
int svg_width(std::string_view text) {
  int cells = 0;
  for (std::size_t at = 0; at < text.size();) cells += next_character(text, at) >= 0x1100 ? 2 : 1;
  return cells * kCharacter;
}

string svg_file(const SvgFile& file) {
  const string size = n(file.left) + " 0 " + n(file.width) + " " + n(file.height);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"" + size +
         "\" width=\"" + n(file.width) + "\" height=\"" + n(file.height) +
         "\" role=\"img\" aria-labelledby=\"title description\">\n" + "<title id=\"title\">" + svg_text(file.title) +
         "</title>\n<desc id=\"description\">" + svg_text(file.description) + "</desc>\n" +
         R"(<style>
text { font: 12px ui-monospace, monospace; fill: #1c2024; }
.title { font-size: 15px; font-weight: bold; } .name { font-weight: bold; } .note { fill: #5b6470; }
rect { fill: #ffffff; stroke: #5b6470; } .inner { fill: none; } .behind { stroke: none; fill-opacity: 0.9; }
.phase { fill: #f4f6f8; } .read { stroke: #1b6e3c; } .write { stroke: #8a5a00; } .risk { stroke: #a1161d; stroke-width: 2; }
path { fill: none; stroke: #33415c; } .open { stroke: #9aa4b1; stroke-dasharray: 2 4; } .forbid { stroke: #a1161d; stroke-dasharray: 6 3; }
marker path { stroke: none; fill: #33415c; } #stop path { stroke: #a1161d; stroke-width: 2; }
</style>
<defs>
<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker>
<marker id="stop" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="10" markerHeight="10" orient="auto"><path d="M4 0 V8"/></marker>
</defs>
)" + "<rect x=\"" +
         n(file.left) + "\" y=\"0\" width=\"" + n(file.width) + "\" height=\"" + n(file.height) +
         "\" class=\"behind\" style=\"fill-opacity:1\"/>\n" + file.marks + "</svg>\n";
}

string draw_svg(const Plan& plan) { return SvgDrawing(plan).draw(); }

}  // namespace baton::contract
