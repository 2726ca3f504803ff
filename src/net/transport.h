// SPDX-License-Identifier: Apache-2.0
// A connected socket that never blocks, plain or with TLS. Each step does what can be done at once and says what it waits
// for; whoever drives it (net/connection.h, net/http_client.cc) does the waiting.
//
// TLS works on the socket directly, so that an idle connection holds no buffers.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace baton::net {

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeTls>;

// TLS 1.2 and up, for a server with its certificate chain and key in PEM files.
Result<TlsContext> server_tls(const std::string& certificate_file, const std::string& key_file);
// For a client that trusts the certificates of `ca_file`, or the system's when it is empty.
Result<TlsContext> client_tls(const std::string& ca_file);

class Transport {
 public:
  enum class Outcome {
    Done,       // `bytes` of them
    WantRead,   // come again when the socket can be read,
    WantWrite,  // or written
    Closed,     // the peer ended its side
    Failed,     // the connection is broken; problem() says how
  };
  struct Step {
    Outcome outcome;
    std::size_t bytes = 0;
  };

  // Does not own the socket, which must be in non-blocking mode.
  explicit Transport(int socket = -1) : socket_(socket) {}

  // Before anything else, when the connection is to have TLS. A client names the host whose certificate it expects.
  bool begin_server_tls(SSL_CTX& context);
  bool begin_client_tls(SSL_CTX& context, const std::string& host);
  Step handshake();
  bool is_tls() const { return tls_ != nullptr; }

  Step read(std::span<char> into);
  // Takes a part of the bytes or all. After a Want, the next call must begin with the same bytes.
  Step write(std::string_view bytes);
  // Are there bytes that were received and that waiting for the socket would not show?
  bool has_buffered() const { return tls_ && SSL_has_pending(tls_.get()) == 1; }
  // Nothing more will be written.
  void end_writing();

  const std::string& problem() const { return problem_; }

 private:
  Step tls_step(int result);
  bool attach();

  int socket_;
  std::unique_ptr<SSL, FreeTls> tls_;
  std::string problem_;
};

}  // namespace baton::net
