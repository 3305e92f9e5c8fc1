// Compares the parameters of the shards while they train. In a healthy run all shards have the same
// bits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// How the hashes of several shards differ.
struct ShardDifference {
  int blob = -1;         // the first blob that differs on any shard; -1: all are equal
  std::vector<int> odd;  // shards that differ from the majority; empty if there is no majority
};
// hashes[shard][blob]. The majority is the largest group of equal shards; if two groups have that
// size, there is none.
ShardDifference FindDifference(const std::vector<std::vector<uint64_t>>& hashes);

class ParameterCheck {
 public:
  // Checks the parameters of all replicas, and the optimizer state of the first replica. All
  // arguments must outlive this.
  ParameterCheck(const TrainNets& nets, const Workspace* ws, ShardRun* run);

  // All shards must call it together. Hashes each blob on the host, and exchanges eight bytes with
  // each shard. If the shards differ, throws PeerLost with the code kDisagreement and the same text
  // on all of them. The text names the shards and the first blob; the rank is the odd shard, if
  // there is exactly one, else -1.
  void Run(int64_t iteration) const;

 private:
  [[noreturn]] void ThrowDifference(int64_t iteration, const std::vector<uint64_t>& hashes) const;

  const Workspace* ws_;
  ShardRun* run_;
  std::vector<std::string> blobs_;
};

}  // namespace caffe2
