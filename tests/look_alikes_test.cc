// SPDX-License-Identifier: Apache-2.0
// Characters that look like others, as a person who decides is shown them.
#include "base/look_alikes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace baton {
namespace {

struct Text {
  std::string text, in_prose, for_machines;
};

TEST(LookAlikes, AreMarkedWhereTheyCouldDeceive) {
  const std::vector<Text> all = {
      {"pay the bill", "pay the bill", "pay the bill"},
      {"p\u0430y", "p<U+0430>y", "p<U+0430>y"},
      {"\u0440\u0430\u0443", "\u0440\u0430\u0443",
       "<U+0440><U+0430><U+0443>"},  // all Cyrillic: a word, or a deceiving path
      {"\u043f\u0440\u0438\u0432\u0435\u0442 world", "\u043f\u0440\u0438\u0432\u0435\u0442 world",
       "<U+043F><U+0440>\u0438\u0432<U+0435><U+0442> world"},
      {"\u65e5\u672c\u8a9e", "\u65e5\u672c\u8a9e", "\u65e5\u672c\u8a9e"},
      {"Z\u00fcrich caf\u00e9", "Z\u00fcrich caf\u00e9", "Z\u00fcrich caf\u00e9"},
      {"\uff52\uff4d -rf", "\uff52\uff4d -rf", "<U+FF52><U+FF4D> -rf"},
      {"s\uff55do", "s<U+FF55>do", "s<U+FF55>do"},
      {"\U0001d5cb\U0001d5c6", "<U+1D5CB><U+1D5C6>", "<U+1D5CB><U+1D5C6>"},
      {"rm\u00a0-rf", "rm\u00a0-rf", "rm<U+00A0>-rf"},
      {"a\u2215b", "a\u2215b", "a<U+2215>b"},
      {"x\u037ey", "x\u037ey", "x<U+037E>y"},
      {"a\u202eb", "a<U+202E>b", "a<U+202E>b"},
      {"a\u200bb", "a<U+200B>b", "a<U+200B>b"},
      {"a\x1b[2J", "a<U+001B>[2J", "a<U+001B>[2J"},
      {"a\nb", "a<U+000A>b", "a<U+000A>b"},
      {std::string("a\xff") + "b", "a<0xFF>b", "a<0xFF>b"},
  };
  for (const Text& one : all) {
    EXPECT_EQ(with_look_alikes_marked(one.text, Where::Prose), one.in_prose);
    EXPECT_EQ(with_look_alikes_marked(one.text, Where::Machine), one.for_machines);
    if (one.text.find('\n') == std::string::npos) {
      EXPECT_EQ(has_look_alikes(one.text, Where::Prose), one.in_prose != one.text);
      EXPECT_EQ(has_look_alikes(one.text, Where::Machine), one.for_machines != one.text);
    }
  }
}

TEST(LookAlikes, NamesAndFormsSayWhatReadsAText) {
  EXPECT_EQ(where_read("command", "x"), Where::Machine);
  EXPECT_EQ(where_read("Path", "x"), Where::Machine);
  EXPECT_EQ(where_read("note", "see https://relay.example"), Where::Machine);
  EXPECT_EQ(where_read("note", "a text"), Where::Prose);
}

TEST(LookAlikes, NoAsciiCharacterIsOne) {
  for (char32_t c = 0; c < 0x80; ++c) EXPECT_FALSE(is_look_alike(c));
}

}  // namespace
}  // namespace baton
