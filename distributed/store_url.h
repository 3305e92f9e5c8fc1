// Where the shards of a run meet, written as one word: what --init_method takes.
#pragma once

#include <string>

namespace caffe2 {

//   tcp://host:port                          a store that shard 0 keeps on its host for this run
//   redis://[[user]:password@]host[:port][/db]   a Redis server
//   file:///directory                        a directory that all shards see
struct StoreUrl {
  enum class Kind { kNone, kTcp, kRedis, kFile };
  Kind kind = Kind::kNone;
  std::string host;  // of kTcp and kRedis; an IPv6 address stands without brackets
  int port = 0;
  int num_ports = 1;  // kTcp: the store is on the first free one of `port`, `port` + 1, ...
  std::string user, password;
  int database = 0;
  std::string path;  // of kFile; absolute

  bool empty() const { return kind == Kind::kNone; }
  // As above, without user and password; "tcp://host:29500-29515" for several ports.
  std::string ToString() const;
};

// Throws UsageError, which names `text` without its password and says what is wrong. %XX stands
// for a byte of user and password.
StoreUrl ParseStoreUrl(const std::string& text);

// "10.0.0.5:29500", "[::1]:29500".
std::string FormatHostPort(const std::string& host, int port);
// Splits that; throws UsageError that begins with `name` ("MASTER_ADDR") if it is not of that form.
// A port of 0 means that the text has none, which is an error unless `default_port` is given.
struct HostPort {
  std::string host;
  int port = 0;
};
HostPort ParseHostPort(const std::string& name, const std::string& text, int default_port = 0);

}  // namespace caffe2
