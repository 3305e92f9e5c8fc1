// Collective operations on host memory over Gloo's TCP transport.
#pragma once

#include "distributed/collective.h"
#include "distributed/peer_sockets.h"
#include "distributed/store_handler.h"

namespace caffe2 {

struct GlooOptions {
  int rank = 0;
  int size = 1;
  std::string name = "common_world";  // keys in the store are "<name>/<rank>"
  std::string transport = "tcp";      // the only one of ConnectGloo
  // Network interface, by name or address; empty: the interface that reaches the store.
  std::string interface;
  PortRange ports = {};  // where this shard listens while the shards connect
  // Time limit for connecting all shards, and for each operation.
  milliseconds timeout = StoreHandler::kDefaultTimeout;
};

// Connects the shards with each other; all shards call it with the same name. Uses `store` only
// during the call. Throws PeerTimeout or TimeoutError, which names the missing shards, after the
// timeout; PeerLost if a peer dies; EnforceNotMet for an unknown transport or interface.
std::shared_ptr<Communicator> ConnectGloo(StoreHandler* store, const GlooOptions& options);

}  // namespace caffe2
