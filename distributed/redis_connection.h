// A connection to a Redis server: sends one command at a time and reads its reply.
#pragma once

#include <hiredis/hiredis.h>

#include <memory>
#include <string>
#include <vector>

#include "distributed/redis_store_handler.h"
#include "distributed/redis_tls.h"

namespace caffe2 {

struct FreeRedisReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;

// Not thread-safe.
class RedisConnection {
 public:
  // Connects, with TLS if the options ask for it, authenticates and selects the database. Throws
  // StoreUnreachable if nobody answers until the deadline (or options.connect_timeout, if that is
  // earlier), and IoError if the server refuses, or speaks no TLS where it should: Redis without
  // TLS does not answer, so after a second it is asked without TLS, by a PING on a second
  // connection.
  RedisConnection(const RedisOptions& options, const Deadline& deadline);

  // Sends the command and returns the reply, which is never an error. The deadline holds for the
  // whole exchange, however slowly the server answers. Throws StoreUnreachable if there is no
  // complete reply in time, if the reply is longer than a value of the store may be, or if it does
  // not follow the protocol; the connection cannot be used afterwards. Throws IoError with the
  // server's text, and advice, if the reply is an error.
  RedisReply Execute(const std::vector<std::string>& command, const Deadline& deadline);

  // The address of this end, without the port.
  std::string LocalAddress() const;

 private:
  struct FreeContext {
    void operator()(redisContext* context) const { redisFree(context); }
  };

  void StartTls(const RedisOptions& options, const Deadline& deadline);
  // Throws IoError if the server answers a command without TLS.
  void RefuseIfPlain(const RedisOptions& options, const Deadline& deadline) const;
  void Send(const std::vector<std::string>& command, const Deadline& deadline);
  // As send() and recv(), but wait until the socket is ready.
  size_t Write(const char* data, size_t size, const std::string& command, const Deadline& deadline);
  size_t Read(char* data, size_t size, const std::string& command, const Deadline& deadline);
  RedisReply Receive(const std::string& command, const Deadline& deadline);
  // Waits for an event of poll() on the socket.
  void WaitFor(short event, const std::string& command, const Deadline& deadline);
  [[noreturn]] void ThrowLost(const std::string& command, const std::string& why) const;

  const std::string server_;  // "redis 10.0.0.1:6379", for messages
  std::unique_ptr<redisContext, FreeContext> context_;
  std::unique_ptr<TlsSession> tls_;  // null: no TLS
  bool answered_ = false;            // a reply has come
};

}  // namespace caffe2
