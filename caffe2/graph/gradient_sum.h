// Sums of gradients formed where the last of them is made.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// A blob that two operators read has the sum of two gradients. Where the later one is the input
// gradient of a convolution, ConvGradient adds to the earlier one, in place, and the Sum is gone.
// Saves a pass over both on devices whose convolutions can add (CUDA); on the CPU it saves nothing.
//
// Run it behind the backward pass. `net` computes the same but for rounding. Gradients that
// somebody else reads, that are external outputs or in `keep`, stay. Each refusal is logged with
// its reason at VLOG(1). Returns the number of sums removed.
int FuseGradientSums(NetDef* net, const std::set<std::string>& keep = {});

}  // namespace caffe2
