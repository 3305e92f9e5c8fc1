// Parameters, gradients and the state of optimizers in flat blocks, and their update as one
// operator.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/workspace.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The parameters of one device that one operator updates. Entries of the lists belong together.
struct ParameterArena {
  Device device;
  std::vector<std::string> gradients;
  std::vector<std::vector<std::string>> states;  // a list for each kind: momenta; two of Adam
  std::vector<std::string> params;
  // 16-bit copies (AddFilterCopies), "" for a parameter without one; empty if there are none.
  std::vector<std::string> copies;
  TensorProto::DataType copy_type = TensorProto::FLOAT16;
  TensorProto::DataType gradient_type = TensorProto::FLOAT;
};

// Replaces the updates of each device (MomentumSGDUpdate, Adam, Adagrad, or RmsProp and the
// addition of its step; those of one learning rate and the same arguments) by one
// MultiMomentumSGDUpdate, MultiAdam, MultiAdagrad or MultiRmsProp at the place of the last, with
// the weight decay before them (WeightedSum(grad, ones, param, decay) -> grad, whose factors
// `init_net` fills). Where the updates are those of all gradients of a CheckFiniteAndUnscale, this
// becomes a CheckFinite, and the update divides. Gradients then keep their values instead of
// becoming the step. Parameters are ordered like the gradients in the buckets of AllreduceBucket,
// so that buckets, which become `flat`, are slices of the block. Left alone, with the reason at
// VLOG(1): updates that are not in place, whose blobs another operator touches meanwhile, or that
// have no partner.
//
// The result computes the same up to rounding. Unless PlaceArena is called for each group before
// the net first runs, the argument `flat` asks for what is not there: every tensor is then updated
// by a kernel of its own.
std::vector<ParameterArena> FuseUpdates(const NetDef& init_net, NetDef* net);

// Lets the fused updates of the groups also write the filters of convolutions in `type`, FLOAT16 or
// BFLOAT16, which the activations have, and the convolutions of `net` and their gradients read
// these copies ("conv1_w_float16") instead of converting the filters in every run. Gradients stay
// float. Parameters that something else reads, too, are left alone. Returns the number of copies.
int AddFilterCopies(TensorProto::DataType type, NetDef* net, std::vector<ParameterArena>* groups);

// Makes the blobs of the group views of one block for each list on its device, each beginning at a
// multiple of 64 elements and at the same offset in all blocks. Parameters and states, float
// tensors that the workspace holds, keep their values; gradients are zero, and copies those of the
// values.
void PlaceArena(const ParameterArena& group, Workspace* ws);

}  // namespace caffe2
