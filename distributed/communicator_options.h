// How one shard takes part in a communicator, whichever transport carries it.
#pragma once

#include <algorithm>
#include <string>

#include "distributed/peer_sockets.h"
#include "distributed/store_handler.h"

namespace caffe2 {

struct CommunicatorOptions {
  int rank = 0;
  int size = 1;
  std::string name = "common_world";  // keys in the store are "<name>/<rank>"
  // ConnectGloo accepts only "tcp", ConnectShards also others; ConnectNccl ignores it.
  std::string transport = "tcp";
  // Network interface, by name or address; empty: the interface that reaches the store.
  std::string interface;
  PortRange ports = {};  // where this shard listens while the shards connect
  // Time limit for each operation.
  milliseconds timeout = StoreHandler::kDefaultTimeout;
  // Time limit for connecting all shards, clones included, if it is longer than `timeout`: a shard
  // that shares busy cores may be late.
  milliseconds connect_timeout{0};
  milliseconds ConnectTimeout() const { return std::max(timeout, connect_timeout); }
};

}  // namespace caffe2
