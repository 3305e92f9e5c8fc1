// Lets convolution gradients add their result to an earlier gradient.
#pragma once

#include <set>
#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// The gradient of a blob that two operators read is the sum of two gradients. If the later one is
// the input gradient of a convolution, this pass lets ConvGradient add it to the earlier one, in
// place, and removes the Sum. This saves a pass over both. On the CPU only pointwise convolutions
// of NHWC add in place, so other sums stay there.
//
// Call it after the backward pass is added. Results differ by rounding at most. Gradients that
// another operator reads, that are external outputs or that are in `keep` stay. Logs each refusal
// with its reason at VLOG(1). Returns the number of sums removed.
int FuseGradientSums(NetDef* net, const std::set<std::string>& keep = {});

}  // namespace caffe2
