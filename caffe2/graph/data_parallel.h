// Synchronous data-parallel training. Every device of every shard runs a replica of the model on
// its part of the batch. Gradients are summed over all replicas, which all apply the same update.
//
// The blobs of a replica lie under the name scope of its device (cpu_0/, gpu_1/), as in Caffe2.
// These passes take nets that hold all replicas of one shard and add the exchange between the
// replicas.
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
  // The blob of the store through which the shards find each other; used if num_shards > 1.
  std::string store_handler = "store_handler";
  std::string engine = "GLOO";           // for the exchange between shards: GLOO or NCCL
  std::string transport = "auto";        // argument of CreateCommonWorld
  std::string interface;                 // network interface; "" lets the transport choose
  std::string port_range;                // "4000-4010": ports to listen on; "": any port
  int timeout_ms = 30'000;               // for each collective
  int connect_timeout_ms = 30'000;       // for creating a common world; at least timeout_ms
  int64_t bucket_bytes = 25 << 20;       // maximum size of the gradients in one transfer
  int64_t first_bucket_bytes = 1 << 20;  // of the first bucket: small, so that it starts early
};

// "cpu_0/" or "gpu_3/": the name scope of the replica on this device. Replicas on the CPU are
// numbered by `index`.
std::string DeviceScopeName(const Device& device, int index);

// One parameter, gradient or statistic: its blob in each replica, in the order of the devices.
using ReplicatedBlob = std::vector<std::string>;

// Groups gradients into buckets in the order in which `net` completes them, so that a bucket can
// be reduced while the rest of the backward pass still runs. A bucket holds at most bucket_bytes
// (the first: first_bucket_bytes), or one larger gradient. Gradients of different element types do
// not share a bucket. A blob that is the gradient of several parameters is reduced once, after the
// gradient operators that read it. The result depends on the definitions alone, so that all shards
// form the same buckets.
//
// `shapes` must hold the first replica of each gradient. Throws EnforceNotMet, naming the gradient,
// if its shape is unknown or no operator writes it. Also throws if a gradient does not have one
// replica for each device.
std::vector<std::vector<ReplicatedBlob>> PlanGradientBuckets(
    const NetDef& net, const std::vector<ReplicatedBlob>& gradients,
    const std::map<std::string, TensorShape>& shapes, const DataParallelOptions& options);

// Adds the in-place reduction of each bucket to `net`, directly after the operator that completes
// the bucket: over this shard's devices and, for num_shards > 1, over the shards (AllreduceBucket
// on the common world "allreduce_0_cw"). Control inputs chain the reductions, so that their order
// is the same on every shard. On GPUs with several shards, AllreduceBucket only starts the transfer
// and the backward pass goes on; AwaitCollectives completes all transfers before the first operator
// that reads a sum.
void AddGradientReduction(NetDef* net, const std::vector<std::vector<ReplicatedBlob>>& buckets,
                          const DataParallelOptions& options);

// Adds operators to `init_net` that create the common worlds "allreduce_0_cw" and "broadcast_0_cw"
// of all shards.
void AddCommonWorlds(NetDef* init_net, const DataParallelOptions& options);

// Adds the broadcast of the blobs from replica 0 of shard 0 to all other replicas to `net`, on
// "broadcast_0_cw". Each broadcast waits for the exchange between shards before it (control_input).
// With one shard this adds only the copies between devices. If a blob has fewer replicas than there
// are devices, they belong to the first devices.
void AddBlobBroadcast(NetDef* net, const std::vector<ReplicatedBlob>& blobs,
                      const DataParallelOptions& options);

// Calls AddCommonWorlds, if there are several shards, and AddBlobBroadcast.
void AddParameterBroadcast(NetDef* init_net, const std::vector<ReplicatedBlob>& blobs,
                           const DataParallelOptions& options);

}  // namespace caffe2
