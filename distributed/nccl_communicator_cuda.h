// Collective operations among GPUs by NCCL.
#pragma once

#include <memory>

#include "distributed/collective.h"
#include "distributed/gloo_communicator.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Connects the shards, each with the GPU `device` that no other shard has, by NCCL. The store is
// used during the call only: it carries NCCL's id, under "<name>/nccl_id". options.interface, if it
// is given, becomes NCCL_SOCKET_IFNAME unless the environment has that. Throws PeerTimeout after
// the timeout, Error where NCCL is missing or fails.
std::shared_ptr<Communicator> ConnectNccl(StoreHandler* store, const GlooOptions& options,
                                          int device);

}  // namespace caffe2
