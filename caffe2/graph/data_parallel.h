// Synchronous data-parallel training: every device of every shard runs a replica of the model on
// its part of the batch; gradients are summed over all replicas, and all apply the same update.
//
// The blobs of replica d of a shard lie under the name scope of its device (cpu_0/, gpu_1/), as in
// Caffe2. These passes add what joins the replicas to nets that hold all replicas of one shard.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

struct DataParallelOptions {
  std::vector<Device> devices = {Device{}};  // this shard's replicas
  int num_shards = 1;
  int shard_id = 0;
  // Blob of the store through which the shards find each other; needed for num_shards > 1.
  std::string store_handler = "store_handler";
  std::string engine = "GLOO";  // what carries the exchange between shards: GLOO or NCCL
  std::string transport = "tcp";
  std::string interface;                 // network interface; "" lets the transport choose
  int timeout_ms = 30'000;               // of creating a common world and of each collective
  int64_t bucket_bytes = 25 << 20;       // gradients reduced in one transfer
  int64_t first_bucket_bytes = 1 << 20;  // the first to be complete starts early
};

// "cpu_0/" or "gpu_3/": the name scope of the replica on this device. Replicas on the CPU are
// numbered by `index`.
std::string DeviceScopeName(const Device& device, int index);

// One parameter, gradient or statistic: its blob in each replica, in the order of the devices.
using ReplicatedBlob = std::vector<std::string>;

// Groups gradients into buckets in the order in which `net` completes them, so that a bucket can
// be reduced while the rest of the backward pass still runs. Each bucket holds at most
// bucket_bytes (the first: first_bucket_bytes), or a single larger gradient; gradients of
// different element types do not share a bucket. A blob that is the gradient of several parameters
// is reduced once, and behind the gradient operators that read it. `shapes` must hold the first
// replica of each gradient. The result depends on the definitions alone: all shards form the same
// buckets.
std::vector<std::vector<ReplicatedBlob>> PlanGradientBuckets(
    const NetDef& net, const std::vector<ReplicatedBlob>& gradients,
    const std::map<std::string, TensorShape>& shapes, const DataParallelOptions& options);

// Adds to `net` the reduction of each bucket, in place, right behind the operator that completes
// it: over this shard's devices and, for num_shards > 1, over the shards (operator
// AllreduceBucket on the blob "allreduce_0_cw"). The reductions are chained by control inputs,
// which fixes their order on every shard. On GPUs they are only started there, so that the backward
// pass goes on, and AwaitCollectives ends them before the first operator that reads a sum.
void AddGradientReduction(NetDef* net, const std::vector<std::vector<ReplicatedBlob>>& buckets,
                          const DataParallelOptions& options);

// Adds to `init_net` the creation of the common worlds "allreduce_0_cw" and "broadcast_0_cw" of
// all shards.
void AddCommonWorlds(NetDef* init_net, const DataParallelOptions& options);

// Adds to `net` the broadcast of the blobs from replica 0 of shard 0 to all others, on
// "broadcast_0_cw". Without other shards, only the copies between devices. A blob may have fewer
// replicas than there are devices: those of the first ones.
void AddBlobBroadcast(NetDef* net, const std::vector<ReplicatedBlob>& blobs,
                      const DataParallelOptions& options);

// AddCommonWorlds, if there are other shards, and AddBlobBroadcast.
void AddParameterBroadcast(NetDef* init_net, const std::vector<ReplicatedBlob>& blobs,
                           const DataParallelOptions& options);

}  // namespace caffe2
