// SPDX-License-Identifier: Apache-2.0
// What has kernels for several levels of vector instructions gives the same answer with each of them.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/kernel.h"
#include "base/stepped_sha256.h"
#include "dialects/uaix/packet.h"
#include "dialects/uaix/text_rules.h"
#include "json/token_index.h"
#include "secrets/detector.h"

namespace baton {
namespace {

// Calls `answer` with each kernel this machine has; all answers have to be the same.
template <class Answer>
void expect_same(const Answer& answer, const std::string& text) {
  const auto portable = [&] {
    const KernelLimit limit(Kernel::Portable);
    return answer();
  }();
  for (const Kernel kernel : {Kernel::Avx2, Kernel::Avx512}) {
    const KernelLimit limit(kernel);
    ASSERT_EQ(answer(), portable) << "kernel " << static_cast<int>(kernel) << " of " << text;
  }
}

class Random {
 public:
  std::uint32_t below(std::uint32_t bound) {
    state_ = state_ * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    return static_cast<std::uint32_t>(state_ >> 33) % bound;
  }

 private:
  std::uint64_t state_ = 1;
};

std::string read(const std::string& path) {
  std::ifstream file(std::string(BATON_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Some bytes changed, left out, or said twice.
std::string damaged(std::string text, Random& random) {
  static constexpr std::string_view kBytes = "\"\\{}[]:,. \n-_/@=+09azAZ)u\x01\x7f\xa9\xc3\xe9";
  for (std::uint32_t i = random.below(4); i > 0 && !text.empty(); --i) {
    const std::size_t at = random.below(static_cast<std::uint32_t>(text.size()));
    switch (random.below(3)) {
      case 0: text[at] = kBytes[random.below(kBytes.size())]; break;
      case 1: text.erase(at, 1 + random.below(3)); break;
      case 2: text.insert(at, text.substr(random.below(static_cast<std::uint32_t>(text.size())), random.below(90)));
    }
  }
  return text;
}

std::vector<std::size_t> tokens_of(std::string text) {
  const std::size_t size = text.size();
  text.append(json::TokenIndex::kPadding, '\0');
  json::TokenIndex index(text.data(), size);
  json::TokenIndex::Cursor cursor(index);
  std::vector<std::size_t> places;
  do places.push_back(cursor.next());
  while (places.back() < size);
  return places;
}

TEST(token_index, finds_signs_quotes_and_the_first_byte_of_anything_else) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(tokens_of(R"({"a": [12, true]})"), (Places{0, 1, 3, 4, 6, 7, 9, 11, 15, 16, 17}));
  EXPECT_EQ(tokens_of(R"("\"{,}\\" x)"), (Places{0, 8, 10, 11}));
  EXPECT_EQ(tokens_of(""), (Places{0}));
}

// Made of what decides, so that strings, escapes and runs cross the borders of blocks and of what is indexed at once. The
// two control characters that may count as signs are left out: they are wrong wherever they stand.
TEST(kernel, tokens_are_the_same) {
  constexpr std::string_view kBytes = "\"\"\\\\{}[]:, \n\ttrue10\x01\x1f\x7f\x80\xff";
  Random random;
  for (std::size_t size = 0; size < 10'000; size += 1 + size / 16) {
    std::string text;
    while (text.size() < size) text.append(random.below(16) == 0 ? 70 : 1, kBytes[random.below(kBytes.size())]);
    expect_same([&] { return tokens_of(text); }, text);
  }
}

TEST(kernel, first_looks_are_the_same) {
  const std::string packet = read("bench/data/handoff.json"), cases = read("tests/secrets_cases.txt");
  ASSERT_FALSE(packet.empty() || cases.empty());
  Random random;
  for (int i = 0; i < 3'000; ++i) {
    const std::string& from = i % 2 == 0 ? packet : cases;
    const std::size_t start = random.below(static_cast<std::uint32_t>(from.size() - 1));
    const std::string text = damaged(from.substr(start, 1 + random.below(300)), random);
    expect_same([&] { return secrets::may_hold_secret(text); }, text);
    expect_same([&] { return secrets::find(text); }, text);
    expect_same([&] { return uaix::may_break_text_rules(text); }, text);
  }
}

TEST(kernel, checks_are_the_same) {
  const std::string packet = read("bench/data/handoff.json");
  const uaix::Options options{.now = *parse_time("2026-11-15T00:00:00Z").time, .known_extensions = {}};
  Random random;
  for (int i = 0; i < 1'000; ++i) {
    const std::string text = i == 0 ? packet : damaged(packet, random);
    const auto check = [&] {
      std::string said;
      for (const Diagnostic& diagnostic : uaix::check(text, options).diagnostics)
        said += std::to_string(static_cast<int>(diagnostic.code)) + " " + diagnostic.place.pointer + "\n";
      return said;
    };
    expect_same(check, text);
  }
}

// However many steps are taken before the end.
TEST(kernel, hashes_are_the_same) {
  std::string text;
  const auto compare = [&](std::size_t steps) {
    SteppedSha256 hash(text);
    for (std::size_t i = 0; i < steps; ++i) hash.step();
    ASSERT_EQ(hash.finish(), sha256(text)) << text.size() << " bytes, " << steps << " steps";
  };
  for (std::size_t size = 0; size <= 300; ++size) {
    for (const std::size_t steps : {0, 1, 7, 100}) compare(steps);
    text.push_back(static_cast<char>(size * 37 + size / 7));
  }
  for (const std::size_t size : {1'023, 1'024, 1'025, 4'096, 65'535, 1'000'003}) {
    while (text.size() < size) text.push_back(static_cast<char>(text.size() * 131 >> 3));
    compare(size / 32);
  }
  const KernelLimit limit(Kernel::Portable);
  compare(3);
}

}  // namespace
}  // namespace baton
