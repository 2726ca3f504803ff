// SPDX-License-Identifier: Apache-2.0
// Drawings: what is in them, that names cannot break out of them, and that they stay bounded.
#include "contract/draw.h"

#include <re2/re2.h>

#include <algorithm>

#include "base/text.h"
#include "contract_pack.h"

namespace baton::contract {
namespace {

std::string session_text(const std::string& phases, const std::string& transitions,
                         const std::string& agent = "clerk") {
  return "schema_version: \"1.0\"\nagent: " + agent + "\nphases: " + phases + "\ntransitions: " + transitions +
         "\nrisk_defaults: {write: allow}\n";
}

const Files kClerk = {
    {"session.yaml", session_text("[{name: last, terminal: true}, {name: first, initial: true}, {name: mid}]",
                                  "{first: [mid], mid: [last, first]}")},
    {"go.yaml", contract_text("go", "write", "transitions: {valid_in_phases: [first], advances_to: mid}\n")},
    {"look.yaml", contract_text("look", "read")},
    {"read_more.yaml", contract_text("read_more", "read", "transitions: {valid_in_phases: [mid]}\n")},
    {"pay.yaml", contract_text("pay", "financial",
                               "transitions: {valid_in_phases: [mid], advances_to: last}\n"
                               "preconditions: [{requires_prior_tool: go}]\nforbids_after: [look, pay]\n"
                               "checkpoint: {when: always, timeout_seconds: 60}\n")}};

TEST(ContractDraw, TextGoesFromTheBeginningToTheEnd) {
  EXPECT_EQ(draw_text(*plan_of(kClerk), false),
            R"(clerk: 3 phases, 4 tools

● first  (a session begins here)
╰─▶ mid  go (write)

○ mid
├─ stays: read_more (read)
├─▶ last  pay (financial, approval, blocked)
╰┄▷ first  no tool goes there

◎ last  (a session may end here)

In every phase
  look (read)

Order
  go ──▶ pay  must come first
  pay ──✕ look  blocked from then on
  pay ──✕ pay  only once
)");
}

TEST(ContractDraw, ColourIsAddedAndNothingElse) {
  const auto plan = plan_of(kClerk);
  const std::string coloured = draw_text(*plan, true);
  EXPECT_NE(coloured.find("\x1b[31m"), std::string::npos);
  std::string plain = coloured;
  EXPECT_GT(re2::RE2::GlobalReplace(&plain, "\x1b\\[[0-9;]*m", ""), 0);
  EXPECT_EQ(plain, draw_text(*plan, false));
}

TEST(ContractDraw, WithoutPhasesToolsStandByWhatTheyDo) {
  const auto plan = plan_of({{"b.yaml", contract_text("b", "read")},
                             {"a.yaml", contract_text("a", "admin", "preconditions: [{requires_prior_tool: b}]\n")}});
  EXPECT_EQ(draw_text(*plan, false),
            "pack: no phases, 2 tools\n\nread\n  b (read)\n\nadmin\n  a (admin, blocked)\n\nOrder\n  b ──▶ a  must "
            "come first\n");
  EXPECT_NE(draw_svg(*plan).find(">a (admin, blocked)</text>"), std::string::npos);
  EXPECT_NE(draw_dot(*plan).find("t1 -> t0 [label=\"first\"]"), std::string::npos);
}

TEST(ContractDraw, TextFitsEightyColumns) {
  Files files = kClerk;
  for (int i = 0; i < 30; ++i) {
    const std::string name = "a_tool_with_a_long_name_" + std::to_string(i);
    files[name + ".yaml"] = contract_text(name, "write", "transitions: {valid_in_phases: [mid], advances_to: last}\n");
  }
  const std::string text = draw_text(*plan_of(files), false);
  for (const std::string_view line : split(text, '\n')) EXPECT_LE(count_characters(line), 80u) << line;
  EXPECT_NE(text.find("a_tool_with_a_long_name_29"), std::string::npos);
}

TEST(ContractDraw, NamesCannotBreakOut) {
  const std::string name = R"("a\"b<script>&\\N\u202e")";  // a"b<script>&\N and a character that turns text around
  const auto plan =
      plan_of({{"session.yaml", session_text("[{name: " + name + ", initial: true, terminal: true}]", "{}", name)},
               {"go.yaml", contract_text("go", "write")}});
  const std::string dot = draw_dot(*plan), svg = draw_svg(*plan), text = draw_text(*plan, false);
  EXPECT_NE(dot.find(R"([label="a\"b<script>&\\N\\u{202e}")"), std::string::npos) << dot;
  EXPECT_NE(svg.find(">a&quot;b&lt;script&gt;&amp;\\N\\u{202e}</text>"), std::string::npos) << svg;
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  for (const std::string& drawing : {dot, svg, text}) EXPECT_EQ(drawing.find("\xe2\x80\xae"), std::string::npos);
}

TEST(ContractDraw, DotHasEveryPhaseAndArrow) {
  const std::string dot = draw_dot(*plan_of(kClerk));  // last is p0, first p1, mid p2; go t0, look t1, pay t2
  for (const std::string_view part :
       {"digraph \"clerk\" {", "begin -> p1;", "p0 [label=\"last\", peripheries=2];",
        "p2 [label=\"mid\\nread_more (read)\\l\"];", "p1 -> p2 [label=\"go (write)\\l\"];",
        "p2 -> p0 [label=\"pay (financial, approval, blocked)\\l\"];",
        "p2 -> p1 [style=dotted, color=gray, label=\"no tool\"];", "t0 -> t2 [label=\"first\"];",
        "t2 -> t1 [style=dashed, color=\"#a1161d\", arrowhead=tee, label=\"then blocked\"];"})
    EXPECT_NE(dot.find(part), std::string::npos) << part << "\nnot in\n" << dot;
  EXPECT_EQ(std::ranges::count(dot, '{'), std::ranges::count(dot, '}'));
}

// --- the picture on the sheet ---------------------------------------------------------------------------------------------------

struct Area {
  int left, top, right, bottom;
  std::string what;
  bool meets(const Area& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

std::vector<Area> texts_of(const std::string& svg) {
  std::vector<Area> out;
  const re2::RE2 mark(R"re(<text x="(-?\d+)" y="(-?\d+)" class="\w+"( text-anchor="middle")?>([^<]*)<)re");
  re2::StringPiece rest = svg;
  int x = 0, y = 0;
  std::string anchor, what;
  while (re2::RE2::FindAndConsume(&rest, mark, &x, &y, &anchor, &what)) {
    const int width = static_cast<int>(count_characters(what)) * 7;
    if (!anchor.empty()) x -= width / 2;
    out.push_back({x, y - 11, x + width, y + 3, what});
  }
  return out;
}

std::vector<Area> phases_in(const std::string& svg) {
  std::vector<Area> out;
  const re2::RE2 mark(R"re(<rect x="(-?\d+)" y="(-?\d+)" width="(\d+)" height="(\d+)" rx="6" class="phase")re");
  re2::StringPiece rest = svg;
  int x = 0, y = 0, width = 0, height = 0;
  while (re2::RE2::FindAndConsume(&rest, mark, &x, &y, &width, &height))
    out.push_back({x, y, x + width, y + height, "phase"});
  return out;
}

// Twelve phases with ways forwards, backwards and past others, each by two tools.
Files twelve() {
  Files files;
  std::string phases, transitions;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "phase_" + std::to_string(i);
    phases += (i == 0 ? "[" : ", ") + ("{name: " + name) +
              (i == 0    ? ", initial: true}"
               : i == 11 ? ", terminal: true}"
                         : "}");
    std::vector<std::string> to;
    for (const int next : {2 * i + 1, 2 * i + 2, i + 1, i - 3})
      if (i < 11 && next > 0 && next < 12 && next != i &&
          std::ranges::find(to, "phase_" + std::to_string(next)) == to.end())
        to.push_back("phase_" + std::to_string(next));
    if (i < 11) transitions += (i == 0 ? "{" : ", ") + name + ": [" + join(to, ", ") + "]";
    for (const std::string& target : to)
      for (const char* how : {"move", "also"}) {
        const std::string tool = std::string(how) + "_" + name + "_" + target;
        files[tool + ".yaml"] = contract_text(
            tool, "write", "transitions: {valid_in_phases: [" + name + "], advances_to: " + target + "}\n");
      }
  }
  files["session.yaml"] = session_text(phases + "]", transitions + "}");
  return files;
}

TEST(ContractDraw, NoTwoTextsOfAnSvgMeetAndAllAreOnTheSheet) {
  for (const Files& files : {kClerk, twelve()}) {
    const std::string svg = draw_svg(*plan_of(files));
    int left = 0, width = 0, height = 0;
    ASSERT_TRUE(re2::RE2::PartialMatch(svg, R"re(viewBox="(-?\d+) 0 (\d+) (\d+)")re", &left, &width, &height));
    const Area sheet{left, 0, left + width, height, "sheet"};
    const std::vector<Area> texts = texts_of(svg), phases = phases_in(svg);
    ASSERT_GE(phases.size(), 3u);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const Area& text = texts[i];
      EXPECT_TRUE(text.left >= sheet.left && text.right <= sheet.right && text.top >= 0 && text.bottom <= sheet.bottom)
          << text.what;
      for (std::size_t j = i + 1; j < texts.size(); ++j)
        EXPECT_FALSE(text.meets(texts[j])) << text.what << " and " << texts[j].what;
      for (const Area& phase : phases)
        EXPECT_TRUE(!text.meets(phase) || (text.left >= phase.left && text.right <= phase.right)) << text.what;
    }
    for (std::size_t i = 0; i < phases.size(); ++i)
      for (std::size_t j = i + 1; j < phases.size(); ++j) EXPECT_FALSE(phases[i].meets(phases[j]));
  }
}

TEST(ContractDraw, SvgSaysWhatItIsToThoseWhoCannotSeeIt) {
  const std::string svg = draw_svg(*plan_of(kClerk));
  EXPECT_NE(svg.find("<title id=\"title\">What clerk may do</title>"), std::string::npos);
  EXPECT_NE(
      svg.find("3 phases, 4 tools. From first to mid by go. From mid to last by pay. From mid to first by no tool."),
      std::string::npos)
      << svg;
}

TEST(ContractDraw, AThousandPhasesStayBoundedAndSayWhatIsLeftOut) {
  Files files;
  std::string phases = "\n", transitions = "\n";
  for (int i = 0; i < 1000; ++i) {
    phases += "  - {name: p" + std::to_string(i) +
              (i == 0     ? ", initial: true}\n"
               : i == 999 ? ", terminal: true}\n"
                          : "}\n");
    // Each leads to the twenty after it.
    transitions += "  p" + std::to_string(i) + ": [";
    for (int next = i + 1; next <= std::min(i + 20, 999); ++next)
      transitions += (next == i + 1 ? "p" : ", p") + std::to_string(next);
    transitions += "]\n";
  }
  files["session.yaml"] = session_text(phases, transitions);
  files["go.yaml"] = contract_text("go", "write", "transitions: {advances_to: p999}\n");
  const auto plan = plan_of(files);
  const std::string svg = draw_svg(*plan);
  EXPECT_EQ(phases_in(svg).size(), kPhasesDrawnMax);
  EXPECT_NE(svg.find("not drawn: "), std::string::npos);
  EXPECT_LT(svg.size(), 1'000'000u);
  const std::string text = draw_text(*plan, false);
  EXPECT_NE(text.find("○ p998"), std::string::npos);
  EXPECT_LT(text.size(), 2'000'000u);
}

}  // namespace
}  // namespace baton::contract
