// How one shard takes part in a communicator, whichever transport carries it.
#pragma once

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
  // Time limit for connecting all shards, and for each operation.
  milliseconds timeout = StoreHandler::kDefaultTimeout;
};

}  // namespace caffe2
