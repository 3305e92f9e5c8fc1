// The positions of a training net's random streams, in checkpoints.
#pragma once

#include <cstdint>

#include "caffe2/core/net.h"
#include "caffe2/proto/checkpoint.pb.h"

namespace caffe2 {

// Saves the positions that are not 0, by operator, so that a later version of the program, whose
// passes leave other operators in the net, can resume the run.
void SaveRandomPositions(const NetBase& net, ShardStateProto* state);

// Sets the positions of all streams. Throws IoError (kBadData) if the state has a position of an
// operator that the net does not have, or if the state is from a version before
// SaveRandomPositions and its net had another size.
void RestoreRandomPositions(const ShardStateProto& state, NetBase* net);

// The largest position of any stream of any shard.
uint64_t LastRandomPosition(const CheckpointProto& checkpoint);

}  // namespace caffe2
