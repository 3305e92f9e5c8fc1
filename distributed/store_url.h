// The URL of the store where the shards of a run meet, as in --init_method.
#pragma once

#include <string>

namespace caffe2 {

//   tcp://host:port                              a store that shard 0 runs on its host for this run
//   redis://[[user]:password@]host[:port][/db]   a Redis server
//   rediss://...                                 the same with TLS
//   file:///directory                            a directory that all shards see
struct StoreUrl {
  enum class Kind { kNone, kTcp, kRedis, kFile };
  Kind kind = Kind::kNone;
  std::string host;  // kTcp and kRedis; an IPv6 address has no brackets here
  int port = 0;
  int num_ports = 1;  // kTcp: the store is on the first free port of `port`, `port` + 1, ...
  std::string user, password;
  bool tls = false;  // kRedis
  int database = 0;
  std::string path;  // kFile; absolute

  bool empty() const { return kind == Kind::kNone; }
  // The URL without user and password; "tcp://host:29500-29515" for several ports.
  std::string ToString() const;
};

// The text of a URL on one line, with "..." in place of user and password, for messages. The text
// may be anything.
std::string WithoutPassword(const std::string& text);

// Parses one of the forms above. %XX stands for a byte of the user or password. Throws UsageError,
// which begins with `name` and shows `text` without its password.
StoreUrl ParseStoreUrl(const std::string& text, const std::string& name = "--init_method");

// "10.0.0.5:29500", "[::1]:29500".
std::string FormatHostPort(const std::string& host, int port);
// Splits such a text. Throws UsageError, which begins with `name` ("MASTER_ADDR"), if it is
// malformed, or if it has no port and `default_port` is 0.
struct HostPort {
  std::string host;
  int port = 0;
};
HostPort ParseHostPort(const std::string& name, const std::string& text, int default_port = 0);

}  // namespace caffe2
