#include "distributed/redis_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>

#include "caffe2/core/exit_code.h"
#include "distributed/store_url.h"

namespace caffe2 {

namespace {

std::string OpenSslError() {
  char text[256] = "unknown error";
  if (const unsigned long code = ERR_get_error()) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

bool IsIpAddress(const std::string& host) {
  in6_addr parsed;
  return inet_pton(AF_INET, host.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
}

const char* AdviceOnCertificate(long verdict) {
  switch (verdict) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "; --redis_host must be a name that the certificate has";
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "; renew it on the server, if the clock of this machine is right";
    default:
      return "; --redis_ca_file names the authority to trust";
  }
}

// The errors of OpenSSL for an answer that is no record of TLS.
bool IsNoTls(unsigned long error) {
  switch (ERR_GET_REASON(error)) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_PACKET_LENGTH_TOO_LONG:
    case SSL_R_HTTP_REQUEST:
      return true;
    default:
      return false;
  }
}

void CheckFile(int result, const char* what, const std::string& path) {
  if (result == 1) return;
  ThrowIoError(ExitCode::kNoInput, "cannot use ", what, " ", path, ": ", OpenSslError());
}

}  // namespace

void ThrowNoTls(const std::string& server) {
  ThrowIoError(ExitCode::kStoreUnreachable, server,
               "the server speaks no TLS on this port: give the port where it does, or, if the "
               "network is trusted, connect without --redis_tls");
}

// Here, and not in the header, so that programs which include it need not link OpenSSL.
void TlsSession::Free::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
void TlsSession::Free::operator()(SSL* session) const { SSL_free(session); }

TlsSession::TlsSession(const RedisOptions& options, int fd)
    : server_("redis " + FormatHostPort(options.host, options.port) + ": TLS: "),
      context_(SSL_CTX_new(TLS_client_method())) {
  if (!context_) ThrowIoError(ExitCode::kSystem, server_, OpenSslError());
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context_.get());
  } else {
    CheckFile(SSL_CTX_load_verify_locations(context_.get(), options.ca_file.c_str(), nullptr),
              "the certificates of authorities in", options.ca_file);
  }
  if (!options.cert_file.empty()) {
    CheckFile(SSL_CTX_use_certificate_chain_file(context_.get(), options.cert_file.c_str()),
              "the certificate", options.cert_file);
    const std::string& key = options.key_file.empty() ? options.cert_file : options.key_file;
    CheckFile(SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM),
              "the private key", key);
  }
  session_.reset(SSL_new(context_.get()));
  if (!session_) ThrowIoError(ExitCode::kSystem, server_, OpenSslError());
  if (IsIpAddress(options.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), options.host.c_str());
  } else {
    SSL_set1_host(session_.get(), options.host.c_str());
    SSL_set_tlsext_host_name(session_.get(), options.host.c_str());
  }
  SSL_set_fd(session_.get(), fd);
  SSL_set_connect_state(session_.get());
}

short TlsSession::EventAfter(int result) {
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return POLLIN;
    case SSL_ERROR_WANT_WRITE:
      return POLLOUT;
    case SSL_ERROR_ZERO_RETURN:
      return 0;
    default:
      break;
  }
  const long verdict = SSL_get_verify_result(session_.get());
  if (verdict != X509_V_OK) {
    ThrowIoError(ExitCode::kNotPermitted, server_,
                 "the server's certificate is refused: ", X509_verify_cert_error_string(verdict),
                 AdviceOnCertificate(verdict));
  }
  if (ERR_peek_error() == 0) return 0;  // the connection ended without a farewell
  if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED) {
    ThrowIoError(ExitCode::kNotPermitted, server_,
                 "the server wants a certificate of its clients: give --redis_cert_file and "
                 "--redis_key_file");
  }
  if (!SSL_is_init_finished(session_.get()) && IsNoTls(ERR_peek_error())) {
    ERR_clear_error();
    ThrowNoTls(server_);
  }
  throw StoreUnreachable(server_ + OpenSslError());
}

short TlsSession::Handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_.get());
  if (result == 1) return 0;
  const short event = EventAfter(result);
  if (event == 0) {
    throw StoreUnreachable(server_ + "the server closed the connection; does it speak TLS there?");
  }
  return event;
}

ssize_t TlsSession::Read(void* data, size_t size, short* event) {
  ERR_clear_error();
  const int n = SSL_read(session_.get(), data, static_cast<int>(size));
  if (n > 0) return n;
  *event = EventAfter(n);
  return *event == 0 ? 0 : -1;
}

ssize_t TlsSession::Write(const void* data, size_t size, short* event) {
  ERR_clear_error();
  const int n = SSL_write(session_.get(), data, static_cast<int>(size));
  if (n > 0) return n;
  *event = EventAfter(n);
  return *event == 0 ? 0 : -1;
}

}  // namespace caffe2
