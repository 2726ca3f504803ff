// SPDX-License-Identifier: Apache-2.0
#include "hooks/open_ends.h"

#include <array>
#include <charconv>

#include "base/text.h"

namespace baton::hooks {
namespace {

// As bits of a set.
enum Way : unsigned { StatusOne = 1, Killed = 2, Missing = 4, Late = 8 };
constexpr std::array<std::pair<Way, std::string_view>, 4> kWays = {{
    {StatusOne, "the hook ends with status 1"},
    {Killed, "the hook is killed"},
    {Missing, "the hook's program is missing"},
    {Late, "the hook takes longer than its time"},
}};

struct Measured {
  Client client;
  std::string_view version;  // this one and later ones, up to the next row of the client
  unsigned ways;
};
constexpr std::array kMeasured = {
    Measured{Client::Claude, "2.1.197", StatusOne | Killed | Missing | Late},
    Measured{Client::Claude, "2.1.325", 0},
    Measured{Client::Codex, "0.166.0", StatusOne | Killed | Missing | Late},
    Measured{Client::Gemini, "0.61.0", StatusOne | Killed | Late},
    Measured{Client::Copilot, "1.0.102", Late},
};

// Compares numbers, part by part.
bool is_before(std::string_view left, std::string_view right) {
  const auto a = split(left, '.'), b = split(right, '.');
  for (std::size_t at = 0; at < std::max(a.size(), b.size()); ++at) {
    const auto number = [&](const auto& parts) {
      unsigned long out = 0;
      if (at < parts.size()) std::from_chars(parts[at].data(), parts[at].data() + parts[at].size(), out);
      return out;
    };
    if (number(a) != number(b)) return number(a) < number(b);
  }
  return false;
}

}  // namespace

OpenEnds open_ends(Client client, std::string_view version) {
  const Measured* found = nullptr;
  for (const Measured& row : kMeasured) {
    if (row.client != client) continue;
    // The first row also stands for what is older; a version that is not known may be any.
    if (found == nullptr || (!version.empty() && !is_before(version, row.version))) found = &row;
  }
  OpenEnds out;
  if (found == nullptr) return out;
  out.is_measured = true;
  out.measured_with = found->version;
  for (const auto& [way, words] : kWays)
    if ((found->ways & way) != 0) out.ways.emplace_back(words);
  return out;
}

std::string version_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
    std::string_view found = text.substr(at, end - at);
    while (found.ends_with('.')) found.remove_suffix(1);
    if (found.find('.') != std::string_view::npos) return std::string(found);
    at = end;
  }
  return {};
}

}  // namespace baton::hooks
