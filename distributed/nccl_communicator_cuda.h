// Collective operations on GPU memory with NCCL.
#pragma once

#include <memory>

#include "distributed/collective.h"
#include "distributed/communicator_options.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Connects the shards with NCCL. Each shard has its own GPU, `device`. Uses the store only during
// the call, to share NCCL's id under "<name>/nccl_id". If options.interface is given, it becomes
// NCCL_SOCKET_IFNAME, unless the environment sets that variable. Throws PeerTimeout after the
// timeout, Error if NCCL is missing or fails.
std::shared_ptr<Communicator> ConnectNccl(StoreHandler* store, const CommunicatorOptions& options,
                                          int device);

}  // namespace caffe2
