// SPDX-License-Identifier: Apache-2.0
// Drawings of a plan: its phases, the tools that move a session between them and those that stay, what needs an approval, and
// what must come before what. A plan without phases is drawn as its tools, by what they do, in the order they need.
//
// All three show the same picture. Names are somebody else's text: they are escaped, and cut where they are very long. A drawing
// is bounded whatever the plan is: beyond the limits below it says how much was left out. The text needs no more than 80
// columns unless a single name does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "contract/plan.h"

namespace baton::contract {

inline constexpr std::size_t kPhasesDrawnMax = 150;     // of an SVG drawing; text and DOT show all
inline constexpr std::size_t kMovesDrawnMax = 600;      // arrows of an SVG drawing
inline constexpr std::size_t kMovesListedMax = 20'000;  // arrows of text and DOT
inline constexpr std::size_t kToolsNamedMax = 8;        // at one arrow or in one phase of an SVG or DOT drawing
inline constexpr std::size_t kToolsListedMax = 50;      // the same in text
inline constexpr std::size_t kRulesDrawnMax = 200;      // of the order between tools
inline constexpr std::size_t kNameDrawnMax = 60;        // characters

std::string draw_text(const Plan& plan, bool colour);
std::string draw_dot(const Plan& plan);  // for Graphviz
std::string draw_svg(const Plan& plan);  // a whole file, laid out here

// --- what is drawn ------------------------------------------------------------------------------------------------------------

struct Picture {
  struct Move {
    PhaseId from, to;
    std::vector<ToolId> tools;  // none: the transitions allow it, but no tool goes there
  };
  struct Rule {
    enum class Kind { Needs, Blocks } kind;
    ToolId first,
        then;          // Needs: `first` must have succeeded before `then`; Blocks: once `first` ran, `then` is blocked
    std::string note;  // "same `$.order_id`"
  };
  std::vector<PhaseId> order;              // from the beginning on, breadth first; what is not reached comes last
  std::vector<std::size_t> layer;          // by PhaseId: how many moves from the beginning
  std::vector<std::vector<ToolId>> stays;  // by PhaseId: tools that are for some phases only, and move nothing
  std::vector<ToolId> anywhere;            // tools for every phase that move nothing
  std::vector<Move> moves;                 // by the order of the phases they leave; never from a phase to itself
  std::size_t moves_left_out = 0;
  std::vector<Rule> rules;
  std::size_t rules_left_out = 0;
};
Picture picture_of(const Plan& plan, std::size_t moves_max);

// "issue_refund (financial, approval)"; `blocked` when its gate lets nothing through.
std::string tool_label(const Tool& tool, const Plan& plan);
// At most so many labels; the last says how many more there are.
std::vector<std::string> tool_labels(const std::vector<ToolId>& tools, const Plan& plan, std::size_t most);
std::string drawn_name(std::string_view name);

// --- pieces, for other drawings -----------------------------------------------------------------------------------------------

std::string dot_text(std::string_view text);  // as it stands between quotes of DOT
std::string svg_text(std::string_view text);  // as it stands between tags of SVG, or in an attribute
int svg_width(std::string_view text);         // in the face of an SVG drawing
// A whole file from its marks, which have the classes of its style. `left` may be negative.
struct SvgFile {
  int left = 0, width = 0, height = 0;
  std::string title, description, marks;
};
std::string svg_file(const SvgFile& file);
// Does a person have to look at some call of it?
bool needs_approval(const Tool& tool, const Plan& plan);

}  // namespace baton::contract
