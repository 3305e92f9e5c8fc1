// Collective operations on host memory between shards of one machine, through shared memory.
#pragma once

#include "distributed/collective.h"
#include "distributed/communicator_options.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Like ConnectGloo, but with more transports (CommunicatorOptions::transport):
//   "auto"           shared memory if all shards can share it, otherwise TCP; a log line says why
//   "shared_memory"  the same, but throws IoError where the shards cannot share memory
//   "tcp"            Gloo over TCP
// With "tcp" on one shard, all shards use TCP. The results have the same bits with every transport.
std::shared_ptr<Communicator> ConnectShards(StoreHandler* store,
                                            const CommunicatorOptions& options);

}  // namespace caffe2
