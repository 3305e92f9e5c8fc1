// Compares the parameters of the shards while they train. In a healthy run they are equal to the
// bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/shard_run.h"
#include "train/train_nets.h"

namespace caffe2 {

// How the hashes of several shards differ.
struct ShardDifference {
  int blob = -1;         // the first that differs on any shard; -1: all are equal
  std::vector<int> odd;  // shards that differ from the majority; empty if there is no majority
};
// `hashes` has one hash for each blob, for each shard. A majority is the largest group of equal
// shards, if it is the only one of that size.
ShardDifference FindDifference(const std::vector<std::vector<uint64_t>>& hashes);

class ParameterCheck {
 public:
  // Checks the parameters of all replicas and the optimizer state. All arguments must outlive this.
  ParameterCheck(const TrainNets& nets, const Workspace* ws, ShardRun* run);

  // All shards must call it together. Reads each parameter once, on the host, and exchanges eight
  // bytes. Throws PeerLost with the code kDisagreement and the same text on all shards if they
  // differ: it names the shards and the first blob. Its rank is the odd shard, if there is just
  // one.
  void Run(int64_t iteration) const;

 private:
  [[noreturn]] void ThrowDifference(int64_t iteration, const std::vector<uint64_t>& hashes) const;

  const Workspace* ws_;
  ShardRun* run_;
  std::vector<std::string> blobs_;
};

}  // namespace caffe2
