// SPDX-License-Identifier: Apache-2.0
// The messages of an HTTP client: a request as bytes, and an answer from them. Pure; for net/http_client.cc, which
// waits, and net/async_client.cc, which does not.
#pragma once

#include <sys/un.h>

#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"
#include "net/url.h"

namespace baton::net {

// Why something did not come about, before it is known what was being done.
struct Trouble {
  std::string reason;
  std::string_view code = {};
  bool before_answer = false;  // the server ended the connection, and no byte of an answer had come
};
template <class T>
using Tried = tl::expected<T, Trouble>;

inline tl::unexpected<Trouble> trouble(std::string reason, std::string_view code = {}) {
  return tl::make_unexpected(Trouble{std::move(reason), code});
}
Trouble out_of_time();
// connect() failed so.
Trouble not_connected(int error);

// The parts of a request that its bytes are made of.
struct RequestParts {
  std::string_view method, target, authority, body, content_type;
  const std::vector<Header>& headers;
  bool keep_alive = true;
};
Tried<std::string> request_text(const RequestParts& parts);

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;
// Where a host is that nobody need be asked about: `localhost`, which is this machine whatever a name server says (RFC
// 6761), or an address. Empty when it is a name.
Endpoints known_endpoints(const Url& url);

Tried<sockaddr_un> unix_address(const std::string& path);

// One answer, from bytes in any pieces. What comes before it (`100 Continue` and its like) is passed over.
class AnswerReader {
 public:
  // Takes bytes of the body; false: no more of them are wanted.
  using Take = std::function<bool(std::string_view bytes)>;
  // Asked when the head is there. None: the body is kept, up to `body_bytes_max`.
  using Choose = std::function<Take(const HttpAnswer& head)>;
  enum class Progress { More, Done, Left };

  AnswerReader(bool is_head, std::size_t body_bytes_max, Choose choose = {});
  ~AnswerReader();

  Tried<Progress> put(std::string_view bytes);
  // No byte comes any more: is that the end of the answer?
  Tried<void> end();

  bool has_any() const { return any_; }  // a byte of an answer has come
  bool has_head() const { return chosen_; }
  bool hands_on() const { return hands_on_; }
  // Once it is done: may the connection be used again?
  bool keeps_alive() const;
  HttpAnswer& answer() { return answer_; }

 private:
  struct Parsing;
  void begin();
  Tried<Progress> parse(std::string_view& bytes);
  void take_head();

  const bool is_head_;
  const std::size_t body_bytes_max_;
  const Choose choose_;
  std::unique_ptr<Parsing> parsing_;
  HttpAnswer answer_;
  std::string held_;            // received, not yet parsed
  std::size_t head_bytes_ = 0;  // the parser holds each of its steps to its limit, not their sum
  bool any_ = false, chosen_ = false, hands_on_ = false, left_ = false, too_large_ = false;
};

}  // namespace baton::net
