// SPDX-License-Identifier: Apache-2.0
// An MCP server on stdin and stdout with one tool, `echo`, that does next to nothing: what a round trip costs is then what stands
// between. It answers in the order of the requests, all that one read brought with one write.
#include <unistd.h>

#include <string>
#include <string_view>

#include "json/parse.h"
#include "json/value.h"

namespace {

using baton::json::Node;

std::string answer_to(Node message) {
  const Node method = message["method"], id = message["id"];
  if (!id) return {};
  std::string out = R"({"jsonrpc":"2.0","id":)" + baton::json::write(id) + R"(,"result":)";
  if (method.is_text("initialize")) {
    out += R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}})";
  } else if (method.is_text("tools/list")) {
    out +=
        R"({"tools":[{"name":"echo","description":"The text again.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]})";
  } else if (method.is_text("tools/call")) {
    out += R"({"content":[{"type":"text","text":)" + baton::json::write(message["params"]["arguments"]["text"]) + "}]}";
  } else {
    out += "{}";
  }
  return out + "}\n";
}

}  // namespace

int main() {
  std::string buffer, answers;
  char piece[64 << 10];
  while (true) {
    const ssize_t got = ::read(0, piece, sizeof piece);
    if (got <= 0) return 0;
    buffer.append(piece, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    answers.clear();
    for (std::size_t end; (end = buffer.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto document = baton::json::parse(std::string_view(buffer).substr(begin, end - begin));
      if (document) answers += answer_to(document->root());
    }
    buffer.erase(0, begin);
    for (std::size_t at = 0; at < answers.size();) {
      const ssize_t put = ::write(1, answers.data() + at, answers.size() - at);
      if (put < 0) return 1;
      at += static_cast<std::size_t>(put);
    }
  }
}
