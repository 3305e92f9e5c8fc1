// Filter gradients beside input gradients.
#pragma once

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// Lets the gradients of convolutions on CUDA devices that form both form that of the filter on a
// second stream of the device (argument side_stream): it has no reader in the backward pass. The
// results keep their bits. Returns the number of operators.
int UseSideStreams(NetDef* net);

}  // namespace caffe2
