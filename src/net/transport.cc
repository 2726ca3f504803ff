// SPDX-License-Identifier: Apache-2.0
#include "net/transport.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "net/url.h"

namespace baton::net {
namespace {

using Outcome = Transport::Outcome;

std::string error_text(int error) { return std::generic_category().message(error); }

// The newest reason OpenSSL gives, which is for people; its queue is empty afterwards.
std::string tls_reason() {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  if (reason != nullptr) return reason;
  return ERR_SYSTEM_ERROR(error) ? error_text(static_cast<int>(ERR_GET_REASON(error))) : "TLS failed";
}

// OpenSSL's own socket BIO writes with write(), which raises SIGPIPE in whatever program this is linked into.
int socket_of(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int bio_read(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = ::recv(socket_of(bio), into, static_cast<std::size_t>(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return static_cast<int>(got);
}

int bio_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t put = ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (put < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return static_cast<int>(put);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without SIGPIPE");
    CHECK(made != nullptr);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

// Without it OpenSSL would ask for a passphrase at the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

TlsContext make_context(const SSL_METHOD* method) {
  TlsContext context(SSL_CTX_new(method));
  CHECK(context != nullptr);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  // Partial writes, because what is written next may have grown or moved meanwhile; no buffers on idle connections.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

}  // namespace

Result<TlsContext> server_tls(const std::string& certificate_file, const std::string& key_file) {
  ERR_clear_error();
  TlsContext context = make_context(TLS_server_method());
  // Nothing is resumed: tickets would be bytes that every connection sends and keeps for nothing.
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_default_passwd_cb(context.get(), no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate_file.c_str()) != 1)
    return failure("reading the certificate " + certificate_file, tls_reason());
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1)
    return failure("reading the key " + key_file, tls_reason());
  if (SSL_CTX_check_private_key(context.get()) != 1)
    return failure("reading the key " + key_file, "it is not the key of the certificate " + certificate_file);
  return context;
}

Result<TlsContext> client_tls(const std::string& ca_file) {
  ERR_clear_error();
  TlsContext context = make_context(TLS_client_method());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                     : SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr);
  if (loaded != 1)
    return failure("reading the trusted certificates" + (ca_file.empty() ? "" : " " + ca_file), tls_reason());
  return context;
}

bool Transport::attach() {
  BIO* const bio = BIO_new(socket_method());
  if (!tls_ || bio == nullptr) return false;
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket_)));
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);
  return true;
}

bool Transport::begin_server_tls(SSL_CTX& context) {
  tls_.reset(SSL_new(&context));
  if (!attach()) return false;
  SSL_set_accept_state(tls_.get());
  return true;
}

bool Transport::begin_client_tls(SSL_CTX& context, const std::string& host) {
  tls_.reset(SSL_new(&context));
  if (!attach()) return false;
  SSL_set_connect_state(tls_.get());
  X509_VERIFY_PARAM* const expected = SSL_get0_param(tls_.get());
  if (X509_VERIFY_PARAM_set1_ip_asc(expected, host.c_str()) == 1) return true;  // an address; it has no server name
  ERR_clear_error();
  SSL_set_hostflags(tls_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(tls_.get(), host.c_str()) == 1 && SSL_set_tlsext_host_name(tls_.get(), host.c_str()) == 1;
}

Transport::Step Transport::tls_step(int result) {
  if (result > 0) return {Outcome::Done, static_cast<std::size_t>(result)};
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ: return {Outcome::WantRead};
    case SSL_ERROR_WANT_WRITE: return {Outcome::WantWrite};
    case SSL_ERROR_ZERO_RETURN: return {Outcome::Closed};
    case SSL_ERROR_SYSCALL: problem_ = errno != 0 ? error_text(errno) : "the connection was cut"; break;
    default: {
      const long verified = SSL_get_verify_result(tls_.get());
      problem_ = tls_reason();
      if (verified != X509_V_OK) problem_ += std::string(": ") + X509_verify_cert_error_string(verified);
    }
  }
  ERR_clear_error();
  return {Outcome::Failed};
}

Transport::Step Transport::handshake() {
  ERR_clear_error();
  errno = 0;
  return tls_step(SSL_do_handshake(tls_.get()));
}

Transport::Step Transport::read(std::span<char> into) {
  if (tls_) {
    ERR_clear_error();
    errno = 0;
    return tls_step(SSL_read(tls_.get(), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX))));
  }
  for (;;) {
    const ssize_t got = ::recv(socket_, into.data(), into.size(), 0);
    if (got > 0) return {Outcome::Done, static_cast<std::size_t>(got)};
    if (got == 0) return {Outcome::Closed};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {Outcome::WantRead};
    problem_ = error_text(errno);
    return {Outcome::Failed};
  }
}

Transport::Step Transport::write(std::string_view bytes) {
  if (tls_) {
    ERR_clear_error();
    errno = 0;
    return tls_step(
        SSL_write(tls_.get(), bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX))));
  }
  for (;;) {
    const ssize_t put = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put >= 0) return {Outcome::Done, static_cast<std::size_t>(put)};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {Outcome::WantWrite};
    problem_ = error_text(errno);
    return {Outcome::Failed};
  }
}

void Transport::end_writing() {
  if (tls_) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());  // the notice; whether the peer answers it is all one
    ERR_clear_error();
  }
  ::shutdown(socket_, SHUT_WR);
}

}  // namespace baton::net
