// Filter gradients beside the rest of the backward pass.
#pragma once

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// How many filter gradients of a device may be under way at a time.
constexpr int kMaxSideWork = 1;

// Lets the gradients of convolutions on CUDA devices form that of the filter on a second stream of
// the device (argument side_stream), which goes on beside what follows, and puts a JoinSideStream
// where that must be done: in front of the first operator that reads the filter's gradient, or that
// writes it or what it is made of, in place or not; of one that runs nets; of the next gradient of
// a convolution that is to do the same while `most_open` are under way; else at the end of the net.
// Blobs that share storage (Alias) count as one. A gradient that forms nothing else, and would be
// joined at once, stays in line. The results keep their bits.
//
// JoinSideStream lists what the work reads and writes, so that every executor keeps the order, and
// blobs are alive until there: plan memory afterwards. Returns the number of operators that fork.
int UseSideStreams(NetDef* net, int most_open = kMaxSideWork);

}  // namespace caffe2
