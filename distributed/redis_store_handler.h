// A store in a Redis server.
#pragma once

#include "distributed/store_handler.h"

namespace caffe2 {

struct RedisOptions {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string user = {};      // of the server's ACL; empty: the default user
  std::string password = {};  // never logged
  int database = 0;
  bool tls = false;
  // PEM files for TLS: the authorities to trust ("": the system's), and this client's certificate
  // and private key for a server that asks for them ("": none; the key may be in cert_file).
  std::string ca_file = {}, cert_file = {}, key_file = {};
  milliseconds connect_timeout{5000};
  // Time limit of one command, including attempts to reconnect. If SetDeadline() allows more time,
  // the handler reconnects when a connection has not answered for this long.
  milliseconds command_timeout{10000};
};

// Connects to the server. Throws IoError with host, port and Redis's message if that fails, and
// EnforceNotMet for an empty host or a number out of range. Keys are "<prefix>/<key>", or the key
// itself if the prefix is empty. Uses only the commands AUTH, SELECT, SET, GET, EXISTS, INCRBY,
// DEL, PEXPIRE and HSET, so that an ACL can be narrow.
std::unique_ptr<StoreHandler> NewRedisStore(const RedisOptions& options, const std::string& prefix);
StoreFactory RedisStores(const RedisOptions& options);

// The password of a Redis server or of a tcp:// store: the first line of the file `path` or, if
// `path` is empty, of the file that the environment variable CAFFE2_REDIS_PASSWORD_FILE names. If
// there is no file, it is the value of REDISCLI_AUTH, which redis-cli reads too, or empty. A NetDef
// never contains the password. Throws like ReadPrivateFile.
std::string FindRedisPassword(const std::string& path = "");

}  // namespace caffe2
