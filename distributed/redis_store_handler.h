// The store in a Redis server.
#pragma once

#include "distributed/store_handler.h"

namespace caffe2 {

struct RedisOptions {
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string user;      // of an ACL; empty for the default user
  std::string password;  // never logged
  int database = 0;
  milliseconds connect_timeout{5000};
  // One command, with the attempts to reconnect that it may need. Where SetDeadline() allows more,
  // a connection without an answer is given up for a new one after this time.
  milliseconds command_timeout{10000};
};

// Connects; throws IoError with host, port and Redis's own words if that fails. Keys are
// "<prefix>/<key>", or the key itself with an empty prefix. Uses no command beyond AUTH, SELECT,
// SET, GET, EXISTS, INCRBY, DEL, PEXPIRE and HSET, so that an ACL can be narrow.
std::unique_ptr<StoreHandler> NewRedisStore(const RedisOptions& options, const std::string& prefix);
StoreFactory RedisStores(const RedisOptions& options);

// The password of a Redis server, or of the private one of tcp://: the first line of the file
// `path`; where that is empty, of the file that the environment variable CAFFE2_REDIS_PASSWORD_FILE
// names; else the value of REDISCLI_AUTH, the variable that redis-cli reads; else empty. It is
// never part of a NetDef. Throws IoError if the file cannot be read.
std::string FindRedisPassword(const std::string& path = "");

}  // namespace caffe2
