// TLS over a socket that is connected to a Redis server.
#pragma once

#include <openssl/ssl.h>
#include <sys/types.h>

#include <memory>
#include <string>

#include "distributed/redis_store_handler.h"

namespace caffe2 {

// Throws IoError, which is final, unlike StoreUnreachable. `server` begins the text.
[[noreturn]] void ThrowNoTls(const std::string& server);

// The client's end. The socket is non-blocking and must outlive this. Not thread-safe.
//
// The server's certificate must be valid for options.host and signed by options.ca_file, or by an
// authority that the system trusts if there is no such file. Methods throw IoError (kNotPermitted
// for a certificate that is not trusted) with OpenSSL's text, and as ThrowNoTls() if the server
// answers the handshake with something else than TLS.
class TlsSession {
 public:
  // Reads the files of the options.
  TlsSession(const RedisOptions& options, int fd);

  // Continues the handshake. Returns 0 when it is done, otherwise the event of poll() to wait for.
  short Handshake();
  // As recv() and send(): return the number of bytes, 0 at the end of the connection. If the socket
  // is not ready, they return -1 and set *event to the event of poll() to wait for.
  ssize_t Read(void* data, size_t size, short* event);
  ssize_t Write(const void* data, size_t size, short* event);

 private:
  struct Free {
    void operator()(SSL_CTX* context) const;
    void operator()(SSL* session) const;
  };
  // The event to wait for after a call that returned `result`; 0 for the end of the connection.
  short EventAfter(int result);

  const std::string server_;  // for messages
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> session_;
};

}  // namespace caffe2
