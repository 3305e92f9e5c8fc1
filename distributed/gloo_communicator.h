// Collective operations on host memory over Gloo's TCP transport.
#pragma once

#include "distributed/collective.h"
#include "distributed/communicator_options.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Connects the shards with each other; all shards call it with the same name. Uses `store` only
// during the call. Throws PeerTimeout or TimeoutError, which names the missing shards, after the
// timeout; PeerLost if a peer dies; EnforceNotMet for an unknown transport or interface.
std::shared_ptr<Communicator> ConnectGloo(StoreHandler* store, const CommunicatorOptions& options);

}  // namespace caffe2
