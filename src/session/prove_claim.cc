// SPDX-License-Identifier: Apache-2.0
// Claims, as they are written: `A without B`, and the others of session/prove.h.
#include <charconv>

#include "base/text.h"
#include "session/prove.h"

namespace baton::session {
namespace {

constexpr std::uint32_t kCountMax = 100;  // of `more than N times`: each count is a state

struct Word {
  std::string_view text;
  std::size_t column;
};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' || c == ':' ||
         c == '-';
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

class ClaimReader {
 public:
  ClaimReader(const Plan& plan, std::string_view text) : plan_(plan), text_(text) {}

  std::variant<Claim, ClaimFault> read() {
    if (!split()) return *fault_;
    Claim out;
    out.text = std::string(trim(text_));
    if (words_.empty()) return ClaimFault{1, "nothing is said that must never be"};
    const bool is_end = word(0) == "end" && word(1) == "without" && !plan_.find_tool("end");
    if (!is_end) out.a = tool(0);
    const std::string_view how = word(1);
    std::size_t used = 2;
    if (words_.size() == 1) {
      used = 1;
    } else if (how == "without") {
      out.kind = is_end ? Claim::Kind::EndWithout : Claim::Kind::Without;
      out.b = tool(used++);
      if (is_end && plan_.phases.empty()) fail(0, "the pack has no phases, so a session has no end of its own");
    } else if (how == "after") {
      out.kind = Claim::Kind::After;
      out.b = tool(used++);
    } else if (how == "twice") {
      out.kind = Claim::Kind::MoreThan;
      out.count = 1;
    } else if (how == "in") {
      out.kind = Claim::Kind::InPhase;
      out.phase = phase(used++);
    } else if (how == "more") {
      out.kind = Claim::Kind::MoreThan;
      if (word(2) != "than") fail(2, "`than` is missing: A more than N times");
      out.count = number(3);
      if (word(4) != "times") fail(4, "`times` is missing: A more than N times");
      used = 5;
    } else {
      fail(1, quoted(how) + " is not understood here: without, after, twice, more than N times, in");
    }
    if (!fault_ && used < words_.size()) fail(used, quoted(word(used)) + " is too much");
    if (fault_) return *fault_;
    return out;
  }

 private:
  bool split() {
    for (std::size_t at = 0; at < text_.size();) {
      if (text_[at] == ' ' || text_[at] == '\t') {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text_.size() && is_name_character(text_[end])) ++end;
      if (end == at) {
        fault_ = ClaimFault{at + 1, "a name has letters, digits and _ . : - only"};
        return false;
      }
      words_.push_back({text_.substr(at, end - at), at + 1});
      at = end;
    }
    return true;
  }
  std::string_view word(std::size_t index) const { return index < words_.size() ? words_[index].text : ""; }
  void fail(std::size_t index, std::string problem) {
    if (!fault_) fault_ = {index < words_.size() ? words_[index].column : text_.size() + 1, std::move(problem)};
  }
  ToolId tool(std::size_t index) {
    if (index >= words_.size()) return fail(index, "the name of a tool is missing"), kNone;
    const auto found = plan_.find_tool(word(index));
    if (!found) fail(index, "the pack has no tool " + quoted(word(index)));
    return found.value_or(kNone);
  }
  PhaseId phase(std::size_t index) {
    if (index >= words_.size()) return fail(index, "the name of a phase is missing"), 0;
    const auto found = plan_.find_phase(word(index));
    if (!found) fail(index, "the pack has no phase " + quoted(word(index)));
    return found.value_or(0);
  }
  std::uint32_t number(std::size_t index) {
    const std::string_view text = word(index);
    std::uint32_t out = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() || out > kCountMax)
      fail(index, "a whole number of at most " + std::to_string(kCountMax) + " is expected");
    return out;
  }

  const Plan& plan_;
  std::string_view text_;
  std::vector<Word> words_;
  std::optional<ClaimFault> fault_;
};

}  // namespace

std::variant<Claim, ClaimFault> read_claim(const Plan& plan, std::string_view text) {
  return ClaimReader(plan, text).read();
}

}  // namespace baton::session
