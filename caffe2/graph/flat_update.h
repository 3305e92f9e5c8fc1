// Places parameters, gradients and optimizer states in contiguous blocks and updates them with one
// operator.
#pragma once

#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

class Workspace;

// The parameters of one device that one operator updates, by blob name. Entry i of each list
// belongs to parameter i.
struct ParameterArena {
  Device device;
  std::vector<std::string> gradients;
  std::vector<std::vector<std::string>> states;  // a list for each kind of state: two for Adam
  std::vector<std::string> params;
  // 16-bit copies (AddFilterCopies), "" for a parameter without one. Empty if no parameter has one.
  std::vector<std::string> copies;
  TensorProto::DataType copy_type = TensorProto::FLOAT16;
  TensorProto::DataType gradient_type = TensorProto::FLOAT;
};

// Replaces the updates of each device that share their learning rate and arguments
// (MomentumSGDUpdate, Adam, Adagrad, or RmsProp with the WeightedSum that applies its step) by one
// MultiMomentumSGDUpdate, MultiAdam, MultiAdagrad or MultiRmsProp at the place of the last one. The
// fused operator also does
//  - the weight decay before the updates: WeightedSum(grad, ones, param, decay) -> grad, where
//    ConstantFill operators of `init_net` give ones and decay, unless the update
//    itself has decoupled decay;
//  - the division of a CheckFiniteAndUnscale, if its gradients are exactly the gradients of these
//    updates. It becomes a CheckFinite.
// Gradients then keep their values; the step does not overwrite them. Parameters are ordered like
// their gradients in the buckets of AllreduceBucket, so that each bucket is a slice of a block and
// gets the argument `flat`. An update that shares its learning rate with no other becomes a fused
// operator of one parameter, so that the results do not depend on which parameters a net has. The
// pass leaves alone updates that are not in place or whose blobs another operator touches between
// them. Only the last case is logged, at VLOG(1).
//
// Results differ by rounding at most. Call PlaceArena for each returned arena before the net first
// runs. Otherwise the tensors are not contiguous, and each one is updated by a kernel of its own.
std::vector<ParameterArena> FuseUpdates(const NetDef& init_net, NetDef* net);

// Lets the fused updates also write a copy of each convolution filter in `type`, the type of the
// activations. The convolutions of `net` and their gradients then read these copies
// ("conv1_w_float16") and no longer convert the filters in every run. Gradients stay float. A
// parameter that another operator reads gets no copy. Returns the number of copies. Throws
// EnforceNotMet if `type` is neither FLOAT16 nor BFLOAT16.
int AddFilterCopies(TensorProto::DataType type, NetDef* net, std::vector<ParameterArena>* arenas);

// Allocates one block on the device for each list of the arena and makes the blobs views of it. A
// parameter has the same offset, a multiple of 64 elements, in all blocks. Parameters and states
// must be float tensors in the workspace; they keep their values. Gradients are set to zero, and
// copies to the values of the parameters. The blobs share ownership of the blocks. Throws
// EnforceNotMet if a parameter or state is missing or their sizes differ.
void PlaceArena(const ParameterArena& arena, Workspace* ws);

}  // namespace caffe2
