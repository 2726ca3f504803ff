// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/limits.h"
#include "base/text.h"

namespace baton::net {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

// A body that is handed on as it comes.
struct TakenBody {
  using value_type = AnswerReader::Take;
  class reader {
   public:
    template <bool IsRequest, class Fields>
    reader(http::header<IsRequest, Fields>&, value_type& take) : take_(take) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) { error = {}; }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      std::size_t taken = 0;
      for (auto at = asio::buffer_sequence_begin(buffers); at != asio::buffer_sequence_end(buffers); ++at) {
        const asio::const_buffer part(*at);
        taken += part.size();
        if (!take_({static_cast<const char*>(part.data()), part.size()})) error = boost::asio::error::operation_aborted;
      }
      return taken;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& take_;
  };
};

}  // namespace

Trouble out_of_time() { return {"no answer in time", "HTTP_TIMEOUT"}; }

Trouble not_connected(int error) {
  const bool nobody_there = error == ENOENT || error == ECONNREFUSED;
  return {std::generic_category().message(error), nobody_there ? "NODE_UNREACHABLE" : ""};
}

Tried<std::string> request_text(const RequestParts& parts) {
  if (!is_sendable({std::string(parts.method), ""}))
    return trouble("`" + printable(parts.method, 20) + "` is no method");
  std::string text;
  text.reserve(512 + parts.target.size() + parts.body.size());
  text.append(parts.method).append(" ").append(parts.target).append(" HTTP/1.1\r\n");
  const auto line = [&text](std::string_view name, std::string_view value) {
    text.append(name).append(": ").append(value).append("\r\n");
  };
  line("Host", parts.authority);
  line("User-Agent", "baton");
  line("Connection", parts.keep_alive ? "keep-alive" : "close");
  bool fits = true;
  if (!parts.body.empty()) {
    line("Content-Type", parts.content_type);
    fits = is_sendable({"Content-Type", std::string(parts.content_type)});
  }
  if (!parts.body.empty() || (parts.method != "GET" && parts.method != "HEAD"))
    line("Content-Length", std::to_string(parts.body.size()));
  for (const Header& header : parts.headers) {
    line(header.name, header.value);
    fits = is_sendable(header) && fits;
  }
  if (!fits) return trouble("a header cannot be sent: it would break its line");
  text.append("\r\n").append(parts.body);
  return text;
}

Endpoints known_endpoints(const Url& url) {
  const auto port = static_cast<std::uint16_t>(std::stoul(url.port));
  if (url.host == "localhost")
    return {{asio::ip::address_v4::loopback(), port}, {asio::ip::address_v6::loopback(), port}};
  boost::system::error_code error;
  const auto address = asio::ip::make_address(url.host, error);
  if (error) return {};
  return {{address, port}};
}

Tried<sockaddr_un> unix_address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return trouble("the path of the unix socket is too long");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

struct AnswerReader::Parsing {
  http::response_parser<TakenBody> parser;
};

AnswerReader::AnswerReader(bool is_head, std::size_t body_bytes_max, Choose choose)
    : is_head_(is_head), body_bytes_max_(body_bytes_max), choose_(std::move(choose)) {
  begin();
}
AnswerReader::~AnswerReader() = default;

void AnswerReader::begin() {
  parsing_ = std::make_unique<Parsing>();
  auto& parser = parsing_->parser;
  parser.header_limit(static_cast<std::uint32_t>(limits::kHttpAnswerHeadBytesMax));
  parser.body_limit(boost::none);
  parser.skip(is_head_);
  parser.eager(false);  // where the body goes is known only when the head is
  chosen_ = false;
}

Tried<AnswerReader::Progress> AnswerReader::put(std::string_view bytes) {
  any_ = any_ || !bytes.empty();
  std::string joined;
  if (!held_.empty()) {
    joined = std::exchange(held_, {});
    joined += bytes;
    bytes = joined;
  }
  auto progress = parse(bytes);
  held_ = bytes;
  if (progress && !chosen_ && head_bytes_ + held_.size() > limits::kHttpAnswerHeadBytesMax)
    return trouble("the answer's head is too large");
  return progress;
}

Tried<AnswerReader::Progress> AnswerReader::parse(std::string_view& bytes) {
  for (;;) {
    auto& parser = parsing_->parser;
    if (parser.is_done()) {
      if (answer_.status / 100 != 1) return Progress::Done;
      begin();
      continue;
    }
    if (bytes.empty()) return Progress::More;
    boost::system::error_code error;
    const std::size_t taken = parser.put(asio::buffer(bytes.data(), bytes.size()), error);
    if (!chosen_) head_bytes_ += taken;
    bytes.remove_prefix(taken);
    if (left_) return Progress::Left;
    if (too_large_)
      return trouble("the answer has more than " + std::to_string(body_bytes_max_) + " bytes", "HTTP_BODY_TOO_LARGE");
    if (error && error != http::error::need_more) return trouble("the answer is not HTTP: " + error.message());
    if (parser.is_header_done() && !chosen_) take_head();
    else if (error || taken == 0) return Progress::More;
  }
}

void AnswerReader::take_head() {
  auto& message = parsing_->parser.get();
  chosen_ = true;
  answer_.status = message.result_int();
  answer_.headers.clear();
  for (const auto& field : message) answer_.headers.push_back({field.name_string(), field.value()});
  answer_.content_type = message[http::field::content_type];
  Take take = choose_ && answer_.status / 100 != 1 ? choose_(answer_) : Take();
  hands_on_ = static_cast<bool>(take);
  if (hands_on_) {
    message.body() = [this, take = std::move(take)](std::string_view bytes) {
      left_ = !take(bytes);
      return !left_;
    };
  } else {
    message.body() = [this](std::string_view bytes) {
      too_large_ = answer_.body.size() + bytes.size() > body_bytes_max_;
      if (!too_large_) answer_.body += bytes;
      return !too_large_;
    };
  }
  parsing_->parser.eager(true);
}

Tried<void> AnswerReader::end() {
  boost::system::error_code error;
  if (!any_) return trouble("the connection was closed");
  parsing_->parser.put_eof(error);
  if (error) return trouble("the answer was cut off: the connection was closed");
  return {};
}

bool AnswerReader::keeps_alive() const {
  return parsing_->parser.is_done() && parsing_->parser.keep_alive() && held_.empty();
}

}  // namespace baton::net
