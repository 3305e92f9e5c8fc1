// Collective operations over Gloo's TCP transport.
#pragma once

#include "distributed/collective.h"
#include "distributed/store_handler.h"

namespace caffe2 {

struct GlooOptions {
  int rank = 0;
  int size = 1;
  std::string name = "common_world";  // keys in the store are "<name>/<rank>"
  std::string transport = "tcp";      // the only one of this build
  // Network interface by name or address; empty: where this host reaches the store from.
  std::string interface;
  // For connecting as a whole, and for each operation.
  milliseconds timeout = StoreHandler::kDefaultTimeout;
};

// Connects the shards with each other; all of them call it with the same name. `store` is used
// during the call only. Throws PeerTimeout or TimeoutError, naming who is missing, after the
// timeout; EnforceNotMet for an unknown transport or interface.
std::shared_ptr<Communicator> ConnectGloo(StoreHandler* store, const GlooOptions& options);

}  // namespace caffe2
