// SPDX-License-Identifier: Apache-2.0
#include "agent_output.h"

#include <array>
#include <cstdio>
#include <random>
#include <string_view>

#include "json/value.h"

namespace baton::bench {
namespace {

constexpr std::array<std::string_view, 48> kWords = {
    "the",   "export",  "of",     "last",   "row",    "page",    "was",     "read",  "before",  "writer",
    "could", "finish",  "a",      "test",   "covers", "both",    "cases",   "and",   "fails",   "when",
    "order", "changes", "so",     "we",     "keep",   "queue",   "bounded", "while", "workers", "drain",
    "it",    "then",    "commit", "result", "to",     "ledger",  "without", "delay", "because", "clock",
    "is",    "passed",  "in",     "every",  "caller", "handles", "errors",  "early",
};

class Maker {
 public:
  std::size_t below(std::size_t bound) { return random_() % bound; }  // near enough to even
  std::string_view word() { return kWords[below(kWords.size())]; }

  std::string sentence(std::size_t words) {
    std::string out(word());
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
    for (std::size_t i = 1; i < words; ++i) {
      out += i % 9 == 8 ? ", " : " ";
      switch (below(40)) {
        case 0: out += std::to_string(below(10'000)); break;
        case 1: out += path(); break;
        case 2: out += "https://docs.example.com/guide/" + std::string(word()); break;
        default: out += word();
      }
    }
    return out + ".";
  }

  std::string path() { return "src/" + std::string(word()) + "/" + std::string(word()) + ".cc"; }

  std::string time() {
    char text[40];
    std::snprintf(text, sizeof text, "2026-11-15T%02zu:%02zu:%02zu.%03zuZ", below(24), below(60), below(60),
                  below(1000));
    return text;
  }

  std::string log_line() {
    switch (below(10)) {
      case 0:
        return R"({"time":")" + time() + R"(","level":"info","message":")" + sentence(8) + R"(","worker":)" +
               std::to_string(below(16)) + R"(,"attributes":{"path":")" + path() + R"(","bytes":)" +
               std::to_string(below(1'000'000)) + "}}\n";
      case 1: return "[" + std::to_string(below(400)) + "/400] Building CXX object " + path() + ".o\n";
      case 2:
        return path() + ":" + std::to_string(below(900)) + ":" + std::to_string(below(100)) + ": note: " + sentence(9) +
               "\n";
      case 3:
        return "[       OK ] " + std::string(word()) + "." + std::string(word()) + " (" + std::to_string(below(90)) +
               " ms)\n";
      default: return time() + " INFO  worker-" + std::to_string(below(16)) + " " + sentence(6 + below(8)) + "\n";
    }
  }

  std::string lines(std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += log_line();
    return out;
  }

  std::string event() {
    json::Value block = json::Value::object(), message = json::Value::object(), line = json::Value::object();
    const bool said = below(3) == 0;
    if (said) {
      block.set("type", "text");
      block.set("text", sentence(20) + "\n\n" + sentence(30));
    } else {
      block.set("type", "tool_result");
      block.set("content", lines(4 + below(30)));
    }
    message.set("role", said ? "assistant" : "user");
    message.set("content", json::Value(json::Value::Array{std::move(block)}));
    line.set("type", said ? "assistant" : "user");
    line.set("message", std::move(message));
    return json::write(line) + "\n";
  }

 private:
  std::mt19937 random_{20261115};
};

}  // namespace

std::string log_text(std::size_t bytes) {
  Maker maker;
  std::string out;
  while (out.size() < bytes) out += maker.log_line();
  return out;
}

std::string prose_text(std::size_t bytes) {
  Maker maker;
  std::string out;
  for (std::size_t i = 1; out.size() < bytes; ++i)
    out += maker.sentence(6 + maker.below(14)) + (i % 5 == 0 ? "\n\n" : " ");
  return out;
}

std::string transcript_text(std::size_t bytes) {
  Maker maker;
  std::string out;
  while (out.size() < bytes) out += maker.event();
  return out;
}

}  // namespace baton::bench
